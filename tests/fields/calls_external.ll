; A call of a function of another object.
declare i32 @f(i32)
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %n) {
  %r = call i32 @f(i32 %n)
  store i32 %r, ptr addrspace(1) %o
  ret void
}
