//! Small arrays with variable indices.
//!
//! Promotion knows places that are constant. An access at a variable index becomes one of the whole array here: a load takes an element out
//! of the vector that the array is, a store puts one in and stores the vector. The array is then an object like others, and its elements are
//! in registers.
//!
//! An array qualifies while every use of its address is a plain load or store, a block copy from or to memory that is no stack object, or a fill of
//! constant length. At variable indices all have the size of the elements, elsewhere a multiple of it; so promotion never leaves an array in memory
//! whose accesses have become so wide. An index out of bounds is undefined in both forms. Cost: linear.

use super::is_whole;
use crate::bits::sext64;
use crate::cfg::Cfg;
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Largest array in bytes: an access by an index that lanes do not share looks at each element.
const MAX_BYTES: u64 = 128;
/// Most elements of less than a dword: of twenty arrays of 16 to 32 bytes in John the Ripper's kernels most are faster in memory, by up to a tenth.
const MAX_SMALL_ELEMENTS: u64 = 8;

/// Where a pointer points: bytes from the start of an array, and indices with the bytes of their steps.
#[derive(Clone)]
struct Spot {
    array: u32,
    offset: i64,
    indices: SmallVec<[(Value, i64); 2]>,
}

struct Array {
    pointer: Value,
    space: AddrSpace,
    bytes: u64,
    lost: bool,
    /// Bytes of an element, once an access at a variable index has told it.
    element: Option<u64>,
}

struct Access {
    inst: Inst,
    spot: u32,
    /// Type and bytes of the value; no type where they are copied or filled.
    ty: Option<Type>,
    bytes: u64,
}

struct Search<'a> {
    func: &'a Function,
    types: &'a TypeTable,
    arrays: Vec<Array>,
    spots: Vec<Spot>,
    at: SecondaryMap<Value, Option<u32>>,
    accesses: Vec<Access>,
    /// Instructions that make pointers with variable indices, and the array.
    pointers: Vec<(Inst, u32)>,
}

/// Rewrites the accesses at variable indices of small arrays.
pub(super) fn make_vectors(func: &mut Function, types: &TypeTable, cfg: &Cfg) {
    let mut search = Search {
        func,
        types,
        arrays: Vec::new(),
        spots: Vec::new(),
        at: SecondaryMap::new(),
        accesses: Vec::new(),
        pointers: Vec::new(),
    };
    search.collect(cfg);
    search.judge();
    let Search { arrays, spots, accesses, pointers, .. } = search;
    let good = |array: u32| {
        let array = &arrays[array as usize];
        !array.lost && array.element.is_some()
    };
    if !(0..arrays.len() as u32).any(good) {
        return;
    }
    let dead: FxHashSet<Inst> = pointers.iter().filter(|p| good(p.1)).map(|p| p.0).collect();
    let changed = |access: &&Access| {
        let spot = &spots[access.spot as usize];
        good(spot.array) && !spot.indices.is_empty()
    };
    let changed: FxHashMap<Inst, &Access> = accesses.iter().filter(changed).map(|a| (a.inst, a)).collect();
    for &block in &cfg.rpo {
        let old = std::mem::take(&mut func.blocks[block].insts);
        let mut out = Vec::with_capacity(old.len());
        for inst in old {
            mir::interrupt::checkpoint();
            if let Some(access) = changed.get(&inst) {
                let spot = &spots[access.spot as usize];
                rewrite(func, access, spot, &arrays[spot.array as usize], &mut out);
            }
            if !dead.contains(&inst) {
                out.push(inst);
            }
        }
        func.blocks[block].insts = out;
    }
}

impl Search<'_> {
    fn lose(&mut self, value: Value) {
        if let Some(spot) = self.at[value] {
            self.arrays[self.spots[spot as usize].array as usize].lost = true;
        }
    }

    fn place(&mut self, inst: Inst, result: Option<Value>, spot: Spot) {
        let Some(result) = result else { return };
        if !spot.indices.is_empty() {
            self.pointers.push((inst, spot.array));
        }
        self.at[result] = Some(self.spots.len() as u32);
        self.spots.push(spot);
    }

    fn collect(&mut self, cfg: &Cfg) {
        let func = self.func;
        for &inst in cfg.rpo.iter().flat_map(|&block| &func.blocks[block].insts) {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            match &data.kind {
                InstKind::Alloca { size_bytes, count, .. } => {
                    let count = count.map_or(Some(1), |c| func.as_int(c));
                    let bytes = count.and_then(|c| size_bytes.checked_mul(c));
                    let bytes = bytes.filter(|bytes| (1..=MAX_BYTES).contains(bytes));
                    if let (Some(pointer), Some(bytes), Some(space)) =
                        (data.result, bytes, data.ty.addr_space())
                    {
                        let array = self.arrays.len() as u32;
                        self.arrays.push(Array { pointer, space, bytes, lost: false, element: None });
                        self.place(inst, data.result, Spot { array, offset: 0, indices: SmallVec::new() });
                    }
                }
                InstKind::PtrAdd { base, index, scale, offset } => {
                    if let Some(index) = index {
                        self.lose(*index);
                    }
                    self.derive(inst, data, *base, *index, (*scale, *offset));
                }
                InstKind::Cast { op: CastOp::AddrSpaceCast | CastOp::BitCast, arg } => {
                    match (self.at[*arg], data.ty) {
                        (Some(spot), Type::Scalar(Scalar::Ptr(_))) => {
                            self.place(inst, data.result, self.spots[spot as usize].clone());
                        }
                        _ => self.lose(*arg),
                    }
                }
                InstKind::Load { ptr, mem } => self.access(inst, *ptr, mem, data.ty),
                InstKind::Store { ptr, value, mem } => {
                    self.lose(*value);
                    self.access(inst, *ptr, mem, func.ty(*value));
                }
                InstKind::Intrinsic {
                    intrinsic: Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd,
                    args,
                } => {
                    let indexed = |spot: u32| !self.spots[spot as usize].indices.is_empty();
                    let indexed: SmallVec<[Value; 2]> =
                        args.iter().copied().filter(|&arg| self.at[arg].is_some_and(indexed)).collect();
                    indexed.into_iter().for_each(|arg| self.lose(arg));
                }
                InstKind::Intrinsic { intrinsic, args } => self.intrinsic(inst, *intrinsic, args),
                kind => kind.for_each_value(|value| self.lose(value)),
            }
        }
    }

    /// Block copies and fills of constant length at places that are constant; what else has a pointer may do anything with it.
    fn intrinsic(&mut self, inst: Inst, intrinsic: Intrinsic, args: &[Value]) {
        use Intrinsic::{Memcpy, MemcpyInline, Memmove, Memset, MemsetInline};
        let fill = matches!(intrinsic, Memset | MemsetInline);
        let [pointers @ .., len, volatile] = args else { return args.iter().for_each(|&arg| self.lose(arg)) };
        let known = fill || matches!(intrinsic, Memcpy | MemcpyInline | Memmove);
        let bytes = self.func.as_int(*len).filter(|_| known && self.func.as_int(*volatile) == Some(0));
        let (&[to, from], Some(bytes)) = (pointers, bytes) else {
            return args.iter().for_each(|&arg| self.lose(arg));
        };
        for (pointer, other) in [(to, from), (from, to)] {
            let Some(spot) = self.at[pointer] else { continue };
            let elsewhere = match self.func.ty(other).addr_space() {
                Some(space) => !fill && !matches!(space, AddrSpace::PRIVATE | AddrSpace::FLAT),
                None => fill && pointer == to,
            };
            if elsewhere && self.spots[spot as usize].indices.is_empty() {
                self.accesses.push(Access { inst, spot, ty: None, bytes });
            } else {
                self.lose(pointer);
            }
        }
    }

    fn derive(&mut self, inst: Inst, data: &InstData, base: Value, index: Option<Value>, by: (i64, i64)) {
        let Some(from) = self.at[base] else { return };
        let (scale, offset) = by;
        let mut spot = self.spots[from as usize].clone();
        spot.offset = spot.offset.wrapping_add(offset);
        match index.map(|index| (index, self.func.ty(index), self.func.as_int(index))) {
            None => {}
            Some((_, ty, Some(steps))) => {
                let steps = sext64(steps, ty.bits().unwrap_or(64) as u32);
                spot.offset = spot.offset.wrapping_add(steps.wrapping_mul(scale));
            }
            Some((index, Type::Scalar(Scalar::Int(1..=64)), None)) => spot.indices.push((index, scale)),
            Some(_) => return self.lose(base),
        }
        match data.ty {
            Type::Scalar(Scalar::Ptr(_)) => self.place(inst, data.result, spot),
            _ => self.lose(base),
        }
    }

    fn access(&mut self, inst: Inst, ptr: Value, mem: &MemAccess, ty: Type) {
        let Some(spot) = self.at[ptr] else { return };
        if !mem.is_simple() {
            return self.lose(ptr);
        }
        if !self.spots[spot as usize].indices.is_empty() {
            let array = &mut self.arrays[self.spots[spot as usize].array as usize];
            let bytes = match ty {
                Type::Scalar(Scalar::Int(bits @ (8 | 16 | 32 | 64))) => Some(u64::from(bits / 8)),
                Type::Scalar(Scalar::Float(float)) => Some(u64::from(Scalar::Float(float).bits() / 8)),
                _ => None,
            };
            let few = |bytes| bytes >= 4 || array.bytes / bytes <= MAX_SMALL_ELEMENTS;
            array.lost |= !bytes.is_some_and(few) || array.element.is_some_and(|known| Some(known) != bytes);
            array.element = bytes;
        }
        self.accesses.push(Access { inst, spot, ty: Some(ty), bytes: self.types.store_bytes(ty) });
    }

    /// Drops arrays with accesses that are not of whole elements.
    fn judge(&mut self) {
        for access in &self.accesses {
            let spot = &self.spots[access.spot as usize];
            let array = &mut self.arrays[spot.array as usize];
            let Some(element) = array.element else { continue };
            let bytes = access.bytes;
            let whole = |distance: i64| distance % element as i64 == 0;
            let inside = !spot.indices.is_empty()
                || u64::try_from(spot.offset).is_ok_and(|at| at.saturating_add(bytes) <= array.bytes);
            array.lost |= bytes == 0
                || array.bytes <= element
                || access.ty.is_some_and(|ty| !is_whole(ty, bytes))
                || !inside
                || !whole(bytes as i64)
                || !whole(spot.offset)
                || !whole(array.bytes as i64)
                || !spot.indices.iter().all(|&(_, scale)| whole(scale));
        }
    }
}

/// Makes an access at a variable index one of the whole array; what stands in front of it goes to `out`.
fn rewrite(func: &mut Function, access: &Access, spot: &Spot, array: &Array, out: &mut Vec<Inst>) {
    let (Some(Type::Scalar(scalar)), Some(element)) = (access.ty, array.element) else { return };
    let loc = func.locs[access.inst];
    let mut push = |func: &mut Function, kind, ty| {
        let inst = func.make_inst(kind, ty, InstFlags::empty());
        func.locs[inst] = loc;
        out.push(inst);
        // Only instructions of a type that is not void are made here.
        func.insts[inst].result.expect("it has a result, by its type")
    };
    let mut sum = func.int(Type::I32, (spot.offset / element as i64) as u32 as u64);
    for &(index, scale) in &spot.indices {
        let bits = func.ty(index).bits().unwrap_or(32);
        let mut steps = match bits.cmp(&32) {
            std::cmp::Ordering::Less => {
                push(func, InstKind::Cast { op: CastOp::SExt, arg: index }, Type::I32)
            }
            std::cmp::Ordering::Equal => index,
            std::cmp::Ordering::Greater => {
                push(func, InstKind::Cast { op: CastOp::Trunc, arg: index }, Type::I32)
            }
        };
        let factor = (scale / element as i64) as u32;
        if factor != 1 {
            let factor = func.int(Type::I32, factor.into());
            steps = push(func, InstKind::Binary { op: BinaryOp::Mul, args: [steps, factor] }, Type::I32);
        }
        sum = match func.as_int(sum) {
            Some(0) => steps,
            _ => push(func, InstKind::Binary { op: BinaryOp::Add, args: [sum, steps] }, Type::I32),
        };
    }
    let vector_ty = Type::Vector(scalar, (array.bytes / element) as u32);
    let mem = MemAccess::plain(array.space, element.trailing_zeros() as u8);
    let vector = push(func, InstKind::Load { ptr: array.pointer, mem }, vector_ty);
    let kind = match func.insts[access.inst].kind {
        InstKind::Store { value, .. } => {
            let kind = InstKind::InsertElement { vector, element: value, index: sum };
            let value = push(func, kind, vector_ty);
            InstKind::Store { ptr: array.pointer, value, mem }
        }
        _ => InstKind::ExtractElement { vector, index: sum },
    };
    func.insts[access.inst].kind = kind;
}
