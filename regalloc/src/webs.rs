//! Webs: sets of registers and parts of tuples that share hardware registers.
//!
//! A *web* is a tuple of dwords in which each member register sits at a fixed offset; binding the web binds
//! its members, and whatever connects two members (parameter and argument, tied operands, copies, parts of a
//! `REG_SEQUENCE`) costs no move. Each dword of a web has its own live ranges, so parts of tuples die one by
//! one.
//!
//! Two ranges conflict when they overlap *and* hold different values. A copy has the value of its source,
//! dword by dword: as registers are SSA, wherever both are live both still hold it (the definition of the
//! source dominates the copy's, so no path leads from the copy's definition through the source's to a use of
//! the copy). So a part that lives on after it went into a tuple needs no second register.
//!
//! Who is joined first is decided by loop depth; a join that would overlap, break an alignment or grow a
//! tuple too far ([`grown`]) is refused, and the moves stay. Ranges of a web are sorted and disjoint; the
//! shorter list is searched in the longer one, and lists stop growing at [`MAX_RANGES`], so the cost is near
//! linear.

use crate::graph::{Graph, Numbering, edges, params};
use crate::liveness::{Kind, Liveness, Range};
use mir::isa::{Opcode, OperandAccess};
use mir::machine::{Function, Operand, Reg, RegFile, VReg};
use smallvec::{SmallVec, smallvec};

/// Widest web in dwords that is wider than all its members. Long chains of overlapping tuples are hard to
/// place, scalar ones more so because of their alignment.
fn grown(file: RegFile) -> i32 {
    match file {
        RegFile::Sgpr => 4,
        RegFile::Vgpr => 8,
    }
}

/// Ranges of one dword beyond which a web takes no more members.
const MAX_RANGES: usize = 1024;

/// A live range with its value: dword `d` of the web holds value `values[base + d]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub start: u32,
    pub end: u32,
    base: i32,
}

/// Ranges of a dword, or of all; most have one.
pub(crate) type List = SmallVec<[Piece; 2]>;

/// A web of more than one member.
#[derive(Clone, Debug, Default)]
struct Merged {
    width: u8,
    align: u8,
    phase: u8,
    /// One list for all dwords, or one for each.
    lists: SmallVec<[List; 1]>,
}

/// What the packer sees of a web.
pub(crate) struct WebView<'a> {
    pub width: u8,
    pub align: u8,
    /// The first register's number modulo `align`.
    pub phase: u8,
    pub ranges: WebRanges<'a>,
}

impl WebView<'_> {
    /// The first position in which the web is alive, one past the last, and the sum of its ranges; `None` where it never is.
    pub fn extent(&self) -> Option<(u32, u32, u32)> {
        match &self.ranges {
            WebRanges::Single(ranges) => {
                let length = ranges.iter().map(|r| r.end - r.start).sum();
                Some((ranges.first()?.start, ranges.last()?.end, length))
            }
            WebRanges::Lists(lists) => {
                let (mut start, mut end, mut length) = (u32::MAX, 0, 0);
                for list in *lists {
                    let ([first, ..], [.., last]) = (list.as_slice(), list.as_slice()) else { continue };
                    (start, end) = (start.min(first.start), end.max(last.end));
                    length += list.iter().map(|piece| piece.end - piece.start).sum::<u32>();
                }
                (end > 0).then_some((start, end, length))
            }
        }
    }

    /// Visits the web's ranges with the number of dwords that each is for.
    pub fn pieces(&self, mut visit: impl FnMut(Range, u8)) {
        match &self.ranges {
            WebRanges::Single(ranges) => ranges.iter().for_each(|&range| visit(range, self.width)),
            WebRanges::Lists(lists) => {
                let dwords = if lists.len() == 1 { self.width } else { 1 };
                let pieces = lists.iter().flatten();
                pieces.for_each(|p| visit(Range { start: p.start, end: p.end }, dwords));
            }
        }
    }
}

/// Ranges of a web.
pub(crate) enum WebRanges<'a> {
    /// Of a register alone.
    Single(&'a [Range]),
    /// One list for all dwords, or one for each.
    Lists(&'a [List]),
}

/// The ranges of a list, those that touch as one: who asks where registers are free does not care for values.
pub(crate) fn runs(list: &[Piece]) -> impl Iterator<Item = Range> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let (first, mut behind) = rest.split_first()?;
        let mut run = Range { start: first.start, end: first.end };
        while let Some((next, after)) = behind.split_first()
            && next.start <= run.end
        {
            run.end = run.end.max(next.end);
            behind = after;
        }
        rest = behind;
        Some(run)
    })
}

/// Two places that want to be one: dword `offset` of `a` is dword 0 of `b` (`offset` may be negative).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affinity {
    pub a: VReg,
    pub b: VReg,
    pub offset: i16,
    /// Depth of loops that the move would be in.
    pub depth: u8,
    /// Whether `a` is a parameter and `b` an argument.
    pub edge: bool,
}

/// The partition of registers into webs.
pub(crate) struct Webs {
    /// Union-find: parent and offset inside the parent's web.
    parent: Vec<(u32, i16)>,
    /// Index into `merged` by root.
    merged_of: Vec<u32>,
    merged: Vec<Merged>,
    value_base: Vec<i32>,
    values: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// The ranges of `ranges` from the first that ends behind `start` on. Cost: the logarithm of how many are
/// skipped.
fn skip(ranges: &[Range], start: u32) -> &[Range] {
    let mut step = 1;
    while ranges.get(step).is_some_and(|r| r.end <= start) {
        step *= 2;
    }
    let searched = &ranges[..ranges.len().min(step + 1)];
    &ranges[searched.partition_point(|r| r.end <= start)..]
}

impl Webs {
    /// Every register alone.
    pub fn new(f: &Function, live: &Liveness, numbering: &Numbering) -> Self {
        let mut value_base = Vec::with_capacity(f.vregs.len());
        let mut next = 0i32;
        for data in f.vregs.values() {
            value_base.push(next);
            next += i32::from(data.dwords.max(1));
        }
        let mut webs = Self {
            parent: (0..f.vregs.len() as u32).map(|v| (v, 0)).collect(),
            merged_of: vec![NONE; f.vregs.len()],
            merged: Vec::new(),
            value_base,
            values: (0..next as u32).collect(),
        };
        webs.number_values(f, live, numbering);
        for (v, data) in f.vregs.iter() {
            let Some(parts) = live.parts(v) else { continue };
            let base = webs.value_base[index(v)];
            let piece = |r: &Range| Piece { start: r.start, end: r.end, base };
            let align = alignment(data.file, data.dwords);
            let lists = parts.iter().map(|ranges| ranges.iter().map(piece).collect()).collect();
            webs.merged_of[index(v)] = webs.merged.len() as u32;
            webs.merged.push(Merged { width: data.dwords, align, phase: 0, lists });
        }
        webs
    }

    /// Gives copies the values of their sources. Layout order is one in which definitions come before uses.
    fn number_values(&mut self, f: &Function, live: &Liveness, numbering: &Numbering) {
        for inst in live.binding.iter().map(|&at| numbering.inst_at(f, at)).filter(|inst| inst.op.is_copy()) {
            mir::interrupt::checkpoint();
            for part in copy_parts(f, inst) {
                if f.vregs[part.dst].file != f.vregs[part.src].file {
                    continue;
                }
                let to = self.value_base[index(part.dst)] + i32::from(part.at);
                let from = self.value_base[index(part.src)] + i32::from(part.sub);
                for d in 0..i32::from(part.dwords) {
                    if let (Some(&value), Some(slot)) = (
                        self.values.get((from + d) as usize).copied().as_ref(),
                        self.values.get_mut((to + d) as usize),
                    ) {
                        *slot = value;
                    }
                }
            }
        }
    }

    /// Root of `v`'s web and the offset of `v`'s first dword in it.
    pub fn find(&mut self, v: VReg) -> (u32, i16) {
        let mut node = v.as_u32();
        let mut offset = 0i16;
        // Path halving keeps paths short without recursion.
        loop {
            let (up, off) = self.parent[node as usize];
            if up == node {
                return (node, offset);
            }
            let (up2, off2) = self.parent[up as usize];
            self.parent[node as usize] = (up2, off + if up2 == up { 0 } else { off2 });
            let (next, step) = self.parent[node as usize];
            node = next;
            offset += step;
        }
    }

    /// Whether no order of joining could join an affinity: the two are alive at once with different values.
    pub fn hopeless(&self, f: &Function, live: &Liveness, affinity: &Affinity) -> bool {
        let Affinity { a, b, .. } = *affinity;
        if live.parts(a).is_some() || live.parts(b).is_some() {
            return false;
        }
        let (wa, wb) = (i32::from(f.vregs[a].dwords), i32::from(f.vregs[b].dwords));
        let delta = i32::from(affinity.offset);
        let (base_a, base_b) = (self.value_base[index(a)], self.value_base[index(b)]);
        let value = |n: i32| self.values.get(n as usize);
        let differ =
            (delta.max(0)..wa.min(delta + wb)).any(|d| value(base_a + d) != value(base_b + d - delta));
        let (mut x, mut y) = (live.of(a), live.of(b));
        while let ([r, rest @ ..], [s, more @ ..]) = (x, y) {
            if r.start < s.end && s.start < r.end {
                return differ || Kind::of(f, a) != Kind::of(f, b);
            }
            match r.end <= s.start {
                true => x = skip(rest, s.start),
                false => y = skip(more, r.start),
            }
        }
        false
    }

    /// The web with root `root`.
    pub fn view<'a>(&'a self, f: &Function, live: &'a Liveness, root: VReg) -> WebView<'a> {
        match self.merged.get(self.merged_of[index(root)] as usize) {
            Some(web) => WebView {
                width: web.width,
                align: web.align,
                phase: web.phase,
                ranges: WebRanges::Lists(&web.lists),
            },
            None => {
                let data = &f.vregs[root];
                let align = alignment(data.file, data.dwords);
                WebView { width: data.dwords, align, phase: 0, ranges: WebRanges::Single(live.of(root)) }
            }
        }
    }

    fn materialize(&mut self, f: &Function, live: &Liveness, root: u32) -> usize {
        if self.merged_of[root as usize] != NONE {
            return self.merged_of[root as usize] as usize;
        }
        let v = VReg::from_u32(root);
        let data = &f.vregs[v];
        let base = self.value_base[root as usize];
        let list = live.of(v).iter().map(|r| Piece { start: r.start, end: r.end, base }).collect();
        self.merged.push(Merged {
            width: data.dwords,
            align: alignment(data.file, data.dwords),
            phase: 0,
            lists: smallvec![list],
        });
        self.merged_of[root as usize] = self.merged.len() as u32 - 1;
        self.merged.len() - 1
    }

    /// Joins the webs of an affinity's registers; false where that is not possible.
    pub fn join(&mut self, f: &Function, live: &Liveness, affinity: &Affinity) -> bool {
        let (ra, oa) = self.find(affinity.a);
        let (rb, ob) = self.find(affinity.b);
        // Dword 0 of b's web is dword `delta` of a's web.
        let delta = i32::from(oa) + i32::from(affinity.offset) - i32::from(ob);
        if ra == rb {
            return delta == 0;
        }
        let (va, vb) = (VReg::from_u32(ra), VReg::from_u32(rb));
        if Kind::of(f, va) != Kind::of(f, vb) {
            return false;
        }
        let a = self.materialize(f, live, ra);
        let b = self.materialize(f, live, rb);
        let (wa, wb) = (&self.merged[a], &self.merged[b]);
        let low = delta.min(0);
        let high = i32::from(wa.width).max(delta + i32::from(wb.width));
        let wider = wa.width.max(wb.width);
        if high - low > i32::from(wider) && high - low > grown(f.vregs[va].file) {
            return false;
        }
        // Alignments are powers of two: the weaker must agree with the stronger.
        let phase_b = (i32::from(wb.phase) - delta).rem_euclid(i32::from(wb.align));
        let weak = i32::from(wa.align.min(wb.align));
        if (i32::from(wa.phase) - phase_b).rem_euclid(weak) != 0 {
            return false;
        }
        let size = |web: &Merged| web.lists.iter().map(SmallVec::len).max().unwrap_or(0);
        if size(wa) + size(wb) > MAX_RANGES {
            return false;
        }
        let uniform = wa.lists.len() == 1 && wb.lists.len() == 1;
        let same_shape = uniform && delta == 0 && wa.width == wb.width;
        if same_shape || !uniform || overlap(wa, wb, delta).len() <= 1 {
            let dwords = overlap(wa, wb, delta);
            if same_shape {
                if conflict(
                    &wa.lists[0],
                    &wb.lists[0],
                    &self.values,
                    0,
                    dwords.clone(),
                    0..i32::from(wb.width),
                ) {
                    return false;
                }
            } else {
                for d in dwords {
                    let (la, lb) = (list(wa, d), list(wb, d - delta));
                    if conflict(la, lb, &self.values, delta, d..d + 1, d..d + 1) {
                        return false;
                    }
                }
            }
        } else {
            let dwords = overlap(wa, wb, delta);
            if conflict(&wa.lists[0], &wb.lists[0], &self.values, delta, dwords.clone(), dwords) {
                return false;
            }
        }
        // Commit: a takes b's pieces.
        let mut web_b = std::mem::take(&mut self.merged[b]);
        let mut web_a = std::mem::take(&mut self.merged[a]);
        let (align, phase) = if web_a.align >= web_b.align {
            (web_a.align, i32::from(web_a.phase))
        } else {
            (web_b.align, phase_b)
        };
        let phase = (phase + low).rem_euclid(i32::from(align)) as u8;
        if same_shape {
            let (la, lb) = (&mut web_a.lists[0], &mut web_b.lists[0]);
            merge(la, lb);
        } else if low == 0 && high == i32::from(web_a.width) {
            lay(&mut web_a, web_b, delta, -delta);
        } else if low == delta && high - low == i32::from(web_b.width) {
            lay(&mut web_b, web_a, -low, low);
            web_a = web_b;
        } else {
            expand(&mut web_a);
            expand(&mut web_b);
            let mut lists: SmallVec<[List; 1]> = smallvec![List::new(); (high - low) as usize];
            for (d, mut list) in web_a.lists.into_iter().enumerate() {
                for piece in &mut list {
                    piece.base += low;
                }
                lists[(d as i32 - low) as usize] = list;
            }
            for (d, mut list) in web_b.lists.into_iter().enumerate() {
                for piece in &mut list {
                    piece.base -= delta - low;
                }
                merge(&mut lists[(d as i32 + delta - low) as usize], &mut list);
            }
            web_a.lists = lists;
        }
        web_a.width = (high - low) as u8;
        web_a.align = align;
        web_a.phase = phase;
        self.merged[a] = web_a;
        // The offset of a root is always 0: dword `low` of the old web a is dword 0 of the new one, so where
        // b starts before a, b becomes the root.
        if low < 0 {
            self.parent[ra as usize] = (rb, (-low) as i16);
            self.merged_of[rb as usize] = a as u32;
            self.merged_of[ra as usize] = NONE;
        } else {
            self.parent[rb as usize] = (ra, delta as i16);
            self.merged_of[rb as usize] = NONE;
        }
        true
    }
}

fn index(v: VReg) -> usize {
    v.as_u32() as usize
}

/// Alignment of a tuple: SGPR pairs to 2, wider SGPR tuples to 4, VGPRs not at all.
pub(crate) fn alignment(file: RegFile, dwords: u8) -> u8 {
    match (file, dwords) {
        (RegFile::Vgpr, _) | (_, 0 | 1) => 1,
        (_, 2) => 2,
        _ => 4,
    }
}

/// Dwords of web a that web b, starting at `delta`, covers too.
fn overlap(a: &Merged, b: &Merged, delta: i32) -> std::ops::Range<i32> {
    let start = delta.max(0);
    let end = i32::from(a.width).min(delta + i32::from(b.width));
    start..end.max(start)
}

fn list(web: &Merged, dword: i32) -> &[Piece] {
    match web.lists.as_slice() {
        [one] => one,
        lists => lists.get(dword as usize).map_or(&[], SmallVec::as_slice),
    }
}

fn expand(web: &mut Merged) {
    if web.lists.len() == 1 && web.width > 1 {
        let one = web.lists[0].clone();
        web.lists.resize(usize::from(web.width), one);
    }
}

/// Adds the pieces of `inner` to dwords of `outer` from `at` on; `rebase` is added to the number that dword 0 of its pieces has.
fn lay(outer: &mut Merged, mut inner: Merged, at: i32, rebase: i32) {
    expand(outer);
    for piece in inner.lists.iter_mut().flatten() {
        piece.base += rebase;
    }
    for (d, into) in outer.lists.iter_mut().skip(at as usize).take(usize::from(inner.width)).enumerate() {
        match inner.lists.as_mut_slice() {
            [list] if inner.width > 1 => merge(into, &mut list.clone()),
            [list] => merge(into, list),
            lists => merge(into, &mut lists[d]),
        }
    }
}

/// Whether some piece of `a` overlaps a piece of `b` with another value in the dwords (of web a) of
/// `values_at`.
fn conflict(
    a: &[Piece],
    b: &[Piece],
    values: &[u32],
    delta: i32,
    dwords: std::ops::Range<i32>,
    values_at: std::ops::Range<i32>,
) -> bool {
    if dwords.is_empty() || a.is_empty() || b.is_empty() {
        return false;
    }
    let differ = |x: &Piece, y: &Piece| {
        values_at.clone().any(|d| {
            let vx = values.get((x.base + d) as usize);
            let vy = values.get((y.base + d - delta) as usize);
            vx.is_none() || vx != vy
        })
    };
    let (short, long, swapped) = if a.len() <= b.len() { (a, b, false) } else { (b, a, true) };
    let mut at = 0;
    for s in short {
        at += long[at..].partition_point(|l| l.end <= s.start);
        for l in &long[at..] {
            if l.start >= s.end {
                break;
            }
            let different = if swapped { differ(l, s) } else { differ(s, l) };
            if different {
                return true;
            }
        }
        if at == long.len() {
            break;
        }
    }
    false
}

/// Adds `from` to `into`; overlapping pieces hold the same value and become one.
fn merge(into: &mut List, from: &mut List) {
    if into.len() < from.len() {
        std::mem::swap(into, from);
    }
    for piece in from.drain(..) {
        let at = into.partition_point(|p| p.end <= piece.start);
        let mut merged = piece;
        let mut stop = at;
        while let Some(p) = into.get(stop).filter(|p| p.start < merged.end) {
            merged.start = merged.start.min(p.start);
            merged.end = merged.end.max(p.end);
            stop += 1;
        }
        match stop - at {
            0 => into.insert(at, merged),
            _ => {
                into[at] = merged;
                into.drain(at + 1..stop);
            }
        }
    }
}

/// A part of a `COPY` or `REG_SEQUENCE` between virtual registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPart {
    pub dst: VReg,
    pub at: u8,
    pub src: VReg,
    pub sub: u8,
    pub dwords: u8,
}

/// The parts of a copy between virtual registers.
pub(crate) fn copy_parts<'a>(
    f: &'a Function,
    inst: &'a mir::machine::Inst,
) -> impl Iterator<Item = CopyPart> + 'a {
    let dst = inst.operands.first().and_then(|o| o.as_reg()).copied();
    let mut at = 0u8;
    inst.operands.iter().skip(1).filter_map(move |operand| {
        let dst = dst?;
        let here = at;
        let dwords = match operand {
            Operand::Reg(reg) => reg.dwords,
            _ if inst.op == Opcode::COPY => dst.dwords,
            _ => 1,
        };
        at = at.saturating_add(dwords);
        match (dst.reg, operand) {
            (Reg::Virtual(d), Operand::Reg(src)) => match src.reg {
                Reg::Virtual(s) if here + dwords <= f.vregs[d].dwords => {
                    Some(CopyPart { dst: d, at: here, src: s, sub: src.sub, dwords })
                }
                _ => None,
            },
            _ => None,
        }
    })
}

/// Everything in `f` that would like to share registers.
pub(crate) fn affinities(
    f: &Function,
    live: &Liveness,
    numbering: &Numbering,
    wave: &Graph,
    thread: &Graph,
) -> Vec<Affinity> {
    let mut out = Vec::with_capacity(live.binding.len());
    let mut binding = live.binding.iter().peekable();
    for (i, &block) in numbering.order.iter().enumerate() {
        let data = &f.blocks[block];
        let depth = data.loop_depth;
        while let Some(&(_, k)) = binding.next_if(|at| at.0 == i as u32) {
            mir::interrupt::checkpoint();
            let inst = &data.insts[k as usize];
            if inst.op.is_copy() {
                for p in copy_parts(f, inst) {
                    if f.vregs[p.dst].file == f.vregs[p.src].file {
                        let offset = i16::from(p.at) - i16::from(p.sub);
                        out.push(Affinity { a: p.dst, b: p.src, offset, depth, edge: false });
                    }
                }
                continue;
            }
            for (k, operand) in crate::access::registers(inst).filter(|(k, _)| *k >= inst.kept_operands()) {
                let OperandAccess::Tied { def } = inst.operand_access(k) else { continue };
                if let (Some(a), Reg::Virtual(b)) =
                    (inst.operands.get(def).and_then(|o| o.as_reg()), operand.reg)
                    && let Reg::Virtual(a) = a.reg
                {
                    out.push(Affinity { a, b, offset: -i16::from(operand.sub), depth, edge: false });
                }
            }
        }
        for file in [RegFile::Sgpr, RegFile::Vgpr] {
            let graph = if file == RegFile::Sgpr { wave } else { thread };
            for edge in edges(data, file) {
                let target = &f.blocks[edge.block];
                let depth = if graph.moves_in_pred(i) { depth } else { target.loop_depth };
                for (&a, &b) in params(target, file).iter().zip(&edge.args) {
                    out.push(Affinity { a, b, offset: 0, depth, edge: true });
                }
            }
        }
    }
    out
}
