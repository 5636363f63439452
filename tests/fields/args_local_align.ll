; Dynamic LDS with alignments.
define amdgpu_kernel void @k(ptr addrspace(3) align 16 %a, ptr addrspace(3) align 128 %b, ptr addrspace(3) %c, i32 %x) {
  store i32 %x, ptr addrspace(3) %a
  store i32 %x, ptr addrspace(3) %b
  store i32 %x, ptr addrspace(3) %c
  ret void
}
