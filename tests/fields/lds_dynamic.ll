; An external array in LDS.
@a = internal addrspace(3) global [5 x i32] undef, align 4
@d = external addrspace(3) global [0 x i32], align 16
define amdgpu_kernel void @k(i32 %i) {
  %p = getelementptr [5 x i32], ptr addrspace(3) @a, i32 0, i32 %i
  store volatile i32 %i, ptr addrspace(3) %p
  %q = getelementptr [0 x i32], ptr addrspace(3) @d, i32 0, i32 %i
  store volatile i32 %i, ptr addrspace(3) %q
  ret void
}
