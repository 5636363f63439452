//! Registers of a function that is run: virtual ones here, physical ones in the simulator's [`Wave`].
//!
//! Before linearisation every lane has registers of its own, scalar ones too: what an instance of a block writes, it writes for its lanes. A scalar
//! that is read must be the same in all lanes that read it together, else selection has broken its promise of uniformity. A lane mask is one bit a
//! lane; bits of lanes that do not take part are undefined. From linearisation on a scalar is the wave's and has one value, kept in lane 0.

use cranelift_entity::EntityRef;
use mir::machine::{Function, PReg, Reg, RegFile, RegOperand, VReg, VRegFlags};
use sim::wave::{Lanes, MAX_LANES, Wave};

/// One dword of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Dword of a virtual SGPR.
    Scalar(u32),
    /// Dword of a virtual VGPR.
    Vector(u32),
    /// A dword of a lane mask whose lanes' bits are in this dword: whether it is the high one.
    Mask(u32, bool),
    /// Physical scalar register.
    PhysicalScalar(PReg),
    /// Physical VGPR by number.
    PhysicalVector(u16),
}

impl Place {
    /// Whether it holds a value for each lane.
    pub fn is_vector(self) -> bool {
        matches!(self, Self::Vector(_) | Self::PhysicalVector(_))
    }
}

/// The dwords of a lane mask, of which the high one exists where waves have 64 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MaskPlaces {
    pub low: Place,
    pub high: Option<Place>,
}

/// Where the virtual registers of a function are kept.
#[derive(Debug)]
pub(super) struct Numbering {
    /// First dword of each virtual register, and the number of all at the end.
    first: Vec<u32>,
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Scalar,
    Vector,
    Mask,
}

/// A whole virtual register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    first: u32,
    dwords: u8,
    kind: Kind,
}

impl Numbering {
    /// Numbers the registers of `f`. `threads`: registers are the lanes' own.
    pub fn new(f: &Function, threads: bool) -> Self {
        let mut first = Vec::with_capacity(f.vregs.len() + 1);
        let mut kinds = Vec::with_capacity(f.vregs.len());
        let mut next = 0;
        for data in f.vregs.values() {
            first.push(next);
            next += u32::from(data.dwords);
            kinds.push(match data.file {
                RegFile::Vgpr => Kind::Vector,
                RegFile::Sgpr if threads && data.flags.contains(VRegFlags::LANE_MASK) => Kind::Mask,
                RegFile::Sgpr => Kind::Scalar,
            });
        }
        first.push(next);
        Self { first, kinds }
    }

    /// Number of dwords.
    pub fn dwords(&self) -> usize {
        self.first.last().copied().unwrap_or(0) as usize
    }

    /// All of `reg`; `None` where the function has no such register.
    pub fn whole(&self, reg: VReg) -> Option<Whole> {
        let i = reg.index();
        let first = *self.first.get(i)?;
        Some(Whole { first, dwords: (self.first.get(i + 1)? - first) as u8, kind: *self.kinds.get(i)? })
    }

    /// Dword `d` of an operand.
    pub fn place(&self, operand: &RegOperand, d: u8) -> Option<Place> {
        match operand.reg {
            Reg::Physical(reg) => Some(physical(reg.plus(u16::from(d)))),
            Reg::Virtual(reg) => {
                let whole = self.whole(reg)?;
                let dword = operand.sub.checked_add(d).filter(|&n| n < whole.dwords)?;
                Some(match whole.kind {
                    Kind::Scalar => Place::Scalar(whole.first + u32::from(dword)),
                    Kind::Vector => Place::Vector(whole.first + u32::from(dword)),
                    Kind::Mask => Place::Mask(whole.first, dword != 0),
                })
            }
        }
    }

    /// The virtual register that a dword belongs to.
    fn register(&self, dword: u32) -> VReg {
        VReg::from_u32(self.first.partition_point(|&f| f <= dword).saturating_sub(1) as u32)
    }
}

/// The place of a physical register.
pub(super) fn physical(reg: PReg) -> Place {
    reg.vgpr_index().map_or(Place::PhysicalScalar(reg), Place::PhysicalVector)
}

/// The virtual registers of a function that runs.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    value: Vec<Lanes>,
    undef: Vec<Lanes>,
    /// Lanes whose scalar, or whose bit of a mask, other lanes have overwritten since: from linearisation on there is one register for all.
    stale: Vec<u64>,
}

impl Registers {
    /// All undefined.
    pub fn new(numbering: &Numbering) -> Self {
        let dwords = numbering.dwords();
        Self {
            value: vec![[0; MAX_LANES]; dwords],
            undef: vec![[!0; MAX_LANES]; dwords],
            stale: vec![0; dwords],
        }
    }

    /// `lanes` have written scalar `n`: other lanes' values of it are gone where theirs differ.
    fn overwritten(&mut self, n: usize, lanes: u64) {
        let (values, undefs) = (&self.value[n], &self.undef[n]);
        let Some(first) = lanes_of(lanes).next() else { return };
        let differs = |l: &usize| (values[*l] ^ values[first]) & !(undefs[*l] | undefs[first]) != 0;
        let gone = lanes_of(!lanes).filter(differs).fold(0, |gone, l| gone | 1 << l);
        self.stale[n] = (self.stale[n] | gone) & !lanes;
    }

    /// `lanes` have written lane mask `n`, in which nothing is known of others' bits any more.
    fn mask_overwritten(&mut self, n: usize, lanes: u64) {
        self.stale[n] = !lanes;
    }
}

/// Lanes that read a scalar together do not have one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disagreement {
    /// Two lanes have different values.
    Differ { register: VReg, lanes: [usize; 2], values: [u32; 2] },
    /// Other lanes have written the register since this one did.
    Overwritten { register: VReg, lane: usize },
}

/// The registers of a wave while a function runs with some lanes.
pub(super) struct State<'a> {
    pub wave: &'a mut Wave,
    pub registers: &'a mut Registers,
    pub numbering: &'a Numbering,
    /// Whether registers are the lanes' own.
    pub threads: bool,
    /// Decides what undefined bits read as.
    pub seed: u64,
}

/// A dword of which all bits are undefined.
pub(super) fn garbage(seed: u64, n: u32) -> u32 {
    let x = (u64::from(n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

fn lanes_of(mask: u64) -> impl Iterator<Item = usize> {
    (0..MAX_LANES).filter(move |l| mask >> l & 1 != 0)
}

impl State<'_> {
    /// A scalar as the active lanes read it: value and undefined bits.
    pub fn scalar(&self, place: Place) -> Result<(u32, u32), Disagreement> {
        let lanes = self.wave.exec();
        match place {
            Place::Scalar(n) if self.threads => self.agreed(n as usize, lanes),
            Place::Scalar(n) => {
                Ok((self.registers.value[n as usize][0], self.registers.undef[n as usize][0]))
            }
            Place::Mask(n, high) => Ok(self.mask_half(n, high, lanes)),
            Place::PhysicalScalar(reg) => {
                let i = usize::from(reg.0).min(sim::wave::SCALARS - 1);
                Ok((self.wave.s[i], self.wave.su[i]))
            }
            // What `v_readfirstlane` reads.
            Place::Vector(_) | Place::PhysicalVector(_) => {
                let (value, undef) = self.vector(place)?;
                let lane = if lanes == 0 { 0 } else { lanes.trailing_zeros() as usize };
                Ok((value[lane], undef[lane]))
            }
        }
    }

    /// What all of `lanes` have in scalar dword `n`. Bits that only some of them define are as those say.
    fn agreed(&self, n: usize, lanes: u64) -> Result<(u32, u32), Disagreement> {
        let (values, undefs) = (&self.registers.value[n], &self.registers.undef[n]);
        let (mut value, mut undef) = (garbage(self.seed, n as u32), !0);
        let mut first = 0;
        if let Some(lane) = lanes_of(lanes & self.registers.stale[n]).next() {
            return Err(Disagreement::Overwritten { register: self.numbering.register(n as u32), lane });
        }
        for lane in lanes_of(lanes) {
            let known = !undef & !undefs[lane];
            if (value ^ values[lane]) & known != 0 {
                return Err(Disagreement::Differ {
                    register: self.numbering.register(n as u32),
                    lanes: [first, lane],
                    values: [values[first], values[lane]],
                });
            }
            if undef == !0 {
                first = lane;
            }
            value = value & !undef | value & undefs[lane] | values[lane] & !undefs[lane];
            undef &= undefs[lane];
        }
        Ok((value, undef))
    }

    /// The bits of 32 lanes of a mask, of which those of inactive lanes are undefined.
    fn mask_half(&self, n: u32, high: bool, lanes: u64) -> (u32, u32) {
        let (values, undefs) = (&self.registers.value[n as usize], &self.registers.undef[n as usize]);
        let start = if high { MAX_LANES / 2 } else { 0 };
        let lanes = lanes & !self.registers.stale[n as usize];
        let (mut value, mut undef) = (garbage(self.seed, n * 2 + u32::from(high)), !0u32);
        for k in 0..MAX_LANES / 2 {
            let lane = start + k;
            if lanes >> lane & 1 != 0 && undefs[lane] & 1 == 0 {
                value = value & !(1 << k) | (values[lane] & 1) << k;
                undef &= !(1 << k);
            }
        }
        (value, undef)
    }

    /// The bits of a lane mask for the active lanes, and which of them are undefined.
    pub fn mask(&self, places: MaskPlaces) -> Result<(u64, u64), Disagreement> {
        let (lo, lo_undef) = self.scalar(places.low)?;
        let (hi, hi_undef) = places.high.map_or(Ok((0, 0)), |high| self.scalar(high))?;
        Ok((u64::from(lo) | u64::from(hi) << 32, u64::from(lo_undef) | u64::from(hi_undef) << 32))
    }

    /// Writes a lane mask that is the wave's, or the active lanes' bits of one.
    pub fn set_mask(&mut self, places: MaskPlaces, value: u64) {
        self.set_scalar(places.low, value as u32, 0);
        if let Some(high) = places.high {
            self.set_scalar(high, (value >> 32) as u32, 0);
        }
    }

    /// A value for each lane; a scalar's is the same for all.
    pub fn vector(&self, place: Place) -> Result<(Lanes, Lanes), Disagreement> {
        Ok(match place {
            Place::Vector(n) => (self.registers.value[n as usize], self.registers.undef[n as usize]),
            Place::PhysicalVector(n) => {
                (self.wave.v[usize::from(n) & 255], self.wave.undef_of(usize::from(n)))
            }
            _ => {
                let (value, undef) = self.scalar(place)?;
                ([value; MAX_LANES], [undef; MAX_LANES])
            }
        })
    }

    /// Writes a scalar.
    pub fn set_scalar(&mut self, place: Place, value: u32, undef: u32) {
        let lanes = self.wave.exec();
        let registers = &mut *self.registers;
        match place {
            Place::Scalar(n) if self.threads => {
                for lane in lanes_of(lanes) {
                    registers.value[n as usize][lane] = value;
                    registers.undef[n as usize][lane] = undef;
                }
                registers.overwritten(n as usize, lanes);
            }
            Place::Scalar(n) => {
                registers.value[n as usize][0] = value;
                registers.undef[n as usize][0] = undef;
            }
            Place::Mask(n, high) => {
                let start = if high { MAX_LANES / 2 } else { 0 };
                for lane in lanes_of(lanes).filter(|l| l / (MAX_LANES / 2) == usize::from(high)) {
                    registers.value[n as usize][lane] = value >> (lane - start) & 1;
                    registers.undef[n as usize][lane] = undef >> (lane - start) & 1;
                }
                registers.mask_overwritten(n as usize, lanes);
            }
            Place::PhysicalScalar(reg) => {
                let i = usize::from(reg.0).min(sim::wave::SCALARS - 1);
                self.wave.s[i] = value;
                self.wave.su[i] = undef;
            }
            Place::Vector(_) | Place::PhysicalVector(_) => {
                self.set_vector(place, &[value; MAX_LANES], &[undef; MAX_LANES], lanes);
            }
        }
    }

    /// Writes a value for each lane of `lanes`.
    pub fn set_vector(&mut self, place: Place, value: &Lanes, undef: &Lanes, lanes: u64) {
        match place {
            Place::Vector(n) => {
                let (to, to_undef) =
                    (&mut self.registers.value[n as usize], &mut self.registers.undef[n as usize]);
                for lane in lanes_of(lanes) {
                    to[lane] = value[lane];
                    to_undef[lane] = undef[lane];
                }
            }
            Place::PhysicalVector(n) => self.wave.write_v(usize::from(n), value, Some(undef), lanes),
            _ => {
                let lane = if lanes == 0 { 0 } else { lanes.trailing_zeros() as usize };
                self.set_scalar(place, value[lane], undef[lane]);
            }
        }
    }

    /// Passes block arguments for `lanes`, all at once: each pair is a parameter and its argument.
    pub fn pass(&mut self, moves: &[(Whole, Whole)], lanes: u64) {
        let mut read = Vec::new();
        let dwords = |(param, argument): &(Whole, Whole)| u32::from(param.dwords.min(argument.dwords));
        for both @ (param, argument) in moves {
            for d in 0..dwords(both) {
                read.push(self.raw(*param, *argument, d));
            }
        }
        let mut read = read.into_iter();
        for both @ (param, _) in moves {
            for d in 0..dwords(both) {
                let Some((value, undef)) = read.next() else { return };
                self.set_raw(*param, d, &value, &undef, lanes);
            }
        }
    }

    /// Dword `d` of an argument in the form that its parameter has: each lane's own.
    fn raw(&self, param: Whole, argument: Whole, d: u32) -> (Lanes, Lanes) {
        let at = |k: u32| {
            let both = (self.registers.value.get(k as usize), self.registers.undef.get(k as usize));
            let (Some(value), Some(undef)) = both else { return ([0; MAX_LANES], [!0; MAX_LANES]) };
            let mut undef = *undef;
            let stale = self.registers.stale.get(k as usize).copied().unwrap_or(0);
            lanes_of(stale).for_each(|l| undef[l] = !0);
            (*value, undef)
        };
        match (param.kind, argument.kind) {
            // Scalars that are passed as a lane mask: each lane takes its bit.
            (Kind::Mask, Kind::Scalar) => {
                let halves = [at(argument.first), at(argument.first + u32::from(argument.dwords > 1))];
                let bit = |which: fn(&(Lanes, Lanes)) -> &Lanes| {
                    std::array::from_fn(|l| which(&halves[l / 32])[l] >> (l % 32) & 1)
                };
                (bit(|h| &h.0), bit(|h| &h.1))
            }
            (Kind::Scalar, Kind::Mask) => {
                let (value, undef) = self.mask_half(argument.first, d != 0, self.wave.exec());
                ([value; MAX_LANES], [undef; MAX_LANES])
            }
            (Kind::Mask, _) => at(argument.first),
            _ => at(argument.first + d),
        }
    }

    /// The scalar parameters of a block that `lanes` enter are written for them.
    pub fn entered(&mut self, params: &[Whole], lanes: u64) {
        for param in params {
            for n in param.first..param.first + u32::from(param.dwords) {
                match param.kind {
                    Kind::Scalar => self.registers.overwritten(n as usize, lanes),
                    Kind::Mask => self.registers.mask_overwritten(n as usize, lanes),
                    Kind::Vector => {}
                }
            }
        }
    }

    fn set_raw(&mut self, param: Whole, d: u32, value: &Lanes, undef: &Lanes, lanes: u64) {
        let scalar = param.kind == Kind::Scalar && !self.threads;
        let n = match param.kind {
            Kind::Mask => param.first,
            _ => param.first + d,
        } as usize;
        for lane in lanes_of(if scalar { 1 } else { lanes }) {
            self.registers.value[n][lane] = value[lane];
            self.registers.undef[n][lane] = undef[lane];
        }
    }
}
