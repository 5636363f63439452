//! Intrinsics: one row each, resolved by name when a module is read.
//!
//! Buffer and image intrinsics, which differ in a few facts and have hundreds of names, are families ([`buffer`], [`image`]).

pub mod buffer;
pub mod image;

pub use buffer::{BufferAction, BufferDesc, BufferIntrinsic};
pub use image::{ImageAction, ImageDesc, ImageDim, ImageIntrinsic};

bitflags::bitflags! {
    /// What passes need to know about an intrinsic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct IntrinsicProps: u8 {
        /// Writes memory, synchronises, or must not be removed for another reason.
        const EFFECT = 1 << 0;
        /// Reads memory that others may write.
        const READS = 1 << 1;
        /// Result differs between lanes whatever the operands are.
        const DIVERGENT = 1 << 2;
        /// Result is the same in all lanes whatever the operands are.
        const UNIFORM = 1 << 3;
        /// Depends on which lanes are active: must not move across branches.
        const CONVERGENT = 1 << 4;
        /// Has no meaning for code generation (debug information, hints): dropped by the reader.
        const DROPPED = 1 << 5;
        /// What follows may not run, or not in all lanes.
        const STOPS = 1 << 6;
    }
}

/// Declares the enum and its table in one place: variant, name after `llvm.` (without the overload suffix), properties.
macro_rules! intrinsics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $(, $($prop:ident)|+)?;)*) => {
        /// An LLVM intrinsic, overloads merged: the types of arguments and result say which one it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "LLVM's own names; LangRef and IntrinsicsAMDGPU.td define them")]
        pub enum Intrinsic {
            $($(#[$doc])* $variant,)*
            /// An access through a buffer resource.
            Buffer(BufferIntrinsic),
            /// An image operation.
            Image(ImageIntrinsic),
        }

        impl Intrinsic {
            /// All intrinsics known to gcnc, but for the families.
            pub const SINGLE: &'static [Self] = &[$(Self::$variant,)*];

            /// Name without `llvm.` and without the overload suffix.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Buffer(buffer) => &buffer.desc().name,
                    Self::Image(image) => &image.desc().name,
                }
            }

            /// Properties.
            #[inline]
            pub fn props(self) -> IntrinsicProps {
                match self {
                    $(Self::$variant => IntrinsicProps::empty()$($(.union(IntrinsicProps::$prop))+)?,)*
                    Self::Buffer(buffer) => buffer.props(),
                    Self::Image(image) => image.props(),
                }
            }
        }
    };
}

intrinsics! {
    // Memory.
    Memcpy = "memcpy", EFFECT;
    MemcpyInline = "memcpy.inline", EFFECT;
    Memmove = "memmove", EFFECT;
    Memset = "memset", EFFECT;
    MemsetInline = "memset.inline", EFFECT;
    MemsetPattern = "experimental.memset.pattern", EFFECT;
    // Floating point.
    Fabs = "fabs";
    Fma = "fma";
    Fmuladd = "fmuladd";
    Sqrt = "sqrt";
    Sin = "sin";
    Cos = "cos";
    Tan = "tan";
    Exp = "exp";
    Exp2 = "exp2";
    Exp10 = "exp10";
    Log = "log";
    Log2 = "log2";
    Log10 = "log10";
    Pow = "pow";
    Powi = "powi";
    Ldexp = "ldexp";
    Frexp = "frexp";
    Floor = "floor";
    Ceil = "ceil";
    Trunc = "trunc";
    Rint = "rint";
    Nearbyint = "nearbyint";
    Round = "round";
    Roundeven = "roundeven";
    Copysign = "copysign";
    Minnum = "minnum";
    Maxnum = "maxnum";
    Minimum = "minimum";
    Maximum = "maximum";
    Minimumnum = "minimumnum";
    Maximumnum = "maximumnum";
    Canonicalize = "canonicalize";
    IsFpclass = "is.fpclass";
    FptouiSat = "fptoui.sat";
    FptosiSat = "fptosi.sat";
    ConvertFromFp16 = "convert.from.fp16";
    ConvertToFp16 = "convert.to.fp16";
    Lrint = "lrint";
    Llrint = "llrint";
    Lround = "lround";
    Llround = "llround";
    Modf = "modf";
    Sincos = "sincos";
    ArithmeticFence = "arithmetic.fence";
    /// The rounding mode is the second argument, by LLVM's numbers.
    FptruncRound = "fptrunc.round";
    GetRounding = "get.rounding", EFFECT | UNIFORM;
    SetRounding = "set.rounding", EFFECT;
    GetFpenv = "get.fpenv", EFFECT | UNIFORM;
    SetFpenv = "set.fpenv", EFFECT;
    ResetFpenv = "reset.fpenv", EFFECT;
    GetFpmode = "get.fpmode", EFFECT | UNIFORM;
    SetFpmode = "set.fpmode", EFFECT;
    ResetFpmode = "reset.fpmode", EFFECT;
    // Integers.
    Abs = "abs";
    Smin = "smin";
    Smax = "smax";
    Umin = "umin";
    Umax = "umax";
    Ucmp = "ucmp";
    Scmp = "scmp";
    Ctpop = "ctpop";
    Ctlz = "ctlz";
    Cttz = "cttz";
    Bswap = "bswap";
    Bitreverse = "bitreverse";
    Fshl = "fshl";
    Fshr = "fshr";
    SaddSat = "sadd.sat";
    UaddSat = "uadd.sat";
    SsubSat = "ssub.sat";
    UsubSat = "usub.sat";
    SshlSat = "sshl.sat";
    UshlSat = "ushl.sat";
    SaddOverflow = "sadd.with.overflow";
    UaddOverflow = "uadd.with.overflow";
    SsubOverflow = "ssub.with.overflow";
    UsubOverflow = "usub.with.overflow";
    SmulOverflow = "smul.with.overflow";
    UmulOverflow = "umul.with.overflow";
    SmulFix = "smul.fix";
    SmulFixSat = "smul.fix.sat";
    UmulFix = "umul.fix";
    UmulFixSat = "umul.fix.sat";
    SdivFix = "sdiv.fix";
    SdivFixSat = "sdiv.fix.sat";
    UdivFix = "udiv.fix";
    UdivFixSat = "udiv.fix.sat";
    Clmul = "clmul";
    // Vectors: rearrangement, masks.
    VectorReverse = "vector.reverse";
    VectorSplice = "vector.splice";
    VectorSpliceLeft = "vector.splice.left";
    VectorSpliceRight = "vector.splice.right";
    VectorInsert = "vector.insert";
    VectorExtract = "vector.extract";
    VectorInterleave2 = "vector.interleave2";
    VectorInterleave3 = "vector.interleave3";
    VectorInterleave4 = "vector.interleave4";
    VectorInterleave5 = "vector.interleave5";
    VectorInterleave6 = "vector.interleave6";
    VectorInterleave7 = "vector.interleave7";
    VectorInterleave8 = "vector.interleave8";
    VectorDeinterleave2 = "vector.deinterleave2";
    VectorDeinterleave3 = "vector.deinterleave3";
    VectorDeinterleave4 = "vector.deinterleave4";
    VectorDeinterleave5 = "vector.deinterleave5";
    VectorDeinterleave6 = "vector.deinterleave6";
    VectorDeinterleave7 = "vector.deinterleave7";
    VectorDeinterleave8 = "vector.deinterleave8";
    Stepvector = "stepvector";
    GetActiveLaneMask = "get.active.lane.mask";
    PartialReduceAdd = "vector.partial.reduce.add";
    VectorCompress = "experimental.vector.compress";
    CttzElts = "experimental.cttz.elts";
    VectorMatch = "experimental.vector.match";
    ExtractLastActive = "experimental.vector.extract.last.active";
    MaskedLoad = "masked.load", READS;
    MaskedStore = "masked.store", EFFECT;
    MaskedGather = "masked.gather", READS;
    MaskedScatter = "masked.scatter", EFFECT;
    MaskedExpandload = "masked.expandload", READS;
    MaskedCompressstore = "masked.compressstore", EFFECT;
    // Vector reductions.
    ReduceAdd = "vector.reduce.add";
    ReduceMul = "vector.reduce.mul";
    ReduceAnd = "vector.reduce.and";
    ReduceOr = "vector.reduce.or";
    ReduceXor = "vector.reduce.xor";
    ReduceSmin = "vector.reduce.smin";
    ReduceSmax = "vector.reduce.smax";
    ReduceUmin = "vector.reduce.umin";
    ReduceUmax = "vector.reduce.umax";
    ReduceFadd = "vector.reduce.fadd";
    ReduceFmul = "vector.reduce.fmul";
    ReduceFmin = "vector.reduce.fmin";
    ReduceFmax = "vector.reduce.fmax";
    ReduceFminimum = "vector.reduce.fminimum";
    ReduceFmaximum = "vector.reduce.fmaximum";
    // Hints and control.
    Assume = "assume", DROPPED;
    NoaliasScopeDecl = "experimental.noalias.scope.decl", DROPPED;
    /// What the stack object holds is undefined from here on; the argument is its address ([`super::Function::stack_object`]).
    LifetimeStart = "lifetime.start", EFFECT;
    /// What the stack object holds is undefined from here on, and nobody may access it until its lifetime starts again.
    LifetimeEnd = "lifetime.end", EFFECT;
    InvariantStart = "invariant.start", DROPPED;
    InvariantEnd = "invariant.end", DROPPED;
    DbgDeclare = "dbg.declare", DROPPED;
    DbgValue = "dbg.value", DROPPED;
    DbgLabel = "dbg.label", DROPPED;
    DbgAssign = "dbg.assign", DROPPED;
    FakeUse = "fake.use", DROPPED;
    Donothing = "donothing", DROPPED;
    Sideeffect = "sideeffect", DROPPED;
    VarAnnotation = "var.annotation", DROPPED;
    CodeviewAnnotation = "codeview.annotation", DROPPED;
    Pseudoprobe = "pseudoprobe", DROPPED;
    ConvergenceEntry = "experimental.convergence.entry", DROPPED;
    ConvergenceLoop = "experimental.convergence.loop", DROPPED;
    ConvergenceAnchor = "experimental.convergence.anchor", DROPPED;
    Expect = "expect";
    ExpectWithProbability = "expect.with.probability";
    LaunderInvariantGroup = "launder.invariant.group";
    StripInvariantGroup = "strip.invariant.group";
    SsaCopy = "ssa.copy";
    PtrAnnotation = "ptr.annotation";
    Annotation = "annotation";
    AllowRuntimeCheck = "allow.runtime.check";
    AllowUbsanCheck = "allow.ubsan.check";
    TypeTest = "type.test";
    PublicTypeTest = "public.type.test";
    WidenableCondition = "experimental.widenable.condition";
    GetDynamicAreaOffset = "get.dynamic.area.offset", UNIFORM;
    Ptrmask = "ptrmask";
    Objectsize = "objectsize";
    IsConstant = "is.constant";
    ThreadlocalAddress = "threadlocal.address";
    Trap = "trap", EFFECT | STOPS;
    Ubsantrap = "ubsantrap", EFFECT | STOPS;
    Debugtrap = "debugtrap", EFFECT;
    Prefetch = "prefetch", EFFECT;
    Readcyclecounter = "readcyclecounter", EFFECT | UNIFORM;
    Readsteadycounter = "readsteadycounter", EFFECT | UNIFORM;
    VaStart = "va_start", EFFECT;
    VaCopy = "va_copy", EFFECT;
    VaEnd = "va_end", DROPPED;
    Stacksave = "stacksave", EFFECT | UNIFORM;
    Stackrestore = "stackrestore", EFFECT;
    Returnaddress = "returnaddress", UNIFORM;
    Frameaddress = "frameaddress", UNIFORM;
    Addressofreturnaddress = "addressofreturnaddress", UNIFORM;
    Sponentry = "sponentry", UNIFORM;
    /// The register is the argument: a number that [`Intrinsic::named_register`] gives.
    ReadRegister = "read_register", EFFECT | UNIFORM;
    ReadVolatileRegister = "read_volatile_register", EFFECT | UNIFORM;
    /// The register is the last argument.
    WriteRegister = "write_register", EFFECT;
    // AMDGPU: identity and dispatch.
    WorkitemIdX = "amdgcn.workitem.id.x", DIVERGENT;
    WorkitemIdY = "amdgcn.workitem.id.y", DIVERGENT;
    WorkitemIdZ = "amdgcn.workitem.id.z", DIVERGENT;
    WorkgroupIdX = "amdgcn.workgroup.id.x", UNIFORM;
    WorkgroupIdY = "amdgcn.workgroup.id.y", UNIFORM;
    WorkgroupIdZ = "amdgcn.workgroup.id.z", UNIFORM;
    DispatchPtr = "amdgcn.dispatch.ptr", UNIFORM;
    DispatchId = "amdgcn.dispatch.id", UNIFORM;
    QueuePtr = "amdgcn.queue.ptr", UNIFORM;
    ImplicitargPtr = "amdgcn.implicitarg.ptr", UNIFORM;
    KernargSegmentPtr = "amdgcn.kernarg.segment.ptr", UNIFORM;
    Groupstaticsize = "amdgcn.groupstaticsize", UNIFORM;
    Wavefrontsize = "amdgcn.wavefrontsize", UNIFORM;
    IsShared = "amdgcn.is.shared";
    IsPrivate = "amdgcn.is.private";
    AddrspacecastNonnull = "amdgcn.addrspacecast.nonnull";
    LdsKernelId = "amdgcn.lds.kernel.id", UNIFORM;
    WaveId = "amdgcn.wave.id", UNIFORM;
    ImplicitBufferPtr = "amdgcn.implicit.buffer.ptr", UNIFORM;
    /// The symbol whose low half is the result is the argument.
    RelocConstant = "amdgcn.reloc.constant", UNIFORM;
    PopsExitingWaveId = "amdgcn.pops.exiting.wave.id", EFFECT | UNIFORM;
    // AMDGPU: synchronisation and special instructions.
    SBarrier = "amdgcn.s.barrier", EFFECT | CONVERGENT;
    WaveBarrier = "amdgcn.wave.barrier", EFFECT | CONVERGENT;
    SGetpc = "amdgcn.s.getpc", UNIFORM | CONVERGENT;
    STtracedata = "amdgcn.s.ttracedata", EFFECT;
    SIncperflevel = "amdgcn.s.incperflevel", EFFECT;
    SDecperflevel = "amdgcn.s.decperflevel", EFFECT;
    SWaitcnt = "amdgcn.s.waitcnt", EFFECT;
    SSleep = "amdgcn.s.sleep", EFFECT;
    SSethalt = "amdgcn.s.sethalt", EFFECT | STOPS;
    SSetprio = "amdgcn.s.setprio", EFFECT;
    SNop = "amdgcn.s.nop", EFFECT;
    SMemtime = "amdgcn.s.memtime", EFFECT | UNIFORM;
    SGetWaveidInWorkgroup = "amdgcn.s.get.waveid.in.workgroup", EFFECT | UNIFORM;
    SMemrealtime = "amdgcn.s.memrealtime", EFFECT | UNIFORM;
    SGetreg = "amdgcn.s.getreg", EFFECT | UNIFORM;
    SSetreg = "amdgcn.s.setreg", EFFECT;
    SSendmsg = "amdgcn.s.sendmsg", EFFECT;
    SSendmsghalt = "amdgcn.s.sendmsghalt", EFFECT | STOPS;
    SDcacheInv = "amdgcn.s.dcache.inv", EFFECT;
    SDcacheWb = "amdgcn.s.dcache.wb", EFFECT;
    BufferWbinvl1 = "amdgcn.buffer.wbinvl1", EFFECT;
    SDcacheInvVol = "amdgcn.s.dcache.inv.vol", EFFECT;
    SDcacheWbVol = "amdgcn.s.dcache.wb.vol", EFFECT;
    BufferWbinvl1Sc = "amdgcn.buffer.wbinvl1.sc", EFFECT;
    BufferWbinvl1Vol = "amdgcn.buffer.wbinvl1.vol", EFFECT;
    SchedBarrier = "amdgcn.sched.barrier", EFFECT;
    SchedGroupBarrier = "amdgcn.sched.group.barrier", EFFECT;
    IglpOpt = "amdgcn.iglp.opt", EFFECT;
    Endpgm = "amdgcn.endpgm", EFFECT | STOPS;
    // AMDGPU: across lanes.
    Readlane = "amdgcn.readlane", UNIFORM | CONVERGENT;
    Readfirstlane = "amdgcn.readfirstlane", UNIFORM | CONVERGENT;
    Writelane = "amdgcn.writelane", DIVERGENT | CONVERGENT;
    Ballot = "amdgcn.ballot", UNIFORM | CONVERGENT;
    InverseBallot = "amdgcn.inverse.ballot", DIVERGENT | CONVERGENT;
    AmdgcnIcmp = "amdgcn.icmp", UNIFORM | CONVERGENT;
    AmdgcnFcmp = "amdgcn.fcmp", UNIFORM | CONVERGENT;
    MbcntLo = "amdgcn.mbcnt.lo", DIVERGENT;
    MbcntHi = "amdgcn.mbcnt.hi", DIVERGENT;
    DsSwizzle = "amdgcn.ds.swizzle", DIVERGENT | CONVERGENT;
    DsBpermute = "amdgcn.ds.bpermute", DIVERGENT | CONVERGENT;
    DsPermute = "amdgcn.ds.permute", DIVERGENT | CONVERGENT;
    MovDpp = "amdgcn.mov.dpp", DIVERGENT | CONVERGENT;
    UpdateDpp = "amdgcn.update.dpp", DIVERGENT | CONVERGENT;
    MovDpp8 = "amdgcn.mov.dpp8", DIVERGENT | CONVERGENT;
    Permlane16 = "amdgcn.permlane16", DIVERGENT | CONVERGENT;
    Permlanex16 = "amdgcn.permlanex16", DIVERGENT | CONVERGENT;
    SBitreplicate = "amdgcn.s.bitreplicate", UNIFORM | CONVERGENT;
    SQuadmask = "amdgcn.s.quadmask", UNIFORM | CONVERGENT;
    SWqm = "amdgcn.s.wqm", UNIFORM | CONVERGENT;
    WaveReduceAdd = "amdgcn.wave.reduce.add", UNIFORM | CONVERGENT;
    WaveReduceSub = "amdgcn.wave.reduce.sub", UNIFORM | CONVERGENT;
    WaveReduceMin = "amdgcn.wave.reduce.min", UNIFORM | CONVERGENT;
    WaveReduceMax = "amdgcn.wave.reduce.max", UNIFORM | CONVERGENT;
    WaveReduceUmin = "amdgcn.wave.reduce.umin", UNIFORM | CONVERGENT;
    WaveReduceUmax = "amdgcn.wave.reduce.umax", UNIFORM | CONVERGENT;
    WaveReduceAnd = "amdgcn.wave.reduce.and", UNIFORM | CONVERGENT;
    WaveReduceOr = "amdgcn.wave.reduce.or", UNIFORM | CONVERGENT;
    WaveReduceXor = "amdgcn.wave.reduce.xor", UNIFORM | CONVERGENT;
    WaveReduceFadd = "amdgcn.wave.reduce.fadd", UNIFORM | CONVERGENT;
    WaveReduceFsub = "amdgcn.wave.reduce.fsub", UNIFORM | CONVERGENT;
    WaveReduceFmin = "amdgcn.wave.reduce.fmin", UNIFORM | CONVERGENT;
    WaveReduceFmax = "amdgcn.wave.reduce.fmax", UNIFORM | CONVERGENT;
    // AMDGPU: which lanes run.
    SetInactive = "amdgcn.set.inactive", DIVERGENT | CONVERGENT;
    CsChain = "amdgcn.cs.chain", EFFECT | STOPS | CONVERGENT;
    SetInactiveChainArg = "amdgcn.set.inactive.chain.arg", DIVERGENT | CONVERGENT;
    StrictWwm = "amdgcn.strict.wwm", CONVERGENT;
    Wwm = "amdgcn.wwm", CONVERGENT;
    StrictWqm = "amdgcn.strict.wqm", CONVERGENT;
    Wqm = "amdgcn.wqm", CONVERGENT;
    Softwqm = "amdgcn.softwqm", CONVERGENT;
    WqmVote = "amdgcn.wqm.vote", DIVERGENT | CONVERGENT;
    WqmDemote = "amdgcn.wqm.demote", EFFECT | CONVERGENT | STOPS;
    Kill = "amdgcn.kill", EFFECT | CONVERGENT | STOPS;
    PsLive = "amdgcn.ps.live", DIVERGENT | CONVERGENT;
    LiveMask = "amdgcn.live.mask", DIVERGENT | CONVERGENT;
    InitExec = "amdgcn.init.exec", EFFECT | CONVERGENT;
    InitExecFromInput = "amdgcn.init.exec.from.input", EFFECT | CONVERGENT;
    // AMDGPU: graphics.
    InterpMov = "amdgcn.interp.mov", DIVERGENT;
    InterpP1 = "amdgcn.interp.p1", DIVERGENT;
    InterpP2 = "amdgcn.interp.p2", DIVERGENT;
    InterpP1F16 = "amdgcn.interp.p1.f16", DIVERGENT;
    InterpP2F16 = "amdgcn.interp.p2.f16", DIVERGENT;
    Export = "amdgcn.exp", EFFECT;
    ExportCompr = "amdgcn.exp.compr", EFFECT;
    CubeId = "amdgcn.cubeid";
    CubeMa = "amdgcn.cubema";
    CubeSc = "amdgcn.cubesc";
    CubeTc = "amdgcn.cubetc";
    // AMDGPU: arithmetic.
    Rcp = "amdgcn.rcp";
    Rsq = "amdgcn.rsq";
    RsqClamp = "amdgcn.rsq.clamp";
    RcpLegacy = "amdgcn.rcp.legacy";
    RsqLegacy = "amdgcn.rsq.legacy";
    LogClamp = "amdgcn.log.clamp";
    FdivFast = "amdgcn.fdiv.fast";
    AmdgcnSqrt = "amdgcn.sqrt";
    AmdgcnSin = "amdgcn.sin";
    AmdgcnCos = "amdgcn.cos";
    AmdgcnLog = "amdgcn.log";
    AmdgcnExp2 = "amdgcn.exp2";
    Fract = "amdgcn.fract";
    FrexpMant = "amdgcn.frexp.mant";
    FrexpExp = "amdgcn.frexp.exp";
    AmdgcnLdexp = "amdgcn.ldexp";
    AmdgcnClass = "amdgcn.class";
    TrigPreop = "amdgcn.trig.preop";
    DivScale = "amdgcn.div.scale";
    DivFmas = "amdgcn.div.fmas";
    DivFixup = "amdgcn.div.fixup";
    Fmed3 = "amdgcn.fmed3";
    FmulLegacy = "amdgcn.fmul.legacy";
    FmaLegacy = "amdgcn.fma.legacy";
    FmadFtz = "amdgcn.fmad.ftz";
    CvtPkrtz = "amdgcn.cvt.pkrtz";
    CvtPknormI16 = "amdgcn.cvt.pknorm.i16";
    CvtPknormU16 = "amdgcn.cvt.pknorm.u16";
    CvtPkI16 = "amdgcn.cvt.pk.i16";
    CvtPkU16 = "amdgcn.cvt.pk.u16";
    CvtPkU8F32 = "amdgcn.cvt.pk.u8.f32";
    Ubfe = "amdgcn.ubfe";
    Sbfe = "amdgcn.sbfe";
    Lerp = "amdgcn.lerp";
    SadU8 = "amdgcn.sad.u8";
    SadHiU8 = "amdgcn.sad.hi.u8";
    SadU16 = "amdgcn.sad.u16";
    MsadU8 = "amdgcn.msad.u8";
    QsadPkU16U8 = "amdgcn.qsad.pk.u16.u8";
    MqsadPkU16U8 = "amdgcn.mqsad.pk.u16.u8";
    MqsadU32U8 = "amdgcn.mqsad.u32.u8";
    CvtOffF32I4 = "amdgcn.cvt.off.f32.i4";
    Perm = "amdgcn.perm";
    Alignbyte = "amdgcn.alignbyte";
    MulI24 = "amdgcn.mul.i24";
    MulU24 = "amdgcn.mul.u24";
    MulhiI24 = "amdgcn.mulhi.i24";
    MulhiU24 = "amdgcn.mulhi.u24";
    Sffbh = "amdgcn.sffbh";
    Sdot2 = "amdgcn.sdot2";
    Udot2 = "amdgcn.udot2";
    Sdot4 = "amdgcn.sdot4";
    Udot4 = "amdgcn.udot4";
    Sdot8 = "amdgcn.sdot8";
    Udot8 = "amdgcn.udot8";
    Fdot2 = "amdgcn.fdot2";
    // AMDGPU: LDS and buffers.
    DsFadd = "amdgcn.ds.fadd", EFFECT;
    DsFmin = "amdgcn.ds.fmin", EFFECT;
    DsFmax = "amdgcn.ds.fmax", EFFECT;
    DsAppend = "amdgcn.ds.append", EFFECT | UNIFORM | CONVERGENT;
    DsConsume = "amdgcn.ds.consume", EFFECT | UNIFORM | CONVERGENT;
    DsOrderedAdd = "amdgcn.ds.ordered.add", EFFECT | CONVERGENT;
    DsOrderedSwap = "amdgcn.ds.ordered.swap", EFFECT | CONVERGENT;
    DsGwsInit = "amdgcn.ds.gws.init", EFFECT | CONVERGENT;
    DsGwsBarrier = "amdgcn.ds.gws.barrier", EFFECT | CONVERGENT;
    DsGwsSemaV = "amdgcn.ds.gws.sema.v", EFFECT | CONVERGENT;
    DsGwsSemaBr = "amdgcn.ds.gws.sema.br", EFFECT | CONVERGENT;
    DsGwsSemaP = "amdgcn.ds.gws.sema.p", EFFECT | CONVERGENT;
    DsGwsSemaReleaseAll = "amdgcn.ds.gws.sema.release.all", EFFECT | CONVERGENT;
    GlobalLoadLds = "amdgcn.global.load.lds", EFFECT;
    LoadToLds = "amdgcn.load.to.lds", EFFECT;
    SBufferLoad = "amdgcn.s.buffer.load", READS;
    ImageBvhIntersectRay = "amdgcn.image.bvh.intersect.ray", READS;
    MakeBufferRsrc = "amdgcn.make.buffer.rsrc";
    AmdgcnUnreachable = "amdgcn.unreachable", EFFECT | STOPS;
    // The header in front of kernel arguments where there is no operating system.
    R600ReadNgroupsX = "r600.read.ngroups.x";
    R600ReadNgroupsY = "r600.read.ngroups.y";
    R600ReadNgroupsZ = "r600.read.ngroups.z";
    R600ReadGlobalSizeX = "r600.read.global.size.x";
    R600ReadGlobalSizeY = "r600.read.global.size.y";
    R600ReadGlobalSizeZ = "r600.read.global.size.z";
    R600ReadLocalSizeX = "r600.read.local.size.x";
    R600ReadLocalSizeY = "r600.read.local.size.y";
    R600ReadLocalSizeZ = "r600.read.local.size.z";
    // Of gcnc itself, in legal IR alone: `(i32 dword, i32 register)` is a part of what a shader returns.
    ShaderResult = "gcnc.shader.result", EFFECT;
    // The same: `(address of 64 bits, mask of lanes)`, the last instruction of a block that returns: the wave goes on with a chain function.
    ChainJump = "gcnc.chain.jump", EFFECT | CONVERGENT;
}

/// Registers that `read_register` and `write_register` may name, with their dwords, as LLVM's back end has them.
pub const NAMED_REGISTERS: [(&str, u32); 7] = [
    ("m0", 1),
    ("exec", 2),
    ("exec_lo", 1),
    ("exec_hi", 1),
    ("flat_scratch", 2),
    ("flat_scratch_lo", 1),
    ("flat_scratch_hi", 1),
];

impl Intrinsic {
    /// All intrinsics known to gcnc.
    pub fn all() -> impl Iterator<Item = Self> {
        let buffers = BufferIntrinsic::all().map(Self::Buffer);
        Self::SINGLE.iter().copied().chain(buffers).chain(ImageIntrinsic::all().map(Self::Image))
    }

    /// The dimension (0 to 2) in which this is the work-item's id in its work-group.
    pub fn work_item_dimension(self) -> Option<usize> {
        match self {
            Self::WorkitemIdX => Some(0),
            Self::WorkitemIdY => Some(1),
            Self::WorkitemIdZ => Some(2),
            _ => None,
        }
    }

    /// The intrinsic of exactly this base name (no `llvm.`, no overload suffix).
    pub fn from_name(name: &str) -> Option<Self> {
        use std::sync::OnceLock;
        static INDEX: OnceLock<rustc_hash::FxHashMap<&'static str, Intrinsic>> = OnceLock::new();
        INDEX.get_or_init(|| Self::all().map(|i| (i.name(), i)).collect()).get(name).copied()
    }

    /// The intrinsic that `name` (the full LLVM name, `llvm.` included) means: overload suffixes, which look like types,
    /// are cut at dots from the right until a known name is left. Where LLVM knows the base name, ask
    /// [`Self::from_name`] instead: a longer name may end like a type (`amdgcn.fdot2.f16.f16`).
    pub fn from_llvm_name(name: &str) -> Option<Self> {
        let mut rest = name.strip_prefix("llvm.")?;
        loop {
            if let Some(found) = Self::from_name(rest) {
                return Some(found);
            }
            let dot = rest.rfind('.')?;
            if !is_type_suffix(&rest[dot + 1..]) {
                return None;
            }
            rest = &rest[..dot];
        }
    }

    /// The number of a register that `read_register` and `write_register` may name, and its dwords.
    pub fn named_register(name: &str) -> Option<(u64, u32)> {
        let index = NAMED_REGISTERS.iter().position(|&(known, _)| known == name)?;
        Some((index as u64, NAMED_REGISTERS[index].1))
    }

    /// Whether what follows may not run, or not in all lanes.
    #[inline]
    pub fn may_stop(self) -> bool {
        self.props().contains(IntrinsicProps::STOPS)
    }

    /// Whether it may not be removed when its result is unused.
    #[inline]
    pub fn has_side_effects(self) -> bool {
        self.props().contains(IntrinsicProps::EFFECT)
    }
}

/// Whether `part` is how LLVM mangles a type in an intrinsic's name: `v4f32`, `p3`, `i64`, `bf16`, `s_...`, `a4i8`.
fn is_type_suffix(part: &str) -> bool {
    if part.starts_with("s_") || part.starts_with("sl_") {
        return true;
    }
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mut rest = part;
    // Vector and array prefixes: a letter and a length.
    while let Some(inner) = rest.strip_prefix(['v', 'a']) {
        let len = inner.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return false;
        }
        rest = &inner[len..];
    }
    ["bf", "i", "f", "p"].iter().any(|prefix| rest.strip_prefix(prefix).is_some_and(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_suffixes_are_cut() {
        assert_eq!(Intrinsic::from_llvm_name("llvm.fma.v2f16"), Some(Intrinsic::Fma));
        assert_eq!(Intrinsic::from_llvm_name("llvm.amdgcn.ds.bpermute"), Some(Intrinsic::DsBpermute));
        assert_eq!(Intrinsic::from_llvm_name("llvm.memcpy.p0.p4.i64"), Some(Intrinsic::Memcpy));
        assert_eq!(Intrinsic::from_llvm_name("llvm.memcpy.inline.p0.p4.i64"), Some(Intrinsic::MemcpyInline));
        assert_eq!(Intrinsic::from_llvm_name("llvm.nonesuch"), None);
        assert_eq!(Intrinsic::from_llvm_name("memcpy"), None);
        assert_eq!(
            Intrinsic::from_llvm_name("llvm.amdgcn.image.sample.c.d.cl.o.2darray.v4f32.f32.f32"),
            Intrinsic::from_name("amdgcn.image.sample.c.d.cl.o.2darray")
        );
        assert_eq!(
            Intrinsic::from_llvm_name("llvm.amdgcn.raw.buffer.load.v4f32"),
            Intrinsic::from_name("amdgcn.raw.buffer.load")
        );
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Intrinsic::all().map(|i| i.name()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
