//! One try at packing the webs of a function.

use crate::files::{VCC_PAIR, available, vgpr_budget};
use crate::graph::Numbering;
use crate::liveness::{Kind, Liveness};
use crate::occupancy::{Mask, Occupancy};
use crate::pack::{self, File, Hints, Packing, PerKind, UNBOUND};
use crate::repair;
use crate::spill::{Pressure, Spills};
use crate::spread;
use crate::webs::Webs;
use mir::machine::{Function, VReg};
use mir::target::Target;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// Webs of a function that may be packed once more for nothing but fewer registers.
const SHORT: usize = 1024;

/// One attempt.
pub(crate) struct Round<'a> {
    /// The function.
    pub f: &'a Function,
    live: &'a Liveness,
    numbering: &'a Numbering,
    webs: &'a mut Webs,
    hints: &'a Hints,
    /// The webs by what they compete for.
    items: PerKind,
    /// Whether one sweep is all.
    quick: bool,
}

impl<'a> Round<'a> {
    /// A try with `webs`, which stay as they are.
    pub fn new(
        f: &'a Function,
        live: &'a Liveness,
        numbering: &'a Numbering,
        webs: &'a mut Webs,
        hints: &'a Hints,
        quick: bool,
    ) -> Self {
        let items = pack::items(f, live, webs, numbering.len());
        Self { f, live, numbering, webs, hints, items, quick }
    }

    /// Packs the webs of `kind`, trying orders until all find a place, then moving what is in the way.
    /// `most` dwords are alive at once. Quick, there is one try in the order of the code.
    pub fn pack(
        &mut self,
        kind: Kind,
        file: &File,
        most: i32,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> Packing {
        let mut items = Cow::Borrowed(self.items.of(kind));
        if items.is_empty() && kind == Kind::WholeWave {
            return Packing::default();
        }
        if self.quick {
            let blocks = &self.numbering.start;
            return pack::sweep(
                self.f, self.live, self.webs, &items, file, self.hints, occupancy, blocks, at,
            );
        }
        let positions = self.numbering.len();
        let mut packed = Packing::default();
        // Where aligned tuples are crowded, they need their room first.
        let crowded = kind == Kind::Sgpr && most * 6 > available(kind, file) * 5;
        for order in usize::from(crowded)..2 {
            if order == 1 {
                items.to_mut().sort_unstable_by_key(|i| (std::cmp::Reverse(i.width), i.start, i.root));
            }
            packed =
                pack::pack(self.f, self.live, self.webs, &items, file, self.hints, occupancy, positions, at);
            if packed.failed.is_empty() {
                return packed;
            }
        }
        let repair = repair::Repair {
            f: self.f,
            live: self.live,
            webs: self.webs,
            items: &items,
            file,
            hints: self.hints,
        };
        if repair.run(&packed.failed, occupancy, at) {
            packed.failed.clear();
            packed.high = pack::high(self.f, &items, at);
        }
        packed
    }

    /// Keeps the values of `spills` and their reloads apart, which are bound by `at`, among the registers of `free`.
    pub fn spread(&mut self, spills: &Spills, free: &Mask, occupancy: &mut Occupancy, at: &mut [u16]) {
        let spilled = spills.reloads.iter().flat_map(|(&part, &(value, _))| [part, value]);
        let spilled = spilled.map(|v| self.webs.find(v).0).collect();
        let items = self.items.of(Kind::Vgpr);
        spread::spread(self.f, self.live, self.webs, items, self.hints, &spilled, free, occupancy, at);
    }

    /// Registers that `at` has webs of `kind` in.
    pub fn taken(&self, kind: Kind, at: &[u16]) -> Mask {
        let mut taken = Mask::default();
        for item in self.items.of(kind) {
            let first = at[item.root.as_u32() as usize];
            if first != UNBOUND {
                taken.insert_run(first, item.width);
            }
        }
        taken
    }

    /// Most dwords of `kind` alive at once, those that the code names included.
    pub fn pressure(&self, kind: Kind, file: &File) -> i32 {
        let mut pressure = Pressure::new(self.numbering.len());
        for item in self.items.of(kind) {
            self.webs.view(self.f, self.live, item.root).pieces(|range, dwords| pressure.add(range, dwords));
        }
        for &(n, range) in &file.fixed {
            if file.allowed.contains(n) && (n < VCC_PAIR || kind != Kind::Sgpr) {
                pressure.add(range, 1);
            }
        }
        pressure.most()
    }

    /// Wishes of the webs of `kind` that did not come true: most of them are moves.
    pub fn missed(&self, kind: Kind, at: &[u16]) -> usize {
        self.hints.missed(self.items.of(kind), at)
    }

    /// Most dwords of `webs` alive at once.
    pub fn overlap(&self, webs: &[VReg]) -> i32 {
        let mut pressure = Pressure::new(self.numbering.len());
        for &v in webs {
            self.webs.view(self.f, self.live, v).pieces(|range, dwords| pressure.add(range, dwords));
        }
        pressure.most()
    }

    /// The registers of `webs`.
    pub fn members(&mut self, webs: &[VReg]) -> Vec<VReg> {
        let roots: rustc_hash::FxHashSet<u32> = webs.iter().map(|v| v.as_u32()).collect();
        self.f.vregs.keys().filter(|&v| roots.contains(&self.webs.find(v).0)).collect()
    }

    /// Keeps the members of failed webs out of joins from now on.
    pub fn dissolve(&mut self, failed: &[VReg], apart: &mut rustc_hash::FxHashSet<VReg>) {
        let members = self.members(failed);
        let mut size = rustc_hash::FxHashMap::<u32, u32>::default();
        for &v in &members {
            *size.entry(self.webs.find(v).0).or_insert(0) += 1;
        }
        let webs = &mut *self.webs;
        apart.extend(members.into_iter().filter(|&v| size.get(&webs.find(v).0).is_some_and(|&n| n > 1)));
    }
}

/// Steps of a file's size in which more waves fit.
pub(crate) struct Waves<'a> {
    pub target: &'a Target,
    pub kind: Kind,
    /// Registers that count besides those of the packing.
    pub apart: u16,
    /// Waves that fit for other reasons.
    pub bound: u32,
}

impl Waves<'_> {
    /// Waves that fit with the first `high` registers.
    pub fn fit(&self, high: u16) -> u32 {
        let used = u32::from(high + self.apart);
        match self.kind {
            Kind::Sgpr => self.target.limits().waves_that_fit(used, 1),
            _ => self.target.limits().waves_that_fit(1, used),
        }
    }

    /// Registers with which `waves` fit.
    pub fn limit(&self, waves: u32) -> u16 {
        let p = self.target.limits();
        let limit = match self.kind {
            Kind::Sgpr => p.total_sgprs / waves / p.sgpr_granule * p.sgpr_granule,
            _ => vgpr_budget(self.target, waves),
        };
        (limit as u16).saturating_sub(self.apart)
    }

    /// Packs more tightly where `most`, the registers alive at once, would let more waves fit than `packed`
    /// does; else a short function into no more VGPRs than that, where it takes no move more. Gives what of `file` was packed into, too.
    pub fn improve<'f>(
        &self,
        round: &mut Round<'_>,
        packed: Packing,
        most: u16,
        file: &'f File,
        occupancy: &mut Occupancy,
        at: &mut [u16],
    ) -> (Packing, Cow<'f, File>) {
        let (now, best) = (self.fit(packed.high), self.fit(most).min(self.bound));
        let items = round.items.of(self.kind).len();
        let goals: SmallVec<[u16; 2]> = if now < best {
            [best, now + 1][usize::from(best == now + 1)..].iter().map(|&waves| self.limit(waves)).collect()
        } else if self.kind == Kind::Vgpr && packed.high > most && items <= SHORT {
            smallvec![most]
        } else {
            return (packed, Cow::Borrowed(file));
        };
        // For waves moves are made, for fewer registers alone none.
        let most_missed = if now < best { usize::MAX } else { round.missed(self.kind, at) };
        for limit in goals {
            let mut tight = file.clone();
            let vcc = Mask::run(VCC_PAIR, u16::from(self.kind == Kind::Sgpr) * 2);
            tight.allowed = tight.allowed.and(&Mask::run(0, limit).or(&vcc));
            let packed = round.pack(self.kind, &tight, i32::from(most), occupancy, at);
            if packed.failed.is_empty() && round.missed(self.kind, at) <= most_missed {
                return (packed, Cow::Owned(tight));
            }
        }
        (round.pack(self.kind, file, i32::from(most), occupancy, at), Cow::Borrowed(file))
    }
}
