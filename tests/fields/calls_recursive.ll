; A stack without a bound.
define hidden i32 @f(i32 %n) noinline {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i32 %n, 1
  %r = call i32 @f(i32 %m)
  %s = mul i32 %r, %n
  ret i32 %s
end:
  ret i32 1
}
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %n) {
  %r = call i32 @f(i32 %n)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
