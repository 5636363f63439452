//! The rows of the table asked about two instructions, for those who explain code that is there.

use super::class::{EXEC, class, produces_scalar, select, wait_states_of, writes_scalar};
use super::reg_set::NO_REGISTER;
use mir::abi::call::{FIRST_FREE_SGPR, is_callee_saved};
use mir::machine::{Inst, PReg};
use mir::target::hazards::Hazard;
use smallvec::SmallVec;

/// Whether `producer` and, behind it, `consumer` have the hazard of a row. Their registers are physical; how far they are apart is not asked.
pub fn conflict(hazard: &Hazard, producer: &Inst, consumer: &Inst) -> bool {
    let possible = class(producer).intersects(hazard.producer)
        && class(consumer).intersects(hazard.consumer)
        && (!produces_scalar(hazard.produced) || writes_scalar(producer, producer.op.info()));
    if !possible {
        return false;
    }
    let mut produced: SmallVec<[u16; 16]> = SmallVec::new();
    select(producer, hazard.produced, true, |register| produced.push(register));
    let mut found = false;
    select(consumer, hazard.consumed, false, |register| {
        found |= produced.iter().any(|&p| p == register || p == NO_REGISTER || register == NO_REGISTER);
    });
    found
}

/// Whether the code of another function, to which control goes behind `producer`, may have the hazard of a row: by a call (`call`), else by a return or a
/// tail call. The instruction that leaves counts as a wait state.
pub fn outlives(hazard: &Hazard, producer: &Inst, call: bool) -> bool {
    let possible = class(producer).intersects(hazard.producer)
        && (!produces_scalar(hazard.produced) || writes_scalar(producer, producer.op.info()));
    let mut found = false;
    if possible {
        select(producer, hazard.produced, true, |register| {
            found |= is_given(PReg(register), call);
        });
    }
    found
}

/// Whether what follows in another function may read a register in time for a hazard: a callee what it is given in SGPRs, a caller what it finds
/// as it was, both the mask of lanes. What is given in VGPRs is older: a callee begins with a wait, and callers see to results.
pub(super) fn is_given(register: PReg, call: bool) -> bool {
    call && register < FIRST_FREE_SGPR
        || EXEC.contains(&register.0)
        || is_callee_saved(register, false)
        || is_callee_saved(register, true)
}

/// Wait states that an instruction is worth between two others.
pub fn wait_states(inst: &Inst) -> u8 {
    wait_states_of(inst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::machine::parse_function;
    use mir::target::hazards::HAZARDS;

    /// The rows that the last instruction of a block has with the first.
    fn rows(body: &str) -> Vec<&'static str> {
        let text = format!("function f, framed\nmbb0:\n{body}  wave end\n");
        let f = parse_function(&text, "test").expect("the text is right");
        let insts = &f.blocks[f.layout[0]].insts;
        let (first, last) = (&insts[0], &insts[insts.len() - 1]);
        HAZARDS.iter().filter(|hazard| conflict(hazard, first, last)).map(|hazard| hazard.name).collect()
    }

    #[test]
    fn registers_decide() {
        let load = |resource: &str| {
            format!("  s8 = v_readfirstlane_b32 v0\n  v1 = buffer_load_dword off, {resource}, 0\n")
        };
        assert_eq!(rows(&load("s[8:11]")), ["VALU writes SGPR, VMEM reads it"]);
        assert_eq!(rows(&load("s[12:15]")), [""; 0]);
    }

    /// A callee is given s8, and finds s40 as it was only where it keeps it.
    #[test]
    fn other_code_may_follow() {
        let text = "function f, framed\nmbb0:\n  s8 = v_readfirstlane_b32 v0\n  s34 = v_readfirstlane_b32 v0\n  s60 = v_readfirstlane_b32 v0\n  wave end\n";
        let f = parse_function(text, "test").expect("the text is right");
        let hazard =
            HAZARDS.iter().find(|hazard| hazard.name == "VALU writes SGPR, VMEM reads it").expect("a row");
        let at = |call| {
            f.blocks[f.layout[0]].insts.iter().map(|inst| outlives(hazard, inst, call)).collect::<Vec<_>>()
        };
        assert_eq!(at(true), [true, true, false]);
        assert_eq!(at(false), [true, true, false]);
    }
}
