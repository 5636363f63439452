; A kernel with features of its own.
define amdgpu_kernel void @k(ptr addrspace(1) %o) #0 {
  store i32 1, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "target-features"="+unaligned-access-mode" }
