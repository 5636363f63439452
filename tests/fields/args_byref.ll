; Aggregates by reference.
%s = type { i64, i8, [5 x i32] }
define amdgpu_kernel void @k(i8 %n, ptr addrspace(4) byref(%s) align 32 %a, ptr addrspace(4) byref(i16) %b, ptr addrspace(1) %o) {
  %p = getelementptr %s, ptr addrspace(4) %a, i32 0, i32 2, i32 1
  %x = load i32, ptr addrspace(4) %p
  store i32 %x, ptr addrspace(1) %o
  ret void
}
