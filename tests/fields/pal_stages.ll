; Pipeline metadata of shaders and of a function that they call.
; systems: amdpal
define amdgpu_gfx i32 @f(i32 %x) noinline {
  %y = mul i32 %x, 3
  ret i32 %y
}
define amdgpu_ps void @_amdgpu_ps_main(i32 inreg %a, float %x) {
  call void @llvm.amdgcn.exp.f32(i32 0, i32 15, float %x, float %x, float 0.0, float 1.0, i1 true, i1 true)
  ret void
}
define amdgpu_vs void @_amdgpu_vs_main(i32 inreg %a, i32 %v) {
  %x = bitcast i32 %v to float
  call void @llvm.amdgcn.exp.f32(i32 12, i32 15, float %x, float %x, float %x, float %x, i1 true, i1 false)
  ret void
}
declare void @llvm.amdgcn.exp.f32(i32, i32, float, float, float, float, i1, i1)
