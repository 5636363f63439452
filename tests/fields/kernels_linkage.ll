; Kernels of every linkage and visibility.
define protected amdgpu_kernel void @protected() {
  ret void
}
define hidden amdgpu_kernel void @hidden() {
  ret void
}
define weak_odr amdgpu_kernel void @weak_odr() {
  ret void
}
define weak amdgpu_kernel void @weak() {
  ret void
}
define linkonce_odr amdgpu_kernel void @once() {
  ret void
}
