//! Every row of the guide's table, as the guide has it, for both models and for the instructions of each generation.

use super::*;
use mir::ir::{CallConv, Func};
use mir::machine::{MemRef, Operand, RegFile, Terminator, VReg};
use mir::target::{Counter, Generation};

/// Row, instruction, ordering, scopes, spaces, sequence. `~`: the lgkmcnt part is left out for OpenCL. `op` is the access.
#[rustfmt::skip]
const TABLE: &[(u32, &str, Ordering, &str, &str, &str)] = &[
    (1, "load", Ordering::NotAtomic, "sys", "GNPC", "op"),
    (2, "load", Ordering::NotAtomic, "sys", "L", "op"),
    (3, "store", Ordering::NotAtomic, "sys", "GNP", "op"),
    (4, "store", Ordering::NotAtomic, "sys", "L", "op"),
    (5, "load store", Ordering::Unordered, "st wf wg ag sys", "GNL", "op"),
    (6, "rmw", Ordering::Unordered, "st wf wg ag sys", "GNL", "op"),
    (7, "load", Ordering::Monotonic, "st wf wg", "GN", "op"),
    (8, "load", Ordering::Monotonic, "st wf wg", "L", "op"),
    (9, "load", Ordering::Monotonic, "ag sys", "GN", "op glc"),
    (10, "store", Ordering::Monotonic, "st wf wg ag sys", "GN", "op"),
    (11, "store", Ordering::Monotonic, "st wf wg", "L", "op"),
    (12, "rmw", Ordering::Monotonic, "st wf wg ag sys", "GN", "op"),
    (13, "rmw", Ordering::Monotonic, "st wf wg", "L", "op"),
    (14, "load", Ordering::Acquire, "st wf", "GLN", "op"),
    (15, "load", Ordering::Acquire, "wg", "G", "op"),
    (16, "load", Ordering::Acquire, "wg", "L", "op; LG~"),
    (17, "load", Ordering::Acquire, "wg", "N", "op; LG~"),
    (18, "load", Ordering::Acquire, "ag sys", "G", "op glc; VM; INV"),
    (19, "load", Ordering::Acquire, "ag sys", "N", "op glc; VL~; INV"),
    (20, "rmw", Ordering::Acquire, "st wf", "GLN", "op"),
    (21, "rmw", Ordering::Acquire, "wg", "G", "op"),
    (22, "rmw", Ordering::Acquire, "wg", "L", "op; LG~"),
    (23, "rmw", Ordering::Acquire, "wg", "N", "op; LG~"),
    (24, "rmw", Ordering::Acquire, "ag sys", "G", "op; VM; INV"),
    (25, "rmw", Ordering::Acquire, "ag sys", "N", "op; VL~; INV"),
    (26, "fence", Ordering::Acquire, "st wf", "N", ""),
    (27, "fence", Ordering::Acquire, "wg", "N", "LG"),
    (28, "fence", Ordering::Acquire, "ag sys", "N", "VL; INV"),
    (29, "store", Ordering::Release, "st wf", "GLN", "op"),
    (30, "store", Ordering::Release, "wg", "G", "LG~; op"),
    (31, "store", Ordering::Release, "wg", "L", "op"),
    (32, "store", Ordering::Release, "wg", "N", "LG~; op"),
    (33, "store", Ordering::Release, "ag sys", "GN", "VL~; op"),
    (34, "rmw", Ordering::Release, "st wf", "GLN", "op"),
    (35, "rmw", Ordering::Release, "wg", "G", "LG~; op"),
    (36, "rmw", Ordering::Release, "wg", "L", "op"),
    (37, "rmw", Ordering::Release, "wg", "N", "LG~; op"),
    (38, "rmw", Ordering::Release, "ag sys", "GN", "VL~; op"),
    (39, "fence", Ordering::Release, "st wf", "N", ""),
    (40, "fence", Ordering::Release, "wg", "N", "LG"),
    (41, "fence", Ordering::Release, "ag sys", "N", "VL"),
    (42, "rmw", Ordering::AcqRel, "st wf", "GLN", "op"),
    (43, "rmw", Ordering::AcqRel, "wg", "G", "LG~; op"),
    (44, "rmw", Ordering::AcqRel, "wg", "L", "op; LG~"),
    (45, "rmw", Ordering::AcqRel, "wg", "N", "LG~; op; LG~"),
    (46, "rmw", Ordering::AcqRel, "ag sys", "G", "VL~; op; VM; INV"),
    (47, "rmw", Ordering::AcqRel, "ag sys", "N", "VL~; op; VL~; INV"),
    (48, "fence", Ordering::AcqRel, "st wf", "N", ""),
    (49, "fence", Ordering::AcqRel, "wg", "N", "LG"),
    (50, "fence", Ordering::AcqRel, "ag sys", "N", "VL; INV"),
    (51, "load", Ordering::SeqCst, "st wf", "GLN", "op"),
    (52, "load", Ordering::SeqCst, "wg", "G", "LG; op"),
    (52, "load", Ordering::SeqCst, "wg", "N", "LG; op; LG"),
    (53, "load", Ordering::SeqCst, "wg", "L", "op; LG"),
    (54, "load", Ordering::SeqCst, "ag sys", "G", "VL; op glc; VM; INV"),
    (54, "load", Ordering::SeqCst, "ag sys", "N", "VL; op glc; VL; INV"),
    (55, "store", Ordering::SeqCst, "st wf", "GLN", "op"),
    (55, "store", Ordering::SeqCst, "wg", "GN", "LG; op"),
    (55, "store", Ordering::SeqCst, "ag sys", "GN", "VL; op"),
    (56, "rmw", Ordering::SeqCst, "st wf", "GLN", "op"),
    (56, "rmw", Ordering::SeqCst, "wg", "N", "LG; op; LG"),
    (56, "rmw", Ordering::SeqCst, "ag sys", "G", "VL; op; VM; INV"),
    (57, "fence", Ordering::SeqCst, "st wf", "N", ""),
    (57, "fence", Ordering::SeqCst, "wg", "N", "LG"),
    (57, "fence", Ordering::SeqCst, "ag sys", "N", "VL; INV"),
];

/// The same of GFX10, where waves of a work-group are spread over two compute units, and where they are on one (`=`: the same).
#[rustfmt::skip]
const TABLE_10: &[(&str, Ordering, &str, &str, &str, &str)] = &[
    ("load store", Ordering::NotAtomic, "sys", "GNPL", "op", "="),
    ("load store rmw", Ordering::Unordered, "st wf wg ag sys", "GNL", "op", "="),

    ("load", Ordering::Monotonic, "st wf", "GNL", "op", "="),
    ("load", Ordering::Monotonic, "wg", "GN", "op glc", "op"),
    ("load", Ordering::Monotonic, "wg ag sys", "L", "op", "="),
    ("load", Ordering::Monotonic, "ag sys", "GN", "op glc dlc", "="),
    ("store rmw", Ordering::Monotonic, "st wf wg ag sys", "GNL", "op", "="),

    ("load", Ordering::Acquire, "st wf", "GNL", "op", "="),
    ("load", Ordering::Acquire, "wg", "G", "op glc; VM; INV0", "op"),
    ("load", Ordering::Acquire, "wg ag sys", "L", "op; LG~; INV0~", "op; LG~"),
    ("load", Ordering::Acquire, "wg", "N", "op glc; VL~; INV0", "op; LG~"),
    ("load", Ordering::Acquire, "ag sys", "G", "op glc dlc; VM; INV1; INV0", "="),
    ("load", Ordering::Acquire, "ag sys", "N", "op glc dlc; VL~; INV1; INV0", "="),
    ("rmw returning", Ordering::Acquire, "st wf", "GNL", "op", "="),
    ("rmw", Ordering::Acquire, "wg", "G", "op; VS; INV0", "op"),
    ("returning", Ordering::Acquire, "wg", "G", "op; VM; INV0", "op"),
    ("rmw returning", Ordering::Acquire, "wg ag sys", "L", "op; LG~; INV0~", "op; LG~"),
    ("rmw", Ordering::Acquire, "wg", "N", "op; LG~; VS; INV0", "op; LG~"),
    ("returning", Ordering::Acquire, "wg", "N", "op; VL~; INV0", "op; LG~"),
    ("rmw", Ordering::Acquire, "ag sys", "G", "op; VS; INV1; INV0", "="),
    ("returning", Ordering::Acquire, "ag sys", "G", "op; VM; INV1; INV0", "="),
    ("rmw", Ordering::Acquire, "ag sys", "N", "op; LG~; VS; INV1; INV0", "="),
    ("returning", Ordering::Acquire, "ag sys", "N", "op; VL~; INV1; INV0", "="),
    ("fence", Ordering::Acquire, "st wf", "N", "", "="),
    ("fence", Ordering::Acquire, "wg", "N", "VL; VS; INV0", "LG"),
    ("fence", Ordering::Acquire, "ag sys", "N", "VL; VS; INV1; INV0", "="),

    ("store rmw", Ordering::Release, "st wf", "GNL", "op", "="),
    ("store rmw", Ordering::Release, "wg", "GN", "VL~; VS; op", "="),
    ("store rmw", Ordering::Release, "wg ag sys", "L", "VM~; VS~; op", "="),
    ("store rmw", Ordering::Release, "ag sys", "GN", "VL~; VS; op", "="),
    ("fence", Ordering::Release, "st wf", "N", "", "="),
    ("fence", Ordering::Release, "wg", "N", "VL; VS", "="),
    ("fence", Ordering::Release, "ag sys", "N", "VL; VS", "="),

    ("rmw returning", Ordering::AcqRel, "st wf", "GNL", "op", "="),
    ("rmw", Ordering::AcqRel, "wg", "G", "VL~; VS; op; VS; INV0", "VL~; VS; op; VS"),
    ("returning", Ordering::AcqRel, "wg", "G", "VL~; VS; op; VM; INV0", "VL~; VS; op; VM"),
    ("rmw returning", Ordering::AcqRel, "wg ag sys", "L", "VM~; VS~; op; LG~; INV0~", "VM~; VS~; op; LG~"),
    ("rmw", Ordering::AcqRel, "wg", "N", "VL~; VS; op; LG~; VS; INV0", "VL~; VS; op; LG~; VS"),
    ("returning", Ordering::AcqRel, "wg", "N", "VL~; VS; op; VL~; INV0", "VL~; VS; op; VL~"),
    ("rmw", Ordering::AcqRel, "ag sys", "G", "VL~; VS; op; VS; INV1; INV0", "="),
    ("returning", Ordering::AcqRel, "ag sys", "G", "VL~; VS; op; VM; INV1; INV0", "="),
    ("rmw", Ordering::AcqRel, "ag sys", "N", "VL~; VS; op; LG~; VS; INV1; INV0", "="),
    ("returning", Ordering::AcqRel, "ag sys", "N", "VL~; VS; op; VL~; INV1; INV0", "="),
    ("fence", Ordering::AcqRel, "st wf", "N", "", "="),
    ("fence", Ordering::AcqRel, "wg", "N", "VL; VS; INV0", "VL; VS"),
    ("fence", Ordering::AcqRel, "ag sys", "N", "VL; VS; INV1; INV0", "="),

    ("load", Ordering::SeqCst, "st wf", "GNL", "op", "="),
    ("load", Ordering::SeqCst, "wg", "G", "VL; VS; op glc; VM; INV0", "VL; VS; op; VM"),
    ("load", Ordering::SeqCst, "wg", "N", "VL; VS; op glc; VL; INV0", "VL; VS; op; VL"),
    ("load", Ordering::SeqCst, "wg ag sys", "L", "VM; VS; op; LG; INV0", "VM; VS; op; LG"),
    ("load", Ordering::SeqCst, "ag sys", "G", "VL; VS; op glc dlc; VM; INV1; INV0", "="),
    ("load", Ordering::SeqCst, "ag sys", "N", "VL; VS; op glc dlc; VL; INV1; INV0", "="),
    ("store", Ordering::SeqCst, "wg", "GN", "VL; VS; op", "="),
    ("store", Ordering::SeqCst, "wg ag sys", "L", "VM; VS; op", "="),
    ("store", Ordering::SeqCst, "ag sys", "GN", "VL; VS; op", "="),
    ("rmw", Ordering::SeqCst, "wg", "N", "VL; VS; op; LG; VS; INV0", "VL; VS; op; LG; VS"),
    ("returning", Ordering::SeqCst, "wg", "L", "VM; VS; op; LG; INV0", "VM; VS; op; LG"),
    ("rmw", Ordering::SeqCst, "ag sys", "G", "VL; VS; op; VS; INV1; INV0", "="),
    ("fence", Ordering::SeqCst, "st wf", "N", "", "="),
    ("fence", Ordering::SeqCst, "wg", "N", "VL; VS; INV0", "VL; VS"),
    ("fence", Ordering::SeqCst, "ag sys", "N", "VL; VS; INV1; INV0", "="),
];

fn opcode(instr: &str, space: char, generation: Generation) -> Opcode {
    let pick = |load, store, rmw| match instr {
        "load" => load,
        "store" => store,
        "rmw" => rmw,
        _ => Opcode::FENCE,
    };
    match space {
        'L' if instr == "returning" => Opcode::DS_ADD_RTN_U32,
        'N' if instr == "returning" => Opcode::FLAT_ATOMIC_ADD_RTN,
        _ if instr == "returning" => Opcode::GLOBAL_ATOMIC_ADD_RTN,
        'L' => pick(Opcode::DS_READ_B32, Opcode::DS_WRITE_B32, Opcode::DS_ADD_U32),
        'N' => pick(Opcode::FLAT_LOAD_DWORD, Opcode::FLAT_STORE_DWORD, Opcode::FLAT_ATOMIC_ADD),
        _ if generation >= Generation::Gfx9 => {
            pick(Opcode::GLOBAL_LOAD_DWORD, Opcode::GLOBAL_STORE_DWORD, Opcode::GLOBAL_ATOMIC_ADD)
        }
        _ if generation == Generation::Gfx6 => {
            pick(Opcode::BUFFER_LOAD_DWORD, Opcode::BUFFER_STORE_DWORD, Opcode::BUFFER_ATOMIC_ADD)
        }
        _ => pick(Opcode::FLAT_LOAD_DWORD, Opcode::FLAT_STORE_DWORD, Opcode::FLAT_ATOMIC_ADD),
    }
}

fn space(letter: char) -> AddrSpace {
    match letter {
        'G' => AddrSpace::GLOBAL,
        'L' => AddrSpace::LOCAL,
        'P' => AddrSpace::PRIVATE,
        'C' => AddrSpace::CONSTANT,
        _ => AddrSpace::FLAT,
    }
}

fn target(name: &str) -> Target {
    Target::new(Target::processor_by_name(name).unwrap())
}

fn scope(name: &str) -> SyncScope {
    match name {
        "st" => SyncScope::SingleThread,
        "wf" => SyncScope::Wavefront,
        "wg" => SyncScope::Workgroup,
        "ag" => SyncScope::Agent,
        _ => SyncScope::System,
    }
}

/// The sequence of a row in `model`.
fn in_model(sequence: &str, model: MemoryModel) -> String {
    let word = |word: &str| match (word.strip_suffix('~'), model) {
        (None, _) => Some(word.to_string()),
        (Some(word), MemoryModel::Hsa) => Some(word.to_string()),
        (Some("VL"), MemoryModel::OpenCl) => Some("VM".to_string()),
        (Some(_), MemoryModel::OpenCl) => None,
    };
    sequence.split("; ").filter_map(word).collect::<Vec<_>>().join("; ")
}

/// The sequence around one instruction, in the table's words.
fn run(op: Opcode, access: MemAccess, target: &Target, model: MemoryModel) -> String {
    run_inst(Inst::new(op, []), access, target, model)
}

/// The same of an instruction with modifiers; its operands are made up. `glc` that it had is not named.
fn run_inst(inst: Inst, access: MemAccess, target: &Target, model: MemoryModel) -> String {
    let own = inst.mods.flags;
    let mut f = Function::new("f", CallConv::Kernel, Func::from_u32(0));
    let block = f.add_block();
    let reg: VReg = f.new_vreg(RegFile::Vgpr, 1);
    let nop = || Inst::new(Opcode::S_NOP, [Operand::Imm(0)]);
    f.blocks[block].push(nop());
    f.blocks[block].head_len = 1;
    let operands = std::iter::once(Operand::vreg(reg, 1)).collect();
    f.blocks[block].push(Inst { operands, ..inst }.with_mem(MemRef::new(access, 4)));
    f.blocks[block].insts.push(nop());
    f.blocks[block].term = Terminator::EndProgram;
    apply(&mut f, &Target { memory_model: model, ..*target }, Wishes::default());
    let data = &f.blocks[block];
    let body = &data.insts[data.head_len as usize..data.tail_start as usize];
    assert_eq!((data.head_len as usize, data.tail_start as usize + 1), (1, data.insts.len()));
    // A fence that asks for nothing stays as a mark.
    let words: Vec<String> = body
        .iter()
        .filter(|inst| inst.op != Opcode::FENCE)
        .map(|inst| match inst.op {
            Opcode::S_WAITCNT => {
                let counts = target.waits().decode(inst.operands[0].as_imm().unwrap() as u16);
                assert_eq!(counts[Counter::Exp], target.waits().max()[Counter::Exp]);
                match (counts[Counter::Vm] == 0, counts[Counter::Lgkm] == 0) {
                    (true, true) => "VL".to_string(),
                    (true, false) => "VM".to_string(),
                    _ => "LG".to_string(),
                }
            }
            Opcode::S_WAITCNT_VSCNT => {
                assert_eq!(target.waits().waited_for(inst).unwrap()[Counter::Vs], 0);
                "VS".to_string()
            }
            Opcode::BUFFER_WBINVL1 => "INV6".to_string(),
            Opcode::BUFFER_WBINVL1_VOL => "INV".to_string(),
            Opcode::BUFFER_GL0_INV => "INV0".to_string(),
            Opcode::BUFFER_GL1_INV => "INV1".to_string(),
            _ => {
                let flags = inst.mods.flags - own;
                [(ModFlags::GLC, " glc"), (ModFlags::DLC, " dlc"), (ModFlags::SLC, " slc")]
                    .into_iter()
                    .filter(|(flag, _)| flags.contains(*flag))
                    .fold("op".to_string(), |word, (_, name)| word + name)
            }
        })
        .collect();
    words.join("; ")
}

#[test]
fn every_row_in_both_models() {
    for name in ["gfx600", "gfx700", "gfx803", "gfx900"] {
        let target = target(name);
        for &(row, instrs, ordering, scopes, spaces, sequence) in TABLE {
            for model in [MemoryModel::Hsa, MemoryModel::OpenCl] {
                let expected = in_model(sequence, model);
                let expected = if name == "gfx600" { expected.replace("INV", "INV6") } else { expected };
                for (instr, scope, letter) in instrs
                    .split(' ')
                    .flat_map(|i| scopes.split(' ').flat_map(move |s| spaces.chars().map(move |c| (i, s, c))))
                {
                    let scope = self::scope(scope);
                    let access = MemAccess { ordering, scope, ..MemAccess::plain(space(letter), 2) };
                    let op = opcode(instr, letter, target.generation());
                    assert_eq!(
                        run(op, access, &target, model),
                        expected,
                        "MT-{row:02} {name} {instr} {scope:?} {letter}"
                    );
                }
            }
        }
    }
    let rows: std::collections::BTreeSet<u32> = TABLE.iter().map(|row| row.0).collect();
    assert!(rows.into_iter().eq(1..=57));
}

#[test]
fn every_row_of_gfx10() {
    for (name, cu_mode) in
        ["gfx1010", "gfx1013", "gfx1030", "gfx1036"].into_iter().flat_map(|n| [(n, false), (n, true)])
    {
        let mut target = target(name);
        target.features.set(mir::target::Features::CU_MODE, cu_mode);
        for &(instrs, ordering, scopes, spaces, spread, together) in TABLE_10 {
            for model in [MemoryModel::Hsa, MemoryModel::OpenCl] {
                let expected = in_model(if cu_mode && together != "=" { together } else { spread }, model);
                for (instr, scope, letter) in instrs
                    .split(' ')
                    .flat_map(|i| scopes.split(' ').flat_map(move |s| spaces.chars().map(move |c| (i, s, c))))
                {
                    let access = MemAccess {
                        ordering,
                        scope: self::scope(scope),
                        ..MemAccess::plain(space(letter), 2)
                    };
                    let mut inst = Inst::new(opcode(instr, letter, target.generation()), []);
                    if instr == "returning" && letter != 'L' {
                        inst.mods.flags |= ModFlags::GLC;
                    }
                    assert_eq!(
                        run_inst(inst, access, &target, model),
                        expected,
                        "{name} cumode {cu_mode} {model:?} {instr} {ordering:?} {scope} {letter}"
                    );
                }
            }
        }
    }
}

#[test]
fn volatile_and_streaming_on_gfx10() {
    let target = target("gfx1030");
    let with = |space, flags| MemAccess { flags, ..MemAccess::plain(space, 2) };
    let run = |op, access| run(op, access, &target, MemoryModel::Hsa);
    let (load, store) = (Opcode::GLOBAL_LOAD_DWORD, Opcode::GLOBAL_STORE_DWORD);
    assert_eq!(run(load, with(AddrSpace::GLOBAL, MemFlags::NONTEMPORAL)), "op slc");
    assert_eq!(run(store, with(AddrSpace::GLOBAL, MemFlags::NONTEMPORAL)), "op glc slc");
    assert_eq!(run(load, with(AddrSpace::GLOBAL, MemFlags::VOLATILE)), "op glc dlc; VM");
    assert_eq!(run(store, with(AddrSpace::GLOBAL, MemFlags::VOLATILE)), "op; VS");
    assert_eq!(run(Opcode::FLAT_LOAD_DWORD, with(AddrSpace::FLAT, MemFlags::VOLATILE)), "op glc dlc; VL");
    assert_eq!(run(Opcode::FLAT_STORE_DWORD, with(AddrSpace::FLAT, MemFlags::VOLATILE)), "op; LG; VS");
    assert_eq!(run(Opcode::DS_READ_B32, with(AddrSpace::LOCAL, MemFlags::VOLATILE)), "op");
}

#[test]
fn volatile_and_streaming() {
    let target = target("gfx900");
    let with = |space, flags| MemAccess { flags, ..MemAccess::plain(space, 2) };
    let load = Opcode::GLOBAL_LOAD_DWORD;
    let store = Opcode::GLOBAL_STORE_DWORD;
    let run = |op, access| run(op, access, &target, MemoryModel::Hsa);
    assert_eq!(run(load, with(AddrSpace::GLOBAL, MemFlags::NONTEMPORAL)), "op glc slc");
    assert_eq!(run(store, with(AddrSpace::GLOBAL, MemFlags::NONTEMPORAL)), "op glc slc");
    assert_eq!(run(load, with(AddrSpace::GLOBAL, MemFlags::VOLATILE)), "op glc; VM");
    assert_eq!(run(store, with(AddrSpace::GLOBAL, MemFlags::VOLATILE)), "op; VM");
    assert_eq!(run(Opcode::FLAT_LOAD_DWORD, with(AddrSpace::FLAT, MemFlags::VOLATILE)), "op glc; VL");
    assert_eq!(run(Opcode::DS_READ_B32, with(AddrSpace::LOCAL, MemFlags::VOLATILE)), "op");
}

#[test]
fn scopes_of_one_address_space_and_local() {
    let target = target("gfx900");
    let access = |space, flags, scope| MemAccess {
        ordering: Ordering::Release,
        scope,
        flags,
        ..MemAccess::plain(space, 2)
    };
    let one = MemFlags::ONE_ADDRESS_SPACE;
    let run = |op, access| run(op, access, &target, MemoryModel::Hsa);
    assert_eq!(run(Opcode::GLOBAL_STORE_DWORD, access(AddrSpace::GLOBAL, one, SyncScope::Agent)), "VM; op");
    assert_eq!(run(Opcode::FLAT_STORE_DWORD, access(AddrSpace::FLAT, one, SyncScope::Agent)), "VL; op");
    assert_eq!(
        run(Opcode::DS_WRITE_B32, access(AddrSpace::LOCAL, MemFlags::empty(), SyncScope::System)),
        "op"
    );
}

/// Ordering, scopes, and what is left of the sequence where a fence orders global or local memory alone: GFX9, GFX10, GFX10 on one compute unit.
#[rustfmt::skip]
const FENCES: &[(Ordering, &str, [&str; 3], [&str; 3])] = &[
    (Ordering::Acquire, "st wf", ["", "", ""], ["", "", ""]),
    (Ordering::Acquire, "wg", ["", "VM; VS; INV0", ""], ["LG", "LG", "LG"]),
    (Ordering::Acquire, "ag sys", ["VM; INV", "VM; VS; INV1; INV0", "VM; VS; INV1; INV0"], ["LG", "LG", "LG"]),
    (Ordering::Release, "st wf", ["", "", ""], ["", "", ""]),
    (Ordering::Release, "wg", ["", "VM; VS", "VM; VS"], ["LG", "LG", "LG"]),
    (Ordering::Release, "ag sys", ["VM", "VM; VS", "VM; VS"], ["LG", "LG", "LG"]),
    (Ordering::AcqRel, "wg", ["", "VM; VS; INV0", "VM; VS"], ["LG", "LG", "LG"]),
    (Ordering::SeqCst, "wg", ["", "VM; VS; INV0", "VM; VS"], ["LG", "LG", "LG"]),
    (Ordering::SeqCst, "ag sys", ["VM; INV", "VM; VS; INV1; INV0", "VM; VS; INV1; INV0"], ["LG", "LG", "LG"]),
];

#[test]
fn fences_order_the_memory_that_they_name() {
    let spread = target("gfx1030");
    let targets =
        [target("gfx900"), spread, Target { features: spread.features | Features::CU_MODE, ..spread }];
    for (ordering, scopes, global, local) in FENCES {
        for (space, expected) in [(AddrSpace::GLOBAL, global), (AddrSpace::LOCAL, local)] {
            for (target, expected) in targets.iter().zip(expected) {
                for scope in scopes.split(' ').map(scope) {
                    let access = MemAccess { ordering: *ordering, scope, ..MemAccess::plain(space, 2) };
                    let found = run(Opcode::FENCE, access, target, MemoryModel::Hsa);
                    assert_eq!(found, *expected, "{ordering:?} {scope:?} {space:?} on {target}");
                }
            }
        }
    }
}
