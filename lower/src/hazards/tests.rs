//! Mitigations of GFX10, on instructions that other generations have too.

use super::*;
use mir::machine::parse_function;

/// The instructions of `body`, a function's blocks, behind the pass on GFX10 and, last, on `gfx900`.
fn passed(body: &str) -> [Vec<Vec<String>>; 2] {
    ["gfx1010", "gfx900"].map(|name| {
        let processor = Target::processor_by_name(name).expect("a processor of the table");
        let mut f =
            parse_function(&format!("function f, framed\n{body}"), "test").expect("the text is right");
        insert_nops(&mut f, &Target::new(processor));
        let name = |inst: &Inst| match inst.operands.last() {
            Some(Operand::Imm(imm)) if inst.op != Opcode::S_MOV_B32 => format!("{:?} {imm:#x}", inst.op),
            _ => format!("{:?}", inst.op),
        };
        f.layout.iter().map(|&block| f.blocks[block].insts.iter().map(name).collect()).collect()
    })
}

/// One block without branches: what GFX10 gets, and GFX9 without mitigations.
fn check(body: &str, gfx10: &[&str]) {
    let [new, old] = passed(&format!("mbb0:\n{body}  wave end\n"));
    assert_eq!(new, [gfx10.to_vec()], "{body}");
    let fillers = ["S_MOV_B32", "S_WAITCNT_DEPCTR 0xffe3", "S_WAITCNT_DEPCTR 0xfffe"];
    let ours: Vec<_> = gfx10.iter().filter(|name| !fillers.contains(name)).collect();
    let there: Vec<_> = old[0]
        .iter()
        .filter(|name| !fillers.contains(&name.as_str()) && !name.starts_with("S_NOP"))
        .collect();
    assert_eq!(there, ours, "{body}");
}

#[test]
fn scalar_loads_read_late() {
    let load = "  s0 = s_load_dword s[4:5], 0\n";
    let write = "  s[4:5] = v_cmp_eq_u32 v0, v1\n";
    check(&format!("{load}{write}"), &["S_LOAD_DWORD 0x0", "S_MOV_B32", "V_CMP_EQ_U32"]);
    // Other registers are no hazard.
    check(&format!("{load}  s[6:7] = v_cmp_eq_u32 v0, v1\n"), &["S_LOAD_DWORD 0x0", "V_CMP_EQ_U32"]);
    // The scalar ALU ends it, a NOP or a vector instruction does not.
    let salu = "  s9 = s_add_u32 s8, s8\n";
    check(&format!("{load}{salu}{write}"), &["S_LOAD_DWORD 0x0", "S_ADD_U32", "V_CMP_EQ_U32"]);
    let other = "  s_sleep 1\n  v2 = v_add_f32 v1, v1\n";
    check(
        &format!("{load}{other}{write}"),
        &["S_LOAD_DWORD 0x0", "S_SLEEP 0x1", "V_ADD_F32", "S_MOV_B32", "V_CMP_EQ_U32"],
    );
    // lgkmcnt(0).
    check(
        &format!("{load}  s_waitcnt 0xc07f\n{write}"),
        &["S_LOAD_DWORD 0x0", "S_WAITCNT 0xc07f", "V_CMP_EQ_U32"],
    );
    // Once is enough.
    check(
        &format!("{load}{write}{write}"),
        &["S_LOAD_DWORD 0x0", "S_MOV_B32", "V_CMP_EQ_U32", "V_CMP_EQ_U32"],
    );
}

#[test]
fn vector_memory_reads_late() {
    let load = "  v0 = global_load_dword v1, s[4:5]\n";
    let write = "  s4 = s_not_b32 s9\n";
    let wait = "S_WAITCNT_DEPCTR 0xffe3";
    check(&format!("{load}{write}"), &["GLOBAL_LOAD_DWORD", wait, "S_NOT_B32"]);
    check(&format!("{load}  s6 = s_not_b32 s9\n"), &["GLOBAL_LOAD_DWORD", "S_NOT_B32"]);
    check(
        &format!("{load}  v3 = v_add_f32 v4, v4\n{write}"),
        &["GLOBAL_LOAD_DWORD", "V_ADD_F32", "S_NOT_B32"],
    );
    // Of EXEC it reads the mask of its lanes.
    check(&format!("{load}  exec = s_mov_b64 s[8:9]\n"), &["GLOBAL_LOAD_DWORD", wait, "S_MOV_B64"]);
}

#[test]
fn exec_is_read_late() {
    let read = "  s[4:5] = s_mov_b64 exec\n";
    let write = "  s[8:9] = v_cmpx_eq_u32 v0, v1\n";
    let wait = "S_WAITCNT_DEPCTR 0xfffe";
    check(&format!("{read}{write}"), &["S_MOV_B64", wait, "V_CMPX_EQ_U32"]);
    check(
        &format!("{read}  s[6:7] = v_cmp_eq_u32 v0, v1\n{write}"),
        &["S_MOV_B64", "V_CMP_EQ_U32", "V_CMPX_EQ_U32"],
    );
    check(
        &format!("{read}  v3 = v_add_f32 v4, v4\n{write}"),
        &["S_MOV_B64", "V_ADD_F32", wait, "V_CMPX_EQ_U32"],
    );
}

/// A hazard without distance goes around loops and is ended once on each path; the state stays bounded.
#[test]
fn hazards_cross_blocks() {
    let text = "mbb0:\n  s0 = s_load_dword s[4:5], 0\n  wave jump -> mbb1\n\
                mbb1:\n  v0 = v_add_f32 v0, v0\n  wave scc1 -> mbb1, mbb2\n\
                mbb2:\n  s[4:5] = v_cmp_eq_u32 v0, v1\n  wave end\n";
    let [new, old] = passed(text);
    assert_eq!(new[2], ["S_MOV_B32", "V_CMP_EQ_U32"]);
    assert_eq!((new[1].len(), old[2].len()), (1, 1));
}

/// LDS and vector memory: across a branch alone, and a wait for stores ends it.
#[test]
fn memories_across_a_branch() {
    let access = "  v1 = ds_read_b32 v0\n";
    let load = "  v3 = global_load_dword v[4:5], off\n";
    let text = |between: &str| {
        format!("mbb0:\n{access}{between}  wave jump -> mbb1\nmbb1:\n{load}{load}  wave end\n")
    };
    let [new, old] = passed(&text(""));
    assert_eq!(new[1], ["S_WAITCNT_VSCNT 0x0", "GLOBAL_LOAD_DWORD", "GLOBAL_LOAD_DWORD"]);
    assert_eq!(old[1].len(), 2);
    let [new, _] = passed(&text("  s_waitcnt_vscnt null, 0\n"));
    assert_eq!(new[1].len(), 2);
    let [straight, _] = passed(&format!("mbb0:\n{access}{load}  wave end\n"));
    assert_eq!(straight[0].len(), 2);
}
