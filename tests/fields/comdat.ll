; Functions and variables of which one is kept.
$f = comdat any
$v = comdat any
@v = linkonce_odr addrspace(1) global i32 1, comdat, align 4
define linkonce_odr void @f() noinline comdat {
  ret void
}
define amdgpu_kernel void @k() {
  call void @f()
  store i32 2, ptr addrspace(1) @v
  ret void
}
