; Bounds of work-groups and waves.
define amdgpu_kernel void @small(ptr addrspace(1) %o) #0 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @range(ptr addrspace(1) %o) #1 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @large(ptr addrspace(1) %o) #2 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @waves(ptr addrspace(1) %o) #3 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
attributes #1 = { "amdgpu-flat-work-group-size"="128,512" }
attributes #2 = { "amdgpu-flat-work-group-size"="1,1024" }
attributes #3 = { "amdgpu-waves-per-eu"="2,4" }
