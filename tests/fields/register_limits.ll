; Limits of registers.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) #0 {
  call void asm sideeffect "v_mov_b32 v20, 0", "~{v20}"()
  call void asm sideeffect "s_mov_b32 s40, 0", "~{s40}"()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "amdgpu-num-sgpr"="64" "amdgpu-num-vgpr"="32" }
