; Attributes that metadata repeats.
define amdgpu_kernel void @k(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias writeonly %b, ptr addrspace(1) noalias nocapture readonly dereferenceable(16) %c, ptr addrspace(1) noundef nonnull align 8 %d) {
  %x = load i32, ptr addrspace(1) %a
  %y = load i32, ptr addrspace(1) %c
  %z = add i32 %x, %y
  store i32 %z, ptr addrspace(1) %b
  store i32 %z, ptr addrspace(1) %d
  ret void
}
