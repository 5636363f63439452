; An array on the stack.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i, i32 %j) {
  %a = alloca [256 x i32], align 4, addrspace(5)
  %p = getelementptr [256 x i32], ptr addrspace(5) %a, i32 0, i32 %i
  store volatile i32 %j, ptr addrspace(5) %p
  %q = getelementptr [256 x i32], ptr addrspace(5) %a, i32 0, i32 %j
  %x = load volatile i32, ptr addrspace(5) %q
  store i32 %x, ptr addrspace(1) %o
  ret void
}
