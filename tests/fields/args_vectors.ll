; Vectors, those of three elements too.
define amdgpu_kernel void @k(<2 x i8> %a, <3 x i8> %b, <2 x i16> %c, <3 x i16> %d, <2 x i32> %e, <3 x i32> %f, <4 x float> %g, <8 x i32> %h, <16 x double> %i, ptr addrspace(1) %o) {
  %x = extractelement <3 x i32> %f, i32 2
  store i32 %x, ptr addrspace(1) %o
  ret void
}
