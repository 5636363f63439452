//! Promotion of stack objects to SSA values.
//!
//! An object qualifies while every use of its address that anything needs is known: plain loads and stores, block copies and
//! fills of constant length, all at constant offsets; small arrays with variable indices are made so first ([`indexed`]). The ends of all accesses cut the object into
//! *variables*, intervals of bytes; copies between two objects carry cuts from one to the other. A variable
//! has the type of an access that covers it exactly, else it is an integer. An access over several variables
//! is put together from them.
//!
//! A read without a write before it in its block gets a value that stands for what reaches the block; once
//! all blocks are rewritten, [`mir::analysis::ReachingSolver`] says for each variable what that is and which
//! blocks need a parameter. Parameters that are equal nevertheless, because variables are copies of each
//! other, are folded away ([`super::params`]). A read before any write is undefined.
//!
//! Cost: linear in instructions and near linear in the blocks that write or read a variable and those where
//! its values meet; blocks that a variable only lives through cost nothing.

mod indexed;
mod rewrite;

use super::cfg::Cfg;
use crate::bits::sext64;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rewrite::Rewriter;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// Largest object that is looked at: beyond, the register file would not hold it anyway.
pub(crate) const MAX_BYTES: u64 = 1024;
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

/// Which pointers point into promoted objects, and the variables of these.
struct Places {
    places: SecondaryMap<Value, Option<Place>>,
    /// First variable of each object, and the end.
    first: Vec<u32>,
    variables: Vec<Variable>,
}

impl Places {
    /// Where `value` points, if that is a promoted object.
    fn place(&self, value: Value) -> Option<Place> {
        self.places[value]
    }

    /// Variables of an object inside a range whose ends are cuts.
    fn covered(&self, at: Place, bytes: u64) -> Range<usize> {
        let object = at.0 as usize;
        covered(&self.variables, self.first[object] as usize..self.first[object + 1] as usize, at.1, bytes)
    }
}

/// Of the variables `of` one object, those inside a range whose ends are cuts.
fn covered(variables: &[Variable], of: Range<usize>, offset: u64, bytes: u64) -> Range<usize> {
    let start = of.start;
    let variables = &variables[of];
    let low = variables.partition_point(|v| v.offset < offset);
    let high = variables.partition_point(|v| v.offset < offset + bytes);
    start + low..start + high
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

/// Promotes the simple stack objects of `func`; whether there were any.
pub fn promote(func: &mut Function, types: &TypeTable) -> bool {
    let has_object = |&block: &Block| {
        let insts = &func.blocks[block].insts;
        insts.iter().any(|&i| matches!(func.insts[i].kind, InstKind::Alloca { .. }))
    };
    if !func.layout.iter().any(has_object) {
        return false;
    }
    // Assumptions and markers that were dropped leave comparisons and copies of addresses, which are no uses.
    super::dce::remove_dead(func);
    let cfg = Cfg::new(func);
    indexed::make_vectors(func, types, &cfg);
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
        return false;
    }
    let places = analysis.into_places();
    Rewriter::new(func, types, places, &cfg).run();
    true
}

fn is_whole(ty: Type, bytes: u64) -> bool {
    ty.bits() == Some(bytes * 8)
}

impl Analysis<'_> {
    /// What is left of the analysis when objects that are lost are forgotten.
    fn into_places(self) -> Places {
        let Self { mut places, objects, variables, .. } = self;
        for place in places.values_mut() {
            *place = place.filter(|&(object, _)| !objects[object as usize].lost);
        }
        let end = variables.len() as u32;
        let first = objects.iter().map(|o| o.first_variable).chain([end]).collect();
        Places { places, first, variables }
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
                mir::interrupt::checkpoint();
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
                sext64(c, bits).wrapping_mul(scale)
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
            // Variables do not need to be told how long they are used.
            (LifetimeStart | LifetimeEnd, _) => {}
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
        covered(&self.variables, start..end, at.1, bytes)
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
