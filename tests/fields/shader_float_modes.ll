; Shaders have modes of their own.
; systems: amdpal mesa3d none
define amdgpu_cs void @flush(i32 inreg %a) #0 {
  ret void
}
define amdgpu_cs void @ieee(i32 inreg %a) #1 {
  ret void
}
define amdgpu_ps void @plain(i32 inreg %a) {
  ret void
}
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
attributes #1 = { "amdgpu-ieee"="true" }
