; A function that asks for ids and pointers.
define internal void @f(ptr addrspace(1) %o) noinline {
  %x = call i32 @llvm.amdgcn.workgroup.id.y()
  %y = call i32 @llvm.amdgcn.workitem.id.z()
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %z = load i32, ptr addrspace(4) %d
  store volatile i32 %x, ptr addrspace(1) %o
  store volatile i32 %y, ptr addrspace(1) %o
  store volatile i32 %z, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  call void @f(ptr addrspace(1) %o)
  ret void
}
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
