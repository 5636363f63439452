; A kernel that reads hidden arguments, without any attribute about them.
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %p = getelementptr i8, ptr addrspace(4) %h, i64 16
  %x = load i64, ptr addrspace(4) %p
  store i64 %x, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
