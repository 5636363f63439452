# What compilers do not write.
.macro twice a, b=2, rest:vararg
 .rept 2
 v_add_u32 v\a, v\b, v1
 .endr
 .if \b > 1
 twice \a, 1, \rest
 .else
 .print "\rest"
 .endif
.endm
 .altmacro
 .irp x, 1, 2, 3
 twice %1+2, \x, <a b>, c
 .endr
 .noaltmacro
 .irpc c, abc
 .ascii "\c"
 .endr
1: s_branch 1b
 s_cbranch_scc0 1f
1:
 .section .foo,"axG",@progbits,grp,comdat,unique,3
 .section .str,"aMS",@progbits,1
.Ls: .asciz "text\n\101"
 .pushsection .data
 .subsection 1
 .quad .Ls+1, later - . , 5*(3+4)
 .popsection
 .set chain, later+4
 .comm shared, 64, 4
 .lcomm own, 8
 .amdgpu_lds lds, 64, 16
later: .fill 3, 4, 0x12345678
 .p2align 4, 0xff, 12
 .balignw 8, 0x1234
 .org 400
 .octa 0x112233445566778899aabbccddeeff
 .float 1.5, -nan, 1e10
 .uleb128 .Ls2 - later, 300
.Ls2: .sleb128 -129, .Ls3 - .Ls2
 .fill 100
.Ls3: .base64 "YWJj"
 .reloc 0, R_AMDGPU_ABS64, later+4
 .amdgcn_target "amdgcn-amd-amdhsa--gfx900:xnack-"
 .amdhsa_kernel kern
 .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
 .amdhsa_next_free_sgpr max(4, chain - later)
 .end_amdhsa_kernel
kern: s_mov_b64 s[0:1], exec
 v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
 buffer_load_dword v0, off, s[0:3], 0 offset:4095 glc slc
 image_sample v[0:3], v[4:5], s[0:7], s[8:11] dmask:0xf unorm
 s_waitcnt vmcnt(0) & lgkmcnt(1)
 s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)
 s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xf
 s_add_u32 s0, s0, other@rel32@lo+4
 .amdgpu_metadata
---
amdhsa.kernels: []
amdhsa.version: [ 1, 2 ]
...
 .end_amdgpu_metadata
 .loc 1 2 3
 .cfi_startproc
 .ifdef later
 .ifc a, b
 .else
 .error "no"
 .endif
 .endif
 .purgem twice
