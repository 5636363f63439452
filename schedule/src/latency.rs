//! How long results take, read at one place.
//!
//! Source: [`mir::isa::facts::timing`]; wait states: [`mir::target::HAZARDS`], of which those count that selected code meets often.

use mir::isa::{LatencyClass, Opcode, Unit};
use mir::machine::{Extension, Inst};
use mir::target::Target;

/// Cycles of a wave's instruction that occupies its unit no longer than others do, which is also a wait state.
#[inline]
fn turn(target: &Target) -> u32 {
    target.timing().front.turn.into()
}

/// Cycles of waiting that are too few to do something about: a turn of the wave, or none where results of arithmetic are waited for.
pub(crate) fn short(target: &Target) -> u32 {
    if target.timing().alu.results.full > 0 { 0 } else { turn(target) }
}

/// Cycles of waiting that are worth registers for something else to be done meanwhile: eight turns, or any where results of arithmetic are waited
/// for. Chosen: from eight to 25 turns nothing changes, and fewer take registers for turns that other waves fill.
pub(crate) fn worth_registers(target: &Target) -> u32 {
    if target.timing().alu.results.full > 0 { 0 } else { 8 * turn(target) }
}

/// Cycles of waiting that are worth a lane mask in another register than VCC, which makes who writes it and who reads it longer by a dword each: those
/// of memory. Where no result of arithmetic is waited for there are no others. Chosen: longer than any result of arithmetic takes; to leave
/// waits for memory alone, too, is slower.
pub(crate) fn worth_masks(target: &Target) -> u32 {
    if target.timing().alu.results.full > 0 { 32 } else { 0 }
}

/// Whether others may have to wait for the result of `inst`, so that its block is worth a look: from memory, and, where results of arithmetic are
/// late, from a vector or scalar unit.
pub(crate) fn waits_for(inst: &Inst, target: &Target) -> bool {
    let facts = inst.facts();
    let late = target.timing().alu.results.full > 0 && matches!(facts.unit, Unit::Valu | Unit::Salu);
    facts.def_count > 0 && (facts.memory.is_some() || late)
}

/// Cycles until the wave's next instruction is issued.
#[inline]
pub(crate) fn issue(inst: &Inst, target: &Target) -> u32 {
    if inst.op.is_copy() || inst.op.is_mark() {
        // Most of them become one register, or nothing.
        return 0;
    }
    match inst.facts().unit {
        Unit::Valu | Unit::Interp => u32::from(inst.facts().rate.issue_cycles(target)),
        _ => turn(target),
    }
}

/// Cycles from the issue of `inst` to its result.
#[inline]
pub(crate) fn result(inst: &Inst, target: &Target) -> u32 {
    match inst.facts().latency {
        LatencyClass::Alu if issue(inst, target) == 0 => 0,
        LatencyClass::Alu => match inst.facts().unit {
            Unit::Valu | Unit::Interp => u32::from(inst.facts().rate.result_cycles(target)),
            _ => turn(target).max(target.timing().alu.results.scalar.into()),
        },
        class => u32::from(class.cycles(target.timing())),
    }
}

/// Cycles that a result of the vector unit in VGPRs must be old before `consumer` may read it.
#[inline]
pub(crate) fn across_lanes(consumer: &Inst, target: &Target) -> u32 {
    match consumer.mods.ext {
        Extension::Dpp(_) | Extension::Dpp8(_) => 3 * turn(target),
        _ => 0,
    }
}

/// Cycles that a scalar result of the vector unit must be old before `consumer` may read it.
#[inline]
pub(crate) fn scalar_hazard(consumer: &Inst, target: &Target) -> u32 {
    use Opcode as O;
    let states = match (consumer.facts().unit, consumer.op) {
        (Unit::Vmem, _) => 5,
        (Unit::Smem, _) => 4,
        (_, O::V_READLANE_B32 | O::V_WRITELANE_B32 | O::V_DIV_FMAS_F32 | O::V_DIV_FMAS_F64) => 4,
        _ => return 0,
    };
    (states + 1) * turn(target)
}
