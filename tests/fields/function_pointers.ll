; Addresses of functions in code and contents.
@t = addrspace(4) constant [2 x ptr] [ptr @f, ptr @g], align 8
define void @f() noinline {
  ret void
}
define internal void @g() noinline {
  ret void
}
declare void @h()
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  store volatile ptr @f, ptr addrspace(1) %o
  store volatile ptr @g, ptr addrspace(1) %o
  store volatile ptr @h, ptr addrspace(1) %o
  ret void
}
