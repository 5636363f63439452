//! Known encodings, and what must not encode.

use super::*;
use crate::isa::{MaskOp, Opcode};
use crate::target::Features;

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

/// A processor of GFX9 that had waves of 32 lanes: masks are single registers in text and bytes, and pairs are none.
#[test]
fn masks_of_32_lanes_are_single_registers() {
    use Opcode::*;
    let wide = target("gfx900");
    let narrow = Target { features: wide.features | Features::WAVEFRONTSIZE32, ..wide };
    let vcc = Operand::vcc(WaveSize::W32);
    let cases = [
        (
            Inst::new(V_CMP_LT_F32, [vcc, v(0, 1), v(1, 1)]),
            "v_cmp_lt_f32_e32 vcc_lo, v0, v1",
            &[0x7c82_0300][..],
        ),
        (
            Inst::new(V_CMP_LT_F32, [s(1, 1), v(0, 1), v(1, 1)]),
            "v_cmp_lt_f32_e64 s1, v0, v1",
            &[0xd041_0001, 0x0002_0300],
        ),
        (
            Inst::new(V_CNDMASK_B32, [v(0, 1), v(1, 1), v(2, 1), s(3, 1)]),
            "v_cndmask_b32_e64 v0, v1, v2, s3",
            &[0xd100_0000, 0x000e_0501],
        ),
        (
            Inst::new(V_ADD_CO_U32, [v(0, 1), vcc, v(1, 1), v(2, 1)]),
            "v_add_co_u32_e32 v0, vcc_lo, v1, v2",
            &[0x3200_0501],
        ),
    ];
    for (inst, text, words) in cases {
        let mut out = Vec::new();
        encode(&inst, &narrow, &mut out).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(out, words, "{text}");
        let (decoded, _) = crate::isa::decode(words, &narrow).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(decoded.operands, inst.operands, "{text}");
        assert_eq!(decoded.display(&narrow).to_string(), text);
        let parsed = crate::isa::parse::Parser::new(&narrow).parse(text, 1, &|_| None);
        assert_eq!(parsed.unwrap_or_else(|e| panic!("{text}: {e}")).words[..], *words, "{text}");
        assert!(encode(&inst, &wide, &mut Vec::new()).is_err(), "{text} with waves of 64 lanes");
    }
    let pair = Inst::new(V_CMP_LT_F32, [Operand::vcc(WaveSize::W64), v(0, 1), v(1, 1)]);
    assert!(encode(&pair, &narrow, &mut Vec::new()).is_err());
}

/// Values of llvm-mc 22 for gfx1010.
#[test]
fn exec_is_saved_in_one_register_on_gfx10() {
    for (op, code) in [
        (MaskOp::AndSaveexec, 0x3c),
        (MaskOp::OrSaveexec, 0x3d),
        (MaskOp::XorSaveexec, 0x3e),
        (MaskOp::AndN1Saveexec, 0x44),
    ] {
        let info = op.opcode(WaveSize::W32).info();
        assert_eq!((info.code(Generation::Gfx10), info.code(Generation::Gfx9)), (Some(code), None), "{op:?}");
    }
}
