//! How long results take, read at one place.
//!
//! Source: [`mir::isa::facts::timing`]; wait states: [`mir::target::HAZARDS`], of which those count that selected code meets often.

use mir::isa::{LatencyClass, Opcode, Unit};
use mir::machine::{Extension, Inst};
use mir::target::Target;

/// Cycles of a wave's instruction that occupies its unit no longer than others do, which is also a wait state.
const ISSUE: u32 = 4;

/// Cycles until the wave's next instruction is issued.
#[inline]
pub(crate) fn issue(inst: &Inst, target: &Target) -> u32 {
    if inst.op.is_copy() || inst.op == Opcode::IMPLICIT_DEF {
        // Most of them become one register.
        return 0;
    }
    u32::from(inst.facts().rate.cycles(target))
}

/// Cycles from the issue of `inst` to its result.
#[inline]
pub(crate) fn result(inst: &Inst, target: &Target) -> u32 {
    match inst.facts().latency {
        LatencyClass::Alu => issue(inst, target),
        class => u32::from(class.cycles(target.timing())),
    }
}

/// Cycles that a vector result must be old before a `consumer` with data-parallel primitives may read it.
#[inline]
pub(crate) fn across_lanes(producer: Unit, consumer: &Inst) -> u32 {
    match consumer.mods.ext {
        Extension::Dpp(_) if producer == Unit::Valu => 3 * ISSUE,
        _ => 0,
    }
}

/// Cycles that a scalar result of `producer` must be old before `consumer` may read it.
#[inline]
pub(crate) fn hazard(producer: Unit, consumer: &Inst) -> u32 {
    let states = match (producer, consumer.facts().unit) {
        (Unit::Valu, Unit::Vmem) => 5,
        (Unit::Valu, Unit::Valu) if is_lane_access(consumer.op) => 4,
        (Unit::Valu, Unit::Smem) => 4,
        _ => return 0,
    };
    (states + 1) * ISSUE
}

fn is_lane_access(op: Opcode) -> bool {
    use Opcode as O;
    matches!(op, O::V_READLANE_B32 | O::V_WRITELANE_B32 | O::V_DIV_FMAS_F32 | O::V_DIV_FMAS_F64)
}
