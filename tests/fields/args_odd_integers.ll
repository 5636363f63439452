; Integers of widths that no type of C has.
define amdgpu_kernel void @k(i24 %a, i3 %b, i48 %c, i65 %d, ptr addrspace(1) %o) {
  %x = zext i24 %a to i32
  store i32 %x, ptr addrspace(1) %o
  ret void
}
