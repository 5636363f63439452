//! Two accesses of LDS become one instruction.
//!
//! `ds_read2` and `ds_write2` reach two places behind one address, each up to 255 elements away, or 255 times 64 (`st64`). Neighbours
//! have been merged as IR; here those that stand apart are found, in a block, behind one register. A load goes up to the first of the two
//! if nothing in between may write the same place; a store goes down to the second if nothing in between may read or write the same place.
//! Two stores alone are not paired if other memory is asked for between them: what each writes may come from a load of its own, and while the
//! second arrives the first is written. Of more, most would wait for each other anyway.
//!
//! Those that are left are paired behind an address of their own, a sum that all pairs of the block share which are near, where an addition
//! writes no carry.
//!
//! Cost: linear; of accesses without a partner at most [`MAX_OPEN`] are looked at, no further back than [`REACH`] instructions, and each passes at most
//! [`MAX_WRITTEN`] writes.
//!
//! Source: ISA manuals, "LDS: indexed and atomic access".

use crate::effects::{Effects, Spaces};
use crate::places::{Base, Place};
use mir::isa::Opcode;
use mir::machine::{BlockData, Function, Inst, Modifiers, Operand, Reg, RegFile, VRegFlags};
use mir::target::{Features, Target};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Accesses that wait for a partner at a time.
const MAX_OPEN: usize = 16;
/// Stores that loads pass.
const MAX_WRITTEN: usize = 16;
/// Instructions between two partners: what is loaded earlier takes registers for as long.
const REACH: usize = 96;
/// Sums of one address that are looked at.
const MAX_KNOWN: usize = 4;
/// The largest of the two offsets, in elements or in 64 of them.
const MAX_OFFSET: i32 = 255;

/// Accesses of one place, and those of two places that stand for two of them.
struct Kind {
    op: Opcode,
    /// Dwords of an element.
    dwords: u8,
    store: bool,
    two: Opcode,
    /// The same with offsets in 64 elements.
    far: Opcode,
}

const KINDS: [Kind; 4] = {
    use Opcode::*;
    [
        Kind { op: DS_READ_B32, dwords: 1, store: false, two: DS_READ2_B32, far: DS_READ2ST64_B32 },
        Kind { op: DS_READ_B64, dwords: 2, store: false, two: DS_READ2_B64, far: DS_READ2ST64_B64 },
        Kind { op: DS_WRITE_B32, dwords: 1, store: true, two: DS_WRITE2_B32, far: DS_WRITE2ST64_B32 },
        Kind { op: DS_WRITE_B64, dwords: 2, store: true, two: DS_WRITE2_B64, far: DS_WRITE2ST64_B64 },
    ]
};

/// An access that may get a partner.
#[derive(Clone, Copy)]
struct Access {
    /// Its place in the block.
    at: usize,
    kind: &'static Kind,
    place: Place,
}

impl Access {
    fn bytes(&self) -> i32 {
        i32::from(self.kind.dwords) * 4
    }

    /// Whether both are of one kind and behind one address.
    fn suits(&self, other: &Self) -> bool {
        self.kind.op == other.kind.op && self.place.base == other.place.base
    }

    /// The instruction for both and its offsets, behind the address and `bias`.
    fn with(&self, other: &Self, bias: i32) -> Option<(Opcode, [u8; 2], i32)> {
        [(self.kind.two, 1), (self.kind.far, 64)].into_iter().find_map(|(op, elements)| {
            let unit = self.bytes() * elements;
            let scaled = |place: i32| match ((place - bias) % unit, (place - bias) / unit) {
                (0, n @ 0..=MAX_OFFSET) => u8::try_from(n).ok(),
                _ => None,
            };
            Some((op, [scaled(self.place.bytes.0)?, scaled(other.place.bytes.0)?], bias))
        })
    }

    /// The same behind another address: one of those that are `known`, or a new one.
    fn behind(&self, other: &Self, known: &Known) -> Option<(Opcode, [u8; 2], i32)> {
        let lowest = self.place.bytes.0.min(other.place.bytes.0);
        let near = self.bytes() * 64;
        let biases = known.get(&self.place.base).into_iter().flatten().copied();
        biases.chain([lowest - lowest % near, lowest % near]).find_map(|bias| self.with(other, bias))
    }
}

/// What is added to addresses for the pairs of a block.
type Known = FxHashMap<Base, SmallVec<[i32; 4]>>;

/// Two accesses, in the order of the code.
struct Pair {
    first: Access,
    second: Access,
    op: Opcode,
    offsets: [u8; 2],
    /// What is added to the address.
    bias: i32,
}

/// Pairs accesses of LDS in all blocks of `f`, whose registers are virtual.
pub fn pair_lds(f: &mut Function, target: &Target) {
    let mut pairs = Vec::new();
    let moves = target.has(Features::ADD_NO_CARRY);
    for place in 0..f.layout.len() {
        let block = f.layout[place];
        for moved in [false, true] {
            if moved && !moves {
                break;
            }
            let found = find(f, &f.blocks[block], target, moved, &mut pairs);
            if !pairs.is_empty() {
                let insts = std::mem::take(&mut f.blocks[block].insts);
                let before = insts.len();
                let insts = rewrite(f, insts, &pairs);
                let data = &mut f.blocks[block];
                data.tail_start = data.tail_start + insts.len() as u32 - before as u32;
                data.insts = insts;
            }
            // Nothing else has a partner.
            if found < 2 * pairs.len() + 2 {
                break;
            }
        }
    }
}

/// What `inst` is, if it may get a partner.
fn access(f: &Function, at: usize, inst: &Inst) -> Option<Access> {
    let kind = KINDS.iter().find(|kind| kind.op == inst.op)?;
    let offset = inst.mods.offset;
    let plain = inst.mods == Modifiers { offset, ..Modifiers::default() };
    if !plain
        || !inst.mem.is_some_and(|mem| mem.access.is_simple() && 1 << mem.access.align_log2 >= mem.bytes)
    {
        return None;
    }
    let [first, second] = inst.operands[..] else { return None };
    let data = if kind.store { second } else { first };
    let Reg::Virtual(value) = data.as_reg()?.reg else { return None };
    let whole = kind.store || !f.vregs[value].flags.contains(VRegFlags::WHOLE_WAVE);
    Some(Access { at, kind, place: Place::in_lds(inst).filter(|_| whole)? })
}

/// Finds the pairs of a block, behind another address if it may be `moved`. How many accesses there are, paired or not.
fn find(f: &Function, data: &BlockData, target: &Target, moved: bool, pairs: &mut Vec<Pair>) -> usize {
    pairs.clear();
    let (mut accesses, mut known) = (0, Known::default());
    let (mut loads, mut stores): (Vec<Access>, Vec<Access>) = Default::default();
    // What was written since the first of the loads that wait, and where in the code.
    let mut written: Vec<(usize, Place)> = Vec::new();
    let body = data.head_len as usize..data.tail_start as usize;
    let is_store = |inst: &&Inst| KINDS.iter().any(|kind| kind.store && kind.op == inst.op);
    let two_stores = data.insts[body.clone()].iter().filter(is_store).take(3).count() == 2;
    for (at, inst) in data.insts.iter().enumerate().take(body.end).skip(body.start) {
        mir::interrupt::checkpoint();
        let effects = Effects::of(inst, target);
        if effects.wall {
            loads.clear();
            stores.clear();
            written.clear();
            continue;
        }
        if two_stores && effects.late && !effects.reads.meets(Spaces::LDS) {
            // What is loaded here may be what the second one writes, and the pair would wait for it.
            stores.clear();
        }
        if effects.writes.meets(Spaces::LDS) || effects.reads.meets(Spaces::LDS) {
            stores.retain(|open| effects.place.is_some_and(|place| open.place.apart(&place)));
        }
        if effects.writes.meets(Spaces::LDS) {
            match effects.place {
                Some(place) if written.len() < MAX_WRITTEN && !loads.is_empty() => written.push((at, place)),
                _ => {
                    loads.clear();
                    written.clear();
                }
            }
        }
        let Some(second) = access(f, at, inst) else { continue };
        accesses += 1;
        let open = if second.kind.store { &mut stores } else { &mut loads };
        open.retain(|first| at - first.at <= REACH);
        let found = open
            .iter()
            .enumerate()
            .filter(|(_, first)| {
                let passes =
                    |&(there, place): &(usize, Place)| there < first.at || place.apart(&second.place);
                first.suits(&second) && (second.kind.store || written.iter().all(passes))
            })
            .find_map(|(i, first)| {
                let pair = if moved { first.behind(&second, &known) } else { first.with(&second, 0) };
                Some((i, pair?))
            });
        match found {
            Some((i, (op, offsets, bias))) => {
                let first = open.remove(i);
                if moved {
                    let biases = known.entry(second.place.base).or_default();
                    if biases.len() < MAX_KNOWN && !biases.contains(&bias) {
                        biases.push(bias);
                    }
                }
                if first.kind.store {
                    // It is written here now, where loads may already have come by that stand behind it.
                    written.push((at, first.place));
                }
                pairs.push(Pair { first, second, op, offsets, bias });
            }
            None => {
                if open.len() >= MAX_OPEN {
                    open.remove(0);
                }
                open.push(second);
            }
        }
    }
    accesses
}

/// `insts` with one instruction for each pair.
fn rewrite(f: &mut Function, insts: Vec<Inst>, pairs: &[Pair]) -> Vec<Inst> {
    // What becomes of an instruction that is in a pair: nothing, or the number of its pair.
    let mut fate: Vec<Option<Option<usize>>> = vec![None; insts.len()];
    for (n, pair) in pairs.iter().enumerate() {
        let [kept, dropped] = match pair.first.kind.store {
            true => [pair.second.at, pair.first.at],
            false => [pair.first.at, pair.second.at],
        };
        fate[kept] = Some(Some(n));
        fate[dropped] = Some(None);
    }
    let made: Vec<Inst> = pairs.iter().map(|pair| joined(&insts, pair)).collect();
    let mut out = Vec::with_capacity(insts.len() + pairs.len());
    let results: Vec<[Operand; 2]> =
        pairs.iter().map(|pair| [pair.first.at, pair.second.at].map(|at| insts[at].operands[0])).collect();
    // The sums of addresses and numbers that are there.
    let mut sums: FxHashMap<(Operand, i32), Operand> = FxHashMap::default();
    for (inst, fate) in insts.into_iter().zip(fate) {
        let n = match fate {
            None => {
                out.push(inst);
                continue;
            }
            Some(None) => continue,
            Some(Some(n)) => n,
        };
        let mut two = made[n].clone();
        let (kind, loc, bias) = (pairs[n].first.kind, two.loc, pairs[n].bias);
        if bias != 0 {
            let address = &mut two.operands[0];
            let sum = sums.entry((*address, bias)).or_insert_with(|| {
                let sum = Operand::vreg(f.new_vreg(RegFile::Vgpr, 1), 1);
                let mut add = Inst::new(Opcode::V_ADD_U32, [sum, Operand::Imm(bias.into()), *address]);
                add.loc = loc;
                out.push(add);
                sum
            });
            *address = *sum;
        }
        if kind.store {
            out.push(two);
            continue;
        }
        let tuple = f.new_vreg(RegFile::Vgpr, 2 * kind.dwords);
        two.operands.insert(0, Operand::vreg(tuple, 2 * kind.dwords));
        out.push(two);
        for (result, sub) in results[n].into_iter().zip([0, kind.dwords]) {
            let mut copy = Inst::new(Opcode::COPY, [result, Operand::sub(tuple, sub, kind.dwords)]);
            copy.loc = loc;
            out.push(copy);
        }
    }
    out
}

/// The instruction for a pair; that of loads has no result yet.
fn joined(insts: &[Inst], pair: &Pair) -> Inst {
    let [first, second] = [&insts[pair.first.at], &insts[pair.second.at]];
    let mut inst = match pair.first.kind.store {
        true => Inst::new(pair.op, [second.operands[0], first.operands[1], second.operands[1]]),
        false => Inst::new(pair.op, [first.operands[1]]),
    };
    inst.mods.offset = pair.offsets[0].into();
    inst.mods.offset1 = pair.offsets[1];
    inst.mem = first.mem;
    if let Some(mem) = &mut inst.mem {
        mem.bytes *= 2;
    }
    inst.loc = if pair.first.kind.store { second.loc } else { first.loc };
    inst
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::machine::parse_function;

    /// The body of a block behind the pass, as text, one line an instruction.
    fn paired(body: &str) -> Vec<String> {
        let mut text = String::from("function f, modelled\n  entry %0:v1 = workitem_id_x in v0\nmbb0:\n");
        text.push_str("  %1:v1 = v_lshlrev_b32 3, %0:v1\n  %2:v1 = v_lshlrev_b32 2, %0:v1\n");
        text.push_str(body);
        text.push_str("  wave end\n");
        let mut f = parse_function(&text, "test").unwrap_or_else(|error| panic!("{error:?}"));
        let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
        pair_lds(&mut f, &target);
        let block = f.layout[0];
        assert_eq!(f.blocks[block].tail_start as usize, f.blocks[block].insts.len());
        f.blocks[block].insts[2..]
            .iter()
            .map(|inst| {
                let mods = &inst.mods;
                format!("{:?} {} {}", inst.op, mods.offset, mods.offset1)
            })
            .collect()
    }

    const B32: &str = "[4 bytes, space 3, align 4]";
    const B64: &str = "[8 bytes, space 3, align 8]";

    #[test]
    fn loads_go_up_and_stores_go_down() {
        let code = format!(
            "  %3:v1 = ds_read_b32 %1:v1 offset:4 {B32}\n  %4:v1 = v_add_u32 1, %3:v1\n\
             \x20 %5:v1 = ds_read_b32 %1:v1 offset:1020 {B32}\n  ds_write_b32 %2:v1, %4:v1 {B32}\n\
             \x20 %6:v1 = v_add_u32 1, %5:v1\n  ds_write_b32 %2:v1, %6:v1 offset:8 {B32}\n"
        );
        let expected = [
            "DS_READ2_B32 1 255",
            "COPY 0 0",
            "COPY 0 0",
            "V_ADD_U32 0 0",
            "V_ADD_U32 0 0",
            "DS_WRITE2_B32 0 2",
        ];
        assert_eq!(paired(&code), expected);
    }

    #[test]
    fn places_far_apart_are_counted_in_64() {
        let code = format!(
            "  %3:v2 = ds_read_b64 %1:v1 {B64}\n  %4:v2 = ds_read_b64 %1:v1 offset:4096 {B64}\n\
             \x20 ds_write_b64 %2:v1, %3:v2 offset:512 {B64}\n  ds_write_b64 %2:v1, %4:v2 offset:8 {B64}\n"
        );
        let expected = ["DS_READ2ST64_B64 0 8", "COPY 0 0", "COPY 0 0", "DS_WRITE2_B64 64 1"];
        assert_eq!(paired(&code), expected);
    }

    #[test]
    fn places_far_behind_share_an_address() {
        let load = |n: u32, offset: u32| format!("  %{n}:v2 = ds_read_b64 %1:v1 offset:{offset} {B64}\n");
        let code = [load(3, 2176), load(4, 2720), load(5, 3264), load(6, 3808)].concat();
        let copies = ["COPY 0 0"; 2];
        let expected =
            [&["V_ADD_U32 0 0", "DS_READ2_B64 16 84"][..], &copies, &["DS_READ2_B64 152 220"], &copies]
                .concat();
        assert_eq!(paired(&code), expected);
    }

    /// Another address in between, a load of what is stored, a store to the same place, volatile accesses and offsets that do not fit.
    #[test]
    fn what_may_be_the_same_place_stays() {
        let between = |inst: &str| {
            let code = format!(
                "  ds_write_b32 %1:v1, %0:v1 {B32}\n  {inst}\n  ds_write_b32 %1:v1, %2:v1 offset:16 {B32}\n"
            );
            paired(&code).iter().any(|line| line.starts_with("DS_WRITE2"))
        };
        assert!(between(&format!("%3:v1 = ds_read_b32 %1:v1 offset:4 {B32}")));
        assert!(!between(&format!("%3:v1 = ds_read_b32 %1:v1 {B32}")));
        assert!(!between(&format!("%3:v1 = ds_read_b32 %2:v1 offset:4 {B32}")));
        assert!(!between(&format!("ds_write_b32 %2:v1, %0:v1 {B32}")));
        let twice = format!("  ds_write_b32 %1:v1, %0:v1 {B32}\n  ds_write_b32 %1:v1, %2:v1 {B32}\n");
        assert_eq!(paired(&twice).len(), 2);
        let odd =
            format!("  ds_write_b32 %1:v1, %0:v1 {B32}\n  ds_write_b32 %1:v1, %2:v1 offset:1028 {B32}\n");
        // No distance that either unit counts.

        assert_eq!(paired(&odd).len(), 2);
        let volatile = odd.replace("align 4]", "align 4, volatile]").replace("1028", "4");
        assert_eq!(paired(&volatile).len(), 2);
        let written = format!(
            "  %3:v1 = ds_read_b32 %1:v1 {B32}\n  ds_write_b32 %2:v1, %0:v1 {B32}\n  %4:v1 = ds_read_b32 %1:v1 offset:8 {B32}\n"
        );
        assert_eq!(paired(&written).len(), 3);
        // A store behind the same register says where.
        for (at, lines) in [(4, 4), (8, 3), (12, 4)] {
            let written = written
                .replace("ds_write_b32 %2:v1, %0:v1", &format!("ds_write_b32 %1:v1, %0:v1 offset:{at}"));
            assert_eq!(paired(&written).len(), lines, "{at}");
        }
    }

    /// What each load reads and what memory holds at the end, where the registers %1 and %2 point to `bases`: bytes by the store that wrote them.
    fn run(insts: &[Inst], bases: [i32; 2]) -> (Vec<Vec<i32>>, Vec<(i32, i32)>) {
        let (mut memory, mut tuples) = (std::collections::BTreeMap::new(), std::collections::HashMap::new());
        let mut addresses: std::collections::HashMap<u32, i32> = [1, 2].into_iter().zip(bases).collect();
        let mut loads = std::collections::BTreeMap::new();
        for inst in insts {
            let register = |k: usize| match inst.operands[k].as_reg().expect("a register").reg {
                Reg::Virtual(reg) => reg.as_u32(),
                Reg::Physical(_) => unreachable!("code of virtual registers"),
            };
            if inst.op == Opcode::COPY {
                let source = inst.operands[1].as_reg().expect("a part of a tuple");
                let read: &Vec<Vec<i32>> = &tuples[&register(1)];
                loads.insert(register(0), read[usize::from(source.sub / source.dwords)].clone());
                continue;
            }
            if let (Opcode::V_ADD_U32, Operand::Imm(more)) = (inst.op, inst.operands[1]) {
                addresses.insert(register(0), addresses[&register(2)] + more as i32);
                continue;
            }
            let single = KINDS.iter().find(|kind| kind.op == inst.op);
            let Some(kind) = KINDS.iter().find(|k| [k.op, k.two, k.far].contains(&inst.op)) else { continue };
            let size = 4 * i32::from(kind.dwords);
            let unit = if inst.op == kind.far { 64 * size } else { size };
            let base = addresses[&register(usize::from(!kind.store))];
            let places = match single {
                Some(_) => vec![base + inst.mods.offset],
                None => vec![base + inst.mods.offset * unit, base + i32::from(inst.mods.offset1) * unit],
            };
            if kind.store {
                for (k, place) in places.into_iter().enumerate() {
                    memory.extend((place..place + size).map(|byte| (byte, register(1 + k) as i32)));
                }
                continue;
            }
            let read = places.iter().map(|&place| {
                (place..place + size)
                    .map(|byte| memory.get(&byte).copied().unwrap_or(-byte))
                    .collect::<Vec<i32>>()
            });
            match single {
                Some(_) => _ = loads.insert(register(0), read.flatten().collect()),
                None => _ = tuples.insert(register(0), read.collect()),
            }
        }
        (loads.into_values().collect(), memory.into_iter().collect())
    }

    /// Random accesses behind two registers, which may meet, read and leave the same once they are paired.
    #[test]
    fn pairs_leave_the_same_memory() {
        let target = Target::new(Target::processor_by_name("gfx900").expect("a processor of the table"));
        let mut random = fastrand::Rng::with_seed(7);
        let (mut pairs, mut moved) = (0, 0);
        for _ in 0..4000 {
            let mut text = String::from("function f, modelled\n  entry %0:v1 = workitem_id_x in v0\nmbb0:\n");
            text.push_str("  %1:v1 = v_lshlrev_b32 3, %0:v1\n  %2:v1 = v_lshlrev_b32 2, %0:v1\n");
            for n in 0..random.u32(4..16) {
                let base = if random.u8(..6) > 0 { 1 } else { 2 };
                // Near, or so far away that pairs have an address of their own.
                let at = 4 * random.u32(..6) + if random.u8(..3) > 0 { 0 } else { 1280 };
                let (data, value) = (3 + 2 * n, 4 + 2 * n);
                text.push_str(&format!("  %{data}:v1 = v_mov_b32 {n}\n"));
                text.push_str(&match random.bool() {
                    true => format!("  ds_write_b32 %{base}:v1, %{data}:v1 offset:{at} {B32}\n"),
                    false => format!("  %{value}:v1 = ds_read_b32 %{base}:v1 offset:{at} {B32}\n"),
                });
            }
            text.push_str("  wave end\n");
            let mut f = parse_function(&text, "test").unwrap_or_else(|error| panic!("{error:?}"));
            let block = f.layout[0];
            let before = f.blocks[block].insts.clone();
            pair_lds(&mut f, &target);
            let after = &f.blocks[block].insts;
            pairs += after.iter().filter(|inst| KINDS.iter().any(|kind| kind.two == inst.op)).count();
            moved += after.iter().filter(|inst| inst.op == Opcode::V_ADD_U32).count();
            for bases in [[0, 256], [0, 0], [4, 0], [0, 8], [0, 1280]] {
                assert_eq!(run(&before, bases), run(after, bases), "{bases:?}\n{text}");
            }
        }
        assert!(pairs > 4000 && moved > 400, "{pairs} pairs, {moved} behind an address of their own");
    }
}
