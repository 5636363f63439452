//! The text form of the IR, written. [`super::parse_module`] reads it back.
//!
//! Close to LLVM's, with three differences that keep reader and writer small: block parameters instead of
//! phis; a definition carries its type (`v5: i32 = add nuw v1, i32 7`), so that only constants repeat theirs;
//! and numbers of values and blocks are the entities' own, so that a value keeps its name from pass to pass.
//!
//! ```text
//! type { i32, i64 }
//! global @lds internal addrspace(3) size 256 align 16 init ""
//! define kernel void @k(v0: ptr addrspace(1) noalias, v1: i32) {
//! block0:
//!   v3: i1 = icmp eq v1, i32 0
//!   br v3, block2, block1(i32 0)
//! block1(v2: i32):
//!   v5: ptr addrspace(1) = ptradd inbounds v0, v2 * 4 + 8
//!   store v5, float 0x3f800000 addrspace(1) align 4
//!   jump block2
//! block2:
//!   ret
//! constants v4 = i32 0, v6 = float 0x3f800000
//! }
//! ```
//!
//! A physical register has a `$`. Behind the code of a function stand the numbers that the code does not
//! show: those of constants, since passes look at values in the order of their numbers, and how long the
//! tables are. Every word is in a table that the parser reads too. Output depends on the data alone.

mod function;
mod inst;
mod module;

pub use function::DisplayFunction;
pub use inst::{DisplayInst, DisplayValue};

use super::*;
use crate::abi::call::Inputs;
use crate::text::{Quoted, words};
use std::fmt::{self, Display, Formatter};

words! {
    BinaryOp {
        Add = "add", Sub = "sub", Mul = "mul", UDiv = "udiv", SDiv = "sdiv", URem = "urem", SRem = "srem",
        Shl = "shl", LShr = "lshr", AShr = "ashr", And = "and", Or = "or", Xor = "xor",
        FAdd = "fadd", FSub = "fsub", FMul = "fmul", FDiv = "fdiv", FRem = "frem",
    }
    UnaryOp { FNeg = "fneg", Freeze = "freeze" }
    CastOp {
        Trunc = "trunc", ZExt = "zext", SExt = "sext", FpTrunc = "fptrunc", FpExt = "fpext", FpToUi = "fptoui",
        FpToSi = "fptosi", UiToFp = "uitofp", SiToFp = "sitofp", PtrToInt = "ptrtoint", IntToPtr = "inttoptr",
        BitCast = "bitcast", AddrSpaceCast = "addrspacecast",
    }
    IntPredicate {
        Eq = "eq", Ne = "ne", Ugt = "ugt", Uge = "uge", Ult = "ult", Ule = "ule", Sgt = "sgt", Sge = "sge",
        Slt = "slt", Sle = "sle",
    }
    FloatPredicate {
        False = "false", Oeq = "oeq", Ogt = "ogt", Oge = "oge", Olt = "olt", Ole = "ole", One = "one", Ord = "ord",
        Uno = "uno", Ueq = "ueq", Ugt = "ugt", Uge = "uge", Ult = "ult", Ule = "ule", Une = "une", True = "true",
    }
    Ordering {
        NotAtomic = "not_atomic", Unordered = "unordered", Monotonic = "monotonic", Acquire = "acquire",
        Release = "release", AcqRel = "acq_rel", SeqCst = "seq_cst",
    }
    SyncScope {
        SingleThread = "singlethread", Wavefront = "wavefront", Workgroup = "workgroup", Agent = "agent",
        System = "system",
    }
    AtomicOp {
        Xchg = "xchg", Add = "add", Sub = "sub", And = "and", Nand = "nand", Or = "or", Xor = "xor", Max = "max",
        Min = "min", UMax = "umax", UMin = "umin", FAdd = "fadd", FSub = "fsub", FMax = "fmax", FMin = "fmin",
        FMaximum = "fmaximum", FMinimum = "fminimum", UIncWrap = "uinc_wrap", UDecWrap = "udec_wrap",
        USubCond = "usub_cond", USubSat = "usub_sat",
    }
    Linkage {
        External = "external", AvailableExternally = "available_externally", LinkOnceAny = "linkonce",
        LinkOnceOdr = "linkonce_odr", WeakAny = "weak", WeakOdr = "weak_odr", Appending = "appending",
        Internal = "internal", Private = "private", ExternalWeak = "extern_weak", Common = "common",
    }
    Visibility { Default = "default", Hidden = "hidden", Protected = "protected" }
}

pub(crate) const INST_FLAGS: [(InstFlags, &str); 16] = [
    (InstFlags::NUW, "nuw"),
    (InstFlags::NSW, "nsw"),
    (InstFlags::EXACT, "exact"),
    (InstFlags::DISJOINT, "disjoint"),
    (InstFlags::NNEG, "nneg"),
    (InstFlags::INBOUNDS, "inbounds"),
    (InstFlags::SAMESIGN, "samesign"),
    (InstFlags::INVARIANT, "invariant"),
    (InstFlags::NNAN, "nnan"),
    (InstFlags::NINF, "ninf"),
    (InstFlags::NSZ, "nsz"),
    (InstFlags::ARCP, "arcp"),
    (InstFlags::CONTRACT, "contract"),
    (InstFlags::AFN, "afn"),
    (InstFlags::REASSOC, "reassoc"),
    (InstFlags::STRICT, "strict"),
];

pub(crate) const MEM_FLAGS: [(MemFlags, &str); 8] = [
    (MemFlags::VOLATILE, "volatile"),
    (MemFlags::NONTEMPORAL, "nontemporal"),
    (MemFlags::INVARIANT, "invariant"),
    (MemFlags::NO_CLOBBER, "noclobber"),
    (MemFlags::ONE_ADDRESS_SPACE, "one_as"),
    (MemFlags::DEREFERENCEABLE, "speculatable"),
    (MemFlags::DEVICE_MEMORY, "device_memory"),
    (MemFlags::NOT_PRIVATE, "not_private"),
];

pub(crate) const PARAM_FLAGS: [(ParamFlags, &str); 9] = [
    (ParamFlags::NOALIAS, "noalias"),
    (ParamFlags::READONLY, "readonly"),
    (ParamFlags::WRITEONLY, "writeonly"),
    (ParamFlags::INREG, "inreg"),
    (ParamFlags::SRET, "sret"),
    (ParamFlags::ZEROEXT, "zeroext"),
    (ParamFlags::SIGNEXT, "signext"),
    (ParamFlags::NONNULL, "nonnull"),
    (ParamFlags::NOUNDEF, "noundef"),
];

pub(crate) const FUNC_FLAGS: [(FuncFlags, &str); 9] = [
    (FuncFlags::ALWAYS_INLINE, "alwaysinline"),
    (FuncFlags::NO_INLINE, "noinline"),
    (FuncFlags::OPT_NONE, "optnone"),
    (FuncFlags::CONVERGENT, "convergent"),
    (FuncFlags::NO_RETURN, "noreturn"),
    (FuncFlags::OPT_SIZE, "optsize"),
    (FuncFlags::STRICT_FP, "strictfp"),
    (FuncFlags::INLINE_HINT, "inlinehint"),
    (FuncFlags::MIN_SIZE, "minsize"),
];

pub(crate) const CALL_CONVS: [(CallConv, &str); 12] = [
    (CallConv::Kernel, "kernel"),
    (CallConv::Device, "device"),
    (CallConv::AmdgpuPs, "amdgpu_ps"),
    (CallConv::AmdgpuVs, "amdgpu_vs"),
    (CallConv::AmdgpuGs, "amdgpu_gs"),
    (CallConv::AmdgpuHs, "amdgpu_hs"),
    (CallConv::AmdgpuLs, "amdgpu_ls"),
    (CallConv::AmdgpuEs, "amdgpu_es"),
    (CallConv::AmdgpuCs, "amdgpu_cs"),
    (CallConv::AmdgpuGfx, "amdgpu_gfx"),
    (CallConv::AmdgpuCsChain, "amdgpu_cs_chain"),
    (CallConv::AmdgpuCsChainPreserve, "amdgpu_cs_chain_preserve"),
];

pub(crate) const INPUTS: [(Inputs, &str); 11] = [
    (Inputs::DISPATCH_PTR, "dispatch_ptr"),
    (Inputs::QUEUE_PTR, "queue_ptr"),
    (Inputs::IMPLICITARG_PTR, "implicitarg_ptr"),
    (Inputs::DISPATCH_ID, "dispatch_id"),
    (Inputs::WORKGROUP_ID_X, "workgroup_id_x"),
    (Inputs::WORKGROUP_ID_Y, "workgroup_id_y"),
    (Inputs::WORKGROUP_ID_Z, "workgroup_id_z"),
    (Inputs::WORKITEM_ID_X, "workitem_id_x"),
    (Inputs::WORKITEM_ID_Y, "workitem_id_y"),
    (Inputs::WORKITEM_ID_Z, "workitem_id_z"),
    (Inputs::LDS_KERNEL_ID, "lds_kernel_id"),
];

/// The word of a calling convention.
pub(crate) struct CallConvWord(pub CallConv);

impl Display for CallConvWord {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0, CALL_CONVS.iter().find(|(conv, _)| *conv == self.0)) {
            (CallConv::Other(number), _) => write!(f, "cc {number}"),
            (_, Some((_, word))) => f.write_str(word),
            (_, None) => Ok(()),
        }
    }
}

/// Whether `name` stands without quotes after `@`.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'-'))
}

struct Symbol<'a>(&'a str);

impl Display for Symbol<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_plain_name(self.0) { write!(f, "@{}", self.0) } else { write!(f, "@{}", Quoted(self.0)) }
    }
}

/// Prints a reference to a symbol: its name, or its number when it has none.
struct SymbolUse<'a>(&'a Module, SymbolRef);

impl Display for SymbolUse<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.0.symbol_name(self.1), self.1) {
            ("", SymbolRef::Func(func)) => write!(f, "#fn{}", func.as_u32()),
            ("", SymbolRef::Global(global)) => write!(f, "#global{}", global.as_u32()),
            (name, _) => Symbol(name).fmt(f),
        }
    }
}

fn linkage(f: &mut Formatter<'_>, linkage: Linkage, visibility: Visibility) -> fmt::Result {
    if linkage != Linkage::External {
        write!(f, " {}", linkage.word())?;
    }
    if visibility != Visibility::Default {
        write!(f, " {}", visibility.word())?;
    }
    Ok(())
}
