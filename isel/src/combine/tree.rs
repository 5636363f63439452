//! Trees of instructions that only move bytes, and the one instruction that does the same.
//!
//! A dword whose bytes are those of another one is that one. What comes from one register is a shift, a mask or a field; bytes of two registers
//! are `v_alignbit` or, with a constant that names them, `v_perm`. Where a byte or half of it is what an instruction has computed for it alone, SDWA lets that
//! instruction write it into place: beside zeros, or into the register that holds the rest.
//!
//! Sources: GCN3 and Vega ISA, "SDWA" (`dst_sel`, `dst_unused`), V_PERM_B32, V_ALIGNBIT_B32.

use super::bytes::{Byte, Bytes, moves_bytes};
use super::{Combiner, single_result, vgpr};
use mir::isa::{Format, OpFlags, Opcode, Role, ValueType};
use mir::machine::{Encoding, Extension, Function, Inst, Operand, RegFile, Sdwa, SdwaSel, SdwaUnused, VReg};
use mir::target::Features;
use smallvec::SmallVec;

/// Instructions of a tree that are looked at.
const MOST: usize = 16;

/// What goes with the root of a tree.
struct Tree {
    /// Instructions that nobody else needs, the root included.
    size: usize,
    /// Whether one of them reads an SGPR, as masks are in.
    reads_scalar: bool,
    /// How often the tree reads a register.
    reads: SmallVec<[(VReg, u32); 8]>,
}

impl Tree {
    fn reads(&self, reg: VReg) -> u32 {
        self.reads.iter().find(|(read, _)| *read == reg).map_or(0, |read| read.1)
    }
}

/// A dword of a register.
type Dword = (VReg, u8);

/// Replaces the tree whose root is instruction `i` of the block, where that saves instructions.
pub(super) fn replace(c: &mut Combiner<'_>, f: &mut Function, insts: &mut [Inst], i: usize) {
    if !moves_bytes(insts[i].op) {
        return;
    }
    let Some(dst) = single_result(f, &insts[i]) else { return };
    if !c.known.has(dst) || c.uses[dst] == 0 {
        return;
    }
    let bytes = c.known.dword(dst, 0);
    let foreign = |byte: &Byte| match *byte {
        Byte::Const(_) => true,
        Byte::Part(reg, _) => reg != dst && f.vregs[reg].file == RegFile::Vgpr,
    };
    if !bytes.iter().all(foreign) {
        return;
    }
    let tree = grow(c, f, insts, i);
    let new = match write_part(c, f, insts, i, dst, &bytes, &tree) {
        Some(new) => new,
        None => match one_instruction(c, f, dst, &bytes, &tree) {
            Some(new) => new,
            None => return,
        },
    };
    c.put(&mut insts[i], new);
}

/// The instructions of the block that only the root needs.
fn grow(c: &Combiner<'_>, f: &Function, insts: &[Inst], root: usize) -> Tree {
    let mut tree = Tree { size: 0, reads_scalar: false, reads: SmallVec::new() };
    let mut todo: SmallVec<[usize; 8]> = SmallVec::new();
    todo.push(root);
    while let Some(i) = todo.pop() {
        tree.size += 1;
        let inst = &insts[i];
        for operand in &inst.operands[inst.defs_end()..] {
            let Some((reg, _)) = vgpr(f, operand) else {
                tree.reads_scalar |= operand.as_imm().is_none();
                continue;
            };
            let reads = match tree.reads.iter_mut().find(|(read, _)| *read == reg) {
                Some((_, reads)) => {
                    *reads += 1;
                    *reads
                }
                None => {
                    tree.reads.push((reg, 1));
                    1
                }
            };
            let place = c.places[reg];
            if reads == c.uses[reg]
                && place.block == c.block
                && moves_bytes(insts[place.index as usize].op)
                && tree.size + todo.len() < MOST
            {
                todo.push(place.index as usize);
            }
        }
    }
    tree
}

/// The instruction that computes a part of the root, with the root as its destination.
fn write_part(
    c: &Combiner<'_>,
    f: &Function,
    insts: &[Inst],
    root: usize,
    dst: VReg,
    bytes: &Bytes,
    tree: &Tree,
) -> Option<Inst> {
    if !c.target.has(Features::SDWA) {
        return None;
    }
    (0..4).find_map(|k| {
        let Byte::Part(part, 0) = bytes[k] else { return None };
        let place = c.places[part];
        if f.vregs[part].dwords != 1
            || place.block != c.block
            || place.epoch != c.epoch
            || place.index as usize >= root
            || tree.reads(part) != c.uses[part]
        {
            return None;
        }
        let word = k % 2 == 0 && bytes[k + 1] == Byte::Part(part, 1);
        let sel = match (word, k) {
            (true, 0) => SdwaSel::Word0,
            (true, _) => SdwaSel::Word1,
            (false, 0) => SdwaSel::Byte0,
            (false, 1) => SdwaSel::Byte1,
            (false, 2) => SdwaSel::Byte2,
            (false, _) => SdwaSel::Byte3,
        };
        let written = k..k + 1 + usize::from(word);
        let rest = || (0..4).filter(|n| !written.contains(n));
        // A register that is read twice is not written once.
        if rest().any(|n| matches!(bytes[n], Byte::Part(reg, _) if reg == part)) {
            return None;
        }
        let kept = if rest().all(|n| bytes[n] == Byte::Const(0)) {
            None
        } else {
            let n = rest().next()?;
            let Byte::Part(reg, at) = bytes[n] else { return None };
            let old: Dword = (reg, at / 4);
            let whole = c.known.dword(old.0, old.1);
            if rest().any(|n| bytes[n] != whole[n]) {
                return None;
            }
            // Who needs the old value later needs a copy of it.
            let dies = f.vregs[reg].dwords == 1 && tree.reads(reg) == c.uses[reg];
            if !dies && tree.size < 2 {
                return None;
            }
            Some(old)
        };
        let inst = &insts[place.index as usize];
        write_to(c, f, inst, dst, sel, kept)
    })
}

/// `inst` with a part of `dst` as its destination; the rest is that of `kept`, or zero.
fn write_to(
    c: &Combiner<'_>,
    f: &Function,
    inst: &Inst,
    dst: VReg,
    sel: SdwaSel,
    kept: Option<Dword>,
) -> Option<Inst> {
    let info = inst.op.info();
    let number = matches!(info.operands.first()?.ty, ValueType::F32);
    if !matches!(info.format, Format::Vop1 | Format::Vop2)
        || inst.mods.ext != Extension::None
        || inst.encoding != Encoding::Auto
        || info.flags.intersects(OpFlags::COPY.union(OpFlags::EXEC_DEF))
        || info.operands.iter().any(|desc| desc.role == Role::DefUse)
        || number
    {
        return None;
    }
    let mut new = inst.clone();
    let unused = if kept.is_some() { SdwaUnused::Preserve } else { SdwaUnused::Pad };
    new.mods.ext = Extension::Sdwa(Sdwa { dst_sel: sel, dst_unused: unused, ..Sdwa::default() });
    new.encoding = Encoding::Sdwa;
    new.operands[0] = Operand::vreg(dst, 1);
    c.settle_carry(&mut new);
    if !c.has_form(f, &new, Encoding::Sdwa) {
        return None;
    }
    new.operands.extend(kept.map(|(reg, sub)| Operand::sub(reg, sub, 1)));
    Some(new)
}

/// The one instruction that puts `bytes` together, if the tree has more.
fn one_instruction(
    c: &mut Combiner<'_>,
    f: &mut Function,
    dst: VReg,
    bytes: &Bytes,
    tree: &Tree,
) -> Option<Inst> {
    let mut sources: SmallVec<[Dword; 2]> = SmallVec::new();
    for byte in bytes {
        match *byte {
            Byte::Part(reg, at) => {
                if !sources.contains(&(reg, at / 4)) {
                    if sources.len() == 2 {
                        return None;
                    }
                    sources.push((reg, at / 4));
                }
            }
            Byte::Const(0 | 0xff) => {}
            Byte::Const(_) => return None,
        }
    }
    let &first = sources.first()?;
    let register = |(reg, sub): Dword| Operand::sub(reg, sub, 1);
    let out = Operand::vreg(dst, 1);
    if sources.len() == 1 && *bytes == c.known.dword(first.0, first.1) {
        return Some(Inst::new(Opcode::COPY, [out, register(first)]));
    }
    if tree.size < 2 {
        return None;
    }
    let at = |k: usize, (reg, sub): Dword| bytes[k] == Byte::Part(reg, 4 * sub + k as u8);
    if let [only] = sources[..] {
        if let Some(new) = shift_or_field(out, bytes, only) {
            return Some(new);
        }
        let mask = |k: usize| if bytes[k] == Byte::Const(0) { 0 } else { 0xff };
        if (0..4).all(|k| at(k, only) || bytes[k] == Byte::Const(0)) {
            let mask = u32::from_le_bytes([mask(0), mask(1), mask(2), mask(3)]);
            let mask = Operand::Imm(i64::from(mask as i32));
            return Some(Inst::new(Opcode::V_AND_B32, [out, mask, register(only)]));
        }
    }
    let second = *sources.last()?;
    for (high, low) in [(first, second), (second, first)] {
        for shift in 1..4usize {
            let aligned = (0..4).all(|k| {
                let (from, byte) = if k + shift < 4 { (low, k + shift) } else { (high, k + shift - 4) };
                bytes[k] == Byte::Part(from.0, 4 * from.1 + byte as u8)
            });
            if aligned {
                let amount = Operand::Imm(8 * shift as i64);
                return Some(Inst::new(Opcode::V_ALIGNBIT_B32, [out, register(high), register(low), amount]));
            }
        }
    }
    // The constant may be an instruction more, unless it takes the place of a mask.
    if !Opcode::V_PERM_B32.info().exists_on(c.target) {
        return None;
    }
    let selector = bytes.map(|byte| match byte {
        Byte::Const(0) => 12,
        Byte::Const(_) => 13,
        Byte::Part(reg, at) => at % 4 + if (reg, at / 4) == second { 0 } else { 4 },
    });
    let selector = u32::from_le_bytes(selector);
    if tree.size < 3 && !tree.reads_scalar && !c.constants.contains_key(&selector) {
        return None;
    }
    let selector = c.scalar(f, selector);
    Some(Inst::new(Opcode::V_PERM_B32, [out, register(first), register(second), selector]))
}

/// A left shift, or a field with zeros above, of one register.
fn shift_or_field(out: Operand, bytes: &Bytes, (reg, sub): Dword) -> Option<Inst> {
    let source = Operand::sub(reg, sub, 1);
    let number = |n: usize| Operand::Imm(8 * n as i64);
    let low_zeros = bytes.iter().take_while(|byte| **byte == Byte::Const(0)).count();
    if (1..4).contains(&low_zeros)
        && (low_zeros..4).all(|k| bytes[k] == Byte::Part(reg, 4 * sub + (k - low_zeros) as u8))
    {
        return Some(Inst::new(Opcode::V_LSHLREV_B32, [out, number(low_zeros), source]));
    }
    let Byte::Part(_, at) = bytes[0] else { return None };
    let first = usize::from(at % 4);
    let width = bytes.iter().take_while(|byte| **byte != Byte::Const(0)).count();
    let field = (0..4).all(|k| match bytes[k] {
        Byte::Part(_, from) => k < width && usize::from(from) == usize::from(at) + k && first + k < 4,
        Byte::Const(c) => k >= width && c == 0,
    });
    if !field || first == 0 {
        return None;
    }
    Some(if first + width == 4 {
        Inst::new(Opcode::V_LSHRREV_B32, [out, number(first), source])
    } else {
        Inst::new(Opcode::V_BFE_U32, [out, source, number(first), number(width)])
    })
}
