; A generic pointer.
define amdgpu_kernel void @k(ptr %p, i32 %x) {
  store i32 %x, ptr %p
  ret void
}
