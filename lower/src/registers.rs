//! Counts the registers that the code names, for descriptors and for callers.

use mir::machine::{Condition, Function, PReg, Terminator};

/// Counts the registers that the code names; the prolog and what allocation added are included.
pub fn count(f: &mut Function) {
    // LLVM holds kernels alone to what their text names.
    let named = f.asm_sites.iter().map(|site| site.named_sgprs).max().unwrap_or(0);
    let mut sgprs = if f.call_conv.is_callable() { 0 } else { named };
    let mut vgprs = 0;
    let mut vcc = false;
    let mut flat_scratch = f.resources.flat_scratch;
    for &block in &f.layout {
        let hidden = f.asm_sites.iter().flat_map(|site| &site.inside);
        let hidden = hidden.take(if block == f.layout[0] { usize::MAX } else { 0 });
        for inst in f.blocks[block].insts.iter().chain(hidden) {
            inst.for_each_access(|access| {
                let (first, dwords) = (access.first, u32::from(access.dwords));
                if let Some(n) = first.vgpr_index() {
                    vgprs = vgprs.max(u32::from(n) + dwords);
                } else if let Some(n) = first.sgpr_index() {
                    sgprs = sgprs.max(u32::from(n) + dwords);
                }
                vcc |= matches!(first, PReg::VCC_LO | PReg::VCC_HI);
                flat_scratch |= matches!(first, PReg::FLAT_SCRATCH_LO | PReg::FLAT_SCRATCH_HI);
            });
        }
        vcc |= matches!(f.blocks[block].term, Terminator::Uniform(Condition::Vccz | Condition::Vccnz));
    }
    let resources = &mut f.resources;
    (resources.sgprs, resources.vgprs, resources.vcc, resources.flat_scratch) =
        (sgprs, vgprs, vcc, flat_scratch);
}
