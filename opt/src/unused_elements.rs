//! Loads of which some elements are not used become loads of fewer.
//!
//! Images and samplers deliver the channels that their mask asks for, in order, so that any of them may be left out. Buffers
//! lose elements at their end, three dwords being a width where the target has it, and other loads to a width that every kind of memory
//! access has. Who reads the elements one by one reads them at their new places;
//! a load with another user stays. Not narrowed: texture fail, whose status comes behind the channels; channels of 16 bits, which share dwords; volatile and
//! atomic accesses.
//!
//! Source of the idea: LLVM's `SITargetLowering::adjustWritemask`. Cost: linear.

use cranelift_entity::SecondaryMap;
use mir::ir::legal::{Control, position};
use mir::ir::*;
use mir::target::{Features, Target};

/// Elements that are used, a bit each; all where something else reads the vector.
type Used = SecondaryMap<Value, u32>;

const ALL: u32 = u32::MAX;

/// A load that becomes narrower.
struct Change {
    inst: Inst,
    /// Elements that stay, a bit each.
    kept: u32,
}

/// Narrows the loads of `func`, which is legal IR of `target` and stays so.
pub fn narrow(func: &mut Function, target: &Target) {
    if !func.insts.values().any(|data| data.ty.lanes() > 1 && is_load(&data.kind)) {
        return;
    }
    let used = used_elements(func);
    let mut changes = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            changes.extend(kept(func, &used, inst, target).map(|kept| Change { inst, kept }));
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
    matches!(
        kind,
        InstKind::Load { .. }
            | InstKind::Intrinsic { intrinsic: Intrinsic::Image(_) | Intrinsic::Buffer(_), .. }
    )
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
fn kept(func: &Function, used: &Used, inst: Inst, target: &Target) -> Option<u32> {
    let data = &func.insts[inst];
    let Type::Vector(scalar, lanes @ 2..32) = data.ty else { return None };
    let (used, all) = (used[data.result?], (1u32 << lanes) - 1);
    let at_most = u32::BITS - used.leading_zeros();
    let unusual = Control::TFE | Control::LWE | Control::D16 | Control::VOLATILE;
    if used == 0 || used & all == all || !matches!(scalar.bits(), 32 | 64) {
        return None;
    }
    match &data.kind {
        InstKind::Load { mem, .. } => {
            let plain = mem.ordering == Ordering::NotAtomic && !mem.flags.contains(MemFlags::VOLATILE);
            let width = at_most.next_power_of_two();
            (plain && width < lanes).then(|| (1 << width) - 1)
        }
        InstKind::Intrinsic { intrinsic: Intrinsic::Image(image), args } => {
            let action = image.desc().action;
            let control = Control::from_bits_retain(func.as_int(*args.get(position::IMAGE_CONTROL)?)? as u32);
            let dmask = func.as_int(*args.get(position::DMASK)?)? as u32;
            let simple = matches!(action, ImageAction::Load | ImageAction::Sample)
                && !control.intersects(unusual)
                && dmask.count_ones() == lanes
                && control.channels() == lanes;
            simple.then_some(used)
        }
        InstKind::Intrinsic { intrinsic: Intrinsic::Buffer(buffer), args } => {
            let action = buffer.desc().action;
            let control =
                Control::from_bits_retain(func.as_int(*args.get(position::BUFFER_CONTROL)?)? as u32);
            let width = if action == BufferAction::Load && !target.has(Features::DWORDX3) {
                at_most.next_power_of_two()
            } else {
                at_most
            };
            let simple = matches!(action, BufferAction::Load | BufferAction::LoadFormat)
                && !control.intersects(unusual)
                && control.channels() == lanes;
            (simple && width < lanes).then(|| (1 << width) - 1)
        }
        _ => None,
    }
}

/// Makes a load narrower; its result.
fn apply(func: &mut Function, change: &Change) -> Option<Value> {
    let data = &func.insts[change.inst];
    let (result, scalar) = (data.result?, data.ty.scalar()?);
    let count = change.kept.count_ones();
    if let InstKind::Intrinsic { intrinsic, args } = &data.kind {
        let at = match intrinsic {
            Intrinsic::Buffer(_) => position::BUFFER_CONTROL,
            _ => position::IMAGE_CONTROL,
        };
        let control = Control::from_bits_retain(func.as_int(args[at])? as u32);
        let flags = Control::from_bits_retain(control.bits() & !Control::NUMBERS.bits());
        let control = flags.with_numbers(count, control.format());
        let dmask = match intrinsic {
            Intrinsic::Image(_) => {
                let old = func.as_int(args[position::DMASK])?;
                let channels = (0..32).filter(|bit| old >> bit & 1 != 0);
                let channels = channels.enumerate().filter(|(element, _)| change.kept >> element & 1 != 0);
                Some(channels.fold(0, |mask, (_, bit)| mask | 1u64 << bit))
            }
            _ => None,
        };
        let control = func.int(Type::I32, control.bits().into());
        let dmask = dmask.map(|mask| func.int(Type::I32, mask));
        if let InstKind::Intrinsic { args, .. } = &mut func.insts[change.inst].kind {
            args[at] = control;
            if let Some(dmask) = dmask {
                args[position::DMASK] = dmask;
            }
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
