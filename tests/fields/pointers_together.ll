; All that a kernel may be handed.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) {
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %q = call ptr addrspace(4) @llvm.amdgcn.queue.ptr()
  %n = call i64 @llvm.amdgcn.dispatch.id()
  %x = load i32, ptr addrspace(4) %d
  %y = load i32, ptr addrspace(4) %q
  %g = call i32 @llvm.amdgcn.workgroup.id.y()
  %w = call i32 @llvm.amdgcn.workitem.id.y()
  store volatile i32 %x, ptr addrspace(1) %o
  store volatile i32 %y, ptr addrspace(1) %o
  store volatile i64 %n, ptr addrspace(1) %o
  store volatile i32 %g, ptr addrspace(1) %o
  store volatile i32 %w, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare ptr addrspace(4) @llvm.amdgcn.queue.ptr()
declare i64 @llvm.amdgcn.dispatch.id()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workitem.id.y()
