; A compute shader with LDS.
; systems: amdpal mesa3d none
@l = internal addrspace(3) global [128 x i32] undef, align 4
define amdgpu_cs void @cs(i32 inreg %a, <3 x i32> inreg %g, i32 inreg %s, i32 %v) {
  %i = and i32 %v, 127
  %p = getelementptr [128 x i32], ptr addrspace(3) @l, i32 0, i32 %i
  store volatile i32 %a, ptr addrspace(3) %p
  ret void
}
