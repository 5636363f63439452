; The number of the dispatch.
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %x = call i64 @llvm.amdgcn.dispatch.id()
  store i64 %x, ptr addrspace(1) %o
  ret void
}
declare i64 @llvm.amdgcn.dispatch.id()
