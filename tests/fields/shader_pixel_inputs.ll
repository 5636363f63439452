; A pixel shader that interpolates and asks for inputs beforehand.
; systems: amdpal mesa3d none
define amdgpu_ps float @ps(i32 inreg %m, <2 x float> %persp, <2 x float> %center, <2 x float> %centroid, <3 x float> %pull, <2 x float> %linear, <2 x float> %a, <2 x float> %b, float %stipple, float %x, float %y) #0 {
  %i = extractelement <2 x float> %center, i32 0
  %j = extractelement <2 x float> %center, i32 1
  %p = call float @llvm.amdgcn.interp.p1(float %i, i32 0, i32 0, i32 %m)
  %q = call float @llvm.amdgcn.interp.p2(float %p, float %j, i32 0, i32 0, i32 %m)
  %s = fadd float %q, %y
  ret float %s
}
declare float @llvm.amdgcn.interp.p1(float, i32, i32, i32)
declare float @llvm.amdgcn.interp.p2(float, float, i32, i32, i32)
attributes #0 = { "InitialPSInputAddr"="36983" }
