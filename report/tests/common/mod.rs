//! A kernel in assembly with one line of each kind, and its object. `@name` in a comment names a line.
#![allow(dead_code, reason = "each test file uses a part")]

use emit::assemble::{Assembled, Options, assemble_with};
use mir::target::Target;

/// The code for `processor`; `body` stands in the kernel `k`.
pub fn kernel(processor: &str, name: &str, body: &str) -> String {
    let quoted = format!("\"{name}\"");
    format!(
        r#"	.amdgcn_target "amdgcn-amd-amdhsa--{processor}"
	.text
	.globl {quoted}
	.p2align 8
	.type {quoted},@function
{quoted}:
{body}
.Lfunc_end0:
	.size {quoted}, .Lfunc_end0-{quoted}
	.globl callee
	.p2align 2
	.type callee,@function
callee:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0) ; @entry_wait
	s_setpc_b64 s[30:31] ; @return
.Lfunc_end1:
	.size callee, .Lfunc_end1-callee
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel {quoted}
		.amdhsa_group_segment_fixed_size 4096
		.amdhsa_private_segment_fixed_size 16
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_flat_scratch_init 1
		.amdhsa_system_sgpr_private_segment_wavefront_offset 1
		.amdhsa_next_free_vgpr 48
		.amdhsa_next_free_sgpr 48
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space: global
        .name: out
        .offset: 0
        .size: 8
        .type_name: 'int*'
        .value_kind: global_buffer
      - .name: n
        .offset: 8
        .size: 4
        .value_kind: by_value
    .group_segment_fixed_size: 4096
    .kernarg_segment_align: 8
    .kernarg_segment_size: 12
    .max_flat_workgroup_size: 256
    .name: {quoted}
    .private_segment_fixed_size: 16
    .sgpr_count: 54
    .sgpr_spill_count: 1
    .symbol: "{name}.kd"
    .vgpr_count: 48
    .vgpr_spill_count: 1
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--{processor}
amdhsa.version: [1, 2]
...
	.end_amdgpu_metadata
"#
    )
}

/// One line of each kind, for GFX9.
pub const BODY: &str = "\
	s_add_u32 flat_scratch_lo, s6, s9 ; @flat
	s_addc_u32 flat_scratch_hi, s7, 0
	s_add_u32 s0, s0, s9 ; @resource
	s_addc_u32 s1, s1, 0 ; @carry
	s_mov_b32 s32, 0x400 ; @stack
	s_load_dwordx2 s[34:35], s[4:5], 0x0 ; @argument
	s_load_dword s37, s[4:5], 0x8 ; @number
	s_getpc_b64 s[10:11] ; @getpc
	s_add_u32 s10, s10, callee@rel32@lo+4 ; @low
	s_addc_u32 s11, s11, callee@rel32@hi+12 ; @high
	s_waitcnt lgkmcnt(0) ; @call_wait
	s_swappc_b64 s[30:31], s[10:11] ; @call
	v_writelane_b32 v40, s34, 3 ; @spill
	v_mov_b32_e32 v1, s34
	v_mov_b32_e32 v2, s35
	global_load_dword v3, v[1:2], off ; @load
	global_load_dword v4, v[1:2], off offset:4 ; @second
	buffer_store_dword v41, off, s[0:3], 0 offset:4 ; @frame_store
	v_readlane_b32 s36, v40, 3 ; @reload
	s_waitcnt vmcnt(2) ; @wait
	v_cmp_eq_u32_e32 vcc, 0, v3 ; @compare
	s_and_saveexec_b64 s[38:39], vcc ; @exec
	s_cbranch_execz .Lend ; @branch
	v_readfirstlane_b32 s40, v0 ; @producer
	s_nop 4 ; @nop
	buffer_load_dword v5, off, s[0:3], s40 ; @consumer
	ds_write_b32 v0, v4 ; @lds
	s_waitcnt vmcnt(0) lgkmcnt(0) ; @barrier_wait
	s_barrier ; @barrier
	buffer_wbinvl1_vol ; @invalidate
	s_nop 0 ; @filler
.Lend:
	s_or_b64 exec, exec, s[38:39] ; @join
	buffer_load_dword v41, off, s[0:3], 0 offset:4 ; @frame_load
	v_add_u32_e32 v6, v5, v4 ; @value
	s_waitcnt vmcnt(0)
	global_store_dword v[1:2], v6, off ; @store
	s_endpgm ; @end
";

/// Assembles `text` for the processor that it names.
pub fn assemble(text: &str, processor: &str) -> Assembled {
    let target = Target::new(Target::processor_by_name(processor).expect("a processor of the table"));
    let options = Options { note_lines: true, ..Options::default() };
    assemble_with(text, &target, &options).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The line of `text` that `@name` stands in, from 1.
pub fn line_of(text: &str, name: &str) -> u32 {
    let mark = format!("@{name}");
    let at = text.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line {mark}")) as u32 + 1
}
