//! An instruction made ready for execution.

use super::classify::{accumulates, denormals, memory, transparent};
use crate::exec::valu::{self, Kernel};
use crate::exec::{self, Handler, lanes, salu};
use crate::strict::errata::Traits;
use crate::strict::hazards::{Effects, Facts};
use crate::strict::waits::RegRange;
use crate::wave::MAX_LANES;
use mir::isa::{
    Comparison, Format, ImageParts, Implicit, MemoryKind, OpFlags, Opcode, OpcodeInfo, OperandKind, Rmw,
    Role, Unit, ValueType,
};
use mir::machine::{Dpp, Dpp8, Extension, Inst, ModFlags, Modifiers, Operand, PReg, Reg, SdwaSel};
use mir::target::{Features, Target};
use smallvec::SmallVec;

/// Where a source comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// VGPR.
    V(u16),
    /// Scalar register by [`PReg`] number.
    S(u16),
    /// Constant.
    K(u64),
}

/// A source operand.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Where from.
    pub src: Src,
    /// Width in dwords.
    pub dwords: u8,
    /// How the bits are understood.
    pub ty: ValueType,
}

impl Source {
    /// Bits of it that the operation looks at, up to 64.
    pub fn bits(&self) -> u32 {
        match self.ty {
            ValueType::B16 | ValueType::I16 | ValueType::U16 | ValueType::F16 => 16,
            _ if self.dwords >= 2 => 64,
            _ => 32,
        }
    }
}

/// How denormals are treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denormals {
    /// The operation does not look: bits pass.
    Keep,
    /// As MODE says for the type.
    Mode,
    /// Flushed whatever MODE says.
    Flush,
}

/// What part of the executor an instruction belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Scalar ALU.
    Salu,
    /// Scalar operations that need more than values: branches, waits, hardware registers.
    Special,
    /// Vector ALU.
    Valu,
    /// Vector comparison: relation bits (less, equal, greater, unordered) or class test.
    Compare(u8),
    /// `v_cmp_class`.
    CompareClass,
    /// Vector operations that address lanes or registers.
    Lane,
    /// Scalar memory.
    Smem,
    /// LDS and GDS.
    Lds,
    /// Buffer.
    Buffer,
    /// Image.
    Image,
    /// Flat, global or scratch.
    Flat,
    /// Known, but not executed.
    Unsupported,
}

/// What a memory instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemKind {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Read, modify, write.
    Atomic(Rmw),
    /// No access (cache control and the like).
    None,
}

impl MemKind {
    /// Whether a value to compare with stands beside the data.
    pub fn takes_comparand(self) -> bool {
        matches!(self, Self::Atomic(Rmw::CmpSwap | Rmw::FcmpSwap))
    }
}

/// A memory operation.
#[derive(Clone, Copy, Debug)]
pub struct Mem {
    /// What.
    pub kind: MemKind,
    /// Bytes a lane; of one of the two accesses for two-address LDS operations.
    pub bytes: u32,
    /// Sub-dword loads are sign-extended.
    pub signed: bool,
    /// Two-address LDS: distance of offsets in bytes; 0 for one address.
    pub two: u32,
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Op {
    /// What executes it.
    pub run: Handler,
    /// The operation on lanes, of [`Class::Valu`].
    pub kernel: Option<Kernel>,
    /// The instruction.
    pub inst: Inst,
    /// Its row.
    pub info: &'static OpcodeInfo,
    /// Executor.
    pub class: Class,
    /// Bytes of the encoding.
    pub size: u8,
    /// Vector destination: first VGPR and dwords.
    pub vdst: Option<(u16, u8)>,
    /// Scalar destination: register and dwords.
    pub sdst: Option<(u16, u8)>,
    /// Sources, lane masks apart.
    pub srcs: SmallVec<[Source; 4]>,
    /// Lane mask that is read.
    pub mask: Option<u16>,
    /// Immediate of SOPK, SOPP and the like.
    pub imm: i64,
    /// Denormals of sources and result.
    pub denormals: Denormals,
    /// The result is 16 bits wide; the other half is zeroed, or kept for instructions with op_sel.
    pub dst16: bool,
    /// Bits of the result depend on bits of the sources alone (moves, logic, integer arithmetic), so that undefined bits can be followed.
    pub transparent: bool,
    /// Bit k: source k passes through a modifier, SDWA, DPP or `op_sel`, and cannot be read in place.
    pub changes: u8,
    /// The result is floating point: output modifiers and denormals apply.
    pub float_result: bool,
    /// Results of 16 bits leave the other half of their register as it is, whatever the instruction.
    pub keeps_high: bool,
    /// Angles may be of any size.
    pub any_turns: bool,
    /// The result is less than a dword, or SDWA places it.
    pub partial: bool,
    /// Lane permutation of DPP.
    pub dpp: Option<Box<Permutation>>,
    /// Memory operation.
    pub mem: Option<Mem>,
    /// Registers read, for the checks.
    pub reads: SmallVec<[RegRange; 4]>,
    /// Registers written.
    pub writes: SmallVec<[RegRange; 2]>,
    /// Wait states.
    pub effects: Effects,
    /// What rules about kinds of instructions must know.
    pub traits: Traits,
    /// Issue cycles.
    pub cycles: u8,
    /// Highest VGPR used.
    pub max_vgpr: Option<u16>,
    /// Highest plain SGPR used.
    pub max_sgpr: Option<u16>,
}

impl Op {
    /// The source called `name` in the row, as an index into the instruction's operands.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        let index = self.info.operands.iter().position(|o| o.name == name)?;
        self.inst.operands.get(index)
    }

    /// First VGPR of the operand called `name`.
    pub fn vgpr(&self, name: &str) -> Option<u16> {
        match preg(self.operand(name)?)? {
            (reg, _) if reg.is_vgpr() => reg.vgpr_index(),
            _ => None,
        }
    }

    /// First scalar register of the operand called `name`.
    pub fn sgpr(&self, name: &str) -> Option<u16> {
        match preg(self.operand(name)?)? {
            (reg, _) if !reg.is_vgpr() => Some(reg.0),
            _ => None,
        }
    }

    /// How memory is addressed.
    pub fn memory_kind(&self) -> Option<MemoryKind> {
        self.inst.facts().memory.map(|memory| memory.kind)
    }

    /// Whether it accesses memory by generic addresses.
    pub fn is_generic(&self) -> bool {
        self.memory_kind() == Some(MemoryKind::Flat)
    }

    /// Whether it has a result, in vector registers or in LDS: of atomics on images a bit of the instruction says so.
    pub fn returns(&self) -> bool {
        let silent = self.class == Class::Image
            && self.mem.is_some_and(|mem| matches!(mem.kind, MemKind::Atomic(_)))
            && !self.flag(ModFlags::GLC);
        self.vdst.is_some() && !silent || self.info.flags.contains(OpFlags::LDS_DMA)
    }

    /// Whether it goes through a sampler.
    pub fn is_sample(&self) -> bool {
        self.info.image.contains(ImageParts::SAMPLED)
    }

    /// Whether it works on two halves of a dword.
    pub fn is_packed(&self) -> bool {
        self.info.format == Format::Vop3p
    }

    /// Whether a modifier is set.
    pub fn flag(&self, flag: ModFlags) -> bool {
        self.inst.mods.flags.contains(flag)
    }
}

fn preg(operand: &Operand) -> Option<(PReg, u8)> {
    match operand {
        Operand::Reg(r) => match r.reg {
            Reg::Physical(p) => Some((p, r.dwords)),
            Reg::Virtual(_) => None,
        },
        _ => None,
    }
}

/// The lane permutation of a DPP instruction.
#[derive(Clone, Debug)]
pub struct Permutation {
    /// For each lane the lane that it reads.
    pub from: [u8; MAX_LANES],
    /// Lanes whose source exists.
    pub exists: u64,
    /// Lanes that the row and bank masks enable.
    pub rows: u64,
    /// Lanes without a source read zero instead of being switched off.
    pub bound_ctrl: bool,
    /// Lanes that are not active are read, too.
    pub fetch_inactive: bool,
}

impl Permutation {
    fn new(dpp: &Dpp) -> Self {
        let (from, exists) = lanes::dpp_sources(dpp.ctrl);
        let rows = lanes::dpp_rows(dpp.row_mask, dpp.bank_mask);
        Self { from, exists, rows, bound_ctrl: dpp.bound_ctrl, fetch_inactive: dpp.fetch_inactive }
    }

    /// Within groups of eight lanes, of which each has a source. One that is not active gives zero.
    fn of_eight(dpp: &Dpp8) -> Self {
        let from = std::array::from_fn(|l| (l & !7) as u8 | (dpp.lanes >> (3 * (l & 7)) & 7) as u8);
        Self { from, exists: u64::MAX, rows: u64::MAX, bound_ctrl: true, fetch_inactive: dpp.fetch_inactive }
    }

    /// That of an instruction, where it has one.
    fn of(mods: &Modifiers) -> Option<Self> {
        match &mods.ext {
            Extension::Dpp(dpp) => Some(Self::new(dpp)),
            Extension::Dpp8(dpp) => Some(Self::of_eight(dpp)),
            Extension::None | Extension::Sdwa(_) => None,
        }
    }
}

impl Op {
    /// Prepares a decoded instruction of `size` bytes.
    pub fn new(inst: Inst, size: u8, target: &Target) -> Self {
        let info = inst.op.info();
        let flags = info.flags;
        let facts = inst.op.facts();
        let mut class = match (facts.unit, facts.comparison) {
            (Unit::Salu, _) if salu::compute(inst.op, &salu::In::default()).is_some() => Class::Salu,
            (Unit::Salu | Unit::Control, _) => Class::Special,
            (_, Some(Comparison::Relation(relation))) => Class::Compare(relation.bits()),
            (_, Some(Comparison::Class)) => Class::CompareClass,
            (Unit::Valu | Unit::Interp, _) if lanes::handler(inst.op).is_some() => Class::Lane,
            (Unit::Valu, _) => Class::Valu,
            (Unit::Smem, _) => Class::Smem,
            (Unit::Ds, _) => Class::Lds,
            (Unit::Vmem, _) => match facts.memory.map(|m| m.kind) {
                Some(MemoryKind::Buffer | MemoryKind::TypedBuffer) => Class::Buffer,
                Some(MemoryKind::Image) => Class::Image,
                _ => Class::Flat,
            },
            (Unit::Interp | Unit::Export | Unit::Pseudo, _) => Class::Unsupported,
        };
        let mem = memory(inst.op);
        let kernel = if class == Class::Valu { valu::kernel(inst.op) } else { None };
        let run = exec::handler(inst.op, class, kernel.is_some(), mem.as_ref());
        let run = run.unwrap_or_else(|| {
            class = Class::Unsupported;
            exec::refuse
        });
        let (mut vdst, mut sdst, mut mask, mut imm) = (None, None, None, 0);
        let mut srcs = SmallVec::new();
        let (mut reads, mut writes) = (SmallVec::<[RegRange; 4]>::new(), SmallVec::<[RegRange; 2]>::new());
        let mut accumulator = None;
        for (desc, operand) in info.operands.iter().zip(&inst.operands) {
            if let Some((reg, dwords)) = preg(operand) {
                let range = RegRange { first: reg.0, len: dwords };
                if desc.role != Role::Use {
                    writes.push(range);
                    match reg.vgpr_index() {
                        Some(n) => vdst = vdst.or(Some((n, dwords))),
                        None => sdst = sdst.or(Some((reg.0, dwords))),
                    }
                    // A load into half a register does not read the other half: it writes its own when it returns, in the order of loads.
                    let merges = info.flags.contains(OpFlags::LOAD)
                        && info.flags.intersects(OpFlags::D16 | OpFlags::D16_HI);
                    if desc.role == Role::DefUse && !merges {
                        reads.push(range);
                    }
                    if desc.role == Role::DefUse {
                        let src = reg.vgpr_index().map_or(Src::S(reg.0), Src::V);
                        accumulator = Some(Source { src, dwords, ty: desc.ty });
                    }
                    continue;
                }
                reads.push(range);
                if desc.kind == OperandKind::LaneMask {
                    mask = Some(reg.0);
                    continue;
                }
                let src = reg.vgpr_index().map_or(Src::S(reg.0), Src::V);
                srcs.push(Source { src, dwords, ty: desc.ty });
            } else if let Operand::Imm(value) = *operand {
                imm = value;
                srcs.push(Source {
                    src: Src::K(value as u64),
                    dwords: desc.dwords(target.wave()).max(1),
                    ty: desc.ty,
                });
            }
        }
        if accumulates(inst.op) {
            srcs.extend(accumulator);
        }
        for (first, dwords, written) in (facts.implicit & Implicit::LISTED).registers(target.wave()) {
            let range = RegRange { first: first.0, len: dwords as u8 };
            match (first, written) {
                (PReg::EXEC_LO, true) => writes.push(range),
                (PReg::VCC_LO, false) => {
                    reads.push(range);
                    mask = mask.or(Some(first.0));
                }
                (PReg::M0, false) => reads.push(range),
                // SCC is followed apart; other writes are the executing function's.
                _ => {}
            }
        }
        let def_ty = info.operands.first().filter(|o| o.role != Role::Use).map(|o| o.ty);
        let dst16 = matches!(def_ty, Some(ValueType::F16 | ValueType::I16 | ValueType::U16 | ValueType::B16))
            && !matches!(
                inst.op,
                Opcode::V_MAD_U32_U16
                    | Opcode::V_MAD_I32_I16
                    | Opcode::V_SAD_U16
                    | Opcode::V_PACK_B32_F16
                    | Opcode::V_SAT_PK_U8_I16
            );
        let max = |vgpr: bool| {
            reads
                .iter()
                .chain(&writes)
                .filter(|r| r.len > 0)
                .map(|r| PReg(r.first + u16::from(r.len) - 1))
                .filter_map(|r| if vgpr { r.vgpr_index() } else { r.sgpr_index() })
                .max()
        };
        let (max_vgpr, max_sgpr) = (max(true), max(false));
        let valu = matches!(class, Class::Valu | Class::Compare(_) | Class::CompareClass | Class::Lane)
            && !matches!(inst.op, Opcode::V_NOP);
        let vmem = matches!(class, Class::Buffer | Class::Image | Class::Flat);
        let cycles = facts.rate.cycles(target);
        let (op, denormals, transparent) =
            (inst.op, denormals(inst.op, info, target), transparent(inst.op, info));
        let dpp = Permutation::of(&inst.mods).map(Box::new);
        let packed = info.format == Format::Vop3p;
        let changes = srcs.iter().enumerate().take(3).fold(0, |bits, (k, s): (usize, &Source)| {
            let m = &inst.mods;
            let sdwa = m.sdwa().is_some_and(|d| k < 2 && d.src_sel[k] != SdwaSel::Dword);
            let signs = !packed && (m.abs | m.neg) >> k & 1 != 0;
            let high = !packed && m.sdwa().is_none() && s.bits() == 16 && m.op_sel >> k & 1 != 0;
            bits | u8::from(sdwa || signs || high || k == 0 && dpp.is_some()) << k
        });
        let sdwa_placed = inst.mods.sdwa().is_some_and(|d| d.dst_sel != SdwaSel::Dword);
        let mut this = Self {
            run,
            kernel,
            inst,
            info,
            class,
            size,
            vdst,
            sdst,
            srcs,
            mask,
            imm,
            denormals,
            dst16,
            transparent,
            changes,
            // Source: RDNA ISA, "16-bit" operations; LLVM's `zeroesHigh16BitsOfDest` knows none of GFX10.
            keeps_high: target.has(Features::WORKGROUP_PROCESSORS),
            any_turns: target.has(Features::ANY_TURNS),
            float_result: info.operands.first().is_some_and(|o| exec::is_float(o.ty)),
            partial: dst16 || sdwa_placed,
            dpp,
            mem,
            reads,
            writes,
            effects: Effects::default(),
            traits: Traits::empty(),
            cycles,
            max_vgpr,
            max_sgpr,
        };
        let hwreg = |o: Opcode| (op == o).then_some((this.hwreg() & 63) as u8);
        let wide_store = || {
            let mem = this.mem.filter(|m| m.kind == MemKind::Store && m.bytes > 8)?;
            if class == Class::Buffer && this.sgpr("soffset").is_some() {
                return None;
            }
            let first = PReg::vgpr(this.vgpr("vdata")?).0;
            vmem.then_some(RegRange { first, len: (mem.bytes / 4) as u8 })
        };
        let hazard_facts = Facts {
            valu,
            salu: class == Class::Salu || class == Class::Special,
            vmem,
            smem: class == Class::Smem,
            sbuffer: facts.is_scalar_buffer(),
            reads: &this.reads,
            writes: &this.writes,
            lane_select: matches!(op, Opcode::V_READLANE_B32 | Opcode::V_WRITELANE_B32)
                .then(|| this.srcs.get(1))
                .flatten()
                .and_then(|s| if let Src::S(r) = s.src { Some(r) } else { None }),
            div_fmas: matches!(op, Opcode::V_DIV_FMAS_F32 | Opcode::V_DIV_FMAS_F64),
            dpp: this.inst.mods.dpp().and_then(|_| match this.srcs.first()?.src {
                Src::V(n) => Some(PReg::vgpr(n).0),
                _ => None,
            }),
            m0_use: flags.contains(OpFlags::M0_USE)
                && !matches!(
                    op,
                    // The vector ALU waits for M0 by itself: no manual lists its indexed moves.
                    Opcode::S_SET_GPR_IDX_IDX
                        | Opcode::S_SET_GPR_IDX_ON
                        | Opcode::V_MOVRELD_B32
                        | Opcode::V_MOVRELS_B32
                        | Opcode::V_MOVRELSD_B32
                )
                || this.flag(ModFlags::GDS),
            setreg: hwreg(Opcode::S_SETREG_B32).or(hwreg(Opcode::S_SETREG_IMM32_B32)),
            getreg: hwreg(Opcode::S_GETREG_B32),
            wide_store: wide_store(),
            rfe: matches!(op, Opcode::S_RFE_B64 | Opcode::S_RFE_RESTORE_B64),
            vskip: op == Opcode::S_SETVSKIP,
            ds: class == Class::Lds,
            lanes: facts.implicit.contains(Implicit::EXEC_USE),
            waits: target.waits().waited_for(&this.inst),
            depctr: (op == Opcode::S_WAITCNT_DEPCTR).then_some(this.imm as u16),
        };
        this.effects = Effects::new(&hazard_facts, target);
        this.traits = Traits::of(&this, target);
        this
    }

    /// The hardware register operand of `s_getreg` and `s_setreg`: id in bits 5:0, offset in 10:6, width − 1 in 15:11.
    pub fn hwreg(&self) -> u32 {
        let index = self.info.operands.iter().position(|o| o.kind == OperandKind::Hwreg);
        index.and_then(|i| self.inst.operands.get(i)).and_then(Operand::as_imm).unwrap_or(0) as u32
    }

    /// Whether the simulator executes it.
    pub fn is_supported(&self) -> bool {
        self.class != Class::Unsupported
    }

    /// The text of the instruction.
    pub fn text(&self, target: &Target) -> String {
        crate::decode::text(&self.inst, target)
    }
}
