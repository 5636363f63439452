; A shader with a stack.
; systems: amdpal mesa3d none
define amdgpu_cs void @cs(i32 inreg %a, i32 inreg %b, i32 %v) {
  %s = alloca [64 x i32], align 4, addrspace(5)
  %i = and i32 %v, 63
  %p = getelementptr [64 x i32], ptr addrspace(5) %s, i32 0, i32 %i
  store volatile i32 %a, ptr addrspace(5) %p
  %x = load volatile i32, ptr addrspace(5) %s
  ret void
}
