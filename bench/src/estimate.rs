//! Cycles of code that is not run: the model of a compute unit on a walk from the first instruction to the last.
//!
//! No branch jumps, so that each block counts once, whatever loops there are; an `s_endpgm` ends nothing. Lanes access
//! consecutive addresses, each instruction memory of its own, every wave the same, so that caches are warm. Two compilers' code of one
//! shader is compared by it, nothing else: it says what the instructions between two loads cost, not how long the shader runs.

use mir::isa::{Format, Opcode};
use mir::target::Target;
use sim::program::{Class, Op, Program};
use sim::timing::record::Recorder;
use sim::timing::{Cycles, Needs, Unit};
use sim::wave::MAX_LANES;

/// Waves of a work-group.
const WAVES: usize = 4;
/// Work-groups: enough to fill the compute unit more than once.
const GROUPS: usize = 16;
/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;
/// `s_endpgm`.
const END: u32 = 0xbf81_0000;

/// The model's report of the walk through `words`. A SIMD holds `waves_per_simd` waves, and a work-group takes `lds` bytes.
///
/// # Errors
/// There is no `s_endpgm`, or something is no instruction.
pub fn walk(words: &[u32], target: &Target, waves_per_simd: u32, lds: u32) -> Result<Cycles, String> {
    let words = with_one_end(words, target)?;
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::new(bytes, *target);
    let mut unit = Unit::new(&program, Needs { waves_per_simd: waves_per_simd.max(1), lds, base: 0 });
    for _ in 0..GROUPS {
        let mut recorder = Recorder::new(WAVES, 0, target);
        for wave in 0..WAVES as u32 {
            let (mut pc, mut place) = (0u64, 0x10_0000u64);
            while pc < 4 * words.len() as u64 {
                let op = program.op(pc).map_err(|report| report.to_string())?;
                pc += u64::from(op.size);
                touch(&mut recorder, op, target.wave_size() as usize, &mut place);
                recorder.executed(wave, op, pc);
            }
        }
        unit.push(recorder.finish());
    }
    Ok(unit.finish(0, 0, false))
}

/// Whether the code calls functions, which a walk does not follow; also where something is no instruction.
pub fn calls(words: &[u32], target: &Target) -> bool {
    let mut at = 0;
    while at < words.len() {
        match mir::isa::decode(&words[at..], target) {
            Ok((inst, len)) if inst.op != Opcode::S_SWAPPC_B64 => at += len,
            _ => return true,
        }
    }
    false
}

/// The code with one `s_endpgm`, at its end.
fn with_one_end(words: &[u32], target: &Target) -> Result<Vec<u32>, String> {
    let mut out = words.to_vec();
    let (mut at, mut ends) = (0, 0);
    while at < words.len() {
        let (inst, len) =
            mir::isa::decode(&words[at..], target).map_err(|error| format!("byte {}: {error}", 4 * at))?;
        if inst.op == Opcode::S_ENDPGM {
            out[at] = NOP;
            ends += 1;
        }
        at += len;
    }
    if ends == 0 {
        return Err("no s_endpgm".to_owned());
    }
    out.push(END);
    Ok(out)
}

/// Records what `op` accesses: memory of its own, from `place` on.
fn touch(recorder: &mut Recorder, op: &Op, lanes: usize, place: &mut u64) {
    let bytes = u32::from(op.info.memory_bytes).max(4);
    match op.class {
        Class::Smem => {
            recorder.bytes(*place, bytes);
            *place += u64::from(bytes);
        }
        Class::Lds => {
            let offsets: [Option<u32>; MAX_LANES] =
                std::array::from_fn(|lane| (lane < lanes).then_some(lane as u32 * bytes));
            recorder.lds(&offsets, bytes / 4);
        }
        Class::Buffer | Class::Flat if op.info.format != Format::Ds => {
            let first = *place;
            let addresses: [_; MAX_LANES] = std::array::from_fn(|lane| {
                (lane < lanes).then_some((first + lane as u64 * u64::from(bytes), None))
            });
            recorder.memory(&addresses, bytes);
            *place += lanes as u64 * u64::from(bytes);
        }
        Class::Image => {
            let first = *place;
            let addresses: [_; MAX_LANES] =
                std::array::from_fn(|lane| (lane < lanes).then_some((first + lane as u64 * 4, None)));
            recorder.memory(&addresses, 4);
            *place += lanes as u64 * 4;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(words: &[u32]) -> u64 {
        let target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
        walk(words, &target, 10, 0).expect("it is walked").modelled_cycles
    }

    #[test]
    fn more_work_takes_longer() {
        // v_add_f32 v0, v0, v0; s_endpgm.
        let (add, end) = (0x0200_0100, 0xbf81_0000);
        let short = cycles(&[add, end]);
        let long = cycles(&[add, add, add, add, add, add, add, add, end]);
        assert!(short > 0 && long >= short + 7 * 4 * 4, "{short} {long}");
    }

    #[test]
    fn the_walk_goes_on_behind_an_end() {
        let (add, end) = (0x0200_0100, 0xbf81_0000);
        let short = cycles(&[add, end]);
        assert!(cycles(&[add, end, add, add, add, add, add, add, end]) > short);
        // What stands behind the last one is reached by a jump.
        assert!(cycles(&[add, end, add, add, add, add, add, add, add]) > short);
        let target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
        assert!(walk(&[add], &target, 10, 0).is_err());
    }
}
