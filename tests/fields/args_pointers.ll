; Pointers of each address space that a kernel may be given.
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr addrspace(3) %l, ptr addrspace(4) %c, ptr addrspace(1) align 64 %m) {
  %x = load i32, ptr addrspace(4) %c
  store i32 %x, ptr addrspace(3) %l
  store i32 %x, ptr addrspace(1) %g
  ret void
}
