; Members of no bytes.
define amdgpu_kernel void @k({} %a, i32 %b, [0 x i32] %c, ptr addrspace(1) %o) {
  store i32 %b, ptr addrspace(1) %o
  ret void
}
