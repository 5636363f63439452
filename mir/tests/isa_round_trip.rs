//! The whole instruction table against llvm-mc: random valid operands and modifiers for every row and encoding are
//! encoded, decoded, printed and assembled. The decoder must give back the instruction, and LLVM's assembler the same bytes and text.
//!
//! Skipped with a message where `llvm-mc-22` is not installed.

mod common;

use common::{LLVM_MC, assemble, encodings};
use fastrand::Rng;
use mir::isa::format::layout;
use mir::isa::{
    Format, ImageParts, OpFlags, Opcode, OpcodeInfo, OperandKind, Role, ValueType, decode,
    dpp_control_exists, encode, image_address_dwords,
};
use mir::machine::{
    Dpp, Dpp8, Encoding, Extension, Inst, ModFlags, Modifiers, Operand, PReg, Reg, Sdwa, SdwaSel, SdwaUnused,
};
use mir::target::operands::{canonical_constant, inline_constant_value};
use mir::target::{Generation, Target, WaveSize};

/// Variants of each row and encoding.
const VARIANTS: usize = 4;

struct Generator<'a> {
    random: &'a mut Rng,
    info: &'static OpcodeInfo,
    generation: Generation,
    encoding: Encoding,
    /// The one scalar value that a vector instruction may read.
    bus: Option<Operand>,
    literal_used: bool,
}

impl Generator<'_> {
    fn vgpr(&mut self, dwords: u8) -> Operand {
        let n = self.random.u64(..257 - u64::from(dwords)) as u16;
        Operand::preg(PReg::vgpr(n), dwords)
    }

    fn sgpr(&mut self, dwords: u8) -> Operand {
        let align = match dwords {
            1 => 1,
            2 => 2,
            _ => 4,
        };
        if dwords <= 2 && self.random.u64(..8) == 0 {
            return Operand::preg(PReg::VCC_LO, dwords);
        }
        if dwords <= 4 && self.random.u64(..8) == 0 {
            return Operand::preg(PReg::ttmp((self.random.u64(..2) * 4) as u16), dwords);
        }
        let count = (102 - u64::from(dwords)) / align + 1;
        Operand::preg(PReg::sgpr((self.random.u64(..count) * align) as u16), dwords)
    }

    fn inline(&mut self, ty: ValueType) -> Operand {
        loop {
            let floats = (ty != ValueType::F16 || self.generation >= Generation::Gfx8)
                && !matches!(ty, ValueType::I16 | ValueType::U16 | ValueType::B16 | ValueType::V2I16);
            let code = if floats && self.random.u64(..2) == 0 {
                240 + self.random.u64(..9)
            } else {
                128 + self.random.u64(..81)
            };
            if let Some(value) = inline_constant_value(code as u16, ty, self.generation) {
                return Operand::Imm(value);
            }
        }
    }

    fn literal(&mut self, ty: ValueType) -> Operand {
        self.literal_used = true;
        let bits = self.random.u64(..) as u32 | 0x0100_1100;
        let value = match ty {
            ValueType::F64 => i64::from(bits) << 32,
            ValueType::I64 => i64::from(bits >> 1),
            ValueType::B64 | ValueType::U64 => i64::from(bits),
            _ => canonical_constant(i64::from(bits), ty),
        };
        Operand::Imm(value)
    }

    fn scalar_source(&mut self, dwords: u8, ty: ValueType, literal: bool) -> Operand {
        if ty == ValueType::Data {
            return self.sgpr(dwords);
        }
        match self.random.u64(..4) {
            0 => self.inline(ty),
            1 if literal && !self.literal_used => self.literal(ty),
            _ => self.sgpr(dwords),
        }
    }

    fn vector_source(&mut self, dwords: u8, ty: ValueType, literal: bool) -> Operand {
        let half = ty == ValueType::F16 && self.generation <= Generation::Gfx7;
        if ty == ValueType::Data || half || self.random.u64(..2) == 0 {
            return self.vgpr(dwords);
        }
        if self.random.u64(..3) == 0 {
            return self.inline(ty);
        }
        if let Some(old) = self.bus {
            let fits = old.as_reg().is_some_and(|r| r.dwords == dwords);
            return if fits { old } else { self.vgpr(dwords) };
        }
        if literal && self.random.u64(..2) == 0 {
            let operand = self.literal(ty);
            self.bus = Some(operand);
            return operand;
        }
        let operand = self.sgpr(dwords);
        self.bus = Some(operand);
        operand
    }

    fn mods(&mut self) -> Modifiers {
        let info = self.info;
        let flags = info.flags;
        let layout = layout(info, self.encoding, self.generation).expect("the encoding exists");
        let mut mods = Modifiers::default();
        let to_float = info.operands.first().is_some_and(|o| {
            matches!(o.ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16)
        });
        for (name, _) in layout.flags.iter_names() {
            let flag = ModFlags::from_name(name).expect("a name of the set");
            let float = flags.contains(OpFlags::FLOAT_MODS) && info.format != Format::Vop3p;
            let wanted = match flag {
                ModFlags::CLAMP if self.generation <= Generation::Gfx7 && !to_float => false,
                ModFlags::CLAMP => {
                    (float && !flags.contains(OpFlags::NO_CLAMP)) || flags.contains(OpFlags::INT_CLAMP)
                }
                ModFlags::GLC if flags.contains(OpFlags::ATOMIC) && info.format != Format::Mimg => false,
                ModFlags::GLC if info.format == Format::Smem => {
                    flags.intersects(OpFlags::LOAD | OpFlags::STORE)
                }
                ModFlags::TFE => {
                    !matches!(info.format, Format::Flat | Format::Mtbuf)
                        && flags.contains(OpFlags::LOAD)
                        && !flags
                            .intersects(OpFlags::ATOMIC | OpFlags::LDS_DMA | OpFlags::D16 | OpFlags::D16_HI)
                }
                ModFlags::GDS => !flags.intersects(OpFlags::NO_GDS | OpFlags::GDS_ONLY),
                ModFlags::OFFEN | ModFlags::IDXEN | ModFlags::ADDR64 => {
                    !info.operands.is_empty()
                        && info.operands.iter().any(|o| o.kind == OperandKind::VgprOrOff)
                }
                ModFlags::LDS | ModFlags::NV => false,
                ModFlags::HIGH => {
                    info.name != "v_interp_p1_f32"
                        && info.name != "v_interp_p2_f32"
                        && info.name != "v_interp_mov_f32"
                }
                ModFlags::D16 => {
                    !flags.contains(OpFlags::ATOMIC)
                        && info.name != "image_get_resinfo"
                        && info.name != "image_get_lod"
                        && !info.name.contains("pck")
                }
                ModFlags::A16 => true,
                _ if info.image.contains(ImageParts::RAY) => false,
                ModFlags::R128 | ModFlags::LWE => true,
                ModFlags::DLC if info.format == Format::Mubuf => {
                    !info.operands.is_empty() && !flags.contains(OpFlags::ATOMIC)
                }
                ModFlags::DLC if info.format == Format::Smem => {
                    flags.intersects(OpFlags::LOAD | OpFlags::STORE)
                }
                _ => !info.operands.is_empty(),
            };
            if wanted && self.random.u64(..3) == 0 {
                mods.flags |= flag;
            }
        }
        // The assembler has no gather of three registers.
        if flags.contains(OpFlags::GATHER4) && mods.flags.contains(ModFlags::D16) {
            mods.flags -= ModFlags::TFE;
        }
        if mods.flags.contains(ModFlags::ADDR64) {
            mods.flags -= ModFlags::OFFEN | ModFlags::IDXEN;
        }
        let sources: Vec<_> = info
            .operands
            .iter()
            .filter(|o| {
                o.role == Role::Use && !matches!(o.kind, OperandKind::Literal | OperandKind::Attribute)
            })
            .collect();
        let count = sources.len() as u32;
        let vop3p = info.format == Format::Vop3p;
        let modifiable = sources.iter().enumerate().fold(0u8, |mask, (i, o)| {
            use ValueType as T;
            let ok = matches!(o.ty, T::F16 | T::F32 | T::F64 | T::B16 | T::B32 | T::B64);
            mask | u8::from(ok && o.kind != OperandKind::LaneMask) << i
        });
        let long = matches!(self.encoding, Encoding::E64 | Encoding::Sdwa | Encoding::Dpp);
        if vop3p {
            let all = (1u8 << count) - 1;
            let selects = flags.intersects(OpFlags::FLOAT_MODS | OpFlags::MIX);
            mods.op_sel = if selects { self.random.u64(..) as u8 & all } else { 0 };
            mods.op_sel_hi = if selects { (self.random.u64(..) as u8 & all) | (7 & !all) } else { 7 };
            if flags.contains(OpFlags::MIX) {
                mods.neg = self.random.u64(..) as u8 & all;
                mods.abs = self.random.u64(..) as u8 & all;
            } else if flags.contains(OpFlags::FLOAT_MODS) {
                mods.neg = self.random.u64(..) as u8 & all;
                mods.neg_hi = self.random.u64(..) as u8 & all;
            }
        } else if long && flags.contains(OpFlags::FLOAT_MODS) {
            mods.neg = self.random.u64(..) as u8 & modifiable;
            if !flags.contains(OpFlags::VOP3B) {
                mods.abs = self.random.u64(..) as u8 & modifiable;
            }
        }
        let omod = (flags.contains(OpFlags::FLOAT_MODS) && !flags.contains(OpFlags::NO_OMOD) && !vop3p)
            || flags.contains(OpFlags::OMOD);
        // The assembler has no output modifier on SDWA conversions to integer.
        let integer = info.operands.first().is_some_and(|o| !matches!(o.ty, ValueType::F16 | ValueType::F32));
        let omod = omod && !(self.encoding == Encoding::Sdwa && integer);
        if omod && layout.has_mod(mir::isa::format::Mod::Omod) {
            mods.omod = self.random.u64(..4) as u8;
        }
        if self.encoding == Encoding::E64
            && flags.contains(OpFlags::OP_SEL)
            && layout.has_mod(mir::isa::format::Mod::OpSel)
        {
            let all = if flags.contains(OpFlags::PERMLANE) { 3 } else { ((1 << count) - 1) | 8 };
            mods.op_sel = self.random.u64(..) as u8 & all;
        }
        match info.format {
            Format::Ds if !info.operands.is_empty() => {
                if flags.contains(OpFlags::DS_TWO) {
                    mods.offset = self.random.u64(..256) as i32;
                    mods.offset1 = self.random.u64(..256) as u8;
                } else {
                    mods.offset = self.random.u64(..65536) as i32;
                }
            }
            Format::Mubuf | Format::Mtbuf if !info.operands.is_empty() => {
                mods.offset = self.random.u64(..4096) as i32
            }
            Format::Flat | Format::Global | Format::Scratch => {
                let ranges = self.generation.limits().offsets;
                let range = if info.format == Format::Flat { ranges.flat } else { ranges.global };
                mods.offset = self.random.i32(range.min..=range.max);
            }
            _ => {}
        }
        match info.format {
            Format::Mtbuf => mods.dmask = self.random.u64(..128) as u8,
            Format::Mimg if info.image.contains(ImageParts::RAY) => {}
            Format::Mimg => {
                if self.generation >= Generation::Gfx10 {
                    mods.dim = self.random.u64(..6) as u8;
                    if info.image.contains(ImageParts::MSAA) {
                        mods.dim = 6 + mods.dim % 2;
                    }
                }
                mods.dmask = if flags.contains(OpFlags::GATHER4) {
                    1 << self.random.u64(..4)
                } else if flags.contains(OpFlags::ATOMIC) {
                    if info.name.contains("cmpswap") { 3 } else { 1 }
                } else {
                    1 + self.random.u64(..15) as u8
                };
            }
            // Compressed components are enabled in pairs.
            Format::Exp if mods.flags.contains(ModFlags::COMPR) => {
                mods.dmask = [0, 3, 12, 15][self.random.u64(..4) as usize];
            }
            Format::Exp => mods.dmask = self.random.u64(..16) as u8,
            _ => {}
        }
        match self.encoding {
            Encoding::Sdwa => {
                mods.ext = Extension::Sdwa(self.sdwa(&sources.iter().map(|o| o.ty).collect::<Vec<_>>()))
            }
            Encoding::Dpp => mods.ext = Extension::Dpp(self.dpp()),
            Encoding::Dpp8 => {
                let (lanes, fetch_inactive) = (self.random.u64(..1 << 24) as u32, self.random.u64(..2) == 0);
                mods.ext = Extension::Dpp8(Dpp8 { lanes, fetch_inactive });
            }
            _ => {}
        }
        mods
    }

    fn sdwa(&mut self, types: &[ValueType]) -> Sdwa {
        use SdwaSel::*;
        const PARTS: [SdwaSel; 7] = [Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword];
        let mut part = || PARTS[self.random.u64(..7) as usize];
        let mut sdwa = Sdwa { dst_sel: part(), src_sel: [part(), part()], ..Sdwa::default() };
        if self.info.format == Format::Vop1 {
            sdwa.src_sel[1] = Dword;
        }
        // The assembler wants the whole destination where the old value is an addend.
        if self.info.format == Format::Vopc || self.info.flags.contains(OpFlags::SDWA8) {
            sdwa.dst_sel = Dword;
        } else {
            sdwa.dst_unused =
                [SdwaUnused::Pad, SdwaUnused::Sext, SdwaUnused::Preserve][self.random.u64(..3) as usize];
        }
        for (i, ty) in types.iter().enumerate().take(2) {
            let integer = matches!(ty, ValueType::I16 | ValueType::U16 | ValueType::I32 | ValueType::U32)
                || (matches!(ty, ValueType::B16 | ValueType::B32)
                    && !self.info.flags.contains(OpFlags::FLOAT_MODS));
            if integer && self.random.u64(..3) == 0 {
                sdwa.sext |= 1 << i;
            }
        }
        sdwa
    }

    fn dpp(&mut self) -> Dpp {
        let ctrl = loop {
            let ctrl = self.random.u64(..512) as u16;
            if dpp_control_exists(ctrl, self.generation) {
                break ctrl;
            }
        };
        Dpp {
            ctrl,
            row_mask: self.random.u64(..16) as u8,
            bank_mask: self.random.u64(..16) as u8,
            bound_ctrl: self.random.u64(..2) == 0,
            fetch_inactive: self.generation >= Generation::Gfx10 && self.random.u64(..2) == 0,
        }
    }

    fn inst(&mut self, op: Opcode) -> Inst {
        let info = self.info;
        let mods = self.mods();
        let long = matches!(self.encoding, Encoding::E64 | Encoding::Sdwa);
        // Implied reads of VCC use the constant bus.
        if info.flags.contains(OpFlags::M0_USE) {
            self.bus = Some(Operand::preg(PReg::M0, 1));
        }
        let reads_vcc = info.flags.contains(OpFlags::VCC_USE)
            || (self.encoding != Encoding::E64
                && info.operands.iter().any(|o| o.kind == OperandKind::LaneMask && o.role == Role::Use));
        if reads_vcc {
            self.bus = Some(Operand::preg(PReg::VCC_LO, 2));
        }
        let has_mandatory = info.operands.iter().any(|o| o.kind == OperandKind::Literal);
        if has_mandatory {
            self.bus = Some(Operand::Imm(0));
        }
        let mut has_saddr = false;
        let mut operands = Vec::new();
        // A mask read takes the bus before the sources do.
        let mut mask_source = None;
        if self.encoding == Encoding::E64
            && info.operands.iter().any(|o| o.kind == OperandKind::LaneMask && o.role == Role::Use)
        {
            let mask = self.sgpr(2);
            self.bus = Some(mask);
            mask_source = Some(mask);
        }
        if matches!(info.format, Format::Global | Format::Scratch) {
            has_saddr = self.random.u64(..2) == 0;
        }
        for (index, desc) in info.operands.iter().enumerate() {
            use OperandKind as K;
            let literal =
                self.encoding == Encoding::E32 && desc.slot == mir::isa::format::Slot::Src0 && !has_mandatory;
            let kind = info.operand_kind(index, long).expect("index in range");
            let operand = match kind {
                K::Vgpr | K::VgprOrOff => {
                    let dwords = match (info.format, desc.name) {
                        (Format::Mubuf | Format::Mtbuf, "vaddr") => {
                            if mods.flags.contains(ModFlags::ADDR64) {
                                2
                            } else {
                                u8::from(mods.flags.contains(ModFlags::OFFEN))
                                    + u8::from(mods.flags.contains(ModFlags::IDXEN))
                            }
                        }
                        (Format::Mubuf | Format::Mtbuf, "vdata") => {
                            let packed = info.flags.contains(OpFlags::FORMATTED | OpFlags::D16)
                                && self.generation >= Generation::Gfx9;
                            let width = if packed {
                                desc.dwords(WaveSize::W64).div_ceil(2)
                            } else {
                                desc.dwords(WaveSize::W64)
                            };
                            width + u8::from(mods.flags.contains(ModFlags::TFE))
                        }
                        (Format::Global, "vaddr") => 2 - u8::from(has_saddr),
                        (Format::Scratch, "vaddr") => 1 - u8::from(has_saddr),
                        (Format::Mimg, "vdata") if info.image.contains(ImageParts::RAY) => 4,
                        (Format::Mimg, "vdata") if info.flags.contains(OpFlags::ATOMIC) => {
                            mods.dmask.count_ones() as u8
                        }
                        (Format::Mimg, "vdata") => {
                            let gather = info.flags.contains(OpFlags::GATHER4);
                            let channels = if gather { 4 } else { mods.dmask.count_ones() as u8 };
                            let packed =
                                mods.flags.contains(ModFlags::D16) && self.generation >= Generation::Gfx9;
                            let width = if packed { channels.div_ceil(2) } else { channels };
                            width + u8::from(mods.flags.contains(ModFlags::TFE))
                        }
                        (Format::Mimg, "vaddr") if self.generation >= Generation::Gfx10 => {
                            image_address_dwords(info, &mods)
                        }
                        (Format::Mimg, "vaddr") => 4,
                        _ => desc.dwords(WaveSize::W64),
                    };
                    if dwords == 0 { Operand::Off } else { self.vgpr(dwords) }
                }
                K::Sgpr => self.sgpr(desc.dwords(WaveSize::W64)),
                K::SgprOrOff if has_saddr => self.sgpr(desc.dwords(WaveSize::W64)),
                K::SgprOrOff => Operand::Off,
                K::ScalarSrc if info.flags.contains(OpFlags::IGNORES_EXEC) => {
                    if self.bus.is_none() && self.random.u64(..2) == 0 {
                        let operand = self.sgpr(1);
                        self.bus = Some(operand);
                        operand
                    } else {
                        self.inline(desc.ty)
                    }
                }
                K::ScalarSrc => {
                    self.scalar_source(desc.dwords(WaveSize::W64), desc.ty, info.name != "s_cbranch_g_fork")
                }
                K::VectorSrc => match self.encoding {
                    Encoding::Dpp | Encoding::Dpp8 => self.vgpr(desc.dwords(WaveSize::W64)),
                    Encoding::Sdwa
                        if self.generation == Generation::Gfx8
                            || self.random.u64(..2) == 0
                            || self.bus.is_some() =>
                    {
                        self.vgpr(desc.dwords(WaveSize::W64))
                    }
                    Encoding::Sdwa => {
                        let operand = self.sgpr(desc.dwords(WaveSize::W64));
                        self.bus = Some(operand);
                        operand
                    }
                    _ => self.vector_source(desc.dwords(WaveSize::W64), desc.ty, literal),
                },
                K::LaneMask => match (desc.role, self.encoding) {
                    (Role::Use, Encoding::E64) => mask_source.expect("chosen above"),
                    (_, Encoding::E64) => self.sgpr(2),
                    (Role::Def, Encoding::Sdwa)
                        if info.format == Format::Vopc && self.generation >= Generation::Gfx9 =>
                    {
                        self.sgpr(2)
                    }
                    _ => Operand::preg(PReg::VCC_LO, 2),
                },
                K::Simm16 if info.format == Format::Sopc || info.name == "s_set_gpr_idx_mode" => {
                    Operand::Imm(self.random.u64(..16) as i64)
                }
                K::Simm16 if desc.ty == ValueType::I16 => Operand::Imm(i64::from(self.random.u64(..) as i16)),
                K::Label => Operand::Imm(i64::from(self.random.u64(..) as i16)),
                K::Waitcnt if self.generation >= Generation::Gfx10 => {
                    Operand::Imm(self.random.u64(..) as i64 & 0xff7f)
                }
                K::Depctr => Operand::Imm(self.random.u64(..) as i64 & 0xff1f),
                K::Waitcnt if self.generation >= Generation::Gfx9 => {
                    Operand::Imm(self.random.u64(..) as i64 & 0xcf7f)
                }
                K::Waitcnt => Operand::Imm(self.random.u64(..) as i64 & 0x0f7f),
                K::Sendmsg => {
                    Operand::Imm([1, 0x12, 0x122, 0x22, 3, 15 | 0x10, 0x23][self.random.u64(..7) as usize])
                }
                K::Simm16 | K::Hwreg => Operand::Imm(i64::from(self.random.u64(..) as u16)),
                K::OptionalImm if self.random.u64(..2) == 0 => continue,
                K::OptionalImm => Operand::Imm(1 + self.random.u64(..0xffff) as i64),
                K::SmemOffset => {
                    if self.random.u64(..2) == 0 {
                        self.sgpr(1)
                    } else {
                        Operand::Imm(match self.generation {
                            Generation::Gfx6 => self.random.u64(..256) as i64 * 4,
                            Generation::Gfx7 if self.random.u64(..2) == 0 => {
                                self.random.u64(..0xffff_ffff) as i64 * 4
                            }
                            Generation::Gfx7 => self.random.u64(..256) as i64 * 4,
                            Generation::Gfx8 => self.random.u64(..1 << 20) as i64,
                            _ if info.name.contains("buffer") => self.random.u64(..1 << 20) as i64,
                            _ => self.random.u64(..1 << 21) as i64 - (1 << 20),
                        })
                    }
                }
                K::Soffset => {
                    if self.random.u64(..3) == 0 {
                        self.inline(ValueType::U32)
                    } else {
                        self.sgpr(1)
                    }
                }
                K::Literal => self.literal(desc.ty),
                K::Attribute => Operand::Imm(self.random.u64(..33 * 4) as i64),
                K::InterpSlot => Operand::Imm(self.random.u64(..3) as i64),
                K::ExportTarget => {
                    let targets = [0, 1, 7, 8, 9, 12, 15, 32, 63];
                    Operand::Imm(targets[self.random.u64(..targets.len() as u64) as usize])
                }
                K::ExportSrc => {
                    let number = index - 1;
                    let pair = mods.flags.contains(ModFlags::COMPR) && number % 2 == 1;
                    match operands.last() {
                        _ if mods.dmask >> number & 1 == 0 => Operand::Off,
                        Some(first) if pair && *first != Operand::Off => *first,
                        _ => self.vgpr(1),
                    }
                }
                K::Imm => Operand::Imm(self.random.u64(..128) as i64),
                K::AnyReg => unreachable!("pseudo instructions are skipped"),
            };
            operands.push(operand);
        }
        let mut inst = Inst::new(op, operands).with_mods(mods);
        if matches!(info.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vintrp) {
            inst.encoding = self.encoding;
        }
        inst
    }
}

struct Case {
    inst: Inst,
    text: String,
    bytes: Vec<u8>,
}

fn cases(target: &Target, seed: u64, failures: &mut Vec<String>) -> Vec<Case> {
    let mut random = Rng::with_seed(seed);
    let mut cases = Vec::new();
    for &op in Opcode::ALL {
        let info = op.info();
        if info.format == Format::Pseudo || !info.exists_on(target) {
            continue;
        }
        for encoding in encodings(info, target.generation()) {
            // Without operands no text tells the encodings apart.
            if info.operands.is_empty() && !matches!(encoding, Encoding::Auto | Encoding::E32) {
                continue;
            }
            for _ in 0..VARIANTS {
                let mut generator = Generator {
                    random: &mut random,
                    info,
                    generation: target.generation(),
                    encoding,
                    bus: None,
                    literal_used: false,
                };
                let inst = generator.inst(op);
                let mut words = Vec::new();
                if let Err(e) = encode(&inst, target, &mut words) {
                    failures.push(format!("encode {}: {e}", inst.display(target)));
                    continue;
                }
                match decode(&words, target) {
                    Ok((back, length)) => {
                        let same = length == words.len() && same_up_to_image_address(&back, &inst);
                        if !same {
                            failures
                                .push(format!("decode {words:08x?}: {:?}\n   instead of {:?}", back, inst));
                        }
                    }
                    Err(e) => failures.push(format!("decode {}: {words:08x?}: {e}", inst.display(target))),
                }
                let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                cases.push(Case { text: inst.display(target).to_string(), inst, bytes });
            }
        }
    }
    cases
}

/// Equality, except that the number of address registers of an image instruction is not in its encoding.
fn same_up_to_image_address(back: &Inst, inst: &Inst) -> bool {
    let mut back = back.clone();
    if inst.op.info().format == Format::Mimg
        && let (Some(Operand::Reg(b)), Some(Operand::Reg(i))) =
            (back.operands.get_mut(1), inst.operands.get(1))
        && b.reg == i.reg
    {
        b.dwords = i.dwords;
    }
    let physical = |o: &Operand| o.as_reg().is_none_or(|r| matches!(r.reg, Reg::Physical(_)));
    assert!(back.operands.iter().all(physical));
    back == *inst
}

fn round_trip(processor: &str) {
    let target = common::target(processor);
    let mut failures = Vec::new();
    let cases = cases(&target, 0x6763_6e63, &mut failures);
    assert!(cases.len() > 500 * VARIANTS, "the generator makes enough cases");
    let lines: Vec<_> = cases.iter().map(|c| c.text.as_str()).collect();
    let Some(results) = assemble(&target, &lines) else {
        eprintln!("skipped: cannot run {LLVM_MC}");
        return;
    };
    for (case, result) in cases.iter().zip(results) {
        match result {
            Ok((text, bytes)) => {
                if bytes != case.bytes {
                    failures
                        .push(format!("bytes of `{}`: {:02x?}, LLVM {bytes:02x?}", case.text, case.bytes));
                } else if text != case.text && !text.starts_with("ds_swizzle") {
                    failures.push(format!("text `{}`, LLVM `{text}`", case.text));
                }
            }
            Err(message) => {
                failures.push(format!("LLVM refuses `{}` ({:?}): {message}", case.text, case.inst.op))
            }
        }
    }
    let total = failures.len();
    let limit = std::env::var("FAILURES").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    failures.truncate(limit);
    assert!(total == 0, "{processor}: {total} failures of {}:\n{}", cases.len(), failures.join("\n"));
}

#[test]
fn gfx1010() {
    round_trip("gfx1010");
}

#[test]
fn gfx900() {
    round_trip("gfx900");
}

#[test]
fn gfx906() {
    round_trip("gfx906");
}

#[test]
fn gfx803() {
    round_trip("gfx803");
}

#[test]
fn gfx700() {
    round_trip("gfx700");
}

#[test]
fn gfx600() {
    round_trip("gfx600");
}

/// Random dwords decode to something that encodes again, or to an error; never a panic.
#[test]
fn random_dwords() {
    let mut random = Rng::with_seed(1);
    for processor in ["gfx1010", "gfx1030", "gfx900", "gfx803", "gfx700", "gfx600"] {
        let target = common::target(processor);
        for _ in 0..40_000 {
            let words = [random.u64(..) as u32, random.u64(..) as u32, random.u64(..) as u32];
            let Ok((inst, length)) = decode(&words, &target) else { continue };
            assert!((1..=5).contains(&length));
            let mut out = Vec::new();
            encode(&inst, &target, &mut out)
                .unwrap_or_else(|e| panic!("{processor} {words:08x?} {}: {e}", inst.display(&target)));
            // A constant may have a shorter form; the instruction stays the same.
            let again = decode(&out, &target).map(|(again, _)| again);
            assert_eq!(again, Ok(inst), "{processor} {words:08x?}");
        }
    }
}
