; Kernels that run first and last.
define weak_odr amdgpu_kernel void @first() #0 {
  ret void
}
define weak_odr amdgpu_kernel void @last() #1 {
  ret void
}
attributes #0 = { "device-init" }
attributes #1 = { "device-fini" }
