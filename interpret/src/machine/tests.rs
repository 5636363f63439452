mod calls;
mod scalars;

use super::*;
use crate::compare::{Difference, Exact, compare};
use crate::record::{Outcome, StopKind};
use mir::abi::KernelDescriptor;
use mir::ir::CallConv;
use mir::isa::{MaskOp, Opcode};
use mir::machine::{
    Block, BlockData, CallSite, Condition, Edge, EntryValue, Inst, ModFlags, Modifiers, RegFile, Terminator,
    VReg,
};
use mir::target::{Features, WaveSize};
use sim::report::Checks;
use sim::{Arg, CodeObject, Config, Dispatch, Memory, Prepared};

fn target() -> Target {
    Target::new(Target::processor_by_name("gfx900").unwrap())
}

/// A kernel under construction: `%id` is the work-item id, `%base` the kernarg segment's address.
struct Kernel {
    f: Function,
    id: VReg,
    base: VReg,
}

fn v(reg: VReg) -> Operand {
    Operand::vreg(reg, 1)
}

fn imm(value: i64) -> Operand {
    Operand::Imm(value)
}

impl Kernel {
    fn new() -> Self {
        Self::of(WaveSize::W64)
    }

    fn of(wave: WaveSize) -> Self {
        let mut f = Function { wave, ..Function::new("k", CallConv::Kernel, Func::from_u32(0)) };
        let (base, id) = (f.new_vreg(RegFile::Sgpr, 2), f.new_vreg(RegFile::Vgpr, 1));
        f.entry.request(EntryValue::KernargSegmentPtr, Some(base));
        f.entry.request(EntryValue::WorkitemIdX, Some(id));
        Self { f, id, base }
    }

    fn block(&mut self) -> Block {
        self.f.add_block()
    }

    fn vgpr(&mut self) -> VReg {
        self.f.new_vreg(RegFile::Vgpr, 1)
    }

    fn sgpr(&mut self) -> VReg {
        self.f.new_vreg(RegFile::Sgpr, 1)
    }

    fn data(&mut self, block: Block) -> &mut BlockData {
        &mut self.f.blocks[block]
    }

    fn push(&mut self, block: Block, op: Opcode, operands: &[Operand]) {
        self.data(block).push(Inst::new(op, operands.iter().copied()));
    }

    /// Ends `block` with edges of the thread graph.
    fn to(&mut self, block: Block, term: Terminator, edges: &[(Block, &[VReg])]) {
        let data = self.data(block);
        data.term = term;
        data.thread_succs = edges
            .iter()
            .map(|(to, args)| Edge { block: *to, args: args.iter().copied().collect() })
            .collect();
        data.thread_sargs = edges.iter().map(|_| Default::default()).collect();
    }

    /// Stores `value` of each lane to its dword of the buffer.
    fn store(&mut self, block: Block, value: VReg) {
        let (buffer, offset) = (self.f.new_vreg(RegFile::Sgpr, 2), self.vgpr());
        let base = Operand::vreg(self.base, 2);
        self.push(block, Opcode::S_LOAD_DWORDX2, &[Operand::vreg(buffer, 2), base, imm(0)]);
        self.push(block, Opcode::V_LSHLREV_B32, &[v(offset), imm(2), v(self.id)]);
        self.push(block, Opcode::GLOBAL_STORE_DWORD, &[v(offset), v(value), Operand::vreg(buffer, 2)]);
    }

    /// A lane mask of the lanes whose id is below `limit`.
    fn below(&mut self, block: Block, limit: i64) -> VReg {
        let mask = self.f.new_lane_mask();
        let id = v(self.id);
        self.push(block, Opcode::V_CMP_GT_U32, &[Operand::mask(mask, self.f.wave), imm(limit), id]);
        mask
    }

    /// Runs one group of 64 work-items on a buffer of 64 dwords.
    fn run(&self) -> (Outcome, Vec<String>) {
        self.run_with(&[])
    }

    /// The same with functions to call; that of number n is at address n.
    fn run_with(&self, callees: &[&Function]) -> (Outcome, Vec<String>) {
        let descriptor = KernelDescriptor {
            sgpr_kernarg_segment_ptr: 1,
            user_sgpr_count: 2,
            kernarg_size: 8,
            vgpr_blocks: 63,
            sgpr_blocks: 13,
            ..KernelDescriptor::default()
        };
        // No processor of GFX9 has waves of 32 lanes, but nothing here depends on the generation.
        let mut target = target();
        target.features.set(Features::WAVEFRONTSIZE32, self.f.wave == WaveSize::W32);
        let object = CodeObject::from_code(target.processor, "k", &[0xbf81_0000], descriptor);
        let mut memory = Memory::new();
        let buffer = memory.add_buffer("buffer", vec![0; 256]);
        let dispatch = Dispatch {
            kernel: "k".into(),
            grid: [64, 1, 1],
            group: [64, 1, 1],
            args: vec![Arg::Buffer(buffer)],
            ..Dispatch::default()
        };
        let checks = Checks::default().difference(Checks::UNDEF_STORE);
        let config = Config { checks, observe: true, ..Config::default() };
        let prepared = Prepared::new(&object, &mut memory, &dispatch, &config, &target).unwrap();
        let address = |symbol: SymbolRef, _: bool| match symbol {
            SymbolRef::Func(func) => Some(func.as_u32().into()),
            SymbolRef::Global(_) => None,
        };
        let symbols = Symbols { address: &address, frame_bytes: &|_| 0 };
        let functions: Vec<&Function> = [&self.f].into_iter().chain(callees.iter().copied()).collect();
        let program = Program::new(&functions, &|_| target, &symbols);
        let outcome = run(&program, &KernelEntry::new(&self.f), &prepared, &mut memory, 10_000);
        let places = (0..1000).map(|site| program.describe(site).instruction).collect();
        (outcome, places)
    }

    /// The dwords that a run leaves.
    fn values(&self) -> Vec<u32> {
        let (outcome, _) = self.run();
        assert!(outcome.stop.is_none(), "{:?}", outcome.stop);
        let bytes = &outcome.contents[0].bytes;
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    fn stop(&self) -> String {
        let (outcome, _) = self.run();
        outcome.stop.expect("the run stops").message
    }
}

/// `id < 40 ? 7 : 9` through a parameter of the join.
fn diamond() -> (Kernel, [Block; 4], VReg) {
    diamond_of(WaveSize::W64)
}

fn diamond_of(wave: WaveSize) -> (Kernel, [Block; 4], VReg) {
    let mut k = Kernel::of(wave);
    let [entry, yes, no, join] = [(); 4].map(|()| k.block());
    let mask = k.below(entry, 40);
    k.to(entry, Terminator::Divergent(mask), &[(yes, &[]), (no, &[])]);
    let (a, b, p) = (k.vgpr(), k.vgpr(), k.vgpr());
    k.push(yes, Opcode::V_MOV_B32, &[v(a), imm(7)]);
    k.push(no, Opcode::V_MOV_B32, &[v(b), imm(9)]);
    k.to(yes, Terminator::Jump, &[(join, &[a])]);
    k.to(no, Terminator::Jump, &[(join, &[b])]);
    k.data(join).vparams.push(p);
    k.store(join, p);
    k.to(join, Terminator::EndProgram, &[]);
    (k, [entry, yes, no, join], mask)
}

#[test]
fn lanes_take_their_own_ways_and_meet_again() {
    let (k, ..) = diamond();
    mir::machine::verify(&k.f).unwrap();
    let want: Vec<u32> = (0..64).map(|l| if l < 40 { 7 } else { 9 }).collect();
    assert_eq!(k.values(), want);
}

#[test]
fn a_join_runs_once_with_all_lanes() {
    let (mut k, [.., join], _) = diamond();
    // How many lanes run the join together.
    let (s, count) = (k.sgpr(), k.vgpr());
    let exec = Operand::preg(PReg::EXEC_LO, 2);
    k.push(join, Opcode::S_BCNT1_I32_B64, &[v(s), exec]);
    k.push(join, Opcode::V_MOV_B32, &[v(count), v(s)]);
    k.store(join, count);
    assert_eq!(k.values(), [64; 64]);
}

/// Two waves of 32 lanes: the first goes one way, the second both.
#[test]
fn waves_of_32_lanes() {
    let (mut k, [_, yes, _, join], _) = diamond_of(WaveSize::W32);
    mir::machine::verify(&k.f).unwrap();
    let want: Vec<u32> = (0..64).map(|l| if l < 40 { 7 } else { 9 }).collect();
    assert_eq!(k.values(), want);
    let exec = Operand::exec(WaveSize::W32);
    let counted = |k: &mut Kernel, block| {
        let (s, count) = (k.sgpr(), k.vgpr());
        k.push(block, Opcode::S_BCNT1_I32_B32, &[v(s), exec]);
        k.push(block, Opcode::V_MOV_B32, &[v(count), v(s)]);
        count
    };
    // What the first arm passes on is how many lanes it has.
    let count = counted(&mut k, yes);
    k.data(yes).thread_succs[0].args[0] = count;
    let want: Vec<u32> = (0..64)
        .map(|l| {
            if l < 32 {
                32
            } else if l < 40 {
                8
            } else {
                9
            }
        })
        .collect();
    assert_eq!(k.values(), want);
    let all = counted(&mut k, join);
    k.store(join, all);
    assert_eq!(k.values(), [32; 64]);
}

#[test]
fn a_scalar_that_lanes_disagree_on_is_reported() {
    let mut k = Kernel::new();
    let [entry, yes, no, join] = [(); 4].map(|()| k.block());
    let mask = k.below(entry, 40);
    k.to(entry, Terminator::Divergent(mask), &[(yes, &[]), (no, &[])]);
    let (a, b, p, out) = (k.sgpr(), k.sgpr(), k.sgpr(), k.vgpr());
    k.push(yes, Opcode::S_MOV_B32, &[v(a), imm(7)]);
    k.push(no, Opcode::S_MOV_B32, &[v(b), imm(9)]);
    for (block, arg) in [(yes, a), (no, b)] {
        k.to(block, Terminator::Jump, &[(join, &[])]);
        k.data(block).thread_sargs[0].push(arg);
    }
    k.data(join).sparams.push(p);
    k.push(join, Opcode::V_MOV_B32, &[v(out), v(p)]);
    k.store(join, out);
    k.to(join, Terminator::EndProgram, &[]);
    let message = k.stop();
    assert!(message.contains("is 00000007 in lane 0 and 00000009 in lane 40"), "{message}");
    // The same value on both sides is a scalar.
    let inst = &mut k.f.blocks[no].insts[0];
    inst.operands[1] = imm(7);
    assert_eq!(k.values(), [7; 64]);
}

#[test]
fn bits_of_a_mask_for_other_lanes_are_undefined() {
    let (mut k, [_, yes, ..], mask) = diamond();
    // Without EXEC the count takes in lanes that are elsewhere, and decides a branch.
    let s = k.sgpr();
    let masked = k.f.new_vreg(RegFile::Sgpr, 2);
    let whole = Operand::vreg(mask, 2);
    k.push(yes, Opcode::S_BCNT1_I32_B64, &[v(s), whole]);
    k.push(yes, Opcode::S_CMP_EQ_U32, &[v(s), imm(40)]);
    let join = k.data(yes).thread_succs[0].block;
    let args = k.data(yes).thread_succs[0].args[0];
    let [one, two] = [(); 2].map(|()| k.block());
    k.to(yes, Terminator::Uniform(Condition::Scc1), &[(one, &[]), (two, &[])]);
    for block in [one, two] {
        k.to(block, Terminator::Jump, &[(join, &[args])]);
    }
    assert!(k.stop().contains("SCC, which is undefined"));
    // With EXEC it is known.
    let data = k.data(yes);
    let at = data.insts.len() - 2;
    let exec = Operand::preg(PReg::EXEC_LO, 2);
    let and = Inst::new(Opcode::S_AND_B64, [Operand::vreg(masked, 2), whole, exec]);
    data.insts[at].operands[1] = Operand::vreg(masked, 2);
    data.insts.insert(at, and);
    data.tail_start += 1;
    assert_eq!(k.values()[..41], [vec![7; 40], vec![9]].concat());
}

#[test]
fn physical_registers_do_not_live_across_blocks() {
    let mut k = Kernel::new();
    let [entry, next] = [(); 2].map(|()| k.block());
    let [one, two] = [(); 2].map(|()| k.block());
    k.push(entry, Opcode::S_CMP_EQ_U32, &[imm(1), imm(1)]);
    k.to(entry, Terminator::Jump, &[(next, &[])]);
    k.to(next, Terminator::Uniform(Condition::Scc1), &[(one, &[]), (two, &[])]);
    for block in [one, two] {
        k.to(block, Terminator::EndProgram, &[]);
    }
    assert!(k.stop().contains("SCC, which is undefined"));
}

#[test]
fn copies_sequences_and_indexed_accesses() {
    let mut k = Kernel::new();
    let entry = k.block();
    let (tuple, changed) = (k.f.new_vreg(RegFile::Vgpr, 4), k.f.new_vreg(RegFile::Vgpr, 4));
    let (index, element, sum, out) = (k.sgpr(), k.vgpr(), k.vgpr(), k.vgpr());
    let id = v(k.id);
    k.push(entry, Opcode::REG_SEQUENCE, &[Operand::vreg(tuple, 4), id, imm(10), imm(20), imm(30)]);
    k.push(entry, Opcode::S_MOV_B32, &[v(index), imm(1)]);
    let mods = Modifiers { offset: 1, ..Modifiers::default() };
    let write = [Operand::vreg(changed, 4), imm(5), v(index), Operand::vreg(tuple, 4)];
    k.data(entry).push(Inst::new(Opcode::INDEXED_WRITE, write).with_mods(mods));
    let read = [v(element), Operand::vreg(changed, 4), v(index)];
    k.data(entry).push(Inst::new(Opcode::INDEXED_READ, read).with_mods(mods));
    k.push(entry, Opcode::V_ADD_U32, &[v(sum), v(element), Operand::sub(changed, 3, 1)]);
    k.push(entry, Opcode::V_ADD_U32, &[v(out), v(sum), Operand::sub(changed, 0, 1)]);
    k.store(entry, out);
    k.to(entry, Terminator::EndProgram, &[]);
    let want: Vec<u32> = (0..64).map(|l| 5 + 30 + l).collect();
    assert_eq!(k.values(), want);
}

/// The diamond, structured by hand: both sides in a row, the second one for the lanes that the first leaves out.
fn structured() -> (Kernel, [Block; 4]) {
    structured_of(WaveSize::W64)
}

fn structured_of(size: WaveSize) -> (Kernel, [Block; 4]) {
    let (mut k, blocks @ [entry, yes, no, join], mask) = diamond_of(size);
    k.f.stage = mir::machine::Stage::Linear;
    let saved = k.f.new_vreg(RegFile::Sgpr, size.mask_dwords());
    let (whole, saved) = (Operand::mask(mask, size), Operand::mask(saved, size));
    let exec = Operand::exec(size);
    let inst = |op: MaskOp, operands: &[Operand]| Inst::new(op.opcode(size), operands.iter().copied());
    let wave = |k: &mut Kernel, from: Block, to: Block| {
        k.data(from).wave_succs = [Edge { block: to, args: Default::default() }].into_iter().collect();
        k.data(from).term = Terminator::Jump;
        k.data(from).thread_sargs.clear();
    };
    // GFX9 has no `s_and_saveexec` of 32 lanes.
    let tail = [inst(MaskOp::Mov, &[saved, exec]), inst(MaskOp::And, &[exec, exec, whole])];
    k.data(entry).insts.extend(tail);
    let heads = [(no, inst(MaskOp::AndN2, &[exec, saved, whole])), (join, inst(MaskOp::Mov, &[exec, saved]))];
    for (block, head) in heads {
        let data = k.data(block);
        data.insts.insert(0, head);
        data.head_len = 1;
        data.tail_start += 1;
    }
    wave(&mut k, entry, yes);
    wave(&mut k, yes, no);
    wave(&mut k, no, join);
    (k, blocks)
}

#[test]
fn structured_code_follows_the_wave_graph() {
    for size in WaveSize::ALL {
        let (k, _) = structured_of(size);
        mir::machine::verify(&k.f).unwrap();
        assert_eq!(k.values(), diamond().0.values());
    }
}

#[test]
fn lanes_off_the_thread_graph_are_reported() {
    // The second side runs with the lanes of the first as well.
    let (mut k, [_, yes, no, join]) = structured();
    k.data(no).insts[0].operands[2] = imm(0);
    let message = k.stop();
    assert!(message.contains(&format!("lane 0, which ran {yes} last, is in {no}")), "{message}");
    // Nobody comes back at the join.
    let (mut k, _) = structured();
    let head = Inst::new(Opcode::S_MOV_B64, [Operand::preg(PReg::EXEC_LO, 2), imm(1)]);
    k.data(join).insts[0] = head;
    let message = k.stop();
    assert!(message.contains("never comes to an end"), "{message}");
}

#[test]
fn regions_of_other_lanes() {
    let (mut k, [_, yes, ..]) = structured();
    // A value that all lanes compute though only some are here, read by the highest.
    let (all, s, mask) = (k.vgpr(), k.sgpr(), k.f.new_vreg(RegFile::Sgpr, 2));
    k.f.vregs[all].flags |= mir::machine::VRegFlags::WHOLE_WAVE;
    let id = v(k.id);
    let saved = Operand::vreg(mask, 2);
    let mut add = Inst::new(Opcode::V_ADD_U32, [v(all), imm(1), id]);
    add.mods.flags |= ModFlags::OTHER_LANES;
    let a = k.data(yes).thread_succs[0].args[0];
    let insts = vec![
        Inst::new(Opcode::LANES_BEGIN, [saved, imm(-1)]),
        add,
        Inst::new(Opcode::LANES_END, [saved, imm(-1)]),
        Inst::new(Opcode::V_READLANE_B32, [v(s), v(all), imm(63)]),
        Inst::new(Opcode::V_MOV_B32, [v(a), v(s)]),
    ];
    k.data(yes).insts = insts;
    k.data(yes).tail_start = 5;
    assert_eq!((k.values()[0], k.values()[63]), (64, 9));
}

#[test]
fn what_cannot_be_run_and_what_never_ends() {
    let mut k = Kernel::new();
    let entry = k.block();
    k.push(entry, Opcode::SET_INACTIVE, &[]);
    k.to(entry, Terminator::EndProgram, &[]);
    let (outcome, _) = k.run();
    assert_eq!(outcome.stop.unwrap().kind, StopKind::Unsupported);
    let mut k = Kernel::new();
    let [entry, ring] = [(); 2].map(|()| k.block());
    k.to(entry, Terminator::Jump, &[(ring, &[])]);
    k.to(ring, Terminator::Jump, &[(ring, &[])]);
    let (outcome, _) = k.run();
    assert_eq!(outcome.stop.unwrap().kind, StopKind::Fuel);
}

#[test]
fn differences_name_writer_and_value() {
    let (k, ..) = diamond();
    let (mut other, [_, yes, ..]) = structured();
    other.data(yes).insts[0].operands[1] = imm(8);
    let ((before, old), (after, new)) = (k.run(), other.run());
    let describe = |places: Vec<String>| {
        move |site: u32| Description { instruction: places[site as usize].clone(), ..Description::default() }
    };
    let (old, new) = (describe(old), describe(new));
    let difference = compare((&before, &old), (&after, &new), &Exact).expect("a difference");
    let Difference::Bytes(bytes) = &difference else { panic!("{difference}") };
    assert_eq!((bytes.memory.as_str(), bytes.offset), ("buffer", 0));
    let author = bytes.after.author.as_ref().unwrap();
    assert_eq!((author.group, author.wave, author.lane), (0, 0, Some(0)));
    assert!(author.place.instruction.contains("global_store_dword"), "{difference}");
    assert!(difference.to_string().starts_with("buffer + 0: 00000008, written by lane 0 "), "{difference}");
    assert!(compare((&before, &old), (&before, &old), &Exact).is_none());
}

#[test]
fn what_is_undefined_before_may_be_anything_after() {
    let (mut k, [_, yes, ..], _) = diamond();
    k.data(yes).insts[0] = Inst::new(Opcode::IMPLICIT_DEF, [k.f.blocks[yes].insts[0].operands[0]]);
    let (defined, ..) = diamond();
    let (before, after) = (k.run().0, defined.run().0);
    let none = |_: u32| Description::default();
    assert!(compare((&before, &none), (&after, &none), &Exact).is_none());
    // But what was defined must stay so.
    assert!(compare((&after, &none), (&before, &none), &Exact).is_some());
}

#[test]
fn code_that_is_not_well_formed_stops() {
    let far = Block::from_u32(99);
    let (mut k, [entry, ..], _) = diamond();
    k.data(entry).thread_succs[0].block = far;
    assert!(k.stop().contains("does not exist"));
    let (mut k, [entry, ..]) = structured();
    k.data(entry).wave_succs[0].block = far;
    assert!(k.stop().contains("does not exist"));
    let (mut k, [_, yes, ..]) = structured();
    k.data(yes).tail_start = 77;
    assert!(k.stop().contains("does not exist"));
    // An operand that does not exist, and one too few.
    let (mut k, [_, yes, ..], _) = diamond();
    k.data(yes).insts[0].operands[1] = v(VReg::from_u32(1000));
    assert!(k.stop().contains("does not exist"));
    let (mut k, [_, yes, ..], _) = diamond();
    k.data(yes).insts[0].operands.truncate(1);
    assert!(k.stop().contains("1 operands instead of 2"));
}
