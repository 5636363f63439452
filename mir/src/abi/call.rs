//! The calling convention of functions: where arguments, results and what a kernel hands on are kept.
//!
//! Arguments are counted in dwords. A dword goes to the next free VGPR of v0 to v30 (`inreg`: SGPR of s16 to s29 first), then
//! to the stack, a dword each, from the caller's stack pointer on. What kernels start with is handed on in fixed registers
//! whether or not the callee asks for it. Results are in VGPRs from v0 on; results of more than 32 dwords are written to memory
//! behind a pointer that comes as the first argument.
//!
//! | register | holds |
//! |---|---|
//! | s[0:3] | resource of scratch |
//! | s[4:5], s[6:7] | pointers to dispatch packet and queue |
//! | s[8:9] | pointer to the hidden arguments |
//! | s[10:11] | dispatch id |
//! | s12, s13, s14 | work-group ids |
//! | s15 | number of the kernel, for LDS |
//! | s[30:31] | return address |
//! | s32, s33 | stack pointer, frame pointer: bytes of a lane times lanes |
//! | v31 | work-item ids, ten bits each |
//!
//! Functions of the graphics convention get arguments in s4 to s29 and v0 to v31, and nothing that is handed on.
//!
//! A callee leaves inactive lanes of all VGPRs as they are, EXEC, s[0:3], s32, s33 and the registers that [`is_callee_saved`]
//! names.
//!
//! Sources: AMDGPU usage guide, "Non-Kernel Functions"; what llc 22 makes of calls for gfx700, gfx803 and gfx900.

use crate::machine::{EntryValue, PReg, RegSet};
use std::sync::LazyLock;

/// Scratch resource.
pub const SCRATCH_RESOURCE: PReg = PReg::sgpr(0);
/// Pointer to the dispatch packet.
pub const DISPATCH_PTR: PReg = PReg::sgpr(4);
/// Pointer to the queue.
pub const QUEUE_PTR: PReg = PReg::sgpr(6);
/// Pointer to the hidden arguments.
pub const IMPLICITARG_PTR: PReg = PReg::sgpr(8);
/// Number of the dispatch.
pub const DISPATCH_ID: PReg = PReg::sgpr(10);
/// Work-group ids.
pub const WORKGROUP_IDS: [PReg; 3] = [PReg::sgpr(12), PReg::sgpr(13), PReg::sgpr(14)];
/// Number of the kernel among those that use LDS variables of functions.
pub const LDS_KERNEL_ID: PReg = PReg::sgpr(15);
/// Return address.
pub const RETURN_ADDRESS: PReg = PReg::sgpr(30);
/// Stack pointer.
pub const STACK_POINTER: PReg = PReg::sgpr(32);
/// Frame pointer.
pub const FRAME_POINTER: PReg = PReg::sgpr(33);
/// Work-item ids, ten bits each.
pub const WORKITEM_IDS: PReg = PReg::vgpr(WORKITEM_IDS_VGPR);
/// The first SGPR that holds no argument and has no role of its own.
pub const FIRST_FREE_SGPR: PReg = FRAME_POINTER.plus(1);
/// Where the stack pointer may point, in bytes of a lane.
pub const STACK_ALIGN_BYTES: u32 = 16;
/// Most dwords of a result in registers.
pub const MAX_RESULT_DWORDS: usize = 32;

bitflags::bitflags! {
    /// What a kernel starts with and hands on to functions that ask for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Inputs: u16 {
        /// Pointer to the dispatch packet.
        const DISPATCH_PTR = 1 << 0;
        /// Pointer to the queue.
        const QUEUE_PTR = 1 << 1;
        /// Pointer to the hidden arguments.
        const IMPLICITARG_PTR = 1 << 2;
        /// Number of the dispatch.
        const DISPATCH_ID = 1 << 3;
        /// Work-group ids.
        const WORKGROUP_ID_X = 1 << 4;
        /// The second one.
        const WORKGROUP_ID_Y = 1 << 5;
        /// The third one.
        const WORKGROUP_ID_Z = 1 << 6;
        /// Work-item ids.
        const WORKITEM_ID_X = 1 << 7;
        /// The second one.
        const WORKITEM_ID_Y = 1 << 8;
        /// The third one.
        const WORKITEM_ID_Z = 1 << 9;
        /// Number of the kernel among those that use LDS variables of functions, where the producer has numbered them.
        const LDS_KERNEL_ID = 1 << 10;
    }
}

impl Inputs {
    /// All work-item ids, which share a register.
    pub const WORKITEM_IDS: Self = Self::WORKITEM_ID_X.union(Self::WORKITEM_ID_Y).union(Self::WORKITEM_ID_Z);
}

/// Where a call puts its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLayout {
    /// One for each dword, in the order of the arguments of the legal call.
    pub places: Vec<Place>,
    /// Whether the callee is of the graphics convention, which hands nothing on.
    pub graphics: bool,
    /// Whether the call is a jump: the return that follows it is the callee's, the frame is gone by then, arguments on the stack take the
    /// place of the function's own. All lanes that the function was entered with are there.
    pub tail: bool,
}

/// Where a dword of the arguments is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A register.
    Register(PReg),
    /// Bytes from the stack pointer at the call.
    Stack(u32),
}

/// Gives the dwords of arguments their places, in order.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    next_vgpr: u16,
    next_sgpr: u16,
    stack_bytes: u32,
    /// VGPRs for arguments.
    vgprs: u16,
}

/// VGPR that holds the work-item ids.
const WORKITEM_IDS_VGPR: u16 = 31;
/// SGPRs for arguments.
const SGPRS: std::ops::Range<u16> = 16..30;
/// Without handed-on values (`amdgpu_gfx`) there are more.
const GFX_SGPRS: std::ops::Range<u16> = 4..30;

impl Places {
    /// Nothing placed yet. Functions of the graphics convention (`amdgpu_gfx`) get no ids, so that more registers are free.
    pub fn new(graphics: bool) -> Self {
        let sgprs = if graphics { GFX_SGPRS } else { SGPRS };
        let vgprs = if graphics { WORKITEM_IDS_VGPR + 1 } else { WORKITEM_IDS_VGPR };
        Self { next_vgpr: 0, next_sgpr: sgprs.start, stack_bytes: 0, vgprs }
    }

    /// The place of the next dword.
    pub fn dword(&mut self, inreg: bool) -> Place {
        if inreg && self.next_sgpr < SGPRS.end {
            self.next_sgpr += 1;
            return Place::Register(PReg::sgpr(self.next_sgpr - 1));
        }
        if self.next_vgpr < self.vgprs {
            self.next_vgpr += 1;
            return Place::Register(PReg::vgpr(self.next_vgpr - 1));
        }
        Place::Stack(self.memory(4, 4))
    }

    /// The place of a copy of `size` bytes on the stack.
    pub fn memory(&mut self, size: u32, align: u32) -> u32 {
        let at = self.stack_bytes.next_multiple_of(align.max(4));
        self.stack_bytes = at.saturating_add(size.next_multiple_of(4));
        at
    }

    /// Bytes of the arguments on the stack.
    pub fn stack_bytes(&self) -> u32 {
        self.stack_bytes
    }
}

/// The register that a caller hands `value` on in; `None` for what only kernels have.
pub fn register_of(value: EntryValue) -> Option<PReg> {
    Some(match value {
        EntryValue::PrivateSegmentBuffer => SCRATCH_RESOURCE,
        EntryValue::DispatchPtr => DISPATCH_PTR,
        EntryValue::QueuePtr => QUEUE_PTR,
        EntryValue::ImplicitargPtr => IMPLICITARG_PTR,
        EntryValue::DispatchId => DISPATCH_ID,
        EntryValue::WorkgroupIdX => WORKGROUP_IDS[0],
        EntryValue::WorkgroupIdY => WORKGROUP_IDS[1],
        EntryValue::WorkgroupIdZ => WORKGROUP_IDS[2],
        EntryValue::LdsKernelId => LDS_KERNEL_ID,
        EntryValue::ReturnAddress => RETURN_ADDRESS,
        EntryValue::PackedWorkitemIds => WORKITEM_IDS,
        EntryValue::Argument(reg) => reg,
        _ => return None,
    })
}

/// Whether `reg` has a role in all functions: the scratch resource, stack and frame pointer.
pub fn is_reserved(reg: PReg) -> bool {
    matches!(reg, STACK_POINTER | FRAME_POINTER)
        || (SCRATCH_RESOURCE..SCRATCH_RESOURCE.plus(4)).contains(&reg)
}

/// Whether `reg` is how caller and callee find each other: the return address, stack and frame pointer.
pub fn is_linkage(reg: PReg) -> bool {
    (RETURN_ADDRESS..FIRST_FREE_SGPR).contains(&reg)
}

/// Whether a callee leaves `reg` as it found it. VGPRs: from v40 on, groups of eight take turns. SGPRs, but for s[30:33] and the scratch
/// resource, which have roles of their own: from s34 on groups of eight take turns; for callees of the graphics convention s4 to s31, and all
/// from s64 on.
pub fn is_callee_saved(reg: PReg, graphics: bool) -> bool {
    if let Some(n) = reg.vgpr_index() {
        return n >= 40 && (n / 8) % 2 == 1;
    }
    match reg.sgpr_index() {
        Some(n) if graphics => n < 30 || n == 32 || n == 33 || n >= 64,
        Some(n @ 30..40) => n >= 32,
        Some(n @ 40..) => (n / 8) % 2 == 0 || n >= 104,
        _ => reg.0 < 4,
    }
}

/// VGPRs that the convention has saved or not together.
const GROUP: u16 = 8;

/// The first VGPR of the last group of those that callees leave as they found them below `limit`; `None` where there is none.
pub fn last_saved_vgprs(limit: u16) -> Option<u16> {
    (0..(limit + 1).saturating_sub(GROUP))
        .rev()
        .find(|&n| n % GROUP == 0 && is_callee_saved(PReg::vgpr(n), false))
}

/// Whether each callee leaves `reg` as it found it, also one that agrees with its callers on more registers than the convention has: the scratch
/// resource, stack and frame pointer.
pub fn is_always_saved(reg: PReg) -> bool {
    reg.0 < 4 || [STACK_POINTER, FRAME_POINTER].contains(&reg)
}

/// Numbered SGPRs, VCC and VGPRs that a callee may change: those that are not callee-saved.
pub fn changed_by_convention(graphics: bool) -> &'static RegSet {
    static SETS: LazyLock<[RegSet; 2]> = LazyLock::new(|| {
        [false, true].map(|graphics| {
            let all = (0..=PReg::VCC_HI.0).map(PReg).chain((0..PReg::VGPRS).map(PReg::vgpr));
            all.filter(|&reg| !is_callee_saved(reg, graphics)).collect()
        })
    });
    &SETS[usize::from(graphics)]
}
