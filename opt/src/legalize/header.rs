//! Reads of the dwords that stand in front of a kernel's arguments where there is no operating system.

use super::{Legalizer, Parts};
use mir::abi::kernarg::header_bytes;
use mir::ir::*;
use mir::{Diagnostic, Result};

impl Legalizer<'_> {
    /// `llvm.r600.read.*`: numbers of work-groups, of work-items, sizes of work-groups, in this order, three
    /// each.
    pub(super) fn lower_header_read(&mut self, intrinsic: Intrinsic) -> Result<Parts> {
        use Intrinsic::*;
        const ORDER: [Intrinsic; 9] = [
            R600ReadNgroupsX,
            R600ReadNgroupsY,
            R600ReadNgroupsZ,
            R600ReadGlobalSizeX,
            R600ReadGlobalSizeY,
            R600ReadGlobalSizeZ,
            R600ReadLocalSizeX,
            R600ReadLocalSizeY,
            R600ReadLocalSizeZ,
        ];
        let place = ORDER.iter().position(|&known| known == intrinsic);
        let Some(place) = place.filter(|_| header_bytes(self.ctx.machine) > 0 && self.old.is_kernel()) else {
            return Err(Diagnostic::unsupported(format!(
                "llvm.{} where kernel arguments have no header",
                intrinsic.name()
            )));
        };
        let base = self.b.intrinsic(KernargSegmentPtr, &[], Type::ptr(AddrSpace::CONSTANT));
        let address = self.b.ptr_offset(base, 4 * place as i64);
        let mem = MemAccess {
            flags: MemFlags::INVARIANT | MemFlags::NO_CLOBBER | MemFlags::DEREFERENCEABLE,
            ..MemAccess::plain(AddrSpace::CONSTANT, 2)
        };
        self.load_parts(address, mem, Type::I32)
    }
}
