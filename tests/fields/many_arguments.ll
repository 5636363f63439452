; More arguments than a load brings.
define amdgpu_kernel void @k(ptr addrspace(1) %o, [40 x i64] %a, i8 %b, [7 x i8] %c, i32 %d) {
  %x = extractvalue [40 x i64] %a, 39
  %y = zext i32 %d to i64
  %s = add i64 %x, %y
  store i64 %s, ptr addrspace(1) %o
  ret void
}
