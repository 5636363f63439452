; Ids of work-items: one, two, three of them.
define amdgpu_kernel void @one(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @two(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workitem.id.y()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @three(ptr addrspace(1) %o) {
  %x = call i32 @llvm.amdgcn.workitem.id.z()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
