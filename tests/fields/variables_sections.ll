; Sections by name.
@a = addrspace(1) global i32 1, section ".data.own", align 4
@b = addrspace(1) constant i32 2, section ".rodata.own", align 4
@c = addrspace(1) global i32 0, section ".bss.own", align 4
@d = addrspace(4) constant i32 3, section "named", align 4
@e = addrspace(1) global i32 4, section "other", align 4
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  ret void
}
