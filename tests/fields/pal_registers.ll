; Pipeline metadata as pairs of numbers.
; systems: amdpal
define amdgpu_cs void @_amdgpu_cs_main(i32 inreg %a, i32 %v) {
  ret void
}
!amdgpu.pal.metadata = !{!0}
!0 = !{i32 11793, i32 128, i32 268435482, i32 7, i32 11856, i32 3}
