//! Promotion of stack objects to SSA values.
//!
//! An object qualifies while every use of its address is known: plain loads and stores, block copies and fills of
//! constant length, all at constant offsets. The ends of all accesses cut the object into *variables*, intervals
//! of bytes; copies between two objects carry cuts from one to the other. A variable has the type of an access that
//! covers it exactly, else it is an integer. An access over several variables is put together from them.
//!
//! Values are found on demand (Braun et al., "Simple and Efficient Construction of Static Single Assignment Form"):
//! a read without a write before it in its block asks the block's predecessors, through a work list, and a block
//! with several predecessors gets a parameter; parameters that turn out to have one value only are folded away
//! ([`super::params`]). A read before any write is undefined.
//!
//! Cost: linear in instructions, plus one table entry for each block that a variable lives through without being
//! touched, and one branch argument for each edge into a join among them. Large arrays that live through many blocks
//! make this the most expensive step of simplification.

use super::cfg::Cfg;
use super::params::{self, Replaced};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// Largest object that is looked at: beyond, the register file would not hold it anyway.
const MAX_BYTES: u64 = 1024;
/// Most variables that one access may touch.
const MAX_PIECES: usize = 128;
/// Rounds in which copies carry cuts from object to object.
const MAX_ROUNDS: usize = 8;

/// Where a pointer points: object and byte offset.
type Place = (u32, u64);

/// A stack object under consideration.
struct Object {
    size: u64,
    lost: bool,
    /// Ends of variables, offsets in bytes.
    cuts: BTreeSet<u64>,
    /// First variable of the function that belongs to it.
    first_variable: u32,
}

/// A plain load or store.
struct Access {
    at: Place,
    bytes: u64,
    ty: Type,
}

/// A block copy or fill of constant length.
struct BlockOperation {
    to: Option<Place>,
    from: Option<Place>,
    bytes: u64,
}

/// An interval of an object that has a value of its own.
struct Variable {
    offset: u64,
    bytes: u64,
    ty: Type,
}

struct Analysis<'a> {
    func: &'a Function,
    types: &'a TypeTable,
    places: SecondaryMap<Value, Option<Place>>,
    objects: Vec<Object>,
    accesses: Vec<Access>,
    copies: Vec<BlockOperation>,
    variables: Vec<Variable>,
}

/// `func` with its simple stack objects promoted; `None` where there are none.
pub fn promote(func: &Function, types: &TypeTable) -> Option<Function> {
    let has_object = |&block: &Block| {
        let insts = &func.blocks[block].insts;
        insts.iter().any(|&i| matches!(func.insts[i].kind, InstKind::Alloca { .. }))
    };
    if !func.layout.iter().any(has_object) {
        return None;
    }
    let cfg = Cfg::new(func);
    let mut analysis = Analysis {
        func,
        types,
        places: SecondaryMap::new(),
        objects: Vec::new(),
        accesses: Vec::new(),
        copies: Vec::new(),
        variables: Vec::new(),
    };
    analysis.collect(&cfg);
    analysis.cut();
    analysis.make_variables();
    if analysis.objects.iter().all(|o| o.lost) {
        return None;
    }
    Some(Rewriter::new(analysis, &cfg).run())
}

fn is_whole(ty: Type, bytes: u64) -> bool {
    ty.bits() == Some(bytes * 8)
}

impl Analysis<'_> {
    fn place(&self, value: Value) -> Option<Place> {
        self.places[value].filter(|&(object, _)| !self.objects[object as usize].lost)
    }

    fn lose(&mut self, value: Value) {
        if let Some((object, _)) = self.places[value] {
            self.objects[object as usize].lost = true;
        }
    }

    fn collect(&mut self, cfg: &Cfg) {
        let func = self.func;
        for &block in &cfg.rpo {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                match &data.kind {
                    InstKind::Alloca { size_bytes, count, .. } => {
                        let count = count.map_or(Some(1), |c| func.as_int(c));
                        let size = count.and_then(|c| size_bytes.checked_mul(c));
                        if let (Some(result), Some(size)) = (data.result, size)
                            && size <= MAX_BYTES
                        {
                            self.places[result] = Some((self.objects.len() as u32, 0));
                            self.objects.push(Object {
                                size,
                                lost: false,
                                cuts: BTreeSet::new(),
                                first_variable: 0,
                            });
                        }
                    }
                    InstKind::PtrAdd { base, index, scale, offset } => {
                        if let Some(index) = index {
                            self.lose(*index);
                        }
                        self.derive(data.result, *base, *index, *scale, *offset);
                    }
                    InstKind::Cast { op: CastOp::AddrSpaceCast | CastOp::BitCast, arg } => {
                        match (data.ty, data.result) {
                            (Type::Scalar(Scalar::Ptr(_)), Some(result)) => {
                                self.places[result] = self.places[*arg];
                            }
                            _ => self.lose(*arg),
                        }
                    }
                    InstKind::Load { ptr, mem } => self.access(*ptr, mem, data.ty),
                    InstKind::Store { ptr, value, mem } => {
                        self.lose(*value);
                        self.access(*ptr, mem, func.ty(*value));
                    }
                    InstKind::Intrinsic { intrinsic, args } => self.intrinsic(*intrinsic, args),
                    kind => kind.for_each_value(|v| self.lose(v)),
                }
            }
        }
    }

    fn derive(&mut self, result: Option<Value>, base: Value, index: Option<Value>, scale: i64, offset: i64) {
        let Some((object, at)) = self.places[base] else { return };
        let steps = match index {
            None => Some(0),
            Some(index) => self.func.as_int(index).map(|c| {
                let bits = self.func.ty(index).bits().unwrap_or(64) as u32;
                super::fold::sext64(c, bits).wrapping_mul(scale)
            }),
        };
        let to = steps.map(|s| (at as i64).wrapping_add(s).wrapping_add(offset));
        match (to, result) {
            (Some(to), Some(result)) if to >= 0 && matches!(self.func.ty(result), Type::Scalar(_)) => {
                self.places[result] = Some((object, to as u64));
            }
            _ => self.lose(base),
        }
    }

    fn inside(&self, at: Place, bytes: u64) -> bool {
        at.1.checked_add(bytes).is_some_and(|end| end <= self.objects[at.0 as usize].size)
    }

    fn access(&mut self, ptr: Value, mem: &MemAccess, ty: Type) {
        let Some(at) = self.places[ptr] else { return };
        let bytes = self.types.store_bytes(ty);
        if !mem.is_simple() || bytes == 0 || !self.inside(at, bytes) {
            return self.lose(ptr);
        }
        self.objects[at.0 as usize].cuts.extend([at.1, at.1 + bytes]);
        self.accesses.push(Access { at, bytes, ty });
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        use Intrinsic::*;
        match (intrinsic, args) {
            (Memcpy | MemcpyInline | Memmove | Memset | MemsetInline, &[to, from, len, volatile, ..]) => {
                let (a, b) = (self.places[to], self.places[from]);
                let fill = matches!(intrinsic, Memset | MemsetInline);
                let bytes = self.func.as_int(len).filter(|&n| n <= MAX_BYTES);
                let (Some(bytes), Some(0), false) = (
                    bytes,
                    self.func.as_int(volatile),
                    a.is_some() && b.is_some_and(|b| a.is_some_and(|a| a.0 == b.0)) || fill && b.is_some(),
                ) else {
                    self.lose(to);
                    return self.lose(from);
                };
                for (place, pointer) in [(a, to), (b, from)] {
                    let Some(place) = place else { continue };
                    if self.inside(place, bytes) {
                        self.objects[place.0 as usize].cuts.extend([place.1, place.1 + bytes]);
                    } else {
                        self.lose(pointer);
                    }
                }
                if a.is_some() || b.is_some() {
                    self.copies.push(BlockOperation { to: a, from: b, bytes });
                }
            }
            _ if intrinsic.props().contains(IntrinsicProps::DROPPED) => {}
            _ => args.iter().for_each(|&v| self.lose(v)),
        }
    }

    /// Refines cuts until copies agree and every access can be put together.
    fn cut(&mut self) {
        let mut exact: Vec<BTreeSet<(u64, u64)>> = vec![BTreeSet::new(); self.objects.len()];
        for a in &self.accesses {
            exact[a.at.0 as usize].insert((a.at.1, a.at.1 + a.bytes));
        }
        for round in 0.. {
            let mut changed = false;
            for (object, exact) in self.objects.iter_mut().zip(&exact) {
                if !object.lost {
                    changed |= split_long(object, exact);
                }
            }
            for a in &self.accesses {
                let object = &mut self.objects[a.at.0 as usize];
                if !object.lost {
                    changed |= split_evenly(object, a.at.1..a.at.1 + a.bytes);
                }
            }
            for copy in &self.copies {
                let (Some(to), Some(from)) = (copy.to, copy.from) else { continue };
                let lost = [to, from].map(|p| self.objects[p.0 as usize].lost);
                if lost.contains(&true) {
                    continue;
                }
                for (a, b) in [(to, from), (from, to)] {
                    let cuts: Vec<u64> =
                        self.objects[a.0 as usize].cuts.range(a.1..a.1 + copy.bytes).copied().collect();
                    for cut in cuts {
                        changed |= self.objects[b.0 as usize].cuts.insert(cut - a.1 + b.1);
                    }
                }
                if round >= MAX_ROUNDS && changed {
                    self.objects[to.0 as usize].lost = true;
                    self.objects[from.0 as usize].lost = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn make_variables(&mut self) {
        // Types of exact accesses: one that fills the variable wins over a narrower one.
        let mut types: FxHashMap<(u32, u64, u64), Type> = FxHashMap::default();
        for a in &self.accesses {
            let ty = types.entry((a.at.0, a.at.1, a.bytes)).or_insert(a.ty);
            if !is_whole(*ty, a.bytes) {
                *ty = a.ty;
            }
        }
        for (index, object) in self.objects.iter_mut().enumerate() {
            object.first_variable = self.variables.len() as u32;
            if object.lost {
                continue;
            }
            let cuts: Vec<u64> = object.cuts.iter().copied().collect();
            for pair in cuts.windows(2) {
                let (offset, bytes) = (pair[0], pair[1] - pair[0]);
                let ty = types.get(&(index as u32, offset, bytes)).copied();
                let ty = ty.unwrap_or(Type::int((bytes * 8) as u32));
                if bytes > 8 && !types.contains_key(&(index as u32, offset, bytes)) {
                    // No access, so nothing but copies of what was never written; keep the object.
                    object.lost = true;
                }
                self.variables.push(Variable { offset, bytes, ty });
            }
        }
        for i in 0..self.accesses.len() {
            let Access { at, bytes, ty } = self.accesses[i];
            if !self.objects[at.0 as usize].lost && !self.can_access(at, bytes, ty) {
                self.objects[at.0 as usize].lost = true;
            }
        }
        for i in 0..self.copies.len() {
            let BlockOperation { to, from, bytes } = self.copies[i];
            for place in [to, from].into_iter().flatten() {
                if !self.objects[place.0 as usize].lost {
                    let covered = self.covered(place, bytes);
                    let fits = covered.clone().all(|v| {
                        let variable = &self.variables[v];
                        is_whole(variable.ty, variable.bytes)
                    });
                    if !fits || covered.len() > MAX_PIECES {
                        self.objects[place.0 as usize].lost = true;
                    }
                }
            }
        }
    }

    /// Variables of an object inside a range whose ends are cuts.
    fn covered(&self, at: Place, bytes: u64) -> Range<usize> {
        let start = self.objects[at.0 as usize].first_variable as usize;
        let end = match self.objects.get(at.0 as usize + 1) {
            Some(next) => next.first_variable as usize,
            None => self.variables.len(),
        };
        let variables = &self.variables[start..end];
        let low = variables.partition_point(|v| v.offset < at.1);
        let high = variables.partition_point(|v| v.offset < at.1 + bytes);
        start + low..start + high
    }

    fn can_access(&self, at: Place, bytes: u64, ty: Type) -> bool {
        let covered = self.covered(at, bytes);
        match covered.len() {
            1 => {
                let variable = &self.variables[covered.start];
                let narrow = matches!(ty, Type::Scalar(Scalar::Int(_))) && is_whole(variable.ty, bytes);
                variable.ty == ty || is_whole(variable.ty, bytes) && is_whole(ty, bytes) || narrow
            }
            0 => false,
            n => {
                let first = self.variables[covered.start].bytes;
                n <= MAX_PIECES
                    && is_whole(ty, bytes)
                    && covered.clone().all(|v| is_whole(self.variables[v].ty, self.variables[v].bytes))
                    && (bytes <= 8 || covered.clone().all(|v| self.variables[v].bytes == first))
            }
        }
    }
}

/// Cuts intervals of more than 8 bytes that no access covers exactly.
fn split_long(object: &mut Object, exact: &BTreeSet<(u64, u64)>) -> bool {
    let cuts: Vec<u64> = object.cuts.iter().copied().collect();
    let before = cuts.len();
    for pair in cuts.windows(2) {
        if pair[1] - pair[0] > 8 && !exact.contains(&(pair[0], pair[1])) {
            // At multiples of 8 from the start of the object.
            let first = (pair[0] / 8 + 1) * 8;
            object.cuts.extend((first..pair[1]).step_by(8));
        }
    }
    object.cuts.len() != before
}

/// Makes the variables of a long access equally long.
fn split_evenly(object: &mut Object, range: Range<u64>) -> bool {
    let mut step = range.end - range.start;
    let mut inner = 0;
    for &cut in object.cuts.range(range.start + 1..range.end) {
        inner += 1;
        step = gcd(step, cut - range.start);
    }
    if inner == 0 || range.end - range.start <= 8 {
        return false;
    }
    let step = (1 << step.trailing_zeros().min(3)) as usize;
    let before = object.cuts.len();
    object.cuts.extend(range.step_by(step));
    object.cuts.len() != before
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The new function in the making.
struct Rewriter<'a> {
    analysis: Analysis<'a>,
    cfg: &'a Cfg,
    func: Function,
    /// Position of the current block.
    position: u32,
    out: Vec<Inst>,
    loc: SourceLoc,
    /// Current values of variables with the block position + 1 in which they are valid.
    local: Vec<(u32, Value)>,
    /// Variables with a value in the current block.
    touched: Vec<u32>,
    exits: FxHashMap<(u32, u32), Value>,
    entries: FxHashMap<(u32, u32), Value>,
    /// Entry values that are to be connected to predecessors.
    pending: Vec<(u32, u32, Value)>,
    /// Variables behind the parameters added to a block, in order.
    added: FxHashMap<u32, Vec<u32>>,
    replaced: Replaced,
}

impl<'a> Rewriter<'a> {
    fn new(analysis: Analysis<'a>, cfg: &'a Cfg) -> Self {
        let func = analysis.func.clone();
        let none = (0, Value::from_u32(0));
        let local = vec![none; analysis.variables.len()];
        Self {
            analysis,
            cfg,
            func,
            position: 0,
            out: Vec::new(),
            loc: SourceLoc::default(),
            local,
            touched: Vec::new(),
            exits: FxHashMap::default(),
            entries: FxHashMap::default(),
            pending: Vec::new(),
            added: FxHashMap::default(),
            replaced: Replaced::default(),
        }
    }

    fn run(mut self) -> Function {
        let cfg = self.cfg;
        self.func.layout = cfg.rpo.clone();
        for (position, &block) in cfg.rpo.iter().enumerate() {
            self.position = position as u32;
            let insts = std::mem::take(&mut self.func.blocks[block].insts);
            self.out = Vec::with_capacity(insts.len());
            for inst in insts {
                self.rewrite(inst);
            }
            self.func.blocks[block].insts = std::mem::take(&mut self.out);
            for variable in std::mem::take(&mut self.touched) {
                self.exits.insert((self.position, variable), self.local[variable as usize].1);
            }
        }
        self.connect();
        params::fold_params(&mut self.func, &mut self.replaced);
        self.func
    }

    fn rewrite(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        self.loc = self.func.locs[inst];
        let place = |v: Value| self.analysis.place(v);
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
                    if intrinsic.has_side_effects() {
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
        let bytes = self.analysis.types.store_bytes(ty);
        let covered = self.analysis.covered(at, bytes);
        if covered.len() == 1 {
            let value = self.current(covered.start as u32);
            let from = self.func.ty(value);
            if from == ty || is_whole(from, bytes) && is_whole(ty, bytes) {
                return self.cast(CastOp::BitCast, value, ty);
            }
            let integer = self.cast(CastOp::BitCast, value, Type::int((bytes * 8) as u32));
            return self.cast(CastOp::Trunc, integer, ty);
        }
        let unit = self.analysis.variables[covered.start].bytes;
        let even = covered.clone().all(|v| self.analysis.variables[v].bytes == unit);
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
            let Variable { offset, bytes, .. } = self.analysis.variables[variable];
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
        let bytes = self.analysis.types.store_bytes(ty);
        let covered = self.analysis.covered(at, bytes);
        if covered.len() == 1 {
            let to = self.analysis.variables[covered.start].ty;
            let value = if to == ty || is_whole(to, bytes) && is_whole(ty, bytes) {
                self.cast(CastOp::BitCast, value, to)
            } else {
                let integer = self.cast(CastOp::ZExt, value, Type::int((bytes * 8) as u32));
                self.cast(CastOp::BitCast, integer, to)
            };
            return self.assign(covered.start as u32, value);
        }
        let unit = self.analysis.variables[covered.start].bytes;
        let even = covered.clone().all(|v| self.analysis.variables[v].bytes == unit);
        let count = covered.len();
        if even {
            let scalar = self.unit_scalar(ty, unit);
            let vector = self.cast(CastOp::BitCast, value, Type::Vector(scalar, count as u32));
            for (i, variable) in covered.enumerate() {
                let index = self.index(i);
                let element = self.push(InstKind::ExtractElement { vector, index }, Type::Scalar(scalar));
                let to = self.analysis.variables[variable].ty;
                let element = self.cast(CastOp::BitCast, element, to);
                self.assign(variable as u32, element);
            }
            return;
        }
        let whole = Type::int((bytes * 8) as u32);
        let integer = self.cast(CastOp::BitCast, value, whole);
        for variable in covered {
            let Variable { offset, bytes, ty } = self.analysis.variables[variable];
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
        let bytes = self.func.as_int(len).unwrap_or(0);
        let aligns = self.func.mem_aligns.get(&inst).copied().unwrap_or_default();
        let (a, b) = (self.analysis.place(to), self.analysis.place(from));
        if matches!(intrinsic, Intrinsic::Memset | Intrinsic::MemsetInline) {
            let Some(at) = a else { return };
            for variable in self.analysis.covered(at, bytes) {
                let Variable { bytes, ty, .. } = self.analysis.variables[variable];
                let value = self.fill(from, bytes, ty);
                self.assign(variable as u32, value);
            }
            return;
        }
        match (a, b) {
            (Some(a), Some(b)) => {
                let pairs: Vec<_> =
                    self.analysis.covered(a, bytes).zip(self.analysis.covered(b, bytes)).collect();
                for (to, from) in pairs {
                    let value = self.current(from as u32);
                    let value = self.cast(CastOp::BitCast, value, self.analysis.variables[to].ty);
                    self.assign(to as u32, value);
                }
            }
            (Some(a), None) => {
                for variable in self.analysis.covered(a, bytes) {
                    let Variable { offset, ty, .. } = self.analysis.variables[variable];
                    let (ptr, mem) = self.outside(from, offset - a.1, aligns[1]);
                    let value = self.push(InstKind::Load { ptr, mem }, ty);
                    self.assign(variable as u32, value);
                }
            }
            (None, Some(b)) => {
                for variable in self.analysis.covered(b, bytes) {
                    let offset = self.analysis.variables[variable].offset;
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
        let slot = &mut self.local[variable as usize];
        if slot.0 != self.position + 1 {
            self.touched.push(variable);
        }
        *slot = (self.position + 1, value);
    }

    fn current(&mut self, variable: u32) -> Value {
        let (stamp, value) = self.local[variable as usize];
        if stamp == self.position + 1 {
            return value;
        }
        let value = self.entry_value(self.position, variable);
        self.assign(variable, value);
        value
    }

    /// The value of a variable where a block begins.
    fn entry_value(&mut self, position: u32, variable: u32) -> Value {
        if let Some(&value) = self.entries.get(&(position, variable)) {
            return value;
        }
        let ty = self.analysis.variables[variable as usize].ty;
        let block = self.cfg.rpo[position as usize];
        let value = match self.cfg.preds(position as usize).len() {
            0 => self.func.constant(ty, Const::Undef),
            1 => {
                // Stands for the predecessor's value until `connect` knows it.
                let def = ValueDef::BlockParam(block, u32::MAX);
                let value = self.func.values.push(ValueData { ty, def });
                self.pending.push((position, variable, value));
                value
            }
            _ => {
                let value = self.func.add_block_param(block, ty);
                self.added.entry(position).or_default().push(variable);
                self.pending.push((position, variable, value));
                value
            }
        };
        self.entries.insert((position, variable), value);
        value
    }

    fn exit_value(&mut self, position: u32, variable: u32) -> Value {
        match self.exits.get(&(position, variable)) {
            Some(&value) => value,
            None => self.entry_value(position, variable),
        }
    }

    /// Connects entry values with predecessors.
    fn connect(&mut self) {
        let cfg = self.cfg;
        while let Some((position, variable, value)) = self.pending.pop() {
            let preds = cfg.preds(position as usize);
            for &pred in preds {
                let source = self.exit_value(pred, variable);
                if preds.len() == 1 {
                    self.replaced.set(value, source);
                }
            }
        }
        for (position, &block) in cfg.rpo.iter().enumerate() {
            let Some(inst) = self.func.terminator(block) else { continue };
            let mut kind = std::mem::replace(&mut self.func.insts[inst].kind, InstKind::Unreachable);
            for target in kind.targets_mut() {
                let Some(to) = cfg.position(target.block) else { continue };
                let variables = self.added.get(&(to as u32)).cloned().unwrap_or_default();
                for variable in variables {
                    let value = self.exit_value(position as u32, variable);
                    target.args.push(value);
                }
            }
            self.func.insts[inst].kind = kind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interp::Run;
    use crate::Options;
    use mir::ir::*;
    use mir::target::Target as Machine;

    /// The kernel `(out, x: i64)` with this body, promoted (nothing may be left on the stack) and verified; gives what
    /// it stores to `out` as i64 for `x`.
    fn run(body: &str, x: u64) -> u64 {
        let text = format!("define kernel void @f(v0: ptr addrspace(1), v1: i64) {{\n{body}}}\n");
        let mut module = parse_module(&text, "test").unwrap();
        let func = module.functions.values().next().unwrap();
        verify(&module, func).unwrap();
        let promoted = super::promote(func, &module.types).unwrap();
        verify(&module, &promoted).unwrap();
        let insts = promoted.layout.iter().flat_map(|&b| &promoted.blocks[b].insts);
        let left = |&i: &Inst| matches!(promoted.insts[i].kind, InstKind::Alloca { .. });
        assert!(!insts.clone().any(left), "{}", promoted.display(&module));
        let machine = Machine::new(Machine::processor_by_name("gfx900").unwrap());
        super::super::run(&mut module, &machine, &Options::default()).unwrap();
        let legal = module.functions.values().next().unwrap();
        verify(&module, legal).unwrap();
        let mut kernarg = vec![0u8; 512];
        kernarg[..8].copy_from_slice(&0x5000u64.to_le_bytes());
        kernarg[8..16].copy_from_slice(&x.to_le_bytes());
        let mut run = Run::new(legal, &kernarg);
        run.execute();
        (0..8).rev().fold(0, |acc, i| acc << 8 | u64::from(run.stored[&(0x5000 + i)]))
    }

    const X: u64 = 0x1122_3344_5566_7788;

    #[test]
    fn accesses_of_several_widths_share_bytes() {
        let body = "block0:\n  v2: ptr addrspace(5) = alloca 8 align 8\n  v3: ptr = addrspacecast v2\n  \
            store v2, v1 addrspace(5) align 8\n  v4: ptr = ptradd v3 + 6\n  v5: i16 = load v4 addrspace(0) align 2\n  \
            store v3, v5 addrspace(0) align 2\n  v6: ptr addrspace(5) = ptradd v2 + 3\n  \
            store v6, i8 171 addrspace(5) align 1\n  v7: i64 = load v2 addrspace(5) align 8\n  \
            store v0, v7 addrspace(1) align 8\n  ret\n";
        assert_eq!(run(body, X), 0x1122_3344_ab66_1122);
    }

    #[test]
    fn vectors_and_their_elements() {
        let body = "block0:\n  v2: ptr addrspace(5) = alloca 16 align 16\n  \
            v3: <2 x i64> = insertelement <2 x i64> zero, v1, i32 1\n  store v2, v3 addrspace(5) align 16\n  \
            v4: ptr addrspace(5) = ptradd v2 + 12\n  v5: float = load v4 addrspace(5) align 4\n  \
            store v2, v5 addrspace(5) align 4\n  v6: <4 x i32> = load v2 addrspace(5) align 16\n  \
            v7: i32 = extractelement v6, i32 0\n  v8: i32 = extractelement v6, i32 2\n  v9: i64 = zext v7\n  \
            v10: i64 = zext v8\n  v11: i64 = shl v9, i64 32\n  v12: i64 = or v11, v10\n  \
            store v0, v12 addrspace(1) align 8\n  ret\n";
        assert_eq!(run(body, X), 0x1122_3344_5566_7788);
    }

    #[test]
    fn copies_and_fills() {
        let body = "block0:\n  v2: ptr addrspace(5) = alloca 24 align 8\n  v3: ptr addrspace(5) = alloca 24 align 8\n  \
            intrinsic memset(v2, i8 5, i64 24, i1 0)\n  v4: ptr addrspace(5) = ptradd v2 + 10\n  \
            store v4, i16 258 addrspace(5) align 2\n  \
            intrinsic memcpy(v3, v2, i64 24, i1 0)\n  v5: ptr addrspace(5) = ptradd v3 + 8\n  \
            v6: i64 = load v5 addrspace(5) align 8\n  store v0, v6 addrspace(1) align 8\n  ret\n";
        assert_eq!(run(body, X), 0x0505_0505_0102_0505);
    }

    #[test]
    fn variables_of_a_loop() {
        // for (i = 0; i < 5; i++) { sum += x; x = x << 1; }
        let body = "block0:\n  v2: ptr addrspace(5) = alloca 8 align 8\n  v3: ptr addrspace(5) = alloca 8 align 8\n  \
            v4: ptr addrspace(5) = alloca 4 align 4\n  store v2, v1 addrspace(5) align 8\n  \
            store v3, i64 0 addrspace(5) align 8\n  store v4, i32 0 addrspace(5) align 4\n  jump block1\nblock1:\n  \
            v5: i32 = load v4 addrspace(5) align 4\n  v6: i1 = icmp ult v5, i32 5\n  br v6, block2, block3\nblock2:\n  \
            v7: i64 = load v3 addrspace(5) align 8\n  v8: i64 = load v2 addrspace(5) align 8\n  v9: i64 = add v7, v8\n  \
            store v3, v9 addrspace(5) align 8\n  v10: i64 = shl v8, i64 1\n  store v2, v10 addrspace(5) align 8\n  \
            v11: i32 = load v4 addrspace(5) align 4\n  v12: i32 = add v11, i32 1\n  \
            store v4, v12 addrspace(5) align 4\n  jump block1\nblock3:\n  v13: i64 = load v3 addrspace(5) align 8\n  \
            store v0, v13 addrspace(1) align 8\n  ret\n";
        assert_eq!(run(body, 3), 3 * 31);
    }

    #[test]
    fn objects_whose_address_is_used_stay() {
        let text = "define kernel void @f(v0: ptr addrspace(1), v1: i64) {\nblock0:\n  \
            v2: ptr addrspace(5) = alloca 8 align 8\n  v3: ptr addrspace(5) = ptradd v2, v1 * 4 + 0\n  \
            store v3, i32 1 addrspace(5) align 4\n  ret\n}\n";
        let module = parse_module(text, "test").unwrap();
        assert!(super::promote(module.functions.values().next().unwrap(), &module.types).is_none());
    }
}
