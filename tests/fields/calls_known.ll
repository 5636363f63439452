; A call of a function with a stack of its own.
define internal i32 @f(i32 %x) noinline {
  %a = alloca [16 x i32], align 4, addrspace(5)
  %i = and i32 %x, 15
  %p = getelementptr [16 x i32], ptr addrspace(5) %a, i32 0, i32 %i
  store volatile i32 %x, ptr addrspace(5) %p
  %v = load volatile i32, ptr addrspace(5) %a
  ret i32 %v
}
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %r = call i32 @f(i32 %x)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
