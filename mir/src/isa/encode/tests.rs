//! Known encodings, and what must not encode.

use super::*;
use crate::isa::Opcode;

fn target(name: &str) -> Target {
    Target::new(Target::processor_by_name(name).expect("known processor"))
}

fn s(n: u16, dwords: u8) -> Operand {
    Operand::preg(PReg::sgpr(n), dwords)
}

fn v(n: u16, dwords: u8) -> Operand {
    Operand::preg(PReg::vgpr(n), dwords)
}

fn hex(inst: &Inst, processor: &str) -> Vec<u32> {
    let mut out = Vec::new();
    let target = target(processor);
    let encoded = encode(inst, &target, &mut out).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(usize::from(encoded.dwords), out.len());
    out
}

/// Values of llvm-mc 22.
#[test]
fn known_encodings() {
    use Opcode::*;
    let add = Inst::new(V_ADD_F32, [v(0, 1), v(1, 1), v(2, 1)]);
    assert_eq!(hex(&add, "gfx900"), [0x0200_0501]);
    assert_eq!(hex(&add, "gfx600"), [0x0600_0501]);
    let add = Inst::new(V_ADD_F32, [v(0, 1), v(1, 1), s(2, 1)]);
    assert_eq!(hex(&add, "gfx900"), [0xd101_0000, 0x0000_0501]);
    let add = Inst::new(V_ADD_F32, [v(0, 1), Operand::Imm(0x4049_0fdb), v(1, 1)]);
    assert_eq!(hex(&add, "gfx900"), [0x0200_02ff, 0x4049_0fdb]);
    assert_eq!(hex(&Inst::new(S_ENDPGM, []), "gfx900"), [0xbf81_0000]);
    let load = Inst::new(S_LOAD_DWORDX2, [s(0, 2), s(4, 2), Operand::Imm(8)]);
    assert_eq!(hex(&load, "gfx900"), [0xc006_0002, 0x0000_0008]);
    assert_eq!(hex(&load, "gfx700"), [0xc040_0502]);
    let load = Inst::new(GLOBAL_LOAD_DWORD, [v(0, 1), v(1, 2), Operand::Off]);
    assert_eq!(hex(&load, "gfx900"), [0xdc50_8000, 0x007f_0001]);
    let vcc = Operand::preg(PReg::VCC_LO, 2);
    let cmp = Inst::new(V_CMP_LT_F32, [vcc, v(0, 1), v(1, 1)]);
    assert_eq!(hex(&cmp, "gfx900"), [0x7c82_0300]);
    let cmp = Inst::new(V_CMP_LT_F32, [s(0, 2), v(0, 1), v(1, 1)]);
    assert_eq!(hex(&cmp, "gfx900"), [0xd041_0000, 0x0002_0300]);
}

#[test]
fn misfits_are_errors() {
    use Opcode::*;
    let fails = |inst: &Inst, processor: &str| encode(inst, &target(processor), &mut Vec::new()).is_err();
    assert!(fails(&Inst::new(V_ADD_F32, [v(0, 1), s(1, 1), s(2, 1)]), "gfx900"), "constant bus");
    assert!(
        fails(&Inst::new(V_ADD_F32, [v(0, 1), v(2, 1), Operand::Imm(0x1234)]), "gfx900"),
        "literal in VOP3"
    );
    assert!(fails(&Inst::new(S_LOAD_DWORDX2, [s(1, 2), s(4, 2), Operand::Imm(0)]), "gfx900"), "alignment");
    assert!(fails(&Inst::new(GLOBAL_LOAD_DWORD, [v(0, 1), v(1, 2), Operand::Off]), "gfx803"), "generation");
    assert!(fails(&Inst::new(V_FMAC_F32, [v(0, 1), v(1, 1), v(2, 1)]), "gfx900"), "ability");
    assert!(!fails(&Inst::new(V_FMAC_F32, [v(0, 1), v(1, 1), v(2, 1)]), "gfx906"));
    let mods = Modifiers { omod: 1, ..Modifiers::default() };
    assert!(fails(&Inst::new(V_ADD_U32, [v(0, 1), v(1, 1), v(2, 1)]).with_mods(mods), "gfx900"), "modifier");
    let mods = Modifiers { offset: 4096, ..Modifiers::default() };
    let load = Inst::new(GLOBAL_LOAD_DWORD, [v(0, 1), v(1, 2), Operand::Off]).with_mods(mods);
    assert!(fails(&load, "gfx900"), "offset");
}
