; Registers that inline assembly names.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  call void asm sideeffect "v_mov_b32 v99, 0", "~{v99}"()
  call void asm sideeffect "s_mov_b32 s70, 0", "~{s70}"()
  call void asm sideeffect "s_mov_b64 vcc, 0", "~{vcc}"()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
