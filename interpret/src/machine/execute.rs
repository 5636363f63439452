//! Executes one prepared instruction.

use super::fault::{Cause, undefined};
use super::prepare::{Action, Real, Source};
use super::registers::{Place, State, garbage};
use mir::machine::{Condition, PReg};
use sim::exec::{Exec, Group};
use sim::program::Src;
use sim::report::Kind;
use sim::wave::{Lanes, MAX_LANES};
use smallvec::SmallVec;

/// What follows an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flow {
    /// The next one.
    Next,
    /// A call of an address, by this entry of the function's calls; the return address goes to `link`.
    Call { target: u64, link: [Place; 2], site: usize },
}

/// The value of a source for all lanes.
fn vector(state: &State<'_>, source: Source) -> Result<(Lanes, Lanes), Cause> {
    Ok(match source {
        Source::Register(place) => state.vector(place)?,
        Source::Constant(value) => ([value; MAX_LANES], [0; MAX_LANES]),
        Source::Undefined => (std::array::from_fn(|l| garbage(state.seed, l as u32)), [!0; MAX_LANES]),
    })
}

/// The value of a source as a scalar.
fn scalar(state: &State<'_>, source: Source) -> Result<(u32, u32), Cause> {
    Ok(match source {
        Source::Register(place) => state.scalar(place)?,
        Source::Constant(value) => (value, 0),
        Source::Undefined => (garbage(state.seed, 0), !0),
    })
}

/// A pair of sources as a scalar.
pub(super) fn pair(state: &State<'_>, sources: [Source; 2]) -> Result<(u64, u64), Cause> {
    let [(lo, lo_undef), (hi, hi_undef)] = [scalar(state, sources[0])?, scalar(state, sources[1])?];
    Ok((u64::from(lo) | u64::from(hi) << 32, u64::from(lo_undef) | u64::from(hi_undef) << 32))
}

fn set_pair(state: &mut State<'_>, places: [Place; 2], value: u64, undef: u64) {
    state.set_scalar(places[0], value as u32, undef as u32);
    state.set_scalar(places[1], (value >> 32) as u32, (undef >> 32) as u32);
}

/// Executes `action` with the lanes of EXEC.
pub(super) fn execute(
    state: &mut State<'_>,
    exec: &mut Exec<'_>,
    group: &mut Group,
    action: &Action,
) -> Result<Flow, Cause> {
    let lanes = state.wave.exec();
    match action {
        Action::Real(real) => execute_real(state, exec, group, real)?,
        Action::Copy(moves) => copy(state, moves)?,
        Action::IndexedRead { dst, vector: elements, index, offset } => {
            let n = element_index(state, *index, *offset)?;
            let source = elements.get(n).map_or(Source::Undefined, |&place| Source::Register(place));
            let (value, undef) = vector(state, source)?;
            state.set_vector(*dst, &value, &undef, lanes);
            after_indexing(state);
        }
        Action::IndexedWrite { dst, old, element, index, offset } => {
            let n = element_index(state, *index, *offset)?;
            let new = vector(state, *element)?;
            let mut values: SmallVec<[(Lanes, Lanes); 8]> = SmallVec::new();
            for (k, source) in old.iter().enumerate() {
                values.push(if k == n { new } else { vector(state, *source)? });
            }
            for (place, (value, undef)) in dst.iter().zip(&values) {
                state.set_vector(*place, value, undef, lanes);
            }
            after_indexing(state);
        }
        Action::Address { dst, value } => {
            set_pair(state, *dst, *value, 0);
            // The additions leave a carry that nobody may rely on.
            state.wave.scc_undef = true;
        }
        Action::LanesBegin { saved, .. } => state.set_mask(*saved, lanes),
        Action::Call { target, link, site } => {
            let (target, undef) = pair(state, *target)?;
            if undef != 0 {
                return Err(undefined(Kind::UndefAddress, "the address called is undefined"));
            }
            return Ok(Flow::Call { target, link: *link, site: *site });
        }
        Action::LanesEnd | Action::Nothing => {}
        Action::Unsupported(what) => return Err(Cause::Unsupported(what.clone())),
    }
    Ok(Flow::Next)
}

/// Writes `value` to both registers of a pair.
pub(super) fn define_pair(state: &mut State<'_>, places: [Place; 2], value: u64) {
    set_pair(state, places, value, 0);
}

fn copy(state: &mut State<'_>, moves: &[(Place, Source)]) -> Result<(), Cause> {
    let lanes = state.wave.exec();
    if let [(dst, source)] = moves {
        return copy_dword(state, *dst, *source, lanes);
    }
    let mut scalars: SmallVec<[(Place, (u32, u32)); 4]> = SmallVec::new();
    let mut vectors: SmallVec<[(Place, (Lanes, Lanes)); 4]> = SmallVec::new();
    for (dst, source) in moves {
        if dst.is_vector() {
            vectors.push((*dst, vector(state, *source)?));
        } else {
            scalars.push((*dst, scalar(state, *source)?));
        }
    }
    for (dst, (value, undef)) in scalars {
        state.set_scalar(dst, value, undef);
    }
    for (dst, (value, undef)) in &vectors {
        state.set_vector(*dst, value, undef, lanes);
    }
    Ok(())
}

fn copy_dword(state: &mut State<'_>, dst: Place, source: Source, lanes: u64) -> Result<(), Cause> {
    if dst.is_vector() {
        let (value, undef) = vector(state, source)?;
        state.set_vector(dst, &value, &undef, lanes);
    } else {
        let (value, undef) = scalar(state, source)?;
        state.set_scalar(dst, value, undef);
    }
    Ok(())
}

fn element_index(state: &State<'_>, index: Source, offset: i32) -> Result<usize, Cause> {
    let (value, undef) = scalar(state, index)?;
    if undef != 0 {
        return Err(undefined(Kind::UndefAddress, "the register index is undefined"));
    }
    Ok(value.wrapping_add(offset as u32) as usize)
}

/// Indexed moves go through M0.
fn after_indexing(state: &mut State<'_>) {
    state.wave.su[usize::from(PReg::M0.0)] = !0;
}

fn execute_real(
    state: &mut State<'_>,
    exec: &mut Exec<'_>,
    group: &mut Group,
    real: &Real,
) -> Result<(), Cause> {
    let lanes = state.wave.exec();
    for transfer in &real.writes {
        // What the instruction does not write is nobody's.
        match transfer.stand_in.vgpr_index().map(usize::from) {
            Some(n) => {
                state.wave.vu[n & 255] = [!0; MAX_LANES];
                state.wave.v_undef[n & 255] = !0;
            }
            None => state.wave.su[usize::from(transfer.stand_in.0)] = !0,
        }
    }
    for transfer in &real.reads {
        match transfer.stand_in.vgpr_index().map(usize::from) {
            Some(n) => {
                let (value, mut undef) = vector(state, transfer.outside)?;
                if state.threads && !real.named_lane {
                    // Lanes that do not take part are somewhere else: nobody may look at them.
                    (0..MAX_LANES).filter(|l| lanes >> l & 1 == 0).for_each(|l| undef[l] = !0);
                }
                state.wave.write_v(n, &value, Some(&undef), !0);
            }
            None => {
                let (value, undef) = scalar(state, transfer.outside)?;
                let i = usize::from(transfer.stand_in.0);
                (state.wave.s[i], state.wave.su[i]) = (value, undef);
            }
        }
    }
    let m0 = usize::from(PReg::M0.0);
    let old_m0 = (state.wave.s[m0], state.wave.su[m0]);
    if real.lds_limit {
        (state.wave.s[m0], state.wave.su[m0]) = (!0, 0);
    }
    let result = (real.op.run)(exec, state.wave, group, &real.op);
    if real.lds_limit {
        (state.wave.s[m0], state.wave.su[m0]) = old_m0;
    }
    if state.wave.waits.any() {
        state.wave.waits.reset();
    }
    result?;
    let written = if real.named_lane { named_lanes(state, real, lanes) } else { lanes };
    for transfer in &real.writes {
        let Source::Register(place) = transfer.outside else { continue };
        match transfer.stand_in.vgpr_index().map(usize::from) {
            Some(n) => {
                let (value, undef) = (state.wave.v[n & 255], state.wave.undef_of(n));
                state.set_vector(place, &value, &undef, written);
            }
            None => {
                let i = usize::from(transfer.stand_in.0);
                let undef = if real.clock { !0 } else { state.wave.su[i] };
                state.set_scalar(place, state.wave.s[i], undef);
            }
        }
    }
    Ok(())
}

/// Lanes of the result of `v_writelane`: those that take part and the one named; for a register of the wave, all.
fn named_lanes(state: &State<'_>, real: &Real, lanes: u64) -> u64 {
    let lane = match real.op.srcs.get(1).map(|s| s.src) {
        _ if !state.threads => return !0,
        Some(Src::S(n)) => u64::from(state.wave.s[usize::from(n).min(sim::wave::SCALARS - 1)]),
        Some(Src::K(value)) => value,
        _ => return lanes,
    };
    lanes | 1 << (lane & u64::from(state.wave.size.lanes() - 1))
}

/// Whether a branch is taken.
pub(super) fn holds(state: &State<'_>, condition: Condition) -> Result<bool, Cause> {
    let wave = &*state.wave;
    Ok(match condition {
        Condition::Scc0 | Condition::Scc1 => {
            if wave.scc_undef {
                return Err(undefined(Kind::UndefBranch, "the branch depends on SCC, which is undefined"));
            }
            wave.scc == (condition == Condition::Scc1)
        }
        Condition::Vccz | Condition::Vccnz => {
            let (value, undef) = (wave.vcc(), wave.mask_undef(PReg::VCC_LO));
            if undef != 0 && value & !undef == 0 {
                return Err(undefined(Kind::UndefBranch, "the branch depends on VCC, which is undefined"));
            }
            (value == 0) == (condition == Condition::Vccz)
        }
        Condition::Execz => wave.exec() == 0,
        Condition::Execnz => wave.exec() != 0,
    })
}
