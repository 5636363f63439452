; Arguments whose names stand in the IR alone.
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %value) {
  store i32 %value, ptr addrspace(1) %out
  ret void
}
