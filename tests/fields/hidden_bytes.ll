; Sizes of the hidden arguments.
define amdgpu_kernel void @none(ptr addrspace(1) %o) "amdgpu-implicitarg-num-bytes"="0" {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @few(ptr addrspace(1) %o) "amdgpu-implicitarg-num-bytes"="24" {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %x = load i64, ptr addrspace(4) %h
  store i64 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @most(i8 %c, ptr addrspace(1) %o) "amdgpu-implicitarg-num-bytes"="56" {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %x = load i64, ptr addrspace(4) %h
  store i64 %x, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
