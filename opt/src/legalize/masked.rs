//! Memory accesses under a mask of lanes of a vector: `masked.load` and its kin.
//!
//! A lane whose bit is not known is accessed behind a branch; vectors whose bits are all one value are
//! accessed as a whole. Cost: linear in the lanes.

use super::block_copy::Start;
use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

impl Legalizer<'_> {
    /// What `body` yields where `cond` holds, else `otherwise`. Goes on in a new block.
    pub(super) fn where_true(
        &mut self,
        cond: Value,
        otherwise: &[Value],
        body: impl FnOnce(&mut Self) -> Result<Parts>,
    ) -> Result<Parts> {
        match self.b.func.as_int(cond) {
            Some(0) => return Ok(Parts::from_slice(otherwise)),
            Some(_) => return body(self),
            None => {}
        }
        let (inside, join) = (self.b.new_block(), self.b.new_block());
        let around = BlockCall { block: join, args: SmallVec::from_slice(otherwise) };
        self.b.branch(cond, BlockCall::to(inside), around);
        let scope = self.b.scope.take();
        self.b.block = inside;
        let result = body(self)?;
        self.b.jump(join, &result);
        let out = otherwise
            .iter()
            .map(|&value| {
                let ty = self.b.ty(value);
                self.b.func.add_block_param(join, ty)
            })
            .collect();
        self.b.block = join;
        self.b.scope = scope;
        Ok(out)
    }

    pub(super) fn lower_masked(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        aligns: [u8; 2],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        let store = matches!(intrinsic, MaskedStore | MaskedScatter | MaskedCompressstore);
        let &[first, second, third] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        // (pointer, mask, data): stores have the data first, loads what fills the gaps last.
        let (ptr, mask, data) = if store { (second, third, first) } else { (first, second, third) };
        let align_log2 = aligns[usize::from(store)];
        let vector = if store { self.old.ty(data) } else { ty };
        let Type::Vector(scalar, lanes) = vector else {
            return Err(Diagnostic::malformed("masked access of a scalar"));
        };
        if scalar.bits() % 8 != 0 {
            return Err(Diagnostic::unsupported(format!("llvm.{} of {scalar}", intrinsic.name())));
        }
        let bytes = scalar.alloc_bytes();
        let space = self.old.ty(ptr).addr_space().unwrap_or(AddrSpace::FLAT);
        let mem = MemAccess::plain(space, align_log2);
        let bits = self.parts(mask)?;
        let data = self.parts(data)?;
        if super::fat::is_fat(space) {
            return self.lower_masked_fat(intrinsic, ptr, mem, (&bits, &data, scalar));
        }
        if matches!(intrinsic, MaskedGather | MaskedScatter) {
            let pointers = self.parts(ptr)?;
            return self.each_lane(&bits, &data, scalar, store, |_, lane, _| {
                Ok((Start::Address(pointers[lane]), mem))
            });
        }
        let (ptr, mem) = self.address(ptr, mem)?;
        if matches!(intrinsic, MaskedExpandload | MaskedCompressstore) {
            let zero = self.b.i32(0);
            let mut count = zero;
            let mem = MemAccess { align_log2: mem.align_log2.min(bytes.trailing_zeros() as u8), ..mem };
            return self.each_lane(&bits, &data, scalar, store, |this, _, before| {
                if let Some(bit) = before {
                    let one = this.b.cast(CastOp::ZExt, bit, Type::I32);
                    count = this.b.add(count, one);
                }
                let kind = InstKind::PtrAdd { base: ptr, index: Some(count), scale: bytes as i64, offset: 0 };
                let ty = this.b.ty(ptr);
                Ok((Start::Address(this.b.pure(kind, ty, InstFlags::empty())), mem))
            });
        }
        // Elements lie as in the whole vector, so one bit for all means one access.
        let packed = scalar.bits() / 8 == bytes as u32;
        if packed && bits.windows(2).all(|two| two[0] == two[1]) && lanes > 0 {
            let otherwise = if store { Parts::new() } else { data.clone() };
            return self.where_true(bits[0], &otherwise, |this| {
                if store {
                    this.store_parts(ptr, mem, vector, &data)?;
                    return Ok(Parts::new());
                }
                this.load_parts(ptr, mem, vector)
            });
        }
        self.each_lane(&bits, &data, scalar, store, |this, lane, _| {
            let offset = lane as u64 * bytes;
            Ok((Start::Address(this.b.ptr_offset(ptr, offset as i64)), Self::at(mem, offset)))
        })
    }

    /// The same through pointers to buffers; of the vector the bits of its mask, its parts (of what is loaded, those of lanes without a bit) and its elements' type.
    fn lower_masked_fat(
        &mut self,
        intrinsic: Intrinsic,
        ptr: Value,
        mem: MemAccess,
        (bits, data, scalar): (&[Value], &[Value], Scalar),
    ) -> Result<Parts> {
        use Intrinsic::*;
        let store = matches!(intrinsic, MaskedStore | MaskedScatter | MaskedCompressstore);
        let bytes = scalar.alloc_bytes();
        let each = self.old.ty(ptr).scalar().map_or(1, |pointer| self.element_parts(pointer));
        let pointers = self.parts(ptr)?;
        let several = matches!(intrinsic, MaskedGather | MaskedScatter);
        let counted = matches!(intrinsic, MaskedExpandload | MaskedCompressstore);
        let mut count = self.b.i32(0);
        self.each_lane(bits, data, scalar, store, |this, lane, before| {
            let from = if several { lane * each } else { 0 };
            let own = pointers.get(from..from + each);
            let mut own =
                Parts::from_slice(own.ok_or_else(|| Diagnostic::malformed("a lane without a pointer"))?);
            let mut mem = mem;
            if counted {
                if let Some(bit) = before {
                    let one = this.b.cast(CastOp::ZExt, bit, Type::I32);
                    count = this.b.add(count, one);
                }
                mem.align_log2 = mem.align_log2.min(bytes.trailing_zeros() as u8);
                this.fat_add(&mut own, Some(count), bytes as i64, 0);
            } else if !several {
                mem = Self::at(mem, lane as u64 * bytes);
                this.fat_add(&mut own, None, 0, (lane as u64 * bytes) as i64);
            }
            Ok((Start::Buffer(this.fat_place(&own)?), mem))
        })
    }

    /// Accesses every lane under its bit. `place` gives the address of a lane and is told the bit of the lane
    /// before.
    fn each_lane(
        &mut self,
        bits: &[Value],
        data: &[Value],
        scalar: Scalar,
        store: bool,
        mut place: impl FnMut(&mut Self, usize, Option<Value>) -> Result<(Start, MemAccess)>,
    ) -> Result<Parts> {
        let each = self.element_parts(scalar);
        let ty = Type::Scalar(scalar);
        let mut out = Parts::new();
        for (lane, (&bit, old)) in bits.iter().zip(data.chunks(each)).enumerate() {
            let before = lane.checked_sub(1).map(|i| bits[i]);
            let (start, mem) = place(self, lane, before)?;
            let otherwise: &[Value] = if store { &[] } else { old };
            let loaded = self.where_true(bit, otherwise, |this| {
                match (&start, store) {
                    (&Start::Address(ptr), true) => this.store_parts(ptr, mem, ty, old)?,
                    (&Start::Address(ptr), false) => return this.load_parts(ptr, mem, ty),
                    (Start::Buffer(at), true) => this.fat_store(at, mem, ty, old)?,
                    (Start::Buffer(at), false) => return this.fat_load(at, mem, ty),
                }
                Ok(Parts::new())
            })?;
            out.extend(loaded);
        }
        Ok(out)
    }
}
