; Generic pointers to LDS and scratch.
@l = internal addrspace(3) global [4 x i32] undef, align 4
define amdgpu_kernel void @lds(i32 %x, i32 %i) {
  %p = getelementptr [4 x i32], ptr addrspace(3) @l, i32 0, i32 %i
  %q = addrspacecast ptr addrspace(3) %p to ptr
  store volatile i32 %x, ptr %q
  ret void
}
