//! Accesses off one base that may become one, and what stands between them.

use mir::ir::{Inst, MemAccess};
use smallvec::{SmallVec, smallvec};

/// Most members of a group, and most ranges written to around them.
const MAX_GROUP: usize = 64;

/// An access of a group.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// Position among the block's instructions.
    pub(super) at: usize,
    pub(super) inst: Inst,
    /// Distance from the group's base, in bytes.
    pub(super) offset: i64,
    /// How many bytes are accessed.
    pub(super) bytes: i64,
    pub(super) mem: MemAccess,
}

impl Member {
    /// The bytes off the base, from the first to behind the last.
    pub(super) fn range(&self) -> (i64, i64) {
        (self.offset, self.offset.saturating_add(self.bytes))
    }
}

/// Accesses off one base.
pub(super) struct Group {
    pub(super) members: SmallVec<[Member; 2]>,
    /// Of loads: bytes off the base that were written since the first of them, at most [`MAX_GROUP`]. Loads of those stay behind.
    written: Vec<(i64, i64)>,
}

impl Group {
    pub(super) fn of(member: Member) -> Self {
        Self { members: smallvec![member], written: Vec::new() }
    }

    /// Whether the group, of loads or of stores, may go on behind another access of `bytes` off its base, which its members move across. Loads
    /// to come must know what was written: it is remembered.
    pub(super) fn crosses(&mut self, bytes: (i64, i64), are_loads: bool) -> bool {
        if are_loads {
            self.written.push(bytes);
            return self.written.len() <= MAX_GROUP;
        }
        !self.members.iter().any(|m| overlap(m.range(), bytes))
    }

    /// Whether a member may be one of the group.
    pub(super) fn takes(&self, member: &Member, store: bool) -> bool {
        // A second store to the same place must stay behind the first.
        let behind = store && self.members.iter().any(|m| overlap(m.range(), member.range()));
        !behind && self.members.len() < MAX_GROUP && !self.written.iter().any(|&w| overlap(w, member.range()))
    }
}

/// Whether two ranges off one base, each from a first byte to behind the last, may have bytes in common: sums of 32 bits wrap around.
fn overlap(a: (i64, i64), b: (i64, i64)) -> bool {
    let is_near = |offset: i64| i32::try_from(offset).is_ok();
    !is_near(a.0) || !is_near(b.0) || a.0 < b.1 && b.0 < a.1
}
