; Functions in sections of their own.
define void @f() section ".text.own" {
  ret void
}
define amdgpu_kernel void @k() section ".text.kernels" align 1024 {
  ret void
}
