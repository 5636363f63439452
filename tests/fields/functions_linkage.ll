; Functions of every linkage and visibility.
define void @plain() noinline {
  ret void
}
define hidden void @hidden() noinline {
  ret void
}
define protected void @protected() noinline {
  ret void
}
define weak void @weak() noinline {
  ret void
}
define weak_odr hidden void @weak_odr() noinline {
  ret void
}
define linkonce_odr void @once() noinline {
  ret void
}
define amdgpu_kernel void @k() {
  call void @once()
  call void @weak()
  ret void
}
