; Names that need quotes.
@"a b" = addrspace(1) global i32 1, align 4
define amdgpu_kernel void @"k$1.x"(ptr addrspace(1) %o) {
  store i32 1, ptr addrspace(1) @"a b"
  ret void
}
define void @_ZN4gcnc1fEv() {
  ret void
}
