; The arguments by their address.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %d = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %p = getelementptr i8, ptr addrspace(4) %d, i64 8
  %y = load i32, ptr addrspace(4) %p
  store i32 %y, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
