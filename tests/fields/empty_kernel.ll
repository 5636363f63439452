; A kernel that does nothing.
source_filename = "empty_kernel.cl"
define amdgpu_kernel void @k() {
  ret void
}
