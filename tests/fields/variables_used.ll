; Variables and functions that stay although nobody uses them.
@a = internal addrspace(1) global i32 1, align 4
@b = internal addrspace(1) global i32 2, align 4
@llvm.used = appending addrspace(1) global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @a to ptr)], section "llvm.metadata"
@llvm.compiler.used = appending addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @b to ptr), ptr @f], section "llvm.metadata"
define internal void @f() {
  ret void
}
define amdgpu_kernel void @k() {
  ret void
}
