; A call by a pointer.
define amdgpu_kernel void @k(ptr addrspace(1) %o, ptr %f, i32 %n) {
  %r = call i32 %f(i32 %n)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
