; Ids of work-groups.
define amdgpu_kernel void @x(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @y(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workgroup.id.y()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @all(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  %a = add i32 %x, %y
  %b = add i32 %a, %z
  store i32 %b, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
