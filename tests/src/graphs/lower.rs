//! A program as the compiler's IR, in SSA form.
//!
//! Each block becomes one IR block, or two where it leaves in the middle ([`super::ssa`] says which, and
//! where they have parameters); its operations become instructions one by one, as they stand.

use super::callees::{called, traced};
use super::program::*;
use super::ssa::{ENTRY, From, Node, head, nodes, order};
use mir::ir::{
    AddrSpace, AtomicOp, BinaryOp, Block as IrBlock, BlockCall, CallConv, Callee, CastOp, Const, Func,
    Function, Global, GlobalData, Initializer, InstFlags, InstKind, IntPredicate, Intrinsic, Linkage,
    MemAccess, MemFlags, Module, Ordering, ParamFlags, SymbolRef, SyncScope, Type, Value,
};

/// Bytes of LDS of a lane: a dword for each variable, the trace, and what lanes exchange.
const LDS_BYTES: i64 = 32;

/// The kernels or pixel shaders `k0`, `k1` and so on of `programs`, which are all one or all the other, as a
/// module.
pub fn lower(programs: &[&Program]) -> Module {
    let shaders = programs.iter().any(|program| program.is_shader());
    let mut module = Module {
        name: "graphs".to_owned(),
        triple: if shaders { "amdgcn-mesa-mesa3d" } else { "amdgcn-amd-amdhsa" }.to_owned(),
        ..Module::default()
    };
    let lanes = programs.iter().map(|program| program.lanes).max().unwrap_or(LANES);
    let lds = module.globals.push(GlobalData {
        name: "lds".to_owned(),
        linkage: Linkage::Internal,
        space: AddrSpace::LOCAL,
        size_bytes: lanes as u64 * LDS_BYTES as u64,
        align_log2: 2,
        is_constant: false,
        init: Some(Initializer::default()),
        ..GlobalData::external("")
    });
    let ops = || programs.iter().flat_map(|program| program.ops());
    let mut callees = Callees { called: Func::from_u32(0), traced: Func::from_u32(0) };
    if ops().any(|op| matches!(op, Op::Call { .. })) {
        callees.called = module.functions.push(called());
    }
    if ops().any(|op| matches!(op, Op::CallTrace { .. })) {
        callees.traced = module.functions.push(traced());
    }
    for (index, program) in programs.iter().enumerate() {
        module.functions.push(Lowering::run(program, &format!("k{index}"), lds, callees));
    }
    module
}

/// The functions that programs call; of no meaning where none does.
#[derive(Clone, Copy)]
struct Callees {
    called: Func,
    traced: Func,
}

pub(super) fn binary(f: &mut Function, block: IrBlock, op: BinaryOp, a: Value, b: Value) -> Value {
    let ty = f.ty(a);
    append(f, block, InstKind::Binary { op, args: [a, b] }, ty)
}

pub(super) fn append(f: &mut Function, block: IrBlock, kind: InstKind, ty: Type) -> Value {
    let inst = f.make_inst(kind, ty, InstFlags::empty());
    f.blocks[block].insts.push(inst);
    // An instruction without a result has nobody who asks.
    f.insts[inst].result.unwrap_or(Value::from_u32(0))
}

pub(super) fn to(block: IrBlock, args: &[Value]) -> BlockCall {
    BlockCall { block, args: args.iter().copied().collect() }
}

pub(super) fn atomic(space: AddrSpace) -> MemAccess {
    let scope = if space == AddrSpace::LOCAL { SyncScope::Workgroup } else { SyncScope::Agent };
    MemAccess { ordering: Ordering::Monotonic, scope, ..MemAccess::plain(space, 2) }
}

fn volatile(space: AddrSpace, ty: Type) -> MemAccess {
    let align_log2 = if ty == Type::I1 { 0 } else { 2 };
    MemAccess { flags: MemFlags::VOLATILE, ..MemAccess::plain(space, align_log2) }
}

fn ty_of(var: Var) -> Type {
    if var.is_mask() { Type::I1 } else { Type::I32 }
}

struct Lowering<'a> {
    program: &'a Program,
    f: Function,
    lds: Global,
    callees: Callees,
    nodes: Vec<Node>,
    /// The node that is being filled, and its block.
    node: usize,
    block: IrBlock,
    /// The lane's number, its results, its LDS; all results; the argument.
    lane: Value,
    results: Value,
    own_lds: Value,
    out: Value,
    argument: Value,
    /// Private memory of variables.
    private: [Option<Value>; 6],
}

impl<'a> Lowering<'a> {
    fn run(program: &'a Program, name: &str, lds: Global, callees: Callees) -> Function {
        let shader = program.is_shader();
        let convention = if shader { CallConv::AmdgpuPs } else { CallConv::Kernel };
        let mut f = Function::new(name, convention, Type::Void);
        if !shader {
            let lanes = program.lanes;
            f.attributes.insert("amdgpu-flat-work-group-size".to_owned(), format!("{lanes},{lanes}"));
        }
        let out = f.add_param(Type::ptr(AddrSpace::GLOBAL), "out");
        let argument = f.add_param(Type::I32, "argument");
        if shader {
            f.params.iter_mut().for_each(|param| param.flags = ParamFlags::INREG);
        }
        let nodes = nodes(program);
        let mut lowering = Self {
            program,
            block: IrBlock::from_u32(0),
            f,
            lds,
            callees,
            nodes,
            node: ENTRY,
            lane: argument,
            results: out,
            own_lds: out,
            out,
            argument,
            private: [None; 6],
        };
        lowering.blocks();
        lowering.entry();
        for node in order(&lowering.nodes).into_iter().skip(1) {
            lowering.fill(node);
        }
        lowering.f
    }

    /// Makes the blocks and their parameters.
    fn blocks(&mut self) {
        let reached = order(&self.nodes);
        for index in 0..self.nodes.len() {
            if !reached.contains(&index) {
                continue;
            }
            let block = self.f.add_block();
            self.nodes[index].ir = Some(block);
            for var in Var::ALL.map(|var| var as usize) {
                if self.nodes[index].from[var] == Some(From::Param(index)) {
                    self.nodes[index].params[var] = Some(self.f.add_block_param(block, ty_of(Var::ALL[var])));
                }
            }
        }
    }

    fn entry(&mut self) {
        self.start(ENTRY);
        self.lane = if self.program.is_shader() {
            let (all, none) = (self.int(u32::MAX), self.int(0));
            let low = self.intrinsic(Intrinsic::MbcntLo, &[all, none], Type::I32);
            self.intrinsic(Intrinsic::MbcntHi, &[all, low], Type::I32)
        } else {
            self.intrinsic(Intrinsic::WorkitemIdX, &[], Type::I32)
        };
        let lane = Some(self.lane);
        let stride = 4 * STRIDE as i64;
        let global = Type::ptr(AddrSpace::GLOBAL);
        self.results =
            self.push(InstKind::PtrAdd { base: self.out, index: lane, scale: stride, offset: 0 }, global);
        let local = Type::ptr(AddrSpace::LOCAL);
        let base = self.f.constant(local, Const::Symbol(SymbolRef::Global(self.lds), 0));
        self.own_lds = self.push(InstKind::PtrAdd { base, index: lane, scale: LDS_BYTES, offset: 0 }, local);
        for var in Var::ALL.into_iter().filter(|&var| self.program.homes[var as usize] == Home::Private) {
            let bytes = if var.is_mask() { 1 } else { 4 };
            let align_log2 = if var.is_mask() { 0 } else { 2 };
            let object = InstKind::Alloca { size_bytes: bytes, count: None, align_log2 };
            self.private[var as usize] = Some(self.push(object, Type::ptr(AddrSpace::PRIVATE)));
        }
        if self.uses_lds_trace() {
            let (ptr, zero) = (self.at(self.own_lds, 4 * 6), self.int(0));
            self.store(ptr, zero, MemAccess::plain(AddrSpace::LOCAL, 2));
        }
        for (var, (factor, shift)) in [Var::X, Var::Y].into_iter().zip(START) {
            let factor = self.int(factor);
            let product = self.binary(BinaryOp::Mul, self.lane, factor);
            let sum = self.binary(BinaryOp::Add, product, self.argument);
            let shift = self.int(shift.into());
            let shifted = self.binary(BinaryOp::LShr, sum, shift);
            let value = self.binary(BinaryOp::Xor, sum, shifted);
            self.write(var, value);
        }
        let flip = self.int(START_U);
        let uniform = self.binary(BinaryOp::Xor, self.argument, flip);
        self.write(Var::U, uniform);
        let mut fuel = self.int(self.program.fuel);
        if self.program.uneven_fuel {
            let three = self.int(3);
            let more = self.binary(BinaryOp::And, self.lane, three);
            fuel = self.binary(BinaryOp::Add, more, fuel);
        }
        self.write(Var::Fuel, fuel);
        let bit = Pick { source: Source::Argument, shift: START_N, mask: 1 };
        let clear = self.cond(Cond::Below(bit, 1));
        let set = self.not(clear);
        self.write(Var::N, set);
        let mask = self.cond(self.program.mask);
        self.write(Var::M, mask);
        let target = self.target(head(0));
        self.push(InstKind::Jump { target }, Type::Void);
    }

    /// Whether the trace in LDS is ever looked at; else it is all zero.
    fn uses_lds_trace(&self) -> bool {
        self.program
            .ops()
            .any(|op| matches!(op, Op::Trace { place: Place::Lds, .. } | Op::Add { place: Place::Lds, .. }))
    }

    /// Turns to `node`, with the values that its variables start with.
    fn start(&mut self, node: usize) {
        self.node = node;
        if let Some(block) = self.nodes[node].ir {
            self.block = block;
        }
        for var in 0..6 {
            self.nodes[node].out[var] = match self.nodes[node].from[var] {
                Some(From::Param(of)) => self.nodes[of].params[var],
                Some(From::Node(of)) => self.nodes[of].out[var],
                None => None,
            };
        }
    }

    fn fill(&mut self, node: usize) {
        self.start(node);
        let program = self.program;
        let exit = program.graph.exit();
        if node == head(exit) {
            return self.finish(exit);
        }
        let block = (node - 1) / 2;
        let code = &program.blocks[block];
        let is_tail = node.is_multiple_of(2);
        let (first, second) = match code.fuel {
            Fuel::Exit { at } => code.ops.split_at(usize::from(at)),
            _ => code.ops.split_at(code.ops.len()),
        };
        for op in if is_tail { second } else { first } {
            self.op(op);
        }
        if let Fuel::Exit { .. } = code.fuel
            && !is_tail
        {
            let left = self.burn();
            let zero = self.int(0);
            let cond = self.icmp(IntPredicate::Eq, left, zero);
            let (if_true, if_false) = (self.target(head(exit)), self.target(node + 1));
            self.push(InstKind::Branch { cond, if_true, if_false }, Type::Void);
            return;
        }
        self.end(block as u8, code);
    }

    /// The end of a block.
    fn end(&mut self, block: u8, code: &Block) {
        let driven = match code.fuel {
            Fuel::Drive { to } => Some((self.burn(), to)),
            _ => None,
        };
        match &self.program.graph.ends[usize::from(block)] {
            End::Jump(to) => {
                let target = self.target(head(*to));
                self.push(InstKind::Jump { target }, Type::Void);
            }
            End::Branch { to, .. } => {
                let mut cond = self.cond(code.cond);
                if let Some((left, way)) = driven {
                    cond = if way == 0 {
                        let one = self.int(1);
                        let empty = self.icmp(IntPredicate::Slt, left, one);
                        self.binary(BinaryOp::Or, cond, empty)
                    } else {
                        let zero = self.int(0);
                        let some = self.icmp(IntPredicate::Sgt, left, zero);
                        self.binary(BinaryOp::And, cond, some)
                    };
                }
                let [if_true, if_false] = to.map(|to| self.target(head(to)));
                self.push(InstKind::Branch { cond, if_true, if_false }, Type::Void);
            }
            End::Switch { to, .. } => {
                let mut value = self.pick(code.pick);
                if let Some((left, way)) = driven {
                    let (one, way) = (self.int(1), self.int(way.into()));
                    let cond = self.icmp(IntPredicate::Slt, left, one);
                    value = self.push(InstKind::Select { cond, if_true: way, if_false: value }, Type::I32);
                }
                let mut targets: Vec<BlockCall> = to.iter().map(|&to| self.target(head(to))).collect();
                let Some(default) = targets.pop() else { return };
                let cases = targets.into_iter().enumerate().map(|(at, target)| (at as u64, target)).collect();
                self.push(InstKind::Switch { value, cases, default }, Type::Void);
            }
            End::Return => self.finish(block),
        }
    }

    /// Stores the results and returns.
    fn finish(&mut self, by: u8) {
        let plain = MemAccess::plain(AddrSpace::GLOBAL, 2);
        for var in Var::ALL.into_iter().filter(|&var| self.program.stored[var as usize]) {
            let mut value = self.read(var);
            if var.is_mask() {
                value = self.push(InstKind::Cast { op: CastOp::ZExt, arg: value }, Type::I32);
            }
            let ptr = self.at(self.results, 4 * var as i64);
            self.store(ptr, value, plain);
        }
        let (ptr, tag) = (self.at(self.results, 4 * ENDED as i64), self.int(u32::from(by) + 1));
        self.store(ptr, tag, plain);
        if self.uses_lds_trace() {
            let from = self.at(self.own_lds, 4 * 6);
            let value = self
                .push(InstKind::Load { ptr: from, mem: MemAccess::plain(AddrSpace::LOCAL, 2) }, Type::I32);
            let ptr = self.at(self.results, 4 * LDS_TRACE as i64);
            self.store(ptr, value, plain);
        }
        self.push(InstKind::Ret { value: None }, Type::Void);
    }

    /// The jump target of `node` with the arguments that it takes from here.
    fn target(&mut self, node: usize) -> BlockCall {
        let here = self.nodes[self.node].out;
        let next = &self.nodes[node];
        let args = (0..6).filter(|&var| next.params[var].is_some()).filter_map(|var| here[var]).collect();
        BlockCall { block: next.ir.unwrap_or(self.block), args }
    }

    /// Takes a unit of fuel and returns what is left.
    fn burn(&mut self) -> Value {
        let (fuel, minus) = (self.read(Var::Fuel), self.int(u32::MAX));
        let left = self.binary(BinaryOp::Add, fuel, minus);
        self.write(Var::Fuel, left);
        left
    }

    fn op(&mut self, op: &Op) {
        match *op {
            Op::Mix { dst, factor, addend } => {
                let (old, factor, addend) = (self.read(dst), self.int(factor), self.int(addend));
                let product = self.binary(BinaryOp::Mul, old, factor);
                let value = self.binary(BinaryOp::Add, product, addend);
                self.write(dst, value);
            }
            Op::Fold { dst, src, shift, addend } => {
                let (old, from) = (self.read(dst), self.read(src));
                let (shift, addend) = (self.int(shift.into()), self.int(addend));
                let shifted = self.binary(BinaryOp::LShr, from, shift);
                let sum = self.binary(BinaryOp::Add, old, shifted);
                let value = self.binary(BinaryOp::Xor, sum, addend);
                self.write(dst, value);
            }
            Op::Test { dst, cond } => {
                let value = self.cond(cond);
                self.write(dst, value);
            }
            Op::Select { dst, mask, addend } => {
                let (old, cond, addend) = (self.read(dst), self.read(mask), self.int(addend));
                let if_true = self.binary(BinaryOp::Add, old, addend);
                let if_false = self.binary(BinaryOp::Xor, old, addend);
                let value = self.push(InstKind::Select { cond, if_true, if_false }, Type::I32);
                self.write(dst, value);
            }
            Op::Append { dst, mask } => {
                let (old, mask, two) = (self.read(dst), self.read(mask), self.int(2));
                let bit = self.push(InstKind::Cast { op: CastOp::ZExt, arg: mask }, Type::I32);
                let double = self.binary(BinaryOp::Mul, old, two);
                let value = self.binary(BinaryOp::Add, double, bit);
                self.write(dst, value);
            }
            Op::Trace { place, src } => {
                let (value, (ptr, space)) = (self.read(src), self.place(place));
                let mem = MemAccess::plain(space, 2);
                let (old, five) = (self.push(InstKind::Load { ptr, mem }, Type::I32), self.int(5));
                let product = self.binary(BinaryOp::Mul, old, five);
                let value = self.binary(BinaryOp::Add, product, value);
                self.store(ptr, value, mem);
            }
            Op::Add { place, src, old } => {
                let (value, (ptr, space)) = (self.read(src), self.place(place));
                let add = InstKind::AtomicRmw { op: AtomicOp::Add, ptr, value, mem: atomic(space) };
                let before = self.push(add, Type::I32);
                if let Some(var) = old {
                    let old = self.read(var);
                    let value = self.binary(BinaryOp::Add, old, before);
                    self.write(var, value);
                }
            }
            Op::Tally(counter) => {
                let ptr = self.at(self.out, 4 * (self.program.lanes * STRIDE + usize::from(counter)) as i64);
                let (value, mem) = (self.int(1), atomic(AddrSpace::GLOBAL));
                self.push(InstKind::AtomicRmw { op: AtomicOp::Add, ptr, value, mem }, Type::I32);
            }
            Op::Call { dst, mask } => {
                let args = [self.read(dst), self.read(mask)].into_iter().collect();
                let callee = Callee::Func(self.callees.called);
                let value = self.push(InstKind::Call { callee, args }, Type::I32);
                self.write(dst, value);
            }
            Op::CallTrace { src } => {
                let args = [self.place(Place::Global(0)).0, self.read(src)].into_iter().collect();
                let callee = Callee::Func(self.callees.traced);
                let value = self.push(InstKind::Call { callee, args }, Type::I32);
                self.write(src, value);
            }
            Op::Ballot { .. }
            | Op::FirstLane { .. }
            | Op::Permute { .. }
            | Op::Exchange { .. }
            | Op::Kill(_) => self.across(op),
        }
    }

    /// Operations that depend on which lanes are active.
    fn across(&mut self, op: &Op) {
        match *op {
            Op::Ballot { dst, cond } => {
                let (cond, high, three, factor) = (self.cond(cond), 32, self.int(3), self.int(31));
                let mask = self.intrinsic(Intrinsic::Ballot, &[cond], Type::I64);
                let low = self.push(InstKind::Cast { op: CastOp::Trunc, arg: mask }, Type::I32);
                let shift = self.f.int(Type::I64, high);
                let shifted = self.binary(BinaryOp::LShr, mask, shift);
                let high = self.push(InstKind::Cast { op: CastOp::Trunc, arg: shifted }, Type::I32);
                let product = self.binary(BinaryOp::Mul, high, factor);
                let bits = self.binary(BinaryOp::Add, low, product);
                let old = self.read(dst);
                let triple = self.binary(BinaryOp::Mul, old, three);
                let value = self.binary(BinaryOp::Add, triple, bits);
                self.write(dst, value);
            }
            Op::FirstLane { dst, src } => {
                let (old, value) = (self.read(dst), self.read(src));
                let first = self.intrinsic(Intrinsic::Readfirstlane, &[value], Type::I32);
                let value = self.binary(BinaryOp::Xor, old, first);
                self.write(dst, value);
            }
            Op::Permute { dst, src, by } => {
                let (old, value, by) = (self.read(dst), self.read(src), self.int(by.into()));
                let (four, all) = (self.int(4), self.int(self.program.waves.lanes as u32 - 1));
                let sum = self.binary(BinaryOp::Add, self.lane, by);
                let from = self.binary(BinaryOp::And, sum, all);
                let address = self.binary(BinaryOp::Mul, from, four);
                let other = self.intrinsic(Intrinsic::DsBpermute, &[address, value], Type::I32);
                let value = self.binary(BinaryOp::Add, old, other);
                self.write(dst, value);
            }
            Op::Exchange { dst, src } => {
                let (value, mem) = (self.read(src), MemAccess::plain(AddrSpace::LOCAL, 2));
                let own = self.at(self.own_lds, 4 * 7);
                self.store(own, value, mem);
                self.barrier();
                let (wave, all) =
                    (self.int(self.program.waves.lanes as u32), self.int(self.program.lanes as u32 - 1));
                let sum = self.binary(BinaryOp::Add, self.lane, wave);
                let from = self.binary(BinaryOp::And, sum, all);
                let local = Type::ptr(AddrSpace::LOCAL);
                let base = self.f.constant(local, Const::Symbol(SymbolRef::Global(self.lds), 0));
                let other = InstKind::PtrAdd { base, index: Some(from), scale: LDS_BYTES, offset: 0 };
                let other = self.push(other, local);
                let ptr = self.at(other, 4 * 7);
                let value = self.push(InstKind::Load { ptr, mem }, Type::I32);
                self.barrier();
                let old = self.read(dst);
                let value = self.binary(BinaryOp::Add, old, value);
                self.write(dst, value);
            }
            Op::Kill(cond) => {
                let killed = self.cond(cond);
                let lives = self.not(killed);
                self.intrinsic(Intrinsic::Kill, &[lives], Type::Void);
            }
            _ => {}
        }
    }

    /// A barrier of the work-group for LDS, as OpenCL's.
    fn barrier(&mut self) {
        let fence = |ordering| InstKind::Fence {
            ordering,
            scope: SyncScope::Workgroup,
            flags: MemFlags::empty(),
            space: AddrSpace::FLAT,
        };
        self.push(fence(Ordering::Release), Type::Void);
        self.intrinsic(Intrinsic::SBarrier, &[], Type::Void);
        self.push(fence(Ordering::Acquire), Type::Void);
    }

    // Variables.

    /// The memory of a variable that has any.
    fn home(&mut self, var: Var) -> Option<(Value, AddrSpace)> {
        let index = var as i64;
        match self.program.homes[var as usize] {
            Home::Ssa | Home::Phis => None,
            Home::Private => self.private[var as usize].map(|ptr| (ptr, AddrSpace::PRIVATE)),
            Home::Lds => Some((self.at(self.own_lds, 4 * index), AddrSpace::LOCAL)),
            Home::Global => Some((self.at(self.results, 4 * (HOMES as i64 + index)), AddrSpace::GLOBAL)),
        }
    }

    fn read(&mut self, var: Var) -> Value {
        let ty = ty_of(var);
        if let Some((ptr, space)) = self.home(var) {
            return self.push(InstKind::Load { ptr, mem: volatile(space, ty) }, ty);
        }
        // Every variable is written in the entry.
        self.nodes[self.node].out[var as usize].unwrap_or(self.argument)
    }

    fn write(&mut self, var: Var, value: Value) {
        match self.home(var) {
            Some((ptr, space)) => self.store(ptr, value, volatile(space, ty_of(var))),
            None => self.nodes[self.node].out[var as usize] = Some(value),
        }
    }

    fn place(&mut self, place: Place) -> (Value, AddrSpace) {
        match place {
            Place::Global(index) => {
                (self.at(self.results, 4 * (TRACE as i64 + i64::from(index))), AddrSpace::GLOBAL)
            }
            Place::Lds => (self.at(self.own_lds, 4 * 6), AddrSpace::LOCAL),
        }
    }

    // Expressions.

    fn pick(&mut self, pick: Pick) -> Value {
        let mut value = match pick.source {
            Source::Var(var) => self.read(var),
            Source::Lane => self.lane,
            Source::Argument => self.argument,
        };
        if pick.shift != 0 {
            let shift = self.int(pick.shift.into());
            value = self.binary(BinaryOp::LShr, value, shift);
        }
        let mask = self.int(pick.mask);
        self.binary(BinaryOp::And, value, mask)
    }

    fn cond(&mut self, cond: Cond) -> Value {
        match cond {
            Cond::Below(pick, bound) => {
                let (value, bound) = (self.pick(pick), self.int(bound));
                self.icmp(IntPredicate::Ult, value, bound)
            }
            Cond::Mask(var) => self.read(var),
            Cond::Not(var) => {
                let value = self.read(var);
                self.not(value)
            }
            Cond::Xor(var, pick, bound) => {
                let value = self.read(var);
                let below = self.cond(Cond::Below(pick, bound));
                self.binary(BinaryOp::Xor, value, below)
            }
            Cond::Const(value) => self.f.int(Type::I1, value.into()),
        }
    }

    fn not(&mut self, value: Value) -> Value {
        let all = self.f.int(Type::I1, 1);
        self.binary(BinaryOp::Xor, value, all)
    }

    fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.push(InstKind::Icmp { predicate, args: [a, b] }, Type::I1)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        binary(&mut self.f, self.block, op, a, b)
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Value {
        self.push(InstKind::Intrinsic { intrinsic, args: args.iter().copied().collect() }, ty)
    }

    fn int(&mut self, value: u32) -> Value {
        self.f.int(Type::I32, value.into())
    }

    fn at(&mut self, base: Value, offset: i64) -> Value {
        if offset == 0 {
            return base;
        }
        let ty = self.f.ty(base);
        self.push(InstKind::PtrAdd { base, index: None, scale: 0, offset }, ty)
    }

    fn store(&mut self, ptr: Value, value: Value, mem: MemAccess) {
        self.push(InstKind::Store { ptr, value, mem }, Type::Void);
    }

    fn push(&mut self, kind: InstKind, ty: Type) -> Value {
        append(&mut self.f, self.block, kind, ty)
    }
}
