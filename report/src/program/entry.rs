//! What a kernel's registers hold when it starts, as its descriptor says.
//!
//! Source: AMDGPU usage guide, "Initial Kernel Execution State".

use super::Function;
use mir::machine::PReg;
use mir::target::{FlatScratch, Target};
use sim::Kernel;

/// A value that the hardware or the command processor puts into SGPRs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryValue {
    /// Resource of scratch, four SGPRs.
    PrivateSegmentBuffer,
    /// Address of the dispatch packet.
    DispatchPtr,
    /// Address of the queue.
    QueuePtr,
    /// Address of the kernel's arguments.
    KernargPtr,
    /// Number of the dispatch.
    DispatchId,
    /// What FLAT_SCRATCH is made of.
    FlatScratchInit,
    /// Scratch bytes of a lane.
    PrivateSegmentSize,
    /// Number of the work-group along an axis.
    WorkgroupId(u8),
    /// Facts of the work-group.
    WorkgroupInfo,
    /// Where the wave's scratch begins.
    WaveOffset,
}

impl EntryValue {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::PrivateSegmentBuffer => "the resource of scratch",
            Self::DispatchPtr => "the address of the dispatch packet",
            Self::QueuePtr => "the address of the queue",
            Self::KernargPtr => "the address of the kernel's arguments",
            Self::DispatchId => "the number of the dispatch",
            Self::FlatScratchInit => "the value for FLAT_SCRATCH",
            Self::PrivateSegmentSize => "the scratch bytes of a lane",
            Self::WorkgroupId(0) => "the work-group's number along X",
            Self::WorkgroupId(1) => "the work-group's number along Y",
            Self::WorkgroupId(_) => "the work-group's number along Z",
            Self::WorkgroupInfo => "the work-group's information",
            Self::WaveOffset => "the offset of the wave's scratch",
        }
    }
}

/// The SGPRs of a kernel at its start: register, value, dword of it.
pub(crate) fn registers(kernel: &Kernel) -> Vec<(PReg, EntryValue, u8)> {
    let d = &kernel.descriptor;
    let mut out = Vec::new();
    let mut next = 0u16;
    let mut push = |next: &mut u16, enabled: u32, value: EntryValue, dwords: u8| {
        for dword in 0..dwords {
            if enabled != 0 && *next < PReg::SGPRS {
                out.push((PReg::sgpr(*next), value, dword));
                *next += 1;
            }
        }
    };
    push(&mut next, d.sgpr_private_segment_buffer, EntryValue::PrivateSegmentBuffer, 4);
    push(&mut next, d.sgpr_dispatch_ptr, EntryValue::DispatchPtr, 2);
    push(&mut next, d.sgpr_queue_ptr, EntryValue::QueuePtr, 2);
    push(&mut next, d.sgpr_kernarg_segment_ptr, EntryValue::KernargPtr, 2);
    push(&mut next, d.sgpr_dispatch_id, EntryValue::DispatchId, 2);
    push(&mut next, d.sgpr_flat_scratch_init, EntryValue::FlatScratchInit, 2);
    push(&mut next, d.sgpr_private_segment_size, EntryValue::PrivateSegmentSize, 1);
    next = d.user_sgpr_count as u16;
    for (axis, enabled) in [d.workgroup_id_x, d.workgroup_id_y, d.workgroup_id_z].into_iter().enumerate() {
        push(&mut next, enabled, EntryValue::WorkgroupId(axis as u8), 1);
    }
    push(&mut next, d.workgroup_info, EntryValue::WorkgroupInfo, 1);
    push(&mut next, d.private_segment_wavefront_offset, EntryValue::WaveOffset, 1);
    out
}

/// Whether FLAT_SCRATCH holds an address on the target.
pub(crate) fn flat_scratch_is_address(target: &Target) -> bool {
    target.limits().flat_scratch == FlatScratch::Address
}

impl Function {
    /// Lanes' numbers in VGPRs at the start of a kernel: how many of v0, v1 and v2.
    pub fn work_item_ids(&self) -> u16 {
        self.kernel.as_ref().map_or(0, |kernel| (kernel.descriptor.vgpr_workitem_id as u16).min(2) + 1)
    }
}
