//! What the size of a kernel's work-groups says before it runs.
//!
//! Where the program promises a size (`!reqd_work_group_size`), the fields of the dispatch packet and of the implicit arguments that hold it
//! are constants. Ids in dimensions of one work-item are zero.
//!
//! Sources: OpenCL C specification, `reqd_work_group_size`; HSA runtime specification, "Kernel dispatch packet"; AMDGPU usage guide,
//! "Kernel Dispatch" and "Code Object V5 Metadata", hidden arguments. Cost: linear.

use super::launch_loads::place;
use super::params::Replaced;
use mir::abi::kernarg;
use mir::ir::*;
use mir::target::Target;

/// Where a dispatch packet has the three sizes, of 16 bits each.
const PACKET_SIZES: i64 = 4;

/// Puts constants in the places of sizes and ids that are known in `func`, which is IR of `module` as it was read.
pub fn fold(func: &mut Function, module: &Module, target: &Target) {
    if !func.is_kernel() {
        return;
    }
    let mut replaced = Replaced::default();
    for block in 0..func.layout.len() {
        let block = func.layout[block];
        for at in 0..func.blocks[block].insts.len() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[block].insts[at];
            let data = &func.insts[inst];
            let Some(result) = data.result else { continue };
            let ty = data.ty;
            let known = match data.kind {
                InstKind::Intrinsic { intrinsic, .. } => intrinsic
                    .work_item_dimension()
                    .filter(|&dimension| func.work_item_id_limit(dimension) == 1)
                    .map(|_| 0),
                InstKind::Load { ptr, mem }
                    if mem.is_simple() && matches!(ty, Type::Scalar(Scalar::Int(_))) =>
                {
                    size_at(func, ptr, module.types.store_bytes(ty), target)
                }
                _ => None,
            };
            if let Some(known) = known {
                let constant = func.int(ty, known);
                replaced.set(result, constant);
            }
        }
    }
    replaced.apply(func);
}

/// What `bytes` at `ptr` are, all of which belong to the sizes of a work-group.
fn size_at(func: &Function, ptr: Value, bytes: u64, target: &Target) -> Option<u64> {
    let [x, y, z] = func.kernel.reqd_work_group_size?.map(u64::from);
    let (base, offset) = place(func, ptr);
    let sizes = match func.insts[func.def_inst(base)?].kind {
        InstKind::Intrinsic { intrinsic: Intrinsic::DispatchPtr, .. } => PACKET_SIZES,
        InstKind::Intrinsic { intrinsic: Intrinsic::ImplicitargPtr, .. } => {
            i64::from(kernarg::group_size_offset(target)?)
        }
        _ => return None,
    };
    let first = u64::try_from(offset.checked_sub(sizes)?).ok()?;
    let is_inside = bytes > 0 && first.checked_add(bytes)? <= 6;
    let all = x & 0xffff | (y & 0xffff) << 16 | (z & 0xffff) << 32;
    is_inside.then(|| (all >> (8 * first)) & (u64::MAX >> (64 - 8 * bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_out_of_the_sizes() {
        let mut func = Function::new("k", CallConv::Kernel, Type::Void);
        func.kernel.reqd_work_group_size = Some([64, 2, 3]);
        let block = func.add_block();
        let pointer = Type::Scalar(Scalar::Ptr(AddrSpace::CONSTANT));
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::DispatchPtr, args: smallvec::SmallVec::new() };
        let packet = func.append(block, kind, pointer).expect("it has a result");
        let processor = Target::processor_by_name("gfx900").expect("it is known");
        let target = Target::new(processor);
        let mut at = |offset: i64, bytes| {
            let kind = InstKind::PtrAdd { base: packet, index: None, scale: 0, offset };
            let ptr = func.append(block, kind, pointer).expect("it has a result");
            size_at(&func, ptr, bytes, &target)
        };
        assert_eq!(at(4, 2), Some(64));
        assert_eq!(at(4, 4), Some(64 | 2 << 16));
        assert_eq!(at(5, 2), Some(2 << 8));
        assert_eq!(at(8, 2), Some(3));
        // The field behind the sizes is reserved, the one in front of them says how many dimensions there are.
        assert_eq!(at(8, 4), None);
        assert_eq!(at(2, 4), None);
        assert_eq!(at(i64::MIN, 2), None);
    }
}
