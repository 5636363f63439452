; The queue.
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %d = call ptr addrspace(4) @llvm.amdgcn.queue.ptr()
  %x = load i32, ptr addrspace(4) %d
  store i32 %x, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.queue.ptr()
