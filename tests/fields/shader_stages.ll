; One shader of each of the other stages.
; systems: amdpal mesa3d none
define amdgpu_vs void @vs(i32 inreg %a, i32 %v) {
  %x = bitcast i32 %v to float
  call void @llvm.amdgcn.exp.f32(i32 12, i32 15, float %x, float %x, float %x, float %x, i1 true, i1 false)
  ret void
}
define amdgpu_gs void @gs(i32 inreg %a, i32 %v) {
  ret void
}
define amdgpu_es void @es(i32 inreg %a, i32 %v) {
  ret void
}
define amdgpu_hs void @hs(i32 inreg %a, i32 %v) {
  ret void
}
define amdgpu_ls void @ls(i32 inreg %a, i32 %v) {
  ret void
}
define amdgpu_cs void @cs(i32 inreg %a, i32 %v) {
  ret void
}
declare void @llvm.amdgcn.exp.f32(i32, i32, float, float, float, float, i1, i1)
