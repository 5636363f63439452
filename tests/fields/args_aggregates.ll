; Structures and arrays passed as values.
%s = type { i8, i64, float }
%p = type <{ i8, i32 }>
define amdgpu_kernel void @k(%s %a, %p %b, [3 x i16] %c, { %p, [2 x %s] } %d, ptr addrspace(1) %o) {
  %x = extractvalue %s %a, 1
  store i64 %x, ptr addrspace(1) %o
  ret void
}
