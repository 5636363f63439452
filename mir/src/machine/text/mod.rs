//! The text form of machine functions, written and read, at every stage: what `Display` of [`Function`]
//! prints, [`parse_function`] reads.
//!
//! Problem: a pass can be tested alone only if its input can be written down, and read where it is looked
//! for. Idea: code stands as people expect it, one instruction a line; what is not code stands in a header,
//! of which only lines that say something unusual are printed, so that a small test stays small.
//!
//! ```text
//! function f, linear
//!   lane_masks %6:s2, %7:s2, %11:s2
//!   entry %4:v1 = workitem_id_x in v0
//! mbb1 (%4:v1 | %7:s2), depth 1:
//!   head  exec = s_mov_b64 %7:s2
//!         %5:v1 = v_add_u32 %4:v1, 1
//!         %10:v2 = global_load_dwordx2 %5:v1, %9:s2 offset:16 [8 bytes, space 1, align 8, volatile]
//!   tail  %11:s2 = s_and_saveexec_b64 %6:s2
//!   wave execz -> mbb3, mbb2(%9)   thread -> mbb2(%5), mbb3
//! ```
//!
//! * Registers are named with file (`s`, `v`) and width in dwords; `%5.1:v1` is one dword from dword 1 of
//!   `%5`. Their flags and hints are in the header. Arguments of edges are names alone. Before linearisation a
//!   thread edge has its SGPR arguments after a bar.
//! * Numbers of blocks and registers are the entities' own. Blocks that are not in the layout, and registers
//!   that nothing names, keep their numbers and lose their contents, which nobody reads.
//! * Opcodes have the names of their rows, since rows that share a mnemonic differ in what they read and
//!   write. An encoding that was chosen is a suffix (`_e64`).
//! * Symbols and called functions are numbers of the module's functions and variables (`#fn3`, `#global0`).
//! * `place 3:16` of an access is 16 bytes behind the address with number 3, which others of the block are near, too.
//! * `tied` marks an operand behind those of the row, which gets the register of a definition.
//!
//! Lines that begin without a blank start functions and blocks; otherwise an instruction is a line and blanks
//! do not matter. A comment goes from `;` to the end of the line. The reader demands that the text means
//! something, not that it is right code: [`super::verify`] judges that. Cost: linear in both directions.

mod header;
mod parse;
mod parse_header;
mod parse_inst;
mod print;
mod registers;
#[cfg(test)]
mod tests;

pub(crate) use parse::parse_functions_at;
pub use parse::{parse_function, parse_functions};

use super::{Condition, EntryValue, Function, ModFlags, RegFile, SdwaSel, SdwaUnused, VRegFlags};
use crate::text::words;

words! {
    Condition {
        Scc0 = "scc0", Scc1 = "scc1", Vccz = "vccz", Vccnz = "vccnz", Execz = "execz", Execnz = "execnz",
    }
    SdwaSel {
        Byte0 = "byte0", Byte1 = "byte1", Byte2 = "byte2", Byte3 = "byte3", Word0 = "word0", Word1 = "word1",
        Dword = "dword",
    }
    SdwaUnused { Pad = "pad", Sext = "sext", Preserve = "preserve" }
}

/// Words of the values at the entry, all but arguments.
const ENTRY_VALUES: [(EntryValue, &str); 20] = [
    (EntryValue::ImplicitBufferPtr, "implicit_buffer_ptr"),
    (EntryValue::PrivateSegmentBuffer, "private_segment_buffer"),
    (EntryValue::DispatchPtr, "dispatch_ptr"),
    (EntryValue::QueuePtr, "queue_ptr"),
    (EntryValue::KernargSegmentPtr, "kernarg_segment_ptr"),
    (EntryValue::DispatchId, "dispatch_id"),
    (EntryValue::FlatScratchInit, "flat_scratch_init"),
    (EntryValue::PrivateSegmentSize, "private_segment_size"),
    (EntryValue::WorkgroupIdX, "workgroup_id_x"),
    (EntryValue::WorkgroupIdY, "workgroup_id_y"),
    (EntryValue::WorkgroupIdZ, "workgroup_id_z"),
    (EntryValue::WorkgroupInfo, "workgroup_info"),
    (EntryValue::ScratchWaveOffset, "scratch_wave_offset"),
    (EntryValue::WorkitemIdX, "workitem_id_x"),
    (EntryValue::WorkitemIdY, "workitem_id_y"),
    (EntryValue::WorkitemIdZ, "workitem_id_z"),
    (EntryValue::PackedWorkitemIds, "packed_workitem_ids"),
    (EntryValue::ImplicitargPtr, "implicitarg_ptr"),
    (EntryValue::LdsKernelId, "lds_kernel_id"),
    (EntryValue::ReturnAddress, "return_address"),
];

/// Header lines of registers with a property.
const VREG_FLAGS: [(VRegFlags, &str); 4] = [
    (VRegFlags::LANE_MASK, "lane_masks"),
    (VRegFlags::WHOLE_WAVE, "whole_wave"),
    (VRegFlags::PINNED, "pinned"),
    (VRegFlags::UNIFORM, "uniform"),
];

const MOD_FLAGS: [(ModFlags, &str); 27] = [
    (ModFlags::CLAMP, "clamp"),
    (ModFlags::GLC, "glc"),
    (ModFlags::SLC, "slc"),
    (ModFlags::TFE, "tfe"),
    (ModFlags::LDS, "lds"),
    (ModFlags::OFFEN, "offen"),
    (ModFlags::IDXEN, "idxen"),
    (ModFlags::ADDR64, "addr64"),
    (ModFlags::GDS, "gds"),
    (ModFlags::UNORM, "unorm"),
    (ModFlags::DA, "da"),
    (ModFlags::R128, "r128"),
    (ModFlags::LWE, "lwe"),
    (ModFlags::A16, "a16"),
    (ModFlags::D16, "d16"),
    (ModFlags::DONE, "done"),
    (ModFlags::COMPR, "compr"),
    (ModFlags::VM, "vm"),
    (ModFlags::HIGH, "high"),
    (ModFlags::NV, "nv"),
    (ModFlags::LIT0, "lit0"),
    (ModFlags::LIT1, "lit1"),
    (ModFlags::ZERO_OFFSET, "zero_offset"),
    (ModFlags::OTHER_LANES, "other_lanes"),
    (ModFlags::SETS_EXEC, "sets_exec"),
    (ModFlags::DLC, "dlc"),
    (ModFlags::LIT2, "lit2"),
];

fn file_letter(file: RegFile) -> char {
    match file {
        RegFile::Sgpr => 's',
        RegFile::Vgpr => 'v',
    }
}

/// Whether the blocks of `function` print both graphs.
fn has_wave_graph(function: &Function, block: super::Block) -> bool {
    function.is_linear() || !function.blocks[block].wave_succs.is_empty()
}
