//! Loads of which some elements are not used become loads of fewer.
//!
//! Images and samplers deliver the channels that their mask asks for, in order, so that any of them may be left out. Other loads
//! lose elements at their end, to a width that every kind of memory access has. Who reads the elements one by one reads them at their new places;
//! a load with another user stays. Not narrowed: texture fail, whose status comes behind the channels; channels of 16 bits, which share dwords; volatile and
//! atomic accesses.
//!
//! Source of the idea: LLVM's `SITargetLowering::adjustWritemask`. Cost: linear.

use cranelift_entity::SecondaryMap;
use mir::ir::legal::{Control, position};
use mir::ir::*;

/// Elements that are used, a bit each; all where something else reads the vector.
type Used = SecondaryMap<Value, u32>;

const ALL: u32 = u32::MAX;

/// A load that becomes narrower.
struct Change {
    inst: Inst,
    /// Elements that stay, a bit each.
    kept: u32,
}

/// Narrows the loads of `func`, which is legal IR and stays so.
pub fn narrow(func: &mut Function) {
    if !func.insts.values().any(|data| data.ty.lanes() > 1 && is_load(&data.kind)) {
        return;
    }
    let used = used_elements(func);
    let mut changes = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            changes.extend(kept(func, &used, inst).map(|kept| Change { inst, kept }));
        }
    }
    if changes.is_empty() {
        return;
    }
    let mut kept: SecondaryMap<Value, u32> = SecondaryMap::new();
    for change in changes {
        if let Some(result) = apply(func, &change) {
            kept[result] = change.kept;
        }
    }
    move_elements(func, &kept);
}

fn is_load(kind: &InstKind) -> bool {
    matches!(kind, InstKind::Load { .. } | InstKind::Intrinsic { intrinsic: Intrinsic::Image(_), .. })
}

fn used_elements(func: &Function) -> Used {
    let mut used = Used::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            match func.insts[inst].kind {
                InstKind::ExtractElement { vector, index } => match func.as_int(index) {
                    Some(index @ 0..32) => used[vector] |= 1 << index,
                    _ => used[vector] = ALL,
                },
                ref kind => kind.for_each_value(|value| used[value] = ALL),
            }
        }
    }
    used
}

/// Which elements of a load are to stay, if not all of them.
fn kept(func: &Function, used: &Used, inst: Inst) -> Option<u32> {
    let data = &func.insts[inst];
    let Type::Vector(scalar, lanes @ 2..32) = data.ty else { return None };
    let (used, all) = (used[data.result?], (1u32 << lanes) - 1);
    if used == 0 || used & all == all || !matches!(scalar.bits(), 32 | 64) {
        return None;
    }
    match &data.kind {
        InstKind::Load { mem, .. } => {
            let plain = mem.ordering == Ordering::NotAtomic && !mem.flags.contains(MemFlags::VOLATILE);
            let width = (u32::BITS - used.leading_zeros()).next_power_of_two();
            (plain && width < lanes).then(|| (1 << width) - 1)
        }
        InstKind::Intrinsic { intrinsic: Intrinsic::Image(image), args } => {
            let action = image.desc().action;
            let control = Control::from_bits_retain(func.as_int(*args.get(position::IMAGE_CONTROL)?)? as u32);
            let dmask = func.as_int(*args.get(position::DMASK)?)? as u32;
            let simple = matches!(action, ImageAction::Load | ImageAction::Sample)
                && !control.intersects(Control::TFE | Control::LWE | Control::D16 | Control::VOLATILE)
                && dmask.count_ones() == lanes
                && control.channels() == lanes;
            simple.then_some(used)
        }
        _ => None,
    }
}

/// Makes a load narrower; its result.
fn apply(func: &mut Function, change: &Change) -> Option<Value> {
    let data = &func.insts[change.inst];
    let (result, scalar) = (data.result?, data.ty.scalar()?);
    let count = change.kept.count_ones();
    if let InstKind::Intrinsic { args, .. } = &data.kind {
        let (control, dmask) = (args[position::IMAGE_CONTROL], args[position::DMASK]);
        let control = Control::from_bits_retain(func.as_int(control)? as u32);
        let channels = (0..32).filter(|bit| func.as_int(dmask).is_some_and(|mask| mask >> bit & 1 != 0));
        let dmask = channels
            .enumerate()
            .filter(|(element, _)| change.kept >> element & 1 != 0)
            .fold(0, |mask, (_, bit)| mask | 1u64 << bit);
        let flags = Control::from_bits_retain(control.bits() & !Control::NUMBERS.bits());
        let control = flags.with_numbers(count, control.format());
        let values = [func.int(Type::I32, control.bits().into()), func.int(Type::I32, dmask)];
        if let InstKind::Intrinsic { args, .. } = &mut func.insts[change.inst].kind {
            [args[position::IMAGE_CONTROL], args[position::DMASK]] = values;
        }
    }
    let ty = if count == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, count) };
    func.insts[change.inst].ty = ty;
    func.values[result].ty = ty;
    Some(result)
}

/// Reads the elements of narrowed vectors at their new places. What reads the only one that is left is that one.
fn move_elements(func: &mut Function, kept: &SecondaryMap<Value, u32>) {
    let mut alias: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| {
            let InstKind::ExtractElement { vector, index } = func.insts[inst].kind else { return true };
            let (mask, Some(old)) = (kept[vector], func.as_int(index)) else { return true };
            if mask == 0 {
                return true;
            }
            if let (1, Some(result)) = (mask.count_ones(), func.insts[inst].result) {
                alias[result] = Some(vector);
                return false;
            }
            let new = (mask & ((1 << old) - 1)).count_ones();
            let index_type = func.ty(index);
            let new = func.int(index_type, new.into());
            if let InstKind::ExtractElement { index, .. } = &mut func.insts[inst].kind {
                *index = new;
            }
            true
        });
        func.blocks[block].insts = insts;
    }
    for i in 0..func.layout.len() {
        for k in 0..func.blocks[func.layout[i]].insts.len() {
            let inst = func.blocks[func.layout[i]].insts[k];
            func.insts[inst].kind.for_each_value_mut(|value| *value = alias[*value].unwrap_or(*value));
        }
    }
}
