//! Binding webs to hardware registers.
//!
//! Webs are bound one after the other to the lowest tuple that is free in all their ranges, aligned as they
//! need, preferring what saves a move: a fixed register that they are copied from or to, or the place beside
//! a web that was not joined. Interference is exact, so the order is all that matters. By start, narrow webs
//! fragment the file; by width, then start, wide tuples get their room first. The second is tried where the
//! first fails, and [`crate::repair`] where it fails too.

use crate::access::{VCC, file_index};
use crate::liveness::{Kind, Liveness, Range};
use crate::occupancy::{Mask, Occupancy};
use crate::sweep::Sweep;
use crate::webs::{Affinity, WebRanges, WebView, Webs, runs};
use mir::machine::{Function, PReg, RegFile, VReg, VRegFlags};

/// A web to be bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub root: VReg,
    pub start: u32,
    pub width: u8,
    /// One past the last position.
    pub end: u32,
    /// Positions in which it is alive.
    pub length: u32,
    /// Whether VCC suits: all members are lane masks.
    pub mask: bool,
}

/// What may be used.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Registers that may be used.
    pub allowed: Mask,
    /// Ranges taken beforehand.
    pub fixed: Vec<(u16, Range)>,
}

/// Wishes of a web: (first register of the root, weight order).
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// Fixed places: (web root, register of the web's dword 0).
    pub places: Vec<(VReg, i32)>,
    /// Other webs: (web root, other root, offset of the other's dword 0 from this one's).
    pub others: Vec<(VReg, VReg, i32)>,
    /// Webs with wishes, by root; most have none.
    wishing: Vec<bool>,
}

impl Hints {
    /// Sorts by web, keeping the order of each web's wishes, of `vregs` registers.
    pub fn sort(&mut self, vregs: usize) {
        self.places.sort_by_key(|h| h.0);
        self.others.sort_by_key(|h| h.0);
        self.wishing.resize(vregs, false);
        let roots = self.places.iter().map(|h| h.0).chain(self.others.iter().map(|h| h.0));
        roots.for_each(|root| self.wishing[root.as_u32() as usize] = true);
    }

    /// Whether a web has any wishes.
    pub fn wishes(&self, root: VReg) -> bool {
        self.wishing.get(root.as_u32() as usize).is_some_and(|&any| any)
    }

    fn places(&self, root: VReg) -> impl Iterator<Item = i32> + '_ {
        let at = self.places.partition_point(|h| h.0 < root);
        self.places[at..].iter().take_while(move |h| h.0 == root).map(|h| h.1)
    }

    fn others(&self, root: VReg) -> impl Iterator<Item = (VReg, i32)> + '_ {
        let at = self.others.partition_point(|h| h.0 < root);
        self.others[at..].iter().take_while(move |h| h.0 == root).map(|h| (h.1, h.2))
    }

    /// How many wishes of `items` did not come true where `at` has them.
    pub fn missed(&self, items: &[Item], at: &[u16]) -> usize {
        let place = |root: VReg| i32::from(at[root.as_u32() as usize]);
        let of = |item: &Item| {
            let own = place(item.root);
            self.places(item.root).filter(|&wish| wish != own).count()
                + self.others(item.root).filter(|&(other, offset)| place(other) - offset != own).count()
        };
        items.iter().filter(|item| self.wishes(item.root)).map(of).sum()
    }

    /// Adds the wishes of registers that an affinity could not join.
    pub fn beside(&mut self, webs: &mut Webs, affinity: &Affinity) {
        let (ra, oa) = webs.find(affinity.a);
        let (rb, ob) = webs.find(affinity.b);
        if ra != rb {
            let delta = i32::from(oa) + i32::from(affinity.offset) - i32::from(ob);
            let (ra, rb) = (VReg::from_u32(ra), VReg::from_u32(rb));
            self.others.push((ra, rb, delta));
            self.others.push((rb, ra, -delta));
        }
    }

    /// Adds the wish of `v` to be at `reg`.
    pub fn place(&mut self, webs: &mut Webs, v: VReg, reg: PReg, sub: i32) {
        if let Some((_, index)) = file_index(reg) {
            let (root, offset) = webs.find(v);
            self.places.push((VReg::from_u32(root), i32::from(index) - i32::from(offset) - sub));
        }
    }
}

/// The result: the register of each web's dword 0 by root, and the webs that found no place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    pub failed: Vec<VReg>,
    /// Highest register used + 1, VCC apart.
    pub high: u16,
}

/// Positions beyond which a lane mask does not prefer VCC.
const LONG_MASK: u32 = 64;

/// No register.
pub(crate) const UNBOUND: u16 = u16::MAX;

/// Binds `items` in their order; `at[root]` receives the register.
pub(crate) fn pack(
    f: &Function,
    live: &Liveness,
    webs: &Webs,
    items: &[Item],
    file: &File,
    hints: &Hints,
    occupancy: &mut Occupancy,
    positions: u32,
    at: &mut [u16],
) -> Packing {
    for item in items {
        at[item.root.as_u32() as usize] = UNBOUND;
    }
    let mut out = Packing::default();
    occupancy.reset(positions);
    let mut fixed = file.fixed.iter().peekable();
    while let Some(&(reg, range)) = fixed.next() {
        let mut regs = Mask::run(reg, 1);
        // The halves of VCC are written and read together.
        while let Some(&(other, _)) = fixed.next_if(|next| next.1 == range) {
            regs.insert(other);
        }
        occupancy.take(range, &regs);
    }
    for item in items {
        let view = webs.view(f, live, item.root);
        let candidates = candidates(&view, &file.allowed, |range| occupancy.taken(range));
        match choose(item, &candidates, hints, at) {
            Some(reg) => {
                at[item.root.as_u32() as usize] = reg;
                bind(&view, reg, occupancy);
            }
            None => out.failed.push(item.root),
        }
    }
    out.high = high(f, items, at);
    out
}

/// The same in one sweep for `items` in the order of the code, whose blocks start at `blocks`, the end of the code being the last. A web that lives
/// in one block alone takes all its registers from its first position to its last. `occupancy` is to be settled before it is asked.
pub(crate) fn sweep(
    f: &Function,
    live: &Liveness,
    webs: &Webs,
    items: &[Item],
    file: &File,
    hints: &Hints,
    occupancy: &mut Occupancy,
    blocks: &[u32],
    at: &mut [u16],
) -> Packing {
    for item in items {
        at[item.root.as_u32() as usize] = UNBOUND;
    }
    let mut out = Packing::default();
    let mut sweep = Sweep::new(occupancy, blocks.last().copied().unwrap_or(0));
    // A call writes most of a file at once.
    let mut fixed = file.fixed.iter().peekable();
    while let Some(&(first, range)) = fixed.next() {
        let mut count = 1u8;
        while count < u8::MAX && fixed.next_if_eq(&&(first + u16::from(count), range)).is_some() {
            count += 1;
        }
        sweep.take(range, first, count);
    }
    let mut ends = blocks.iter().copied().peekable();
    for item in items {
        sweep.advance(item.start);
        while ends.next_if(|&end| end <= item.start).is_some() {}
        let view = webs.view(f, live, item.root);
        let range = Range { start: item.start, end: item.end };
        let local = ends.peek().is_some_and(|&end| item.end <= end);
        let candidates = match local {
            true => aligned_runs(&view, file.allowed.and_not(&sweep.taken(range))),
            false => candidates(&view, &file.allowed, |range| sweep.taken(range)),
        };
        let Some(reg) = choose(item, &candidates, hints, at) else {
            out.failed.push(item.root);
            break;
        };
        at[item.root.as_u32() as usize] = reg;
        match local {
            true => sweep.take(range, reg, view.width),
            false => each_piece(&view, |range, first, count| sweep.take(range, reg + first, count as u8)),
        }
    }
    sweep.finish();
    out.high = high(f, items, at);
    out
}

/// Highest register used + 1, VCC apart.
pub(crate) fn high(f: &Function, items: &[Item], at: &[u16]) -> u16 {
    items
        .iter()
        .map(|item| (item, at[item.root.as_u32() as usize]))
        .filter(|(item, reg)| *reg != UNBOUND && (*reg < VCC - 1 || f.vregs[item.root].file == RegFile::Vgpr))
        .map(|(item, reg)| reg + u16::from(item.width))
        .max()
        .unwrap_or(0)
}

/// First registers at which the web is free, where `taken` says which registers others hold in a range.
pub(crate) fn candidates(view: &WebView<'_>, allowed: &Mask, taken: impl Fn(Range) -> Mask) -> Mask {
    let mut out = match &view.ranges {
        WebRanges::Single(ranges) => {
            let mut free = *allowed;
            for &range in *ranges {
                free = free.and_not(&taken(range));
            }
            free.runs(view.width)
        }
        WebRanges::Lists([list]) => {
            let mut free = *allowed;
            for range in runs(list) {
                free = free.and_not(&taken(range));
            }
            free.runs(view.width)
        }
        WebRanges::Lists(lists) => {
            let mut out = allowed.runs(view.width);
            let (mut last, mut busy) = (Range::default(), Mask::default());
            for (d, list) in lists.iter().enumerate() {
                match list.as_slice() {
                    // Neighbours are often alive at the same time.
                    [only] if Range { start: only.start, end: only.end } == last => {}
                    [only] => {
                        last = Range { start: only.start, end: only.end };
                        busy = taken(last);
                    }
                    _ => {
                        last = Range::default();
                        busy = runs(list).fold(Mask::default(), |busy, range| busy.or(&taken(range)));
                    }
                }
                out = out.and_not(&busy.down(d as u32));
            }
            out
        }
    };
    if view.align > 1 {
        out = out.and(&aligned(view.align, view.phase));
    }
    out
}

/// First registers of a web if those of `free` are free for all its dwords.
fn aligned_runs(view: &WebView<'_>, free: Mask) -> Mask {
    let runs = free.runs(view.width);
    if view.align > 1 { runs.and(&aligned(view.align, view.phase)) } else { runs }
}

/// Registers that are `phase` modulo `align` (a power of two up to 4).
pub(crate) fn aligned(align: u8, phase: u8) -> Mask {
    let every: u64 = match align {
        2 => 0x5555_5555_5555_5555,
        4 => 0x1111_1111_1111_1111,
        _ => !0,
    };
    Mask([every << phase; 4])
}

pub(crate) fn choose(item: &Item, candidates: &Mask, hints: &Hints, at: &[u16]) -> Option<u16> {
    // A mask that lives long would keep VCC from the short encodings of others.
    let long = item.mask && item.length > LONG_MASK;
    let wish = |n: i32| u16::try_from(n).ok().filter(|&n| candidates.contains(n) && !(long && n == VCC));
    if hints.wishes(item.root) {
        if let Some(n) = hints.places(item.root).find_map(wish) {
            return Some(n);
        }
        let bound = |(other, offset): (VReg, i32)| match at[other.as_u32() as usize] {
            UNBOUND => None,
            there => Some(i32::from(there) - offset),
        };
        if let Some(n) = hints.others(item.root).filter_map(bound).find_map(wish) {
            return Some(n);
        }
    }
    if item.mask && !long && candidates.contains(VCC) {
        return Some(VCC);
    }
    candidates.first()
}

pub(crate) fn bind(view: &WebView<'_>, reg: u16, occupancy: &mut Occupancy) {
    each_piece(view, |range, first, count| occupancy.take(range, &Mask::run(reg + first, count)));
}

/// Visits the pieces of a web: range, first dword and number of dwords.
pub(crate) fn each_piece(view: &WebView<'_>, mut visit: impl FnMut(Range, u16, u16)) {
    let width = u16::from(view.width);
    match &view.ranges {
        WebRanges::Single(ranges) => ranges.iter().for_each(|&range| visit(range, 0, width)),
        WebRanges::Lists([list]) => runs(list).for_each(|range| visit(range, 0, width)),
        WebRanges::Lists(lists) => {
            for (d, list) in lists.iter().enumerate() {
                runs(list).for_each(|range| visit(range, d as u16, 1));
            }
        }
    }
}

/// The webs of each [`Kind`], by first position, then root.
#[derive(Debug, Default)]
pub(crate) struct PerKind {
    sgprs: Vec<Item>,
    vgprs: Vec<Item>,
    whole_wave: Vec<Item>,
}

impl PerKind {
    /// Those of `kind`.
    pub fn of(&self, kind: Kind) -> &[Item] {
        match kind {
            Kind::Sgpr => &self.sgprs,
            Kind::Vgpr => &self.vgprs,
            Kind::WholeWave => &self.whole_wave,
        }
    }
}

/// All webs of the code, which has `positions` positions.
pub(crate) fn items(f: &Function, live: &Liveness, webs: &mut Webs, positions: u32) -> PerKind {
    let mut out = PerKind::default();
    // A web is no lane mask as soon as one member is none.
    let mut mask = vec![true; f.vregs.len()];
    let mut roots = Vec::new();
    for (v, data) in f.vregs.iter() {
        let (root, _) = webs.find(v);
        if root == v.as_u32() {
            roots.push(v);
        }
        if !data.flags.contains(VRegFlags::LANE_MASK) {
            mask[root as usize] = false;
        }
    }
    for root in roots {
        let view = webs.view(f, live, root);
        let Some((start, end, length)) = view.extent() else { continue };
        let mask = mask[root.as_u32() as usize] && view.width == f.wave.mask_dwords();
        let item = Item { root, start, end, width: view.width, length, mask };
        match Kind::of(f, root) {
            Kind::Sgpr => out.sgprs.push(item),
            Kind::Vgpr => out.vgprs.push(item),
            Kind::WholeWave => out.whole_wave.push(item),
        }
    }
    for list in [&mut out.sgprs, &mut out.vgprs, &mut out.whole_wave] {
        sort_by_start(list, positions);
    }
    out
}

/// Sorts items that are in the order of their roots by first position, then root.
///
/// Cost: linear in items and positions; where items are few, that of sorting them.
fn sort_by_start(items: &mut Vec<Item>, positions: u32) {
    if items.len() < positions as usize / 8 {
        items.sort_unstable_by_key(|item| (item.start, item.root));
        return;
    }
    let mut place = vec![0u32; positions as usize + 1];
    for item in &*items {
        place[item.start as usize + 1] += 1;
    }
    let mut sum = 0;
    for slot in &mut place {
        sum += *slot;
        *slot = sum;
    }
    let Some(&any) = items.first() else { return };
    let mut sorted = vec![any; items.len()];
    for item in &*items {
        let slot = &mut place[item.start as usize];
        sorted[*slot as usize] = *item;
        *slot += 1;
    }
    *items = sorted;
}
