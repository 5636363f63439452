//! The text form of the IR, written. [`super::parse_module`] reads it back.
//!
//! Close to LLVM's, with three differences that keep reader and writer small: block parameters instead of phis; a
//! definition carries its type (`v5: i32 = add nuw v1, i32 7`), so that only constants repeat theirs; and numbers of
//! values and blocks are the entities' own, so that a value keeps its name from pass to pass.
//!
//! ```text
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
//! }
//! ```
//!
//! Every word is in a table that the parser reads too. Output depends on the data alone.

use super::*;
use std::fmt::{self, Display, Formatter, Write as _};

/// Declares the words of enums: `word` writes, `from_word` reads.
macro_rules! words {
    ($($ty:ident { $($variant:ident = $word:literal),* $(,)? })*) => { $(
        impl $ty {
            /// The variant's word in the text form.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant that `word` means.
            pub fn from_word(word: &str) -> Option<Self> {
                Some(match word { $($word => Self::$variant,)* _ => return None })
            }
        }
    )* };
}

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

pub(super) const INST_FLAGS: [(InstFlags, &str); 15] = [
    (InstFlags::NUW, "nuw"),
    (InstFlags::NSW, "nsw"),
    (InstFlags::EXACT, "exact"),
    (InstFlags::DISJOINT, "disjoint"),
    (InstFlags::NNEG, "nneg"),
    (InstFlags::INBOUNDS, "inbounds"),
    (InstFlags::SAMESIGN, "samesign"),
    (InstFlags::NNAN, "nnan"),
    (InstFlags::NINF, "ninf"),
    (InstFlags::NSZ, "nsz"),
    (InstFlags::ARCP, "arcp"),
    (InstFlags::CONTRACT, "contract"),
    (InstFlags::AFN, "afn"),
    (InstFlags::REASSOC, "reassoc"),
    (InstFlags::STRICT, "strict"),
];

pub(super) const MEM_FLAGS: [(MemFlags, &str); 7] = [
    (MemFlags::VOLATILE, "volatile"),
    (MemFlags::NONTEMPORAL, "nontemporal"),
    (MemFlags::INVARIANT, "invariant"),
    (MemFlags::NO_CLOBBER, "noclobber"),
    (MemFlags::ONE_ADDRESS_SPACE, "one_as"),
    (MemFlags::DEREFERENCEABLE, "speculatable"),
    (MemFlags::DEVICE_MEMORY, "device_memory"),
];

pub(super) const PARAM_FLAGS: [(ParamFlags, &str); 9] = [
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

pub(super) const FUNC_FLAGS: [(FuncFlags, &str); 7] = [
    (FuncFlags::ALWAYS_INLINE, "alwaysinline"),
    (FuncFlags::NO_INLINE, "noinline"),
    (FuncFlags::OPT_NONE, "optnone"),
    (FuncFlags::CONVERGENT, "convergent"),
    (FuncFlags::NO_RETURN, "noreturn"),
    (FuncFlags::OPT_SIZE, "optsize"),
    (FuncFlags::STRICT_FP, "strictfp"),
];

pub(super) const CALL_CONVS: [(CallConv, &str); 10] = [
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
];

/// Writes each word of `table` whose flag is in `$flags`, with a blank before it.
macro_rules! write_flags {
    ($f:expr, $table:expr, $flags:expr) => {
        for (flag, word) in $table {
            if $flags.contains(flag) {
                write!($f, " {word}")?;
            }
        }
    };
}

/// A string in quotes; bytes that are not plain are `\xx`.
pub(super) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{byte:02x}")?,
                0x20..=0x7e => f.write_char(byte as char)?,
                _ => write!(f, "\\{byte:02x}")?,
            }
        }
        f.write_char('"')
    }
}

/// Whether `name` stands without quotes after `@`.
pub(super) fn is_plain_name(name: &str) -> bool {
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

/// Prints a use of a value: `v7`, or a constant with its type; made by [`Function::display_value`].
pub struct DisplayValue<'a> {
    module: &'a Module,
    function: &'a Function,
    value: Value,
}

impl Display for DisplayValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(data) = self.function.values.get(self.value) else { return write!(f, "{}", self.value) };
        let ValueDef::Const(constant) = &data.def else { return write!(f, "{}", self.value) };
        write!(f, "{} ", self.module.types.display(data.ty))?;
        match constant {
            Const::Int(bits) => write!(f, "{bits}"),
            Const::Float(bits) => write!(f, "{bits:#x}"),
            Const::Zero => f.write_str("zero"),
            Const::Undef => f.write_str("undef"),
            Const::Poison => f.write_str("poison"),
            Const::Wide(words) => {
                f.write_str("wide(")?;
                comma_separated(f, words.iter(), |f, word| write!(f, "{word:#x}"))?;
                f.write_char(')')
            }
            Const::Symbol(symbol, offset) => {
                write!(f, "{}", SymbolUse(self.module, *symbol))?;
                if *offset == 0 { Ok(()) } else { write!(f, " offset {offset}") }
            }
            Const::Elements(members) => {
                f.write_char('(')?;
                comma_separated(f, members.iter(), |f, &member| {
                    self.function.display_value(self.module, member).fmt(f)
                })?;
                f.write_char(')')
            }
        }
    }
}

fn comma_separated<T>(
    f: &mut Formatter<'_>,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index != 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}

/// Prints one instruction; made by [`Function::display_inst`].
pub struct DisplayInst<'a> {
    module: &'a Module,
    function: &'a Function,
    inst: Inst,
}

impl DisplayInst<'_> {
    fn values<'v>(&self, f: &mut Formatter<'_>, values: impl IntoIterator<Item = &'v Value>) -> fmt::Result {
        comma_separated(f, values.into_iter(), |f, &v| self.function.display_value(self.module, v).fmt(f))
    }

    fn target(&self, f: &mut Formatter<'_>, target: &Target) -> fmt::Result {
        write!(f, "{}", target.block)?;
        if target.args.is_empty() {
            return Ok(());
        }
        f.write_char('(')?;
        self.values(f, &target.args)?;
        f.write_char(')')
    }

    fn access(&self, f: &mut Formatter<'_>, mem: &MemAccess) -> fmt::Result {
        write!(f, " addrspace({}) align {}", mem.space.0, 1u64 << mem.align_log2.min(63))?;
        write_flags!(f, MEM_FLAGS, mem.flags);
        if mem.ordering != Ordering::NotAtomic {
            write!(f, " {} {}", mem.ordering.word(), mem.scope.word())?;
        }
        Ok(())
    }

    fn operation(&self, f: &mut Formatter<'_>, data: &InstData) -> fmt::Result {
        // The mnemonic, the flags, and then whatever the kind has.
        let mnemonic = match &data.kind {
            InstKind::Unary { op, .. } => op.word(),
            InstKind::Binary { op, .. } => op.word(),
            InstKind::Cast { op, .. } => op.word(),
            InstKind::Icmp { .. } => "icmp",
            InstKind::Fcmp { .. } => "fcmp",
            InstKind::Select { .. } => "select",
            InstKind::PtrAdd { .. } => "ptradd",
            InstKind::Alloca { .. } => "alloca",
            InstKind::Load { .. } => "load",
            InstKind::Store { .. } => "store",
            InstKind::AtomicRmw { .. } => "atomicrmw",
            InstKind::CmpXchg { .. } => "cmpxchg",
            InstKind::Fence { .. } => "fence",
            InstKind::ExtractElement { .. } => "extractelement",
            InstKind::InsertElement { .. } => "insertelement",
            InstKind::Shuffle { .. } => "shufflevector",
            InstKind::ExtractValue { .. } => "extractvalue",
            InstKind::InsertValue { .. } => "insertvalue",
            InstKind::Call { .. } => "call",
            InstKind::Intrinsic { .. } => "intrinsic",
            InstKind::InlineAsm { .. } => "asm",
            InstKind::Jump { .. } => "jump",
            InstKind::Branch { .. } => "br",
            InstKind::Switch { .. } => "switch",
            InstKind::Ret { .. } => "ret",
            InstKind::Unreachable => "unreachable",
        };
        f.write_str(mnemonic)?;
        write_flags!(f, INST_FLAGS, data.flags);
        let path = |f: &mut Formatter<'_>, path: &[u32]| {
            f.write_str(" [")?;
            comma_separated(f, path.iter(), |f, index| write!(f, "{index}"))?;
            f.write_char(']')
        };
        let call = |f: &mut Formatter<'_>, args: &[Value]| {
            f.write_char('(')?;
            self.values(f, args)?;
            f.write_char(')')
        };
        match &data.kind {
            InstKind::Icmp { predicate, .. } => write!(f, " {}", predicate.word())?,
            InstKind::Fcmp { predicate, .. } => write!(f, " {}", predicate.word())?,
            InstKind::AtomicRmw { op, .. } => write!(f, " {}", op.word())?,
            InstKind::CmpXchg { weak: true, .. } => f.write_str(" weak")?,
            InstKind::Unreachable | InstKind::Ret { value: None } => return Ok(()),
            _ => {}
        }
        f.write_char(' ')?;
        match &data.kind {
            InstKind::Unary { arg, .. } | InstKind::Cast { arg, .. } => self.values(f, [arg]),
            InstKind::Binary { args, .. } | InstKind::Icmp { args, .. } | InstKind::Fcmp { args, .. } => {
                self.values(f, args)
            }
            InstKind::Select { cond, if_true, if_false } => self.values(f, [cond, if_true, if_false]),
            InstKind::PtrAdd { base, index, scale, offset } => {
                self.values(f, std::iter::once(base).chain(index))?;
                if index.is_some() {
                    write!(f, " * {scale}")?;
                }
                write!(f, " + {offset}")
            }
            InstKind::Alloca { size_bytes, count, align_log2 } => {
                write!(f, "{size_bytes} align {}", 1u64 << (*align_log2).min(63))?;
                if count.is_some() {
                    f.write_str(", ")?;
                }
                self.values(f, count)
            }
            InstKind::Load { ptr, mem } => {
                self.values(f, [ptr])?;
                self.access(f, mem)
            }
            InstKind::Store { ptr, value, mem } | InstKind::AtomicRmw { ptr, value, mem, .. } => {
                self.values(f, [ptr, value])?;
                self.access(f, mem)
            }
            InstKind::CmpXchg { ptr, expected, replacement, mem, .. } => {
                self.values(f, [ptr, expected, replacement])?;
                self.access(f, mem)
            }
            InstKind::Fence { ordering, scope, flags } => {
                write!(f, "{} {}", ordering.word(), scope.word())?;
                write_flags!(f, MEM_FLAGS, flags);
                Ok(())
            }
            InstKind::ExtractElement { vector, index } => self.values(f, [vector, index]),
            InstKind::InsertElement { vector, element, index } => self.values(f, [vector, element, index]),
            InstKind::Shuffle { args, mask } => {
                self.values(f, args)?;
                f.write_str(" [")?;
                comma_separated(f, mask.iter(), |f, lane| match lane {
                    Some(lane) => write!(f, "{lane}"),
                    None => f.write_char('_'),
                })?;
                f.write_char(']')
            }
            InstKind::ExtractValue { aggregate, path: indices } => {
                self.values(f, [aggregate])?;
                path(f, indices)
            }
            InstKind::InsertValue { aggregate, value, path: indices } => {
                self.values(f, [aggregate, value])?;
                path(f, indices)
            }
            InstKind::Call { callee, args } => {
                match callee {
                    Callee::Func(func) => write!(f, "{}", SymbolUse(self.module, SymbolRef::Func(*func)))?,
                    Callee::Indirect(pointer) => {
                        f.write_str("indirect ")?;
                        self.values(f, [pointer])?;
                        f.write_char(' ')?;
                    }
                }
                call(f, args)
            }
            InstKind::Intrinsic { intrinsic, args } => {
                f.write_str(intrinsic.name())?;
                call(f, args)
            }
            InstKind::InlineAsm { asm, args } => {
                let empty =
                    InlineAsm { text: String::new(), constraints: String::new(), side_effects: false };
                let asm = self.function.inline_asm.get(*asm).unwrap_or(&empty);
                write!(f, "{} {}", Quoted(&asm.text), Quoted(&asm.constraints))?;
                f.write_str(if asm.side_effects { " sideeffect" } else { "" })?;
                call(f, args)
            }
            InstKind::Jump { target } => self.target(f, target),
            InstKind::Branch { cond, if_true, if_false } => {
                self.values(f, [cond])?;
                f.write_str(", ")?;
                self.target(f, if_true)?;
                f.write_str(", ")?;
                self.target(f, if_false)
            }
            InstKind::Switch { value, cases, default } => {
                self.values(f, [value])?;
                f.write_str(", ")?;
                self.target(f, default)?;
                f.write_str(" [")?;
                comma_separated(f, cases.iter(), |f, (case, target)| {
                    write!(f, "{case}: ")?;
                    self.target(f, target)
                })?;
                f.write_char(']')
            }
            InstKind::Ret { value } => self.values(f, value),
            InstKind::Unreachable => Ok(()),
        }
    }
}

impl Display for DisplayInst<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(data) = self.function.insts.get(self.inst) else { return write!(f, "{}", self.inst) };
        if let Some(result) = data.result {
            write!(f, "{result}: {} = ", self.module.types.display(data.ty))?;
        }
        self.operation(f, data)?;
        if data.fpmath_ulp_256 != 0 {
            write!(f, " !fpmath {}", data.fpmath_ulp_256)?;
        }
        if let Some([destination, source]) = self.function.mem_aligns.get(&self.inst) {
            write!(f, " !align {destination} {source}")?;
        }
        let loc = self.function.locs[self.inst];
        if loc != SourceLoc::default() {
            write!(f, " !loc {} {} {}", loc.file, loc.line, loc.column)?;
        }
        Ok(())
    }
}

impl Function {
    /// Prints a use of `value`: `v7`, or a constant with its type.
    pub fn display_value<'a>(&'a self, module: &'a Module, value: Value) -> DisplayValue<'a> {
        DisplayValue { module, function: self, value }
    }

    /// Prints `inst`, for messages and dumps.
    pub fn display_inst<'a>(&'a self, module: &'a Module, inst: Inst) -> DisplayInst<'a> {
        DisplayInst { module, function: self, inst }
    }

    /// Prints the function, whose symbols and types are those of `module`.
    pub fn display<'a>(&'a self, module: &'a Module) -> DisplayFunction<'a> {
        DisplayFunction { module, function: self }
    }
}

/// Prints a function; made by [`Function::display`].
pub struct DisplayFunction<'a> {
    module: &'a Module,
    function: &'a Function,
}

impl DisplayFunction<'_> {
    fn param(&self, f: &mut Formatter<'_>, param: &Param) -> fmt::Result {
        let ty = self.function.ty(param.value);
        write!(f, "{}: {}", param.value, self.module.types.display(ty))?;
        write_flags!(f, PARAM_FLAGS, param.flags);
        if param.align_log2 != 0 {
            write!(f, " align {}", 1u64 << param.align_log2.min(63))?;
        }
        if param.dereferenceable_bytes != 0 {
            write!(f, " dereferenceable {}", param.dereferenceable_bytes)?;
        }
        if let Some(indirect) = param.indirect {
            let word = if indirect.by_value { "byval" } else { "byref" };
            write!(f, " {word} {}", self.module.types.display(indirect.ty))?;
        }
        if !param.name.is_empty() {
            write!(f, " {}", Quoted(&param.name))?;
        }
        Ok(())
    }

    fn header(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.function;
        f.write_str(if function.is_declaration() { "declare " } else { "define " })?;
        match (function.call_conv, CALL_CONVS.iter().find(|(conv, _)| *conv == function.call_conv)) {
            (CallConv::Other(number), _) => write!(f, "cc {number}")?,
            (_, Some((_, word))) => f.write_str(word)?,
            _ => {}
        }
        write!(f, " {} {}(", self.module.types.display(function.ret), Symbol(&function.name))?;
        comma_separated(f, function.params.iter(), |f, param| self.param(f, param))?;
        f.write_str(if function.variadic { " ...)" } else { ")" })?;
        linkage(f, function.linkage, function.visibility)?;
        write_flags!(f, FUNC_FLAGS, function.flags);
        if !function.section.is_empty() {
            write!(f, " section {}", Quoted(&function.section))?;
        }
        if function.loc != SourceLoc::default() {
            write!(f, " loc {} {} {}", function.loc.file, function.loc.line, function.loc.column)?;
        }
        for (key, value) in &function.attributes {
            write!(f, "\n    {} = {}", Quoted(key), Quoted(value))?;
        }
        let kernel = &function.kernel;
        for arg in &kernel.args {
            let KernelArgInfo { name, addr_space, access, ty, base_ty, qualifiers } = arg;
            write!(f, "\n    kernel_arg {addr_space}")?;
            for text in [name, access, ty, base_ty, qualifiers] {
                write!(f, " {}", Quoted(text))?;
            }
        }
        for (word, size) in [
            ("reqd_work_group_size", kernel.reqd_work_group_size),
            ("work_group_size_hint", kernel.work_group_size_hint),
        ] {
            if let Some([x, y, z]) = size {
                write!(f, "\n    {word} {x} {y} {z}")?;
            }
        }
        for (word, text) in [
            ("vec_type_hint", &kernel.vec_type_hint),
            ("device_enqueue_symbol", &kernel.device_enqueue_symbol),
        ] {
            if let Some(text) = text {
                write!(f, "\n    {word} {}", Quoted(text))?;
            }
        }
        Ok(())
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

impl Display for DisplayFunction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.header(f)?;
        let function = self.function;
        if function.is_declaration() {
            return f.write_char('\n');
        }
        f.write_str(" {\n")?;
        for &block in &function.layout {
            let data = &function.blocks[block];
            write!(f, "{block}")?;
            if !data.params.is_empty() {
                f.write_char('(')?;
                comma_separated(f, data.params.iter(), |f, &param| {
                    write!(f, "{param}: {}", self.module.types.display(function.ty(param)))
                })?;
                f.write_char(')')?;
            }
            f.write_str(if data.no_unroll { " no_unroll:\n" } else { ":\n" })?;
            for &inst in &data.insts {
                writeln!(f, "  {}", function.display_inst(self.module, inst))?;
            }
        }
        f.write_str("}\n")
    }
}

fn initializer(f: &mut Formatter<'_>, module: &Module, init: &Initializer) -> fmt::Result {
    f.write_str(" init \"")?;
    for byte in &init.bytes {
        write!(f, "{byte:02x}")?;
    }
    f.write_char('"')?;
    if init.relocations.is_empty() {
        return Ok(());
    }
    f.write_str(" [")?;
    comma_separated(f, init.relocations.iter(), |f, relocation| {
        let InitializerRelocation { offset_bytes, width_bytes, symbol, addend } = relocation;
        write!(f, "{offset_bytes}: {width_bytes} {} + {addend}", SymbolUse(module, *symbol))
    })?;
    f.write_char(']')
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "module {}", Quoted(&self.name))?;
        writeln!(f, "triple {}", Quoted(&self.triple))?;
        if !self.inline_asm.is_empty() {
            writeln!(f, "module_asm {}", Quoted(&self.inline_asm))?;
        }
        if let Some(version) = self.code_object_version_flag {
            writeln!(f, "code_object_version {version}")?;
        }
        if let Some([major, minor]) = self.opencl_version {
            writeln!(f, "opencl_version {major} {minor}")?;
        }
        for (word, texts) in
            [("ident", &self.idents), ("printf_format", &self.printf_formats), ("file", &self.files)]
        {
            for text in texts {
                writeln!(f, "{word} {}", Quoted(text))?;
            }
        }
        for global in self.globals.values() {
            write!(f, "global {}", Symbol(&global.name))?;
            linkage(f, global.linkage, global.visibility)?;
            write!(f, " addrspace({})", global.space.0)?;
            f.write_str(if global.is_constant { " constant" } else { "" })?;
            write!(f, " size {} align {}", global.size_bytes, 1u64 << global.align_log2.min(63))?;
            if !global.section.is_empty() {
                write!(f, " section {}", Quoted(&global.section))?;
            }
            if let Some(init) = &global.init {
                initializer(f, self, init)?;
            }
            f.write_char('\n')?;
        }
        for alias in &self.aliases {
            write!(f, "alias {}", Symbol(&alias.name))?;
            linkage(f, alias.linkage, alias.visibility)?;
            writeln!(f, " = {} + {}", SymbolUse(self, alias.target), alias.offset)?;
        }
        for &symbol in &self.used {
            writeln!(f, "used {}", SymbolUse(self, symbol))?;
        }
        for function in self.functions.values() {
            write!(f, "\n{}", function.display(self))?;
        }
        Ok(())
    }
}
