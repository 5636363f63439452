; A pixel shader that exports a colour.
; systems: amdpal mesa3d none
define amdgpu_ps void @ps(i32 inreg %a, i32 inreg %m, <2 x float> %i, float %x) {
  %c = bitcast i32 %a to float
  %s = fadd float %c, %x
  call void @llvm.amdgcn.exp.f32(i32 0, i32 15, float %s, float %x, float 0.0, float 1.0, i1 true, i1 true)
  ret void
}
declare void @llvm.amdgcn.exp.f32(i32, i32, float, float, float, float, i1, i1)
