//! Memory accesses under a mask of lanes of a vector: `masked.load` and its kin.
//!
//! A lane whose bit is not known is accessed behind a branch; vectors whose bits are all one value are
//! accessed as a whole. Cost: linear in the lanes.

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
        if matches!(intrinsic, MaskedGather | MaskedScatter) {
            let pointers = self.parts(ptr)?;
            return self.each_lane(&bits, &data, scalar, store, |_, lane, _| Ok((pointers[lane], mem)));
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
                Ok((this.b.pure(kind, ty, InstFlags::empty()), mem))
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
            Ok((this.b.ptr_offset(ptr, offset as i64), Self::at(mem, offset)))
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
        mut place: impl FnMut(&mut Self, usize, Option<Value>) -> Result<(Value, MemAccess)>,
    ) -> Result<Parts> {
        let each = self.element_parts(scalar);
        let ty = Type::Scalar(scalar);
        let mut out = Parts::new();
        for (lane, (&bit, old)) in bits.iter().zip(data.chunks(each)).enumerate() {
            let before = lane.checked_sub(1).map(|i| bits[i]);
            let (ptr, mem) = place(self, lane, before)?;
            let otherwise: &[Value] = if store { &[] } else { old };
            let loaded = self.where_true(bit, otherwise, |this| {
                if store {
                    this.store_parts(ptr, mem, ty, old)?;
                    return Ok(Parts::new());
                }
                this.load_parts(ptr, mem, ty)
            })?;
            out.extend(loaded);
        }
        Ok(out)
    }
}
