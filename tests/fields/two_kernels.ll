; Kernels of one module, one behind the other.
define amdgpu_kernel void @first(ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %o, i32 %x) {
  store i32 %x, ptr addrspace(1) %o
  ret void
}
