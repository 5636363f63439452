; Addresses in contents.
@a = addrspace(1) global i32 1, align 4
@p = addrspace(1) global ptr addrspace(1) @a, align 8
@q = addrspace(1) global ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @b, i64 24), align 8
@b = internal addrspace(1) global [10 x i32] zeroinitializer, align 4
@c = addrspace(4) constant [2 x ptr addrspace(1)] [ptr addrspace(1) @a, ptr addrspace(1) @x], align 8
@x = external addrspace(1) global i32, align 4
@n = addrspace(1) global ptr addrspace(1) null, align 8
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %v = load ptr addrspace(1), ptr addrspace(1) @q
  store ptr addrspace(1) %v, ptr addrspace(1) %o
  ret void
}
