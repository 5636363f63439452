//! What a wave did, as far as it cannot be read from the code: where control went, which lines and banks its accesses touched.
//!
//! Straight-line code leaves nothing behind, a branch four bytes, an access twelve and eight for each line. A work-group leaves
//! [`MAX_BYTES`] at most; where more happens, the rest of its waves is not modelled.

use super::lanes;
use crate::program::{Class, Op};
use crate::wave::MAX_LANES;
use mir::isa::Opcode;
use mir::target::Target;
use mir::target::timing::Timing;

/// Bytes of a work-group's trace.
pub const MAX_BYTES: usize = 16 << 20;

/// Lanes whose texels' addresses an image instruction takes in a cycle. Source: GCN and RDNA white papers, "Texture": four texels a cycle.
const TEXELS: u32 = 4;

/// An access to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Lines of memory, which follow each other in [`WaveTrace::lines`].
    pub lines: u32,
    /// Cycles of the vector memory's address path.
    pub passes: u32,
    /// Cycles of LDS.
    pub lds: u16,
    /// Cycles of LDS without conflicts.
    pub lds_least: u16,
}

/// What a wave did, in order.
#[derive(Debug, Default)]
pub struct WaveTrace {
    /// For each instruction that may jump the address of the next one, in dwords from the image's start.
    pub jumps: Vec<u32>,
    /// One for each memory instruction.
    pub accesses: Vec<Access>,
    /// Numbers of lines.
    pub lines: Vec<u64>,
}

/// What the waves of a work-group did.
#[derive(Debug, Default)]
pub struct GroupTrace {
    /// Address of the first instruction, in bytes from the image's start.
    pub entry: u64,
    /// By number in the work-group.
    pub waves: Vec<WaveTrace>,
}

/// Records a work-group.
#[derive(Debug)]
pub struct Recorder {
    trace: GroupTrace,
    timing: &'static Timing,
    /// Lanes of a wave.
    lanes: u32,
    pending: Access,
    lines: Vec<u64>,
    bytes: usize,
    full: bool,
}

/// Whether control may go elsewhere after `op`.
pub fn jumps(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        S_BRANCH
            | S_CBRANCH_SCC0
            | S_CBRANCH_SCC1
            | S_CBRANCH_VCCZ
            | S_CBRANCH_VCCNZ
            | S_CBRANCH_EXECZ
            | S_CBRANCH_EXECNZ
            | S_CBRANCH_I_FORK
            | S_CBRANCH_G_FORK
            | S_CBRANCH_JOIN
            | S_SETPC_B64
            | S_SWAPPC_B64
            | S_CALL_B64
    )
}

/// Whether `class` leaves an [`Access`].
pub fn accesses(class: Class) -> bool {
    matches!(class, Class::Smem | Class::Lds | Class::Buffer | Class::Image | Class::Flat)
}

impl Recorder {
    /// For a work-group of `waves` that start at `entry`.
    pub fn new(waves: usize, entry: u64, target: &Target) -> Self {
        let waves = (0..waves).map(|_| WaveTrace::default()).collect();
        let trace = GroupTrace { entry, waves };
        Self {
            trace,
            timing: target.timing(),
            lanes: target.wave_size(),
            pending: Access::default(),
            lines: Vec::new(),
            bytes: 0,
            full: false,
        }
    }

    /// The instruction under way accesses LDS at these offsets.
    pub fn lds(&mut self, offsets: &[Option<u32>; MAX_LANES], dwords: u32) {
        let share = &self.timing.lds;
        let passes = lanes::lds_passes(offsets, dwords, share.banks, share.lanes);
        let least = lanes::lds_least(offsets, dwords, share.lanes);
        // At most all dwords of all lanes, at two addresses.
        self.pending.lds = self.pending.lds.saturating_add(passes as u16);
        self.pending.lds_least = self.pending.lds_least.saturating_add(least as u16);
    }

    /// It accesses memory at these addresses ([`lanes::memory_passes`]).
    pub fn memory(&mut self, addresses: &[Option<(u64, Option<u64>)>; MAX_LANES], bytes: u32) {
        let Timing { vector_lanes, vector_cache, .. } = self.timing;
        self.pending.passes +=
            lanes::memory_passes(addresses, bytes, (*vector_lanes, vector_cache.line), &mut self.lines);
    }

    /// It accesses these bytes of memory.
    pub fn bytes(&mut self, at: u64, bytes: u32) {
        let before = self.lines.len();
        lanes::add_lines(&mut self.lines, at, bytes.into());
        self.pending.passes += (self.lines.len() - before) as u32;
    }

    /// Wave `wave` has executed `op` and is at `pc`.
    pub fn executed(&mut self, wave: u32, op: &Op, pc: u64) {
        let Some(trace) = self.trace.waves.get_mut(wave as usize) else { return };
        let access = accesses(op.class);
        let bytes = match access {
            true => {
                self.lines.sort_unstable();
                self.lines.dedup();
                if op.class == Class::Image {
                    // Four texels' addresses a cycle; what they share of lines is not told lane by lane.
                    self.pending.passes = self.lanes.div_ceil(TEXELS).max(self.lines.len() as u32);
                }
                size_of::<Access>() + 8 * self.lines.len()
            }
            false if jumps(op.inst.op) => 4,
            false => return,
        };
        self.full |= self.bytes + bytes > MAX_BYTES;
        if !self.full {
            self.bytes += bytes;
            match access {
                true => {
                    trace.accesses.push(Access { lines: self.lines.len() as u32, ..self.pending });
                    trace.lines.append(&mut self.lines);
                }
                false => trace.jumps.push((pc / 4) as u32),
            }
        }
        if access {
            self.lines.clear();
            self.pending = Access::default();
        }
    }

    /// The finished trace.
    pub fn finish(self) -> GroupTrace {
        self.trace
    }
}
