//! Encoding: from branch instructions to code.
//!
//! Everything is encoded once; branch fields are patched when all offsets are known. Where a branch does not reach (±32,767 dwords),
//! [`islands`](crate::islands) are placed, and everything is encoded again. So it is where a branch has a distance that the processor cannot do (63 dwords on GFX10.1), with an
//! `s_nop` behind each of these. Cost: linear.

use crate::branches::REACH;
use crate::islands;
use cranelift_entity::SecondaryMap;
use emit::{CodeReloc, FinalFunction};
use mir::isa::{Opcode, encode as encode_inst};
use mir::machine::{Block, Function, Inst, Operand};
use mir::target::{Features, Target};
use mir::{Diagnostic, Result};

/// Encoded instructions of a function.
#[derive(Clone, Debug, Default)]
struct Code {
    /// Dwords.
    words: Vec<u32>,
    /// Places to relocate.
    relocs: Vec<CodeReloc>,
    /// Byte offsets where the source position changes, with the new one (index into `locs`).
    positions: Vec<(u32, u32)>,
}

/// Encodes `f`, whose blocks end in branch instructions.
///
/// # Errors
/// Those of the encoder; `Limit` where branches cannot be made to reach.
pub fn encode(mut f: Function, target: &Target) -> Result<FinalFunction> {
    let code = encode_code(&mut f, target)?;
    Ok(FinalFunction {
        code: code.words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        relocs: code.relocs,
        positions: code.positions,
        kernel: None,
        node: None,
        function: f,
    })
}

fn encode_code(f: &mut Function, target: &Target) -> Result<Code> {
    // Islands move branches, and padding may put one out of reach.
    for _ in 0..MAX_ROUNDS {
        let mut encoded = encode_blocks(f, target)?;
        if !encoded.patch() {
            islands::insert(f, &encoded.dwords)?;
            continue;
        }
        let short = target.has(Features::BRANCH_OF_63_DWORDS).then(|| encoded.branches_to_pad());
        match short.filter(|short| !short.is_empty()) {
            Some(short) => pad(f, &short),
            None => return Ok(encoded.code),
        }
    }
    Err(Diagnostic::defect("a branch does not reach its island"))
}

/// Rounds of encoding: as it is, with islands, padded, and some more where one of these undoes the other.
const MAX_ROUNDS: usize = 8;

/// The distance that goes wrong, in dwords from the next instruction.
///
/// Source: README-ISA of Mesa's ACO, "Offset3fBug"; LLVM's `offset-3f-bug`.
const BAD_DISTANCE: i64 = 0x3f;

/// Puts an `s_nop` behind each branch of `branches`, sorted numbers in the order of the layout.
fn pad(f: &mut Function, branches: &[u32]) {
    let mut number = 0;
    let mut wanted = branches.iter().copied().peekable();
    for &block in &f.layout {
        let data = &mut f.blocks[block];
        let here = data.insts.iter().filter(|inst| is_branch(inst)).count() as u32;
        if wanted.peek().is_none_or(|&next| next >= number + here) {
            number += here;
            continue;
        }
        for inst in std::mem::take(&mut data.insts) {
            let (counts, loc) = (is_branch(&inst), inst.loc);
            data.insts.push(inst);
            if counts {
                if wanted.next_if_eq(&number).is_some() {
                    data.insts.push(Inst { loc, ..Inst::new(Opcode::S_NOP, [Operand::Imm(0)]) });
                }
                number += 1;
            }
        }
        data.tail_start = data.insts.len() as u32;
    }
}

/// Whether `inst` is a branch to a block.
fn is_branch(inst: &Inst) -> bool {
    matches!(inst.operands.first(), Some(Operand::Block(_)))
}

/// A branch to be patched: its word, its target.
struct Fixup {
    word: u32,
    target: Block,
}

/// A function encoded but for the distances of its branches.
struct Encoded {
    code: Code,
    fixups: Vec<Fixup>,
    /// First word of each block.
    starts: SecondaryMap<Block, u32>,
    /// Words of each instruction, in the order of the layout.
    dwords: Vec<u8>,
}

fn encode_blocks(f: &Function, target: &Target) -> Result<Encoded> {
    let mut code = Code::default();
    let mut fixups = Vec::new();
    let count = f.layout.iter().map(|&block| f.blocks[block].insts.len()).sum();
    let mut dwords = Vec::with_capacity(count);
    code.words.reserve(count * 2);
    let mut starts: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    let mut loc = 0;
    for &block in &f.layout {
        starts[block] = code.words.len() as u32;
        for inst in &f.blocks[block].insts {
            mir::interrupt::checkpoint();
            let word = code.words.len() as u32;
            if inst.loc != 0 && inst.loc != loc {
                loc = inst.loc;
                code.positions.push((word * 4, loc));
            }
            if let Some(&Operand::Block(to)) = inst.operands.first() {
                fixups.push(Fixup { word, target: to });
                encode_inst(&Inst::new(inst.op, [Operand::Imm(0)]), target, &mut code.words)?;
                dwords.push(1);
                continue;
            }
            let relocated = if inst.op == Opcode::DATA_DWORD {
                let (word, relocated) = match inst.operands.first() {
                    Some(&Operand::Imm(value)) => (value as u32, None),
                    Some(Operand::Symbol { .. }) => (0, Some(0)),
                    _ => {
                        let error = Diagnostic::defect("data that is neither number nor symbol");
                        return Err(error.at(inst.op.info().name).in_function(&f.name));
                    }
                };
                code.words.push(word);
                dwords.push(1);
                relocated
            } else {
                let encoded = encode_inst(inst, target, &mut code.words)?;
                dwords.push(encoded.dwords);
                encoded.relocated
            };
            if let Some(index) = relocated {
                let symbol = inst.operands.iter().find_map(|operand| match *operand {
                    Operand::Symbol { symbol, addend, kind } => Some((symbol, addend, kind)),
                    _ => None,
                });
                let Some((symbol, addend, kind)) = symbol else {
                    return Err(
                        Diagnostic::defect("relocated literal without a symbol").at(inst.op.info().name)
                    );
                };
                let Some(&symbol) = f.symbols.get(symbol) else {
                    return Err(Diagnostic::defect("unknown symbol").at(inst.op.info().name));
                };
                let offset_bytes = (word + u32::from(index)) * 4;
                code.relocs.push(CodeReloc { offset_bytes, symbol, addend, kind });
            }
        }
    }
    Ok(Encoded { code, fixups, starts, dwords })
}

impl Encoded {
    /// The branches that need a dword more to their targets, as numbers in the order of the layout.
    ///
    /// Only forward branches have the distance, and what is inserted between one and its target stands behind later branches. So each is decided when all
    /// those are, in one walk backwards; no more branches stand in between than the distance is long.
    fn branches_to_pad(&self) -> Vec<u32> {
        let mut padded = Vec::new();
        for (number, fixup) in self.fixups.iter().enumerate().rev() {
            let target = self.starts[fixup.target];
            let distance = i64::from(target) - i64::from(fixup.word) - 1;
            if !(0..=BAD_DISTANCE).contains(&distance) {
                continue;
            }
            let between = |&&later: &&u32| self.fixups[later as usize].word < target;
            let inserted = padded.iter().rev().take_while(between).count() as i64;
            if distance + inserted == BAD_DISTANCE {
                padded.push(number as u32);
            }
        }
        padded.reverse();
        padded
    }

    /// Fills in the branches; false where one does not reach.
    fn patch(&mut self) -> bool {
        let Self { code, fixups, starts, .. } = self;
        let displacement = |fixup: &Fixup| i64::from(starts[fixup.target]) - i64::from(fixup.word) - 1;
        if !fixups.iter().all(|fixup| displacement(fixup).abs() <= REACH) {
            return false;
        }
        for fixup in fixups.iter() {
            let word = &mut code.words[fixup.word as usize];
            *word = (*word & 0xffff_0000) | u32::from(displacement(fixup) as i16 as u16);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{blocks, branches, pseudos};
    use cranelift_entity::EntityRef;
    use mir::ir::{CallConv, Func};
    use mir::machine::{Condition, Edge, PReg, Terminator};

    fn layout_and_encode(f: &mut Function, target: &Target) -> Result<Code> {
        blocks::fold_empty_blocks(f);
        pseudos::expand(f);
        branches::lower(f);
        encode_code(f, target)
    }

    fn target() -> Target {
        Target::new(Target::processor_by_name("gfx900").expect("gfx900 is in the table"))
    }

    fn function() -> Function {
        Function::new("f", CallConv::Kernel, Func::new(0))
    }

    fn nop() -> Inst {
        Inst::new(Opcode::S_NOP, [Operand::Imm(0)])
    }

    fn block(f: &mut Function, insts: usize) -> Block {
        let block = f.add_block();
        f.blocks[block].insts = vec![nop(); insts];
        block
    }

    fn connect(f: &mut Function, from: Block, term: Terminator, to: &[Block]) {
        f.blocks[from].term = term;
        f.blocks[from].wave_succs =
            to.iter().map(|&block| Edge { block, args: Default::default() }).collect();
    }

    /// Follows `code` from its start, taking conditional branches as `taken` says, for at most `steps` jumps; returns the
    /// distinct words between jumps: what a path executes besides branches.
    fn walk(code: &Code, taken: &[bool], steps: usize) -> Vec<usize> {
        let mut at = 0usize;
        let mut counts = vec![0];
        let mut decisions = taken.iter().copied();
        while counts.len() <= steps {
            let word = code.words[at];
            at += 1;
            let displacement = (word & 0xffff) as i16 as isize;
            match word >> 16 {
                0xbf81 => break,
                0xbf82 => at = at.checked_add_signed(displacement).expect("inside the code"),
                0xbf84..=0xbf89 => {
                    counts.push(0);
                    if decisions.next() == Some(true) {
                        at = at.checked_add_signed(displacement).expect("inside the code");
                    }
                }
                _ => *counts.last_mut().expect("never empty") += 1,
            }
        }
        counts
    }

    #[test]
    fn falls_through_and_inverts() {
        let mut f = function();
        let (a, b, c) = (block(&mut f, 1), block(&mut f, 2), block(&mut f, 3));
        connect(&mut f, a, Terminator::Uniform(Condition::Scc1), &[b, c]);
        connect(&mut f, b, Terminator::Jump, &[c]);
        connect(&mut f, c, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        // nop; s_cbranch_scc0 +2; nop; nop; nop; nop; nop; s_endpgm
        assert_eq!(code.words[1], 0xbf84_0002);
        assert_eq!((code.words.len(), code.words[7]), (8, 0xbf81_0000));
    }

    /// Where a branch over 63 dwords goes wrong there is none, also where padding of one makes another such; elsewhere nothing is inserted.
    #[test]
    fn no_branch_of_the_bad_distance() {
        let branches = |name: &str, first: usize, second: usize| {
            let mut f = function();
            // Two branches to one target; `first` dwords between them, `second` from the latter on.
            let (a, b, c, end) =
                (block(&mut f, 1), block(&mut f, first), block(&mut f, second), block(&mut f, 1));
            connect(&mut f, a, Terminator::Uniform(Condition::Scc0), &[end, b]);
            connect(&mut f, b, Terminator::Uniform(Condition::Scc1), &[end, c]);
            connect(&mut f, c, Terminator::Jump, &[end]);
            connect(&mut f, end, Terminator::EndProgram, &[]);
            let target = Target::new(Target::processor_by_name(name).expect("a processor of the table"));
            let code = layout_and_encode(&mut f, &target).expect("fits");
            let is_branch = |word: &&u32| (0xbf84..=0xbf89).contains(&(**word >> 16));
            let distances: Vec<_> = code.words.iter().filter(is_branch).map(|word| *word as i16).collect();
            (distances, code.words.len() - first - second)
        };
        let plain = |name: &str, first: usize, second: usize| {
            let expected = vec![(first + second + 1) as i16, second as i16];
            assert_eq!(branches(name, first, second), (expected, 5), "{name} {first} {second}");
        };
        assert_eq!(branches("gfx1010", 10, 63), (vec![75, 64], 6));
        assert_eq!(branches("gfx1010", 10, 52), (vec![64, 52], 6));
        // The second one's NOP puts the first beyond, or exactly there.
        assert_eq!(branches("gfx1010", 0, 62), (vec![64, 62], 6));
        assert_eq!(branches("gfx1010", 0, 63), (vec![65, 64], 6));
        plain("gfx1010", 10, 51);
        plain("gfx1010", 10, 64);
        for name in ["gfx900", "gfx1030"] {
            plain(name, 10, 63);
            plain(name, 10, 52);
        }
    }

    #[test]
    fn empty_blocks_fold_and_unreachable_ones_go() {
        let mut f = function();
        let a = block(&mut f, 1);
        let empty: Vec<_> = (0..3).map(|_| block(&mut f, 0)).collect();
        let dead = block(&mut f, 5);
        let b = block(&mut f, 1);
        connect(&mut f, a, Terminator::Uniform(Condition::Vccz), &[empty[0], b]);
        connect(&mut f, empty[0], Terminator::Jump, &[empty[2]]);
        connect(&mut f, empty[2], Terminator::Jump, &[empty[1]]);
        connect(&mut f, empty[1], Terminator::Jump, &[b]);
        connect(&mut f, dead, Terminator::Jump, &[b]);
        connect(&mut f, b, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        assert_eq!((f.layout.clone(), code.words.len()), (vec![a, b], 3));
    }

    #[test]
    fn endless_loop_of_empty_blocks_stays() {
        let mut f = function();
        let (a, b) = (block(&mut f, 0), block(&mut f, 0));
        connect(&mut f, a, Terminator::Jump, &[b]);
        connect(&mut f, b, Terminator::Jump, &[a]);
        let code = layout_and_encode(&mut f, &target()).expect("fits");
        assert_eq!(code.words.last(), Some(&0xbf82_ffff));
    }

    #[test]
    fn long_loop_hops_over_islands() {
        for size in [32766, 32768, 40_000, 200_000] {
            let mut f = function();
            let (head, body, exit) = (block(&mut f, 7), block(&mut f, size), block(&mut f, 3));
            connect(&mut f, head, Terminator::Uniform(Condition::Scc0), &[exit, body]);
            connect(&mut f, body, Terminator::Jump, &[head]);
            connect(&mut f, exit, Terminator::EndProgram, &[]);
            let code = layout_and_encode(&mut f, &target()).expect("islands reach");
            assert_eq!(walk(&code, &[false, false, true], 9), [7, size + 7, size + 7, 3], "{size}");
            assert!(code.words.len() < size + 200);
        }
    }

    #[test]
    fn many_far_targets_share_sites() {
        let mut f = function();
        let heads: Vec<_> = (0..400).map(|_| block(&mut f, 1)).collect();
        let middle = block(&mut f, 70_000);
        let tails: Vec<_> = (0..400).map(|i| block(&mut f, i + 1)).collect();
        for i in 0..400 {
            let next = heads.get(i + 1).copied().unwrap_or(middle);
            connect(&mut f, heads[i], Terminator::Uniform(Condition::Scc1), &[tails[i], next]);
            connect(&mut f, tails[i], Terminator::EndProgram, &[]);
        }
        connect(&mut f, middle, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("islands reach");
        for i in [0, 1, 57, 399] {
            let mut taken = vec![false; i];
            taken.push(true);
            let mut want = vec![1; i + 1];
            want.push(i + 1);
            assert_eq!(walk(&code, &taken, 500), want, "{i}");
        }
    }

    #[test]
    fn address_computations_stay_whole() {
        let mut f = function();
        let symbol = f.symbols.push(mir::ir::SymbolRef::Func(Func::new(0)));
        let (head, exit) = (f.add_block(), block(&mut f, 1));
        let half = |addend, kind| Operand::Symbol { symbol, addend, kind };
        let address = Inst::new(
            Opcode::PC_ADDRESS,
            [
                Operand::preg(PReg::sgpr(2), 2),
                half(4, mir::machine::RelocKind::Rel32Lo),
                half(12, mir::machine::RelocKind::Rel32Hi),
            ],
        );
        f.blocks[head].insts = vec![address; 9_000];
        connect(&mut f, head, Terminator::Uniform(Condition::Scc0), &[head, exit]);
        connect(&mut f, exit, Terminator::EndProgram, &[]);
        let code = layout_and_encode(&mut f, &target()).expect("islands reach");
        assert_eq!(code.relocs.len(), 18_000);
        let getpc = code.words.iter().enumerate().filter(|(_, word)| **word == 0xbe82_1c00);
        let places: Vec<u32> = getpc.map(|(i, _)| i as u32 * 4).collect();
        assert_eq!(places.len(), 9_000);
        for (place, pair) in places.iter().zip(code.relocs.chunks(2)) {
            assert_eq!((pair[0].offset_bytes, pair[1].offset_bytes), (place + 8, place + 16));
        }
    }
}
