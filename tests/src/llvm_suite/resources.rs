//! What a function under comparison does with images and exports.

use mir::ir::{Function, ImageDim, InstKind, Intrinsic, Value};
use std::collections::BTreeSet;

/// Values that an instruction reads.
pub fn used(f: &Function) -> BTreeSet<Value> {
    let mut used = BTreeSet::new();
    for block in f.layout.iter().copied() {
        for &inst in &f.blocks[block].insts {
            f.insts[inst].kind.for_each_value(|value| {
                used.insert(value);
            });
        }
    }
    used
}

/// The type of a resource for images of a shape. Source: Vega ISA, "Image Resource Descriptor".
fn resource_type(dim: ImageDim) -> u8 {
    match dim {
        ImageDim::D1 => 8,
        ImageDim::D2 => 9,
        ImageDim::D3 => 10,
        ImageDim::Cube => 11,
        ImageDim::D1Array => 12,
        ImageDim::D2Array => 13,
        ImageDim::D2Msaa => 14,
        ImageDim::D2ArrayMsaa => 15,
    }
}

/// The type of all images that `f` accesses, or of those whose resource is `value`; `None` where there is
/// none or more than one.
pub fn image_type(f: &Function, value: Option<Value>) -> Option<u8> {
    let mut found = None;
    for inst in f.insts.values() {
        let InstKind::Intrinsic { intrinsic: Intrinsic::Image(image), args } = &inst.kind else { continue };
        let desc = image.desc();
        if value.is_some() && args.get(desc.resource()).copied() != value {
            continue;
        }
        let ty = resource_type(desc.dim);
        if found.is_some_and(|other| other != ty) {
            return None;
        }
        found = Some(ty);
    }
    found
}
