//! One instruction on one wave.

use mir::isa::{Format, Opcode, OperandKind, Role, encode};
use mir::machine::{Encoding, Inst, Modifiers, Operand, PReg};
use mir::target::{Features, Target, WaveSize};
use sim::exec::{Exec, Group, Launch};
use sim::program::Op;
use sim::wave::{Lanes, MAX_LANES, Wave};
use sim::{Config, Memory, Report};

/// First VGPR of source `k`.
pub const SOURCES: [u16; 3] = [10, 14, 18];
/// First VGPR of the destination.
pub const DEST: u16 = 30;
/// Lane mask read.
pub const MASK_IN: u16 = 20;
/// Lane mask written.
pub const MASK_OUT: u16 = 22;
/// First SGPR of scalar source `k`.
pub const SCALARS: [u16; 2] = [40, 44];
/// Scalar destination.
pub const SCALAR_DEST: u16 = 50;

/// The processors that stand for their generations.
pub fn targets() -> Vec<Target> {
    let named = |n: &&str| Target::new(Target::processor_by_name(n).expect("in the table"));
    ["gfx600", "gfx700", "gfx803", "gfx900", "gfx906"].iter().map(named).collect()
}

/// The same, with processors of GFX10 and both sizes of their waves.
pub fn all_targets() -> Vec<Target> {
    let named = |&(n, lanes): &(&str, u32)| {
        let mut target = Target::new(Target::processor_by_name(n).expect("in the table"));
        target.features.set(Features::WAVEFRONTSIZE32, lanes == 32);
        target
    };
    let later = [("gfx1010", 32), ("gfx1010", 64), ("gfx1012", 32), ("gfx1030", 32), ("gfx1030", 64)];
    targets().into_iter().chain(later.iter().map(named)).collect()
}

/// An instruction with operands in the places above; `None` where its operands are of other kinds.
pub fn instruction(op: Opcode, mods: Modifiers, encoding: Encoding) -> Option<Inst> {
    let info = op.info();
    let (mut vectors, mut scalars) = (SOURCES.iter(), SCALARS.iter());
    let scalar = matches!(info.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk);
    let operands: Option<Vec<Operand>> = info
        .operands
        .iter()
        .map(|desc| {
            let defined = desc.role != Role::Use;
            Some(match desc.kind {
                OperandKind::LaneMask if defined && encoding == Encoding::E32 => {
                    Operand::preg(PReg::VCC_LO, 2)
                }
                OperandKind::LaneMask if defined => Operand::preg(PReg::sgpr(MASK_OUT), 2),
                OperandKind::LaneMask if encoding == Encoding::E32 => Operand::preg(PReg::VCC_LO, 2),
                OperandKind::LaneMask => Operand::preg(PReg::sgpr(MASK_IN), 2),
                OperandKind::Vgpr if defined => Operand::preg(PReg::vgpr(DEST), desc.dwords(WaveSize::W64)),
                OperandKind::Vgpr | OperandKind::VectorSrc => {
                    Operand::preg(PReg::vgpr(*vectors.next()?), desc.dwords(WaveSize::W64))
                }
                OperandKind::Sgpr if scalar && defined => {
                    Operand::preg(PReg::sgpr(SCALAR_DEST), desc.dwords(WaveSize::W64))
                }
                OperandKind::Sgpr | OperandKind::ScalarSrc if scalar => {
                    Operand::preg(PReg::sgpr(*scalars.next()?), desc.dwords(WaveSize::W64))
                }
                _ => return None,
            })
        })
        .collect();
    let mut inst = Inst::new(op, operands?).with_mods(mods);
    inst.encoding = encoding;
    Some(inst)
}

/// What runs instructions.
pub struct Bench {
    /// The target.
    pub target: Target,
    /// The wave, all registers defined.
    pub wave: Wave,
    /// Its work-group, with LDS.
    pub group: Group,
    /// Memory.
    pub memory: Memory,
    launch: Launch,
    config: Config,
}

impl Bench {
    /// A bench for `target`.
    pub fn new(target: Target) -> Self {
        let mut wave = Wave::new(target.wave(), target.waits().max());
        wave.reset(1, 256);
        for n in 0..64 {
            wave.set_s(PReg::sgpr(n), 0);
            wave.set_v(usize::from(n), [0; MAX_LANES]);
        }
        wave.set_pair(PReg::EXEC_LO, u64::MAX, 0);
        wave.set_pair(PReg::VCC_LO, 0, 0);
        wave.set_s(PReg::M0, 0xffff_ffff);
        wave.scc_undef = false;
        let launch = Launch {
            target,
            image_base: 0x10_0000,
            shared_aperture: 1 << 16,
            private_aperture: 1 << 17,
            hidden_private_base: 0,
            gds: 0,
            scratch_lane_bytes: 0,
            wgp: false,
            first_gfx10: target.processor.isa_version()[..2] == [10, 1],
            sgprs: 104,
            vgprs: 256,
        };
        let group = Group { lds: vec![0; 4096], lds_undef: vec![0; 4096], ..Group::default() };
        Self { target, wave, group, memory: Memory::new(), launch, config: Config::default() }
    }

    /// The instruction as the decoder reads it from its encoding; `None` where it cannot be encoded.
    ///
    /// Masks of lanes get the width of the waves.
    pub fn prepare(&self, inst: &Inst) -> Option<Op> {
        let mut inst = inst.clone();
        for (desc, operand) in inst.op.info().operands.iter().zip(inst.operands.iter_mut()) {
            if let (OperandKind::LaneMask, Operand::Reg(reg)) = (desc.kind, operand) {
                reg.dwords = desc.dwords(self.target.wave());
            }
        }
        let inst = &inst;
        let mut words = Vec::new();
        encode(inst, &self.target, &mut words).ok()?;
        let (decoded, size) = sim::decode::decode(&words, &self.target).ok()?;
        assert_eq!(decoded.op, inst.op, "{}", sim::decode::text(inst, &self.target));
        Some(Op::new(decoded, size, &self.target))
    }

    /// Executes it.
    pub fn run(&mut self, op: &Op) -> Result<(), Box<Report>> {
        self.wave.clock.reset();
        self.wave.waits.reset();
        let mut exec = Exec::new(&mut self.memory, &self.launch, &self.config);
        exec.step(&mut self.wave, &mut self.group, op)
    }

    /// Says where GDS is.
    pub fn set_gds(&mut self, address: u64) {
        self.launch.gds = address;
    }

    /// Sets a VGPR, or two.
    pub fn set_wide(&mut self, n: u16, values: &[u64; MAX_LANES]) {
        self.wave.set_v(usize::from(n), values.map(|x| x as u32));
        self.wave.set_v(usize::from(n) + 1, values.map(|x| (x >> 32) as u32));
    }

    /// A VGPR pair.
    pub fn wide(&self, n: u16, lane: usize) -> u64 {
        u64::from(self.wave.v[usize::from(n)][lane]) | u64::from(self.wave.v[usize::from(n) + 1][lane]) << 32
    }

    /// How many lanes the wave has.
    pub fn count(&self) -> usize {
        self.wave.size.lanes() as usize
    }

    /// A VGPR.
    pub fn lanes(&self, n: u16) -> Lanes {
        self.wave.v[usize::from(n)]
    }
}

/// Operands: edge cases in all pairs, then random ones.
pub struct Inputs {
    state: fastrand::Rng,
    edges: Vec<u64>,
    next: usize,
    left: usize,
}

/// Numbers at which integer and floating-point operations of all widths change what they do.
const EDGES: [u64; 34] = [
    0,
    1,
    2,
    31,
    32,
    63,
    0x7f,
    0x80ff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7f80_0001,
    0x807f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0x3f00_0000,
    0x4020_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x3c00_bc00,
    0x7c00_7e01,
    0x03ff_0400,
    0x7bff_3800,
    0x0808_ff01,
];
/// 64-bit ones.
const WIDE_EDGES: [u64; 16] = [
    0,
    1,
    u64::MAX,
    1 << 63,
    i64::MAX as u64,
    0x3ff0 << 48,
    0xbff0 << 48,
    0x7ff0 << 48,
    0xfff0 << 48,
    0x7ff8_0000_0000_0001,
    0x7ff0_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x7fef_ffff_ffff_ffff,
    0x3fe0 << 48,
    0x41e0 << 48,
    0xffff_ffff,
];

impl Inputs {
    /// `batches` batches of 64 lanes after the pairs of edge cases.
    pub fn new(wide: bool, batches: usize, seed: u64) -> Self {
        let mut edges = EDGES.to_vec();
        if wide {
            edges.extend(WIDE_EDGES);
            // Pairs of dwords that are edges in the high dword.
            edges.extend([0x3f80_0000_0000_0000, 0x4190_0000_0123_4567]);
        }
        let pairs = edges.len() * edges.len();
        Self {
            state: fastrand::Rng::with_seed(seed),
            edges,
            next: 0,
            left: pairs.div_ceil(MAX_LANES) + batches,
        }
    }

    fn random(&mut self, wide: bool) -> u64 {
        let x = self.state.u64(..);
        let x = match x & 7 {
            0 => self.edges[(x >> 8) as usize % self.edges.len()],
            1 => x >> 40,
            // Numbers near one, whose sums and products are interesting.
            2 => 0x3f00_0000 | x >> 39 & 0x80ff_ffff,
            3 => (0x3fe0 << 48) | x >> 11 & 0x801f_ffff_ffff_ffff,
            _ => x.rotate_left(17),
        };
        if wide { x } else { x & 0xffff_ffff }
    }

    /// The next batch of three operands.
    pub fn batch(&mut self, wide: bool) -> Option<[[u64; MAX_LANES]; 3]> {
        self.left = self.left.checked_sub(1)?;
        let mut out = [[0; MAX_LANES]; 3];
        for l in 0..MAX_LANES {
            let n = self.edges.len();
            let edges = (self.next < n * n).then(|| [self.edges[self.next % n], self.edges[self.next / n]]);
            self.next += 1;
            for k in 0..3 {
                out[k][l] = match edges {
                    Some(pair) if k < 2 => pair[k],
                    _ => self.random(wide),
                };
            }
        }
        Some(out)
    }
}
