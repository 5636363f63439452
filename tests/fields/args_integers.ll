; Integers of every common width.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i1 %a, i8 %b, i16 %c, i32 %d, i64 %e, i128 %f) {
  %x = zext i8 %b to i32
  %y = zext i16 %c to i32
  %s = add i32 %x, %y
  %t = add i32 %s, %d
  %l = zext i32 %t to i64
  %u = add i64 %l, %e
  store i64 %u, ptr addrspace(1) %o
  ret void
}
