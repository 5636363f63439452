; Work-groups that are whole.
define amdgpu_kernel void @k(ptr addrspace(1) %o) #0 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @n(ptr addrspace(1) %o) #1 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "uniform-work-group-size"="true" }
attributes #1 = { "uniform-work-group-size"="false" }
