; LDS variables of several sizes and alignments.
@a = internal addrspace(3) global [64 x i32] undef, align 4
@b = internal addrspace(3) global i8 undef, align 1
@c = internal addrspace(3) global [3 x double] undef, align 16
define amdgpu_kernel void @all(ptr addrspace(1) %o, i32 %i) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @a, i32 0, i32 %i
  store volatile i32 %i, ptr addrspace(3) %p
  store volatile i8 1, ptr addrspace(3) @b
  %q = getelementptr [3 x double], ptr addrspace(3) @c, i32 0, i32 %i
  store volatile double 1.0, ptr addrspace(3) %q
  ret void
}
define amdgpu_kernel void @one(ptr addrspace(1) %o, i32 %i) {
  %p = getelementptr [64 x i32], ptr addrspace(3) @a, i32 0, i32 %i
  %x = load volatile i32, ptr addrspace(3) %p
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @none(ptr addrspace(1) %o, i32 %i) {
  store i32 %i, ptr addrspace(1) %o
  ret void
}
