; Denormals, IEEE mode and clamping.
define amdgpu_kernel void @flush(ptr addrspace(1) %o) #0 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @keep(ptr addrspace(1) %o) #1 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @not_ieee(ptr addrspace(1) %o) #2 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @no_clamp(ptr addrspace(1) %o) #3 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
attributes #1 = { "denormal-fp-math"="preserve-sign,preserve-sign" }
attributes #2 = { "amdgpu-ieee"="false" }
attributes #3 = { "amdgpu-dx10-clamp"="false" }
