//! The floating-point environment: rounding and denormal modes in the MODE register, exception flags in
//! TRAPSTS.
//!
//! MODE holds two bits of rounding for binary32 and two for binary16 and binary64 (0 nearest, 1 up, 2 down, 3
//! to zero), then two bits of denormal mode for each. LLVM's `FLT_ROUNDS` numbers the modes in another way
//! and names the twelve pairs of two different modes 8 to 19 (usage guide, `llvm.get.rounding`). Translation
//! is a shift of a constant that holds four bits for each mode.
//!
//! Operations between two writes of MODE are strict: the builder neither folds nor shares them.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};

/// Operand of `s_getreg`/`s_setreg`: bits `offset .. offset + width` of register `id`.
const fn hwreg(id: u32, offset: u32, width: u32) -> u32 {
    id | offset << 6 | (width - 1) << 11
}

const MODE: u32 = 1;
const TRAPSTS: u32 = 3;

/// Rounding of binary32, then of binary16 and binary64.
const ROUNDING: u32 = hwreg(MODE, 0, 4);
const ROUNDING_16_64: u32 = hwreg(MODE, 2, 2);
const DENORMALS_32: u32 = hwreg(MODE, 4, 2);
/// Exceptions that have occurred.
const EXCEPTIONS: u32 = hwreg(TRAPSTS, 0, 5);

/// `FLT_ROUNDS` of pairs of equal modes, by the hardware's number.
const SAME: [u64; 4] = [1, 2, 3, 0];
/// The hardware's number of `FLT_ROUNDS` 0 to 3.
const HARDWARE: [u64; 4] = [3, 0, 1, 2];
/// Order in which LLVM numbers the modes of a pair: nearest, up, down, to zero, as the hardware does.
const FIRST_PAIR: u64 = 8;
/// Numbers from 4 to 7 mean no pair, so the tables leave them out.
const GAP: u64 = 4;

/// Four bits for each value of [`ROUNDING`]: `FLT_ROUNDS`, from 4 on less [`GAP`].
const TO_FLT_ROUNDS: u64 = tables().0;
/// Four bits for each `FLT_ROUNDS` (from 8 on less [`GAP`]): the value of [`ROUNDING`].
const FROM_FLT_ROUNDS: u64 = tables().1;

const fn tables() -> (u64, u64) {
    let (mut to, mut from) = (0u64, 0u64);
    let mut next = FIRST_PAIR - GAP;
    let mut single = 0;
    while single < 4 {
        let mut double = 0;
        while double < 4 {
            let mode = single | double << 2;
            let number = if single == double {
                SAME[single as usize]
            } else {
                next += 1;
                next - 1
            };
            to |= number << (4 * mode);
            from |= mode << (4 * number);
            double += 1;
        }
        single += 1;
    }
    (to, from)
}

impl Legalizer<'_> {
    /// Whether the function may run in another mode than its attributes say.
    fn mode_varies(&self) -> bool {
        self.old.flags.contains(FuncFlags::STRICT_FP)
    }

    fn get_register(&mut self, register: u32) -> Result<Value> {
        let register = self.b.i32(register);
        let kind =
            InstKind::Intrinsic { intrinsic: Intrinsic::SGetreg, args: [register].into_iter().collect() };
        self.b
            .push(kind, Type::I32, InstFlags::empty())
            .ok_or_else(|| Diagnostic::defect("register read without a result"))
    }

    /// A condition, the same in all lanes, of which nothing is known.
    pub(super) fn any_condition(&mut self) -> Result<Value> {
        let mode = self.get_register(hwreg(MODE, 0, 1))?;
        Ok(self.b.icmp_imm(IntPredicate::Ne, mode, 0))
    }

    fn set_register(&mut self, register: u32, value: Value) {
        let register = self.b.i32(register);
        let args = [register, value].into_iter().collect();
        self.b.push(
            InstKind::Intrinsic { intrinsic: Intrinsic::SSetreg, args },
            Type::Void,
            InstFlags::empty(),
        );
    }

    /// A value that goes into a register of the wave: that of the first active lane.
    fn for_wave(&mut self, value: Value) -> Value {
        if self.b.func.as_int(value).is_some() {
            return value;
        }
        self.b.intrinsic(Intrinsic::Readfirstlane, &[value], Type::I32)
    }

    /// Intrinsics that read and write the environment.
    pub(super) fn lower_environment(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        // FP16_OVFL is bit 23.
        let overflow = self.ctx.machine.has(Features::FP16_OVERFLOW);
        let mode_bits = if overflow { 24 } else { 23 };
        let kept = if overflow { 0x87_f3ff } else { 0x7_f3ff };
        let wrong = || Diagnostic::unsupported(format!("llvm.{} at this type", intrinsic.name()));
        match intrinsic {
            GetRounding => {
                let mode = self.get_register(ROUNDING)?;
                let number = self.look_up(TO_FLT_ROUNDS, mode);
                let number = self.b.and_imm(number, 15);
                let same = self.b.icmp_imm(IntPredicate::Ult, number, GAP);
                let pair = self.b.add_imm(number, GAP as i64);
                Ok(Parts::from_slice(&[self.b.select(same, number, pair)]))
            }
            SetRounding => {
                let number = self.part(args[0])?;
                // Small numbers wrap.
                let pair = self.b.add_imm(number, -(GAP as i64));
                let index = self.b.intrinsic(Umin, &[number, pair], Type::I32);
                let mode = self.look_up(FROM_FLT_ROUNDS, index);
                let mode = self.for_wave(mode);
                self.set_register(ROUNDING, mode);
                Ok(Parts::new())
            }
            GetFpenv if ty == Type::I64 => {
                let mode = self.get_register(hwreg(MODE, 0, 23))?;
                let exceptions = self.get_register(EXCEPTIONS)?;
                Ok(Parts::from_slice(&[self.b.join64(mode, exceptions)]))
            }
            SetFpenv => {
                let env = self.part(args[0])?;
                if self.b.ty(env) != Type::I64 {
                    return Err(wrong());
                }
                let (mode, exceptions) = self.b.split64(env);
                let (mode, exceptions) = (self.for_wave(mode), self.for_wave(exceptions));
                self.set_register(hwreg(MODE, 0, 23), mode);
                self.set_register(EXCEPTIONS, exceptions);
                Ok(Parts::new())
            }
            GetFpmode if ty == Type::I32 => {
                let mode = self.get_register(hwreg(MODE, 0, mode_bits))?;
                Ok(Parts::from_slice(&[self.b.and_imm(mode, kept)]))
            }
            _ => Err(wrong()),
        }
    }

    /// The four bits of `table` at `index` and whatever stands above them.
    fn look_up(&mut self, table: u64, index: Value) -> Value {
        let table = self.b.int(Type::I64, table);
        let amount = self.b.shl_imm(index, 2);
        let amount = self.b.cast(CastOp::ZExt, amount, Type::I64);
        let shifted = self.b.binary(BinaryOp::LShr, table, amount);
        self.b.cast(CastOp::Trunc, shifted, Type::I32)
    }

    /// `fptrunc.round` of binary32 to binary16; the mode is a constant by the numbers of `FLT_ROUNDS`.
    pub(super) fn lower_rounded_truncation(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(args[0])?;
        let mode = args.get(1).and_then(|&v| self.old.as_int(v)).and_then(|m| HARDWARE.get(m as usize));
        let (Some(&mode), Scalar::Float(Float::Single), Some(Scalar::Float(Float::Half))) =
            (mode, scalar, ty.scalar())
        else {
            return Err(Diagnostic::unsupported("fptrunc.round other than of float to half"));
        };
        let before = if self.mode_varies() { self.get_register(ROUNDING_16_64)? } else { self.b.i32(0) };
        let mode = self.b.i32(mode as u32);
        self.set_register(ROUNDING_16_64, mode);
        let strict = std::mem::replace(&mut self.b.strict, true);
        let out = lanes.iter().map(|&x| self.b.cast(CastOp::FpTrunc, x, Type::F16)).collect();
        self.b.strict = strict;
        self.set_register(ROUNDING_16_64, before);
        Ok(out)
    }

    /// Runs `op` with binary16 and binary64 rounding to zero, which interpolation in binary16 asks for.
    ///
    /// Source: ISA manuals, `V_INTERP_P1LL_F16` and its kin; LLVM's SIModeRegister.cpp.
    pub(super) fn with_narrow_rounding_to_zero(
        &mut self,
        op: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        let before = if self.mode_varies() { self.get_register(ROUNDING_16_64)? } else { self.b.i32(0) };
        let zero = self.b.i32(HARDWARE[0] as u32);
        self.set_register(ROUNDING_16_64, zero);
        let strict = std::mem::replace(&mut self.b.strict, true);
        let result = op(self);
        self.b.strict = strict;
        self.set_register(ROUNDING_16_64, before);
        result
    }

    /// Whether binary32 denormals are flushed wherever they occur, or do not matter: instructions that always
    /// flush will do.
    pub(super) fn flushes_single(&self) -> bool {
        self.ignores_denormals || self.mode.single.all_flushed()
    }

    /// Runs `op` with binary32 denormals kept, whatever the mode of the function is.
    pub(super) fn with_f32_denormals(
        &mut self,
        op: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<Value> {
        if self.mode.single.all_kept() && !self.mode.single_dynamic {
            return op(self);
        }
        let before = if self.mode.single_dynamic || self.mode_varies() {
            self.get_register(DENORMALS_32)?
        } else {
            self.b.i32(self.mode.single.field())
        };
        let keep = self.b.i32(3);
        self.set_register(DENORMALS_32, keep);
        let strict = std::mem::replace(&mut self.b.strict, true);
        let result = op(self);
        self.b.strict = strict;
        self.set_register(DENORMALS_32, before);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_inverse_and_name_what_llvm_names() {
        let number = |mode: u64| {
            let n = TO_FLT_ROUNDS >> (4 * mode) & 15;
            if n < GAP { n } else { n + GAP }
        };
        // Usage guide: nearest with up 8, to zero with down 19, all to zero 0.
        assert_eq!([number(0), number(0b0100), number(0b1011), number(0b1111)], [1, 8, 19, 0]);
        for mode in 0..16 {
            let n = number(mode);
            let index = if n < GAP { n } else { n - GAP };
            assert_eq!(FROM_FLT_ROUNDS >> (4 * index) & 15, mode);
        }
    }
}
