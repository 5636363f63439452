//! Live ranges of virtual registers, each on its own graph, and busy ranges of physical registers that the
//! code names.
//!
//! Most registers are read in the block that defines them and nowhere else: all that is kept of them is where
//! they are read last. Other uses are grouped by register; from each block that needs the value at its start one walks predecessors up
//! to the definition. In SSA that visits exactly the blocks where the value is live, so the cost is the size
//! of the result. No sets by block are kept: the walk's marks are stamped with a number for each walk. A
//! tuple whose dwords are read separately is walked for each dword too, so that each is free after its own
//! last use.
//!
//! A parameter is written by moves at the end of predecessors: its range has a piece from there to that
//! block's end, and the argument's range stops there. So the two share no position unless the argument lives
//! on, and may share a register.

mod physical;

use self::physical::Physical;
use crate::access::{self, VCC, file_index};
use crate::graph::{Graph, Numbering, edges, params};
use mir::isa::{Implicit, OperandAccess};
use mir::machine::{Condition, Function, Reg, RegFile, RegOperand, Terminator, VReg, VRegFlags};
use mir::target::Target;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;

/// A half-open range of positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub(crate) struct Range {
    pub start: u32,
    pub end: u32,
}

/// Which set of registers a virtual register competes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Sgpr,
    Vgpr,
    /// VGPR on the wave graph.
    WholeWave,
}

impl Kind {
    pub fn of(f: &Function, v: VReg) -> Self {
        let data = &f.vregs[v];
        match data.file {
            RegFile::Sgpr => Self::Sgpr,
            RegFile::Vgpr if data.flags.contains(VRegFlags::WHOLE_WAVE) => Self::WholeWave,
            RegFile::Vgpr => Self::Vgpr,
        }
    }

    /// The file whose graph its live ranges follow.
    pub fn graph(self) -> RegFile {
        match self {
            Self::Vgpr => RegFile::Vgpr,
            Self::Sgpr | Self::WholeWave => RegFile::Sgpr,
        }
    }
}

/// One read of a register.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    block: u32,
    end: u32,
    /// Dwords that are read.
    dwords: u32,
}

/// All dwords of a register.
const ALL: u32 = u32::MAX;

fn all_dwords(f: &Function, v: VReg) -> u32 {
    dwords_of(&RegOperand { reg: v.into(), sub: 0, dwords: f.vregs[v].dwords })
}

fn dwords_of(operand: &RegOperand) -> u32 {
    let count = (1u64 << operand.dwords.min(32)) - 1;
    (count << operand.sub.min(31)) as u32
}

/// Live ranges of all registers.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    offsets: Vec<u32>,
    ranges: Vec<Range>,
    /// Ranges of each dword, of tuples whose dwords do not live equally long.
    parts: FxHashMap<VReg, Box<[Box<[Range]>]>>,
    /// Ranges in which a physical register of the allocated files is taken by explicit or implicit operands.
    pub fixed: Vec<(RegFile, u16, Range)>,
    /// Physical registers that live across blocks: not available at all.
    pub reserved: Vec<(RegFile, u16)>,
    /// Copies and instructions with tied operands, by layout index and number in the block, in the order of the code.
    pub binding: Vec<(u32, u32)>,
}

impl Liveness {
    /// The ranges of `v`, sorted, disjoint, not touching; empty for a register that is never defined.
    pub fn of(&self, v: VReg) -> &[Range] {
        let v = v.as_u32() as usize;
        &self.ranges[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// The ranges of each dword of `v`, where they differ.
    pub fn parts(&self, v: VReg) -> Option<&[Box<[Range]>]> {
        self.parts.get(&v).map(|parts| &**parts)
    }

    /// Visits ranges of `v`, which has `dwords` dwords, and the number of dwords that they are for.
    pub fn each<'a>(&'a self, v: VReg, dwords: u8, mut visit: impl FnMut(&'a [Range], u8)) {
        match self.parts.get(&v) {
            Some(parts) => parts.iter().for_each(|ranges| visit(ranges, 1)),
            None => visit(self.of(v), dwords),
        }
    }

    /// Ranges of registers that are given, for tests.
    #[cfg(test)]
    pub fn given(ranges: &[Vec<Range>]) -> Self {
        let mut out = Self { offsets: vec![0], ..Self::default() };
        for own in ranges {
            out.ranges.extend_from_slice(own);
            out.offsets.push(out.ranges.len() as u32);
        }
        out
    }

    /// Live ranges of all registers of `f`, with `parts` those of single dwords, too.
    pub fn compute(
        f: &Function,
        target: &Target,
        numbering: &Numbering,
        wave: &Graph,
        thread: &Graph,
        parts: bool,
    ) -> Result<Self> {
        let mut scan = Scan::new(f.vregs.len(), parts);
        scan.code(f, target, numbering)?;
        scan.edges(f, numbering, wave, thread)?;
        scan.finish(f, numbering, wave, thread)
    }
}

/// No definition seen.
const NONE: u32 = u32::MAX;

/// Where a register is defined, and what is known of its uses.
#[derive(Clone, Copy, Debug)]
struct Def {
    block: u32,
    position: u32,
    /// End of the last use of the whole register in its block, `position` where there is none; such uses are not
    /// kept one by one.
    end: u32,
    /// The dwords of the register.
    dwords: u32,
}

impl Def {
    /// Where the value is no longer needed, as far as its block's uses of all of it go.
    fn local_end(&self) -> u32 {
        self.end.max(self.position + 1)
    }
}

/// Definitions and uses as they are found.
struct Scan {
    defs: Vec<Def>,
    uses: Vec<(VReg, Use)>,
    /// Pieces of parameters' ranges in predecessors.
    pieces: Vec<(VReg, Range)>,
    fixed: Vec<(RegFile, u16, Range)>,
    reserved: Vec<(RegFile, u16)>,
    binding: Vec<(u32, u32)>,
    /// Whether dwords of tuples live on their own.
    by_dword: bool,
}

impl Scan {
    fn new(vregs: usize, by_dword: bool) -> Self {
        Self {
            by_dword,
            defs: vec![Def { block: NONE, position: 0, end: 0, dwords: 0 }; vregs],
            uses: Vec::with_capacity(vregs / 2),
            pieces: Vec::new(),
            fixed: Vec::new(),
            reserved: Vec::new(),
            binding: Vec::new(),
        }
    }

    fn define(&mut self, f: &Function, v: VReg, block: usize, position: u32) -> Result<()> {
        let Some(def) = self.defs.get_mut(v.as_u32() as usize) else {
            return Err(Diagnostic::defect(format!("unknown register {v}")));
        };
        if def.block != NONE {
            return Err(Diagnostic::defect(format!("{v} is defined twice")));
        }
        let dwords = all_dwords(f, v);
        *def = Def { block: block as u32, position, end: position, dwords };
        Ok(())
    }

    /// Notes that dwords of `v` are read in `block` up to `end`.
    fn read(&mut self, v: VReg, block: u32, end: u32, dwords: u32) {
        match self.defs.get_mut(v.as_u32() as usize) {
            Some(def)
                if def.block == block
                    && end > def.position
                    && (!self.by_dword || dwords & def.dwords == def.dwords) =>
            {
                def.end = def.end.max(end);
            }
            _ => self.uses.push((v, Use { block, end, dwords })),
        }
    }

    /// Instructions, entry values and physical operands.
    fn code(&mut self, f: &Function, target: &Target, numbering: &Numbering) -> Result<()> {
        for (_, _, reg) in f.entry.registers() {
            if let Some(v) = reg {
                self.define(f, v, 0, 0)?;
            }
        }
        let mut physical = Physical::new();
        let vcc = VCC..VCC + u16::from(f.wave.mask_dwords());
        for (i, &block) in numbering.order.iter().enumerate() {
            let data = &f.blocks[block];
            for (k, inst) in data.insts.iter().enumerate() {
                mir::interrupt::checkpoint();
                let position = numbering.inst(i, k);
                let implicit = inst.facts().implicit;
                if implicit.contains(Implicit::VCC_USE) {
                    vcc.clone().for_each(|n| physical.read(self, RegFile::Sgpr, n, position + 1));
                }
                // Most have no tied operands: their definitions come first, and what is read is read early.
                let tied = inst.operands.len() > inst.kept_operands();
                let plain = !tied && inst.op != mir::isa::Opcode::INLINE_ASM;
                let is_copy = inst.op.is_copy();
                if tied || is_copy {
                    self.binding.push((i as u32, k as u32));
                }
                let defs = if is_copy { 1 } else { usize::from(inst.facts().def_count) };
                let mut defines_physical = false;
                for (k, operand) in access::registers(inst) {
                    let access = match plain {
                        true if k < defs => OperandAccess::Def,
                        true => OperandAccess::Use,
                        false => inst.operand_access(k),
                    };
                    match (operand.reg, access) {
                        (Reg::Virtual(v), OperandAccess::Def) => {
                            let early = if plain {
                                inst.clobbers_early(target)
                            } else {
                                inst.defined_early(k, target)
                            };
                            self.define(f, v, i, position + u32::from(!early))?;
                        }
                        (Reg::Virtual(v), OperandAccess::Use) => {
                            let dwords = dwords_of(operand);
                            let late = plain || inst.read_as_tied(k, target).is_none();
                            let end = position + u32::from(late);
                            self.read(v, i as u32, end, dwords);
                        }
                        (Reg::Virtual(v), OperandAccess::Tied { .. }) => {
                            let dwords = dwords_of(operand);
                            self.read(v, i as u32, position, dwords);
                        }
                        (Reg::Physical(reg), OperandAccess::Use | OperandAccess::Tied { .. }) => {
                            if let Some((file, first)) = file_index(reg) {
                                for d in 0..u16::from(operand.dwords) {
                                    physical.read(self, file, first + d, position + 1);
                                }
                            }
                        }
                        (Reg::Physical(_), OperandAccess::Def) => defines_physical = true,
                    }
                }
                if let Some(site) = f.call_site(inst) {
                    for &reg in &site.reads {
                        if let Some((file, n)) = file_index(reg) {
                            physical.read(self, file, n, position + 1);
                        }
                    }
                    for (file, n) in site.changed().iter().filter_map(file_index) {
                        physical.write(self, file, n, position + 1, position + 2);
                    }
                }
                if defines_physical {
                    physical.define(self, inst, position, target);
                }
                if implicit.contains(Implicit::VCC_DEF) {
                    for n in vcc.clone() {
                        physical.write(self, RegFile::Sgpr, n, position + 1, position + 2);
                    }
                }
            }
            if let Terminator::Uniform(Condition::Vccz | Condition::Vccnz) = data.term {
                vcc.clone().for_each(|n| physical.read(self, RegFile::Sgpr, n, numbering.end(i)));
            }
            if data.term == Terminator::Return {
                for n in 0..u16::from(f.result_dwords) {
                    physical.read(self, RegFile::Vgpr, n, numbering.end(i));
                }
                for &reg in &f.shader_results {
                    let (file, n) = match (reg.vgpr_index(), reg.sgpr_index()) {
                        (Some(n), _) => (RegFile::Vgpr, n),
                        (None, Some(n)) => (RegFile::Sgpr, n),
                        (None, None) => {
                            let error = Diagnostic::defect(format!("result of a shader in {reg}"));
                            return Err(error.in_function(&f.name));
                        }
                    };
                    physical.read(self, file, n, numbering.end(i));
                }
            }
            physical.next_block(self);
        }
        Ok(())
    }

    /// Parameters and arguments.
    fn edges(&mut self, f: &Function, numbering: &Numbering, wave: &Graph, thread: &Graph) -> Result<()> {
        for file in [RegFile::Sgpr, RegFile::Vgpr] {
            let graph = if file == RegFile::Sgpr { wave } else { thread };
            for (i, &block) in numbering.order.iter().enumerate() {
                let data = &f.blocks[block];
                let at_start = !params(data, file).is_empty()
                    && graph.preds(i).iter().any(|&p| !graph.moves_in_pred(p as usize));
                let position =
                    if at_start { numbering.moves_at_start(i, data, file) } else { numbering.start[i] };
                for &v in params(data, file) {
                    if Kind::of(f, v).graph() != file {
                        return Err(Diagnostic::unsupported(format!("whole-wave block parameter {v}")));
                    }
                    self.define(f, v, i, position)?;
                }
                for edge in edges(data, file) {
                    let Some(target) = numbering.index(edge.block) else {
                        return Err(Diagnostic::defect(format!(
                            "{block} branches to {}, which has no place",
                            edge.block
                        )));
                    };
                    let target_data = &f.blocks[edge.block];
                    let target_params = params(target_data, file);
                    if target_params.len() != edge.args.len() {
                        return Err(Diagnostic::defect(format!(
                            "{} arguments for {} parameters on the edge {block} to {}",
                            edge.args.len(),
                            target_params.len(),
                            edge.block
                        )));
                    }
                    if target_params.is_empty() {
                        continue;
                    }
                    if graph.moves_in_pred(i) {
                        let end = numbering.moves_at_end(i, data, file);
                        for (&arg, &param) in edge.args.iter().zip(target_params) {
                            self.read(arg, i as u32, end, ALL);
                            self.pieces.push((param, Range { start: end, end: numbering.end(i) }));
                        }
                    } else if graph.preds(target).len() == 1 {
                        let end = numbering.moves_at_start(target, target_data, file);
                        for &arg in &edge.args {
                            self.read(arg, target as u32, end, ALL);
                        }
                    } else {
                        return Err(Diagnostic::defect(format!(
                            "critical edge {block} to {} with arguments",
                            edge.block
                        )));
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self, f: &Function, numbering: &Numbering, wave: &Graph, thread: &Graph) -> Result<Liveness> {
        let vregs = f.vregs.len();
        let (use_offsets, uses) = group(vregs, &self.uses);
        let (piece_offsets, pieces) = group(vregs, &self.pieces);
        let mut walk = Walk::new(numbering.order.len());
        let mut offsets = Vec::with_capacity(vregs + 1);
        let mut ranges = Vec::with_capacity(vregs + vregs / 2);
        let mut parts = FxHashMap::default();
        let mut stamp = 0;
        for (v, _) in f.vregs.iter() {
            offsets.push(ranges.len() as u32);
            let n = v.as_u32() as usize;
            let uses = &uses[use_offsets[n] as usize..use_offsets[n + 1] as usize];
            let pieces = &pieces[piece_offsets[n] as usize..piece_offsets[n + 1] as usize];
            let def = &self.defs[n];
            if def.block != NONE && uses.is_empty() && pieces.is_empty() {
                ranges.push(Range { start: def.position, end: def.local_end() });
                continue;
            }
            if def.block == NONE {
                if !uses.is_empty() {
                    return Err(Diagnostic::defect(format!("{v} is used but never defined")));
                }
                continue;
            }
            let graph = if Kind::of(f, v).graph() == RegFile::Sgpr { wave } else { thread };
            stamp += 1;
            if !walk.run(stamp, def, uses, pieces, numbering, graph) {
                return Err(Diagnostic::defect(format!("the definition of {v} does not dominate its uses")));
            }
            match walk.out[..] {
                [only] => ranges.push(only),
                _ => ranges.extend_from_slice(&walk.out),
            }
            let dwords = f.vregs[v].dwords;
            let full = def.dwords;
            if !self.by_dword || dwords == 1 || uses.iter().all(|u| u.dwords & full == full) {
                continue;
            }
            let whole = walk.out.clone();
            let mut lists: Vec<Box<[Range]>> = Vec::with_capacity(usize::from(dwords));
            for d in 0..dwords {
                let reads = |u: &&Use| u.dwords >> d & 1 != 0;
                if d > 0 && uses.iter().all(|u| u.dwords >> d & 1 == u.dwords >> (d - 1) & 1) {
                    lists.extend(lists.last().cloned());
                    continue;
                }
                let mut own: Vec<Use> = uses.iter().filter(reads).copied().collect();
                if own.is_empty() && def.end == def.position {
                    // What a load leaves in a dword that nobody reads is waited for with the others.
                    own.extend(uses.iter().filter(|u| u.block == def.block).min_by_key(|u| u.end));
                }
                stamp += 1;
                walk.run(stamp, def, &own, pieces, numbering, graph);
                lists.push(walk.out.as_slice().into());
            }
            if lists.iter().any(|list| **list != *whole) {
                parts.insert(v, lists.into_boxed_slice());
            }
        }
        offsets.push(ranges.len() as u32);
        let Self { fixed, reserved, binding, .. } = self;
        Ok(Liveness { offsets, ranges, parts, fixed, reserved, binding })
    }
}

/// Groups pairs by register, keeping their order.
fn group<T: Copy + Default>(vregs: usize, pairs: &[(VReg, T)]) -> (Vec<u32>, Vec<T>) {
    let mut offsets = vec![0u32; vregs + 2];
    for (v, _) in pairs {
        offsets[v.as_u32() as usize + 2] += 1;
    }
    for i in 2..offsets.len() {
        offsets[i] += offsets[i - 1];
    }
    let mut out = vec![T::default(); pairs.len()];
    for (v, item) in pairs {
        let slot = &mut offsets[v.as_u32() as usize + 1];
        out[*slot as usize] = *item;
        *slot += 1;
    }
    offsets.pop();
    (offsets, out)
}

/// The walk from uses to the definition. Marks are stamped with the number of the walk.
struct Walk {
    live_in: Vec<u32>,
    live_out: Vec<u32>,
    work: Vec<u32>,
    out: Vec<Range>,
}

impl Walk {
    fn new(blocks: usize) -> Self {
        Self { live_in: vec![NONE; blocks], live_out: vec![NONE; blocks], work: Vec::new(), out: Vec::new() }
    }

    /// Leaves the ranges in `out`; false where a use can be reached without the definition.
    fn run(
        &mut self,
        stamp: u32,
        def: &Def,
        uses: &[Use],
        pieces: &[Range],
        numbering: &Numbering,
        graph: &Graph,
    ) -> bool {
        self.out.clear();
        let (def_block, mut local_end) = (def.block, def.local_end());
        for (n, u) in uses.iter().enumerate() {
            if u.block == def_block {
                if u.end <= def.position {
                    return false;
                }
                local_end = local_end.max(u.end);
                continue;
            }
            // Several uses in one block stand together; the last reaches furthest.
            if uses.get(n + 1).is_some_and(|next| next.block == u.block && next.end >= u.end) {
                continue;
            }
            self.out.push(Range { start: numbering.start[u.block as usize], end: u.end });
            if self.live_in[u.block as usize] != stamp {
                self.live_in[u.block as usize] = stamp;
                self.work.push(u.block);
            }
        }
        while let Some(block) = self.work.pop() {
            let preds = graph.preds(block as usize);
            if preds.is_empty() {
                self.work.clear();
                return false;
            }
            for &p in preds {
                if self.live_out[p as usize] == stamp {
                    continue;
                }
                self.live_out[p as usize] = stamp;
                if p == def_block {
                    local_end = numbering.end(p as usize);
                    continue;
                }
                self.out.push(Range { start: numbering.start[p as usize], end: numbering.end(p as usize) });
                if self.live_in[p as usize] != stamp {
                    self.live_in[p as usize] = stamp;
                    self.work.push(p);
                }
            }
        }
        self.out.push(Range { start: def.position, end: local_end });
        self.out.extend_from_slice(pieces);
        if self.out.len() > 1 {
            self.out.sort_unstable_by_key(|range| u64::from(range.start) << 32 | u64::from(range.end));
            let mut last = 0;
            for i in 1..self.out.len() {
                let range = self.out[i];
                if range.start <= self.out[last].end {
                    self.out[last].end = self.out[last].end.max(range.end);
                } else {
                    last += 1;
                    self.out[last] = range;
                }
            }
            self.out.truncate(last + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::Options;
    use crate::fuzz::target;
    use mir::isa::Opcode;
    use mir::machine::{CallSite, EntryValue, Function, Inst, Operand, PReg, RegFile, RegSet, Terminator};

    /// A load of four dwords, each of which is read once and followed by a result that lives on.
    #[test]
    fn dwords_of_a_tuple_die_alone() {
        let mut f = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Func::from_u32(0));
        let block = f.add_block();
        let [x, y] = [EntryValue::WorkitemIdX, EntryValue::WorkitemIdY].map(|value| {
            let v = f.new_vreg(RegFile::Vgpr, 1);
            f.entry.request(value, Some(v));
            Operand::vreg(v, 1)
        });
        let address = f.new_vreg(RegFile::Vgpr, 2);
        let four = f.new_vreg(RegFile::Vgpr, 4);
        let sums: Vec<_> = (0..4).map(|_| f.new_vreg(RegFile::Vgpr, 1)).collect();
        let mut push = |op, operands: &[Operand]| {
            f.blocks[block].push(Inst::new(op, operands.iter().copied()));
        };
        push(Opcode::REG_SEQUENCE, &[Operand::vreg(address, 2), x, y]);
        let load = [Operand::vreg(four, 4), Operand::vreg(address, 2), Operand::Off];
        push(Opcode::GLOBAL_LOAD_DWORDX4, &load);
        for (d, &sum) in sums.iter().enumerate() {
            let part = Operand::sub(four, d as u8, 1);
            push(Opcode::V_ADD_F32, &[Operand::vreg(sum, 1), part, part]);
        }
        for &sum in sums.iter().rev() {
            let store = [Operand::vreg(address, 2), Operand::vreg(sum, 1), Operand::Off];
            push(Opcode::GLOBAL_STORE_DWORD, &store);
        }
        f.blocks[block].term = Terminator::EndProgram;
        let options = Options { verify: true, ..Options::default() };
        let done = crate::Allocator::default().allocated(f, &target("gfx900"), &options).unwrap();
        assert_eq!(done.resources.vgprs, 6);
    }

    /// Two calls of `site`, with a value and the address that live across the first: allocated, and the registers of the sum's operands.
    fn two_calls(site: CallSite) -> (Function, Vec<PReg>) {
        let mut f = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Func::from_u32(0));
        let block = f.add_block();
        let x = f.new_vreg(RegFile::Vgpr, 1);
        f.entry.request(EntryValue::WorkitemIdX, Some(x));
        let target_address = f.new_vreg(RegFile::Sgpr, 2);
        f.entry.request(EntryValue::KernargSegmentPtr, Some(target_address));
        let result = f.new_vreg(RegFile::Vgpr, 1);
        let sum = f.new_vreg(RegFile::Vgpr, 1);
        let v0 = Operand::preg(PReg::vgpr(0), 1);
        let link = Operand::preg(PReg::sgpr(30), 2);
        f.calls.push(CallSite { reads: vec![PReg::vgpr(0)], result_dwords: 1, ..site });
        let mut push = |op, operands: &[Operand]| {
            f.blocks[block].push(Inst::new(op, operands.iter().copied()));
        };
        push(Opcode::COPY, &[v0, Operand::vreg(x, 1)]);
        push(Opcode::CALL, &[link, Operand::vreg(target_address, 2), Operand::Imm(0)]);
        push(Opcode::COPY, &[Operand::vreg(result, 1), v0]);
        push(Opcode::V_ADD_F32, &[Operand::vreg(sum, 1), Operand::vreg(result, 1), Operand::vreg(x, 1)]);
        push(Opcode::CALL, &[link, Operand::vreg(target_address, 2), Operand::Imm(0)]);
        f.blocks[block].term = Terminator::EndProgram;
        // The second call reads what the first left in v0.
        let options = Options { verify: true, ..Options::default() };
        let done = crate::Allocator::default().allocated(f, &target("gfx900"), &options).unwrap();
        let insts = &done.blocks[done.layout[0]].insts;
        let add = insts.iter().find(|inst| inst.op == Opcode::V_ADD_F32).unwrap();
        let call = insts.iter().rfind(|inst| inst.op == Opcode::CALL).unwrap();
        let read = add.operands[1..].iter().chain([&call.operands[1]]);
        let registers = read.map(|operand| match operand.as_reg().unwrap().reg {
            mir::machine::Reg::Physical(reg) => reg,
            mir::machine::Reg::Virtual(_) => panic!("{done}"),
        });
        let registers = registers.collect();
        (done, registers)
    }

    /// What lives across a call is where the callee leaves it alone; what is an argument is where the callee
    /// looks.
    #[test]
    fn calls_change_what_is_not_callee_saved() {
        let (done, registers) = two_calls(CallSite::default());
        let kept: Vec<bool> =
            registers.iter().map(|&reg| mir::abi::call::is_callee_saved(reg, false)).collect();
        assert_eq!(kept, [false, true, true], "{done}");
    }

    /// Where the callee's code is known, registers that it does not touch keep their values, whatever the convention says, and no others.
    #[test]
    fn calls_of_known_code_change_what_it_changes() {
        let mut changes = RegSet::default();
        changes.insert_tuple(PReg::vgpr(0), 3);
        changes.insert_tuple(PReg::vgpr(4), 1);
        changes.insert_tuple(PReg::sgpr(0), 20);
        let (done, registers) =
            two_calls(CallSite { changes: Some(Box::new(changes)), ..CallSite::default() });
        assert_eq!(registers[1..], [PReg::vgpr(3), PReg::sgpr(20)], "{done}");
        // All but registers far up: there the values are.
        let all = (0..50).map(PReg::vgpr).chain((0..90).map(PReg::sgpr)).collect::<RegSet>();
        let (done, registers) = two_calls(CallSite { changes: Some(Box::new(all)), ..CallSite::default() });
        assert_eq!(registers[1..], [PReg::vgpr(50), PReg::sgpr(90)], "{done}");
    }
}
