//! Rewriting of the accesses to promoted objects.

use super::{Place, Places, Variable, is_whole};
use crate::cfg::Cfg;
use crate::params::{self, Replaced};
use mir::analysis::{Dominators, Order, Reaching, ReachingSolver};
use mir::ir::*;

/// The function while its accesses are rewritten.
pub(super) struct Rewriter<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    places: Places,
    cfg: &'a Cfg,
    /// Position of the current block.
    position: u32,
    out: Vec<Inst>,
    loc: SourceLoc,
    /// Current values of variables with the block position + 1 in which they are valid.
    local: Vec<(u32, Value)>,
    /// Variables written in the current block.
    written: Vec<u32>,
    /// For each variable, the values at the ends of blocks that write it.
    defs: Vec<Vec<(u32, Value)>>,
    /// For each variable, blocks that read it first, with the value that stands for what reaches them.
    reads: Vec<Vec<(u32, Value)>>,
    replaced: Replaced,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(func: &'a mut Function, types: &'a TypeTable, places: Places, cfg: &'a Cfg) -> Self {
        let variables = places.variables.len();
        let none = (0, Value::from_u32(0));
        Self {
            func,
            types,
            places,
            cfg,
            position: 0,
            out: Vec::new(),
            loc: SourceLoc::default(),
            local: vec![none; variables],
            written: Vec::new(),
            defs: vec![Vec::new(); variables],
            reads: vec![Vec::new(); variables],
            replaced: Replaced::default(),
        }
    }

    /// Replaces all accesses to promoted objects.
    pub(super) fn run(mut self) {
        let cfg = self.cfg;
        self.func.layout.clone_from(&cfg.rpo);
        for (position, &block) in cfg.rpo.iter().enumerate() {
            mir::interrupt::checkpoint();
            self.position = position as u32;
            let insts = std::mem::take(&mut self.func.blocks[block].insts);
            self.out = Vec::with_capacity(insts.len());
            for inst in insts {
                self.rewrite(inst);
            }
            self.func.blocks[block].insts = std::mem::take(&mut self.out);
            for variable in self.written.drain(..) {
                let defs = &mut self.defs[variable as usize];
                // A variable that was written twice is listed twice.
                if defs.last().is_none_or(|d| d.0 != self.position) {
                    defs.push((self.position, self.local[variable as usize].1));
                }
            }
        }
        self.connect();
        params::fold_params(self.func, &mut self.replaced);
    }

    fn rewrite(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        self.loc = self.func.locs[inst];
        let place = |v: Value| self.places.place(v);
        match &data.kind {
            InstKind::Load { ptr, .. } => {
                if let Some(at) = place(*ptr) {
                    let (ty, result) = (data.ty, data.result);
                    let value = self.read(at, ty);
                    if let Some(result) = result {
                        self.replaced.set(result, value);
                    }
                    return;
                }
            }
            InstKind::Store { ptr, value, .. } => {
                if let Some(at) = place(*ptr) {
                    let value = *value;
                    return self.write(at, value);
                }
            }
            InstKind::Intrinsic { intrinsic, args } => {
                let placed = args.iter().any(|&a| place(a).is_some());
                if placed {
                    let marker = matches!(intrinsic, Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd);
                    if intrinsic.has_side_effects() && !marker {
                        let (intrinsic, args) = (*intrinsic, args.clone());
                        self.block_operation(inst, intrinsic, &args);
                    }
                    return;
                }
            }
            _ => {
                if data.result.is_some_and(|r| place(r).is_some()) {
                    return;
                }
            }
        }
        self.out.push(inst);
    }

    // ---- small builder

    fn push(&mut self, kind: InstKind, ty: Type) -> Value {
        let inst = self.func.make_inst(kind, ty, InstFlags::empty());
        self.func.locs[inst] = self.loc;
        self.out.push(inst);
        match self.func.insts[inst].result {
            Some(value) => value,
            // Stores; nobody reads this.
            None => self.func.constant(Type::I32, Const::Poison),
        }
    }

    fn cast(&mut self, op: CastOp, arg: Value, ty: Type) -> Value {
        if self.func.ty(arg) == ty { arg } else { self.push(InstKind::Cast { op, arg }, ty) }
    }

    fn index(&mut self, i: usize) -> Value {
        self.func.int(Type::I32, i as u64)
    }

    // ---- accesses

    fn read(&mut self, at: Place, ty: Type) -> Value {
        let bytes = self.types.store_bytes(ty);
        let covered = self.places.covered(at, bytes);
        if covered.len() == 1 {
            let value = self.current(covered.start as u32);
            let from = self.func.ty(value);
            if from == ty || is_whole(from, bytes) && is_whole(ty, bytes) {
                return self.cast(CastOp::BitCast, value, ty);
            }
            let integer = self.cast(CastOp::BitCast, value, Type::int((bytes * 8) as u32));
            return self.cast(CastOp::Trunc, integer, ty);
        }
        let unit = self.places.variables[covered.start].bytes;
        let even = covered.clone().all(|v| self.places.variables[v].bytes == unit);
        let count = covered.len();
        if even {
            let vector_ty = Type::Vector(self.unit_scalar(ty, unit), count as u32);
            let element_ty = Type::Scalar(self.unit_scalar(ty, unit));
            let mut vector = self.func.constant(vector_ty, Const::Undef);
            for (i, variable) in covered.enumerate() {
                let value = self.current(variable as u32);
                let element = self.cast(CastOp::BitCast, value, element_ty);
                let index = self.index(i);
                vector = self.push(InstKind::InsertElement { vector, element, index }, vector_ty);
            }
            return self.cast(CastOp::BitCast, vector, ty);
        }
        let whole = Type::int((bytes * 8) as u32);
        let mut sum = self.func.int(whole, 0);
        for variable in covered {
            let Variable { offset, bytes, .. } = self.places.variables[variable];
            let value = self.current(variable as u32);
            let value = self.cast(CastOp::BitCast, value, Type::int((bytes * 8) as u32));
            let value = self.cast(CastOp::ZExt, value, whole);
            let shift = self.func.int(whole, (offset - at.1) * 8);
            let value = self.push(InstKind::Binary { op: BinaryOp::Shl, args: [value, shift] }, whole);
            sum = self.push(InstKind::Binary { op: BinaryOp::Or, args: [sum, value] }, whole);
        }
        self.cast(CastOp::BitCast, sum, ty)
    }

    fn write(&mut self, at: Place, value: Value) {
        let ty = self.func.ty(value);
        let bytes = self.types.store_bytes(ty);
        let covered = self.places.covered(at, bytes);
        if covered.len() == 1 {
            let to = self.places.variables[covered.start].ty;
            let value = if to == ty || is_whole(to, bytes) && is_whole(ty, bytes) {
                self.cast(CastOp::BitCast, value, to)
            } else {
                let integer = self.cast(CastOp::ZExt, value, Type::int((bytes * 8) as u32));
                self.cast(CastOp::BitCast, integer, to)
            };
            return self.assign(covered.start as u32, value);
        }
        let unit = self.places.variables[covered.start].bytes;
        let even = covered.clone().all(|v| self.places.variables[v].bytes == unit);
        let count = covered.len();
        if even {
            let scalar = self.unit_scalar(ty, unit);
            let vector = self.cast(CastOp::BitCast, value, Type::Vector(scalar, count as u32));
            for (i, variable) in covered.enumerate() {
                let index = self.index(i);
                let element = self.push(InstKind::ExtractElement { vector, index }, Type::Scalar(scalar));
                let to = self.places.variables[variable].ty;
                let element = self.cast(CastOp::BitCast, element, to);
                self.assign(variable as u32, element);
            }
            return;
        }
        let whole = Type::int((bytes * 8) as u32);
        let integer = self.cast(CastOp::BitCast, value, whole);
        for variable in covered {
            let Variable { offset, bytes, ty } = self.places.variables[variable];
            let shift = self.func.int(whole, (offset - at.1) * 8);
            let moved = self.push(InstKind::Binary { op: BinaryOp::LShr, args: [integer, shift] }, whole);
            let piece = self.cast(CastOp::Trunc, moved, Type::int((bytes * 8) as u32));
            let piece = self.cast(CastOp::BitCast, piece, ty);
            self.assign(variable as u32, piece);
        }
    }

    /// Element type for pieces of `unit` bytes of a value of type `ty`: its own where that fits.
    fn unit_scalar(&self, ty: Type, unit: u64) -> Scalar {
        match ty {
            Type::Vector(scalar, _) if u64::from(scalar.bits()) == unit * 8 => scalar,
            _ => Scalar::Int((unit * 8) as u32),
        }
    }

    fn block_operation(&mut self, inst: Inst, intrinsic: Intrinsic, args: &[Value]) {
        let &[to, from, len, ..] = args else { return };
        let bytes = self.func.as_int(len).expect("promoted operations are of constant length");
        let aligns = self.func.mem_aligns.get(&inst).copied().unwrap_or_default();
        let (a, b) = (self.places.place(to), self.places.place(from));
        if matches!(intrinsic, Intrinsic::Memset | Intrinsic::MemsetInline) {
            let Some(at) = a else { return };
            for variable in self.places.covered(at, bytes) {
                let Variable { bytes, ty, .. } = self.places.variables[variable];
                let value = self.fill(from, bytes, ty);
                self.assign(variable as u32, value);
            }
            return;
        }
        match (a, b) {
            (Some(a), Some(b)) => {
                let pairs: Vec<_> =
                    self.places.covered(a, bytes).zip(self.places.covered(b, bytes)).collect();
                for (to, from) in pairs {
                    let value = self.current(from as u32);
                    let value = self.cast(CastOp::BitCast, value, self.places.variables[to].ty);
                    self.assign(to as u32, value);
                }
            }
            (Some(a), None) => {
                for variable in self.places.covered(a, bytes) {
                    let Variable { offset, ty, .. } = self.places.variables[variable];
                    let (ptr, mem) = self.outside(from, offset - a.1, aligns[1]);
                    let value = self.push(InstKind::Load { ptr, mem }, ty);
                    self.assign(variable as u32, value);
                }
            }
            (None, Some(b)) => {
                for variable in self.places.covered(b, bytes) {
                    let offset = self.places.variables[variable].offset;
                    let value = self.current(variable as u32);
                    let (ptr, mem) = self.outside(to, offset - b.1, aligns[0]);
                    self.push(InstKind::Store { ptr, value, mem }, Type::Void);
                }
            }
            (None, None) => {}
        }
    }

    /// Address and access `offset` bytes behind `ptr`.
    fn outside(&mut self, ptr: Value, offset: u64, align_log2: u8) -> (Value, MemAccess) {
        let ty = self.func.ty(ptr);
        let space = ty.addr_space().unwrap_or(AddrSpace::FLAT);
        if offset == 0 {
            return (ptr, MemAccess::plain(space, align_log2));
        }
        let kind = InstKind::PtrAdd { base: ptr, index: None, scale: 0, offset: offset as i64 };
        let moved = self.push(kind, ty);
        (moved, MemAccess::plain(space, align_log2.min(offset.trailing_zeros() as u8)))
    }

    /// The byte `byte`, repeated.
    fn fill(&mut self, byte: Value, bytes: u64, ty: Type) -> Value {
        if self.func.as_int(byte) == Some(0) {
            return match ty {
                Type::Scalar(Scalar::Int(bits)) if bits <= 64 => self.func.int(ty, 0),
                Type::Scalar(Scalar::Float(_)) => self.func.constant(ty, Const::Float(0)),
                _ => self.func.constant(ty, Const::Zero),
            };
        }
        let vector_ty = Type::Vector(Scalar::Int(8), bytes as u32);
        let mut vector = self.func.constant(vector_ty, Const::Undef);
        for i in 0..bytes as usize {
            let index = self.index(i);
            vector = self.push(InstKind::InsertElement { vector, element: byte, index }, vector_ty);
        }
        self.cast(CastOp::BitCast, vector, ty)
    }

    // ---- SSA construction

    fn assign(&mut self, variable: u32, value: Value) {
        self.local[variable as usize] = (self.position + 1, value);
        self.written.push(variable);
    }

    fn current(&mut self, variable: u32) -> Value {
        let (stamp, value) = self.local[variable as usize];
        if stamp == self.position + 1 {
            return value;
        }
        // Stands for what reaches the block until `connect` knows it.
        let ty = self.places.variables[variable as usize].ty;
        let def = ValueDef::BlockParam(self.cfg.rpo[self.position as usize], u32::MAX);
        let value = self.func.values.push(ValueData { ty, def });
        self.local[variable as usize] = (self.position + 1, value);
        self.reads[variable as usize].push((self.position, value));
        value
    }

    /// Finds what reaches each read, and adds the parameters that this takes.
    fn connect(&mut self) {
        let cfg = self.cfg;
        let order = Order::from_blocks((0..cfg.rpo.len() as u32).collect(), cfg.rpo.len());
        let dominators = Dominators::new(&cfg.graph, &order);
        let mut solver = ReachingSolver::new(&cfg.graph, &order, &dominators);
        let mut params: Vec<(u32, Value)> = Vec::new();
        for variable in 0..self.reads.len() {
            let reads = std::mem::take(&mut self.reads[variable]);
            if reads.is_empty() {
                continue;
            }
            let ty = self.places.variables[variable].ty;
            let undefined = self.func.constant(ty, Const::Undef);
            let defs = self.defs[variable].iter().copied();
            let solution = solver.solve(defs, reads.iter().map(|r| r.0), undefined);
            params.clear();
            params.extend(solution.params().map(|block| (block, undefined)));
            params.sort_unstable_by_key(|p| p.0);
            for (block, param) in &mut params {
                *param = self.func.add_block_param(cfg.rpo[*block as usize], ty);
            }
            let value = |reaching| match reaching {
                Reaching::Value(value) => value,
                Reaching::Param(block) => {
                    params.binary_search_by_key(&block, |p| p.0).map_or(undefined, |i| params[i].1)
                }
            };
            for &(block, _) in &params {
                let target_block = cfg.rpo[block as usize];
                let mut last = None;
                for &pred in cfg.preds(block as usize) {
                    if last.replace(pred) == Some(pred) {
                        continue;
                    }
                    let arg = value(solution.at_end(pred));
                    let Some(inst) = self.func.terminator(cfg.rpo[pred as usize]) else { continue };
                    for target in self.func.insts[inst].kind.targets_mut() {
                        if target.block == target_block {
                            target.args.push(arg);
                        }
                    }
                }
            }
            for (block, placeholder) in reads {
                self.replaced.set(placeholder, value(solution.at_start(block)));
            }
        }
    }
}
