//! Machine functions: blocks on two graphs, virtual registers, frame, entry state.

use super::{Inst, PReg, RegFile, VReg};
use crate::ir::{AddrSpace, CallConv, SourceLoc, SymbolRef};
use crate::target::{ScratchAccess, Target, WaveSize};
use cranelift_entity::{PrimaryMap, entity_impl};
use smallvec::SmallVec;

/// A machine basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "mbb");

/// An object in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameSlot(u32);
entity_impl!(FrameSlot, "slot");

/// A symbol that the function refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(u32);
entity_impl!(SymbolId, "sym");

bitflags::bitflags! {
    /// What the allocator must know about a virtual register besides file and width.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct VRegFlags: u8 {
        /// A VGPR whose inactive lanes matter (written or read across lanes): it lives on the wave graph.
        const WHOLE_WAVE = 1 << 0;
        /// SGPRs that hold one bit a lane.
        const LANE_MASK = 1 << 1;
        /// Stays in its register from definition to last use: emission reads it in between.
        const PINNED = 1 << 2;
        /// A VGPR with the same number in all lanes that are active where it is defined. Selection marks single dwords that other blocks use.
        const UNIFORM = 1 << 3;
    }
}

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VRegData {
    /// Register file.
    pub file: RegFile,
    /// Width in dwords, 1 to 32. SGPR tuples of 2 are aligned to 2, wider ones to 4.
    pub dwords: u8,
    /// Special properties.
    pub flags: VRegFlags,
    /// Preferred physical register.
    pub hint: Option<PReg>,
}

impl VRegData {
    /// A mask of lanes.
    #[inline]
    pub const fn mask(wave: WaveSize) -> Self {
        Self { file: RegFile::Sgpr, dwords: wave.mask_dwords(), flags: VRegFlags::LANE_MASK, hint: None }
    }

    /// Whether it belongs to the wave, so that its liveness follows the wave graph: SGPRs and whole-wave VGPRs.
    #[inline]
    pub fn wave_level(&self) -> bool {
        self.file == RegFile::Sgpr || self.flags.contains(VRegFlags::WHOLE_WAVE)
    }
}

/// An edge of one of the graphs with the arguments for the target's parameters of that graph's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Target.
    pub block: Block,
    /// One register for each parameter: [`BlockData::vparams`] on thread edges, [`BlockData::sparams`] on wave edges.
    pub args: SmallVec<[VReg; 4]>,
}

/// Conditions that a scalar branch tests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the suffixes of s_cbranch")]
pub enum Condition {
    Scc0,
    Scc1,
    Vccz,
    Vccnz,
    Execz,
    Execnz,
}

impl Condition {
    /// The opposite condition.
    #[inline]
    pub fn inverse(self) -> Self {
        match self {
            Self::Scc0 => Self::Scc1,
            Self::Scc1 => Self::Scc0,
            Self::Vccz => Self::Vccnz,
            Self::Vccnz => Self::Vccz,
            Self::Execz => Self::Execnz,
            Self::Execnz => Self::Execz,
        }
    }
}

/// How the wave leaves a block. Successor numbers index [`BlockData::wave_succs`] (before linearisation, when the wave graph
/// does not exist yet, [`BlockData::thread_succs`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminator {
    /// To successor 0.
    Jump,
    /// To successor 0 where the condition holds, else to successor 1. All active lanes agree.
    Uniform(Condition),
    /// Lanes whose bit in the mask is set go to successor 0, the others to successor 1. Only before linearisation.
    Divergent(VReg),
    /// `s_endpgm`.
    EndProgram,
    /// Return to the caller; the return address is an operand of the block's last instruction.
    Return,
    /// Control does not get here.
    Unreachable,
}

/// A block; see the module's documentation for its parts.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockData {
    /// VGPR parameters, passed along thread edges.
    pub vparams: Vec<VReg>,
    /// SGPR parameters: passed along thread edges' `sargs` before linearisation, along wave edges after.
    pub sparams: Vec<VReg>,
    /// Instructions.
    pub insts: Vec<Inst>,
    /// Number of instructions at the start that set EXEC.
    pub head_len: u32,
    /// Index of the first instruction of the tail.
    pub tail_start: u32,
    /// How the wave leaves.
    pub term: Terminator,
    /// Thread graph: where lanes go, with VGPR arguments.
    pub thread_succs: SmallVec<[Edge; 2]>,
    /// SGPR arguments along the thread edges, in the order of `thread_succs`; only before linearisation.
    pub thread_sargs: SmallVec<[SmallVec<[VReg; 4]>; 2]>,
    /// Wave graph: where the wave goes, with SGPR arguments; empty before linearisation.
    pub wave_succs: SmallVec<[Edge; 2]>,
    /// Nesting depth in loops, for spill weights.
    pub loop_depth: u8,
}

impl Default for BlockData {
    fn default() -> Self {
        Self {
            vparams: Vec::new(),
            sparams: Vec::new(),
            insts: Vec::new(),
            head_len: 0,
            tail_start: 0,
            term: Terminator::Unreachable,
            thread_succs: SmallVec::new(),
            thread_sargs: SmallVec::new(),
            wave_succs: SmallVec::new(),
            loop_depth: 0,
        }
    }
}

impl BlockData {
    /// Appends to the body while no tail exists yet.
    pub fn push(&mut self, inst: Inst) {
        crate::interrupt::charge(crate::interrupt::MACHINE_INST_BYTES);
        self.insts.push(inst);
        self.tail_start = self.insts.len() as u32;
    }

    /// Keeps the instructions for which `keep` says so, in order; head and tail stay what they are.
    pub fn retain_insts(&mut self, mut keep: impl FnMut(&Inst) -> bool) {
        let (mut at, mut head, mut tail) = (0, self.head_len, self.tail_start);
        self.insts.retain(|inst| {
            let goes = !keep(inst);
            head -= u32::from(goes && at < self.head_len);
            tail -= u32::from(goes && at < self.tail_start);
            at += 1;
            !goes
        });
        (self.head_len, self.tail_start) = (head, tail);
    }
}

/// An object of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSlotData {
    /// Bytes a lane.
    pub size_bytes: u32,
    /// log2 of the alignment in bytes.
    pub align_log2: u8,
    /// Offset from the frame base, once laid out.
    pub offset_bytes: Option<u32>,
}

/// Values that the command processor puts into registers before a kernel starts, in the order of their registers.
///
/// Source: AMDGPU usage guide, "Initial Kernel Execution State". User SGPRs come first, then system SGPRs, then VGPRs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the ABI's own names")]
pub enum EntryValue {
    /// Only of Mesa's shaders: where scratch is, or where its address is.
    ImplicitBufferPtr,
    PrivateSegmentBuffer,
    DispatchPtr,
    QueuePtr,
    KernargSegmentPtr,
    DispatchId,
    FlatScratchInit,
    PrivateSegmentSize,
    WorkgroupIdX,
    WorkgroupIdY,
    WorkgroupIdZ,
    WorkgroupInfo,
    ScratchWaveOffset,
    WorkitemIdX,
    WorkitemIdY,
    WorkitemIdZ,
    /// Only of functions that are called: all work-item ids in one register, ten bits each.
    PackedWorkitemIds,
    /// Only of functions that are called: where the kernel's hidden arguments are.
    ImplicitargPtr,
    /// Only of functions that are called: the number of the kernel among those that use LDS variables of functions.
    LdsKernelId,
    /// Only of functions that are called.
    ReturnAddress,
    /// Only of shaders and of functions that are called: a dword of the arguments, by its register.
    Argument(PReg),
}

impl EntryValue {
    /// All values of kernels in register order.
    pub const ALL: [Self; 15] = [
        Self::PrivateSegmentBuffer,
        Self::DispatchPtr,
        Self::QueuePtr,
        Self::KernargSegmentPtr,
        Self::DispatchId,
        Self::FlatScratchInit,
        Self::PrivateSegmentSize,
        Self::WorkgroupIdX,
        Self::WorkgroupIdY,
        Self::WorkgroupIdZ,
        Self::WorkgroupInfo,
        Self::ScratchWaveOffset,
        Self::WorkitemIdX,
        Self::WorkitemIdY,
        Self::WorkitemIdZ,
    ];

    /// Registers it takes.
    #[inline]
    pub fn dwords(self) -> u8 {
        match self {
            Self::PrivateSegmentBuffer => 4,
            Self::DispatchPtr
            | Self::QueuePtr
            | Self::KernargSegmentPtr
            | Self::DispatchId
            | Self::FlatScratchInit
            | Self::ImplicitargPtr
            | Self::ImplicitBufferPtr
            | Self::ReturnAddress => 2,
            _ => 1,
        }
    }

    /// Register file.
    #[inline]
    pub fn file(self) -> RegFile {
        match self {
            Self::WorkitemIdX | Self::WorkitemIdY | Self::WorkitemIdZ | Self::PackedWorkitemIds => {
                RegFile::Vgpr
            }
            Self::Argument(reg) if reg.is_vgpr() => RegFile::Vgpr,
            _ => RegFile::Sgpr,
        }
    }

    /// Whether the command processor copies it from the descriptor's request (user SGPR) rather than the hardware making it.
    #[inline]
    pub(crate) fn is_user_sgpr(self) -> bool {
        self <= Self::PrivateSegmentSize
    }
}

/// What is special about the entry of shaders, and of kernels on systems that do not pass the scratch resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryLayout {
    /// Number of the SGPR behind the arguments.
    pub arguments_end: u16,
    /// Register of the wave's scratch offset, where it has a fixed one.
    pub wave_offset: Option<PReg>,
    /// The prolog builds the scratch resource, in registers behind all others.
    pub builds_scratch: bool,
    /// Where it builds it instead, or copies it to from where it is given.
    pub resource: Option<PReg>,
}

/// The entry values a function asks for, with the virtual register that holds each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryState {
    pub(super) values: std::collections::BTreeMap<EntryValue, Option<VReg>>,
    /// Whether a caller, not the command processor, fills the registers.
    pub(super) called: bool,
    /// What is special, where something is.
    pub layout: EntryLayout,
}

impl EntryState {
    /// The empty state of a function that is called.
    pub(crate) fn of_called() -> Self {
        Self { called: true, ..Self::default() }
    }

    /// The same state without any value.
    pub fn emptied(&self) -> Self {
        Self { called: self.called, layout: self.layout, ..Self::default() }
    }

    /// Asks for `value`; where the code uses it, `reg` is defined by it at the entry.
    pub fn request(&mut self, value: EntryValue, reg: Option<VReg>) {
        let slot = self.values.entry(value).or_insert(reg);
        *slot = slot.or(reg);
    }

    /// Whether `value` was asked for.
    pub fn contains(&self, value: EntryValue) -> bool {
        self.values.contains_key(&value)
    }

    /// The virtual register that holds `value`.
    #[inline]
    pub fn reg(&self, value: EntryValue) -> Option<VReg> {
        self.values.get(&value).copied().flatten()
    }

    /// Every value asked for with its physical register and its virtual one, in register order. SGPRs are dense from s0;
    /// VGPR ids are v0, v1, v2 (a higher id implies the lower ones: K-16 of the ABI, the hardware's only choices).
    pub fn registers(&self) -> Vec<(EntryValue, PReg, Option<VReg>)> {
        if self.called {
            let place = |(&value, &reg)| Some((value, crate::abi::call::register_of(value)?, reg));
            return self.values.iter().filter_map(place).collect();
        }
        let layout = self.layout;
        let mut next_sgpr = layout.arguments_end;
        let mut out = Vec::with_capacity(self.values.len());
        let mut moved = None;
        for (&value, &reg) in &self.values {
            let first = match value {
                EntryValue::PrivateSegmentBuffer if layout.builds_scratch => continue,
                EntryValue::ImplicitBufferPtr => PReg::sgpr(0),
                EntryValue::Argument(place) => place,
                EntryValue::ScratchWaveOffset if layout.wave_offset.is_some() => {
                    layout.wave_offset.unwrap_or(PReg::sgpr(0))
                }
                EntryValue::WorkitemIdX => PReg::vgpr(0),
                EntryValue::WorkitemIdY => PReg::vgpr(1),
                EntryValue::WorkitemIdZ => PReg::vgpr(2),
                _ => {
                    let first = PReg::sgpr(next_sgpr);
                    next_sgpr += u16::from(value.dwords());
                    match layout.resource {
                        Some(place) if value == EntryValue::PrivateSegmentBuffer => {
                            moved = Some((value, place, reg));
                            continue;
                        }
                        _ => first,
                    }
                }
            };
            out.push((value, first, reg));
        }
        if let Some(&reg) = self.values.get(&EntryValue::PrivateSegmentBuffer)
            && layout.builds_scratch
        {
            out.push((EntryValue::PrivateSegmentBuffer, Self::built_resource(layout, next_sgpr), reg));
        }
        out.extend(moved);
        out
    }

    /// Registers for a resource that the prolog builds; merged shaders have something in all of s0 to s8.
    fn built_resource(layout: EntryLayout, next_sgpr: u16) -> PReg {
        let merged = if layout.wave_offset.is_some() { 9 } else { 0 };
        layout.resource.unwrap_or(PReg::sgpr(next_sgpr.max(merged).next_multiple_of(4)))
    }

    /// Where the scratch resource is from the start, or once the prolog has built or copied it.
    pub fn scratch_resource(&self) -> PReg {
        if !self.layout.builds_scratch {
            return self.layout.resource.unwrap_or(crate::abi::call::SCRATCH_RESOURCE);
        }
        let with_number = |value: &EntryValue| {
            !matches!(
                value,
                EntryValue::PrivateSegmentBuffer | EntryValue::ImplicitBufferPtr | EntryValue::Argument(_)
            ) && value.file() == RegFile::Sgpr
                && !(*value == EntryValue::ScratchWaveOffset && self.layout.wave_offset.is_some())
        };
        let numbered = self.values.keys().filter(|value| with_number(value));
        let count: u16 = numbered.map(|value| u16::from(value.dwords())).sum();
        Self::built_resource(self.layout, self.layout.arguments_end + count)
    }

    /// Number of user SGPRs (at most 16 are initialised), arguments of shaders not counted.
    pub fn user_sgprs(&self) -> u32 {
        let built = |v: EntryValue| v == EntryValue::PrivateSegmentBuffer && self.layout.builds_scratch;
        let given = self.values.keys().filter(|&&v| v.is_user_sgpr() && !built(v));
        given.map(|v| u32::from(v.dwords())).sum()
    }
}

/// A kernel argument as it lies in the kernarg segment; written into metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelArg {
    /// Index among the IR function's parameters; `None` for hidden arguments.
    pub param: Option<u32>,
    /// Metadata `value_kind` (`global_buffer`, `by_value`, `hidden_global_offset_x`, ...).
    pub value_kind: &'static str,
    /// Byte offset in the segment.
    pub offset_bytes: u32,
    /// Size in bytes.
    pub size_bytes: u32,
    /// Alignment of what a dynamic LDS pointer points to; 0 otherwise.
    pub pointee_align: u32,
    /// Address space of a pointer argument.
    pub space: Option<AddrSpace>,
}

/// The kernarg segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernargLayout {
    /// Arguments in order, hidden ones last.
    pub args: Vec<KernelArg>,
    /// Size of the segment in bytes, hidden arguments included.
    pub size_bytes: u32,
    /// Largest alignment of an argument in bytes, at least 4: what metadata says. The segment itself starts at a multiple of 16 (ABI).
    pub align_bytes: u32,
    /// Byte offset of the first hidden argument, what `llvm.amdgcn.implicitarg.ptr` points to.
    pub implicit_offset: u32,
}

/// Placement of LDS variables of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdsLayout {
    /// Variables with their byte offset.
    pub globals: Vec<(crate::ir::Global, u32)>,
    /// Static bytes in all (dynamic LDS starts here, aligned).
    pub size_bytes: u32,
    /// Whether dynamic LDS is used.
    pub dynamic: bool,
    /// Static bytes of GDS, whose variables are among `globals`, too.
    pub gds_bytes: u32,
}

/// What a call reads and writes besides the registers that its instruction names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSite {
    /// Registers that hold arguments and handed-on values.
    pub reads: Vec<PReg>,
    /// VGPRs from v0 on that hold the result.
    pub result_dwords: u8,
    /// Bytes of the arguments behind the stack pointer.
    pub stack_bytes: u32,
    /// Whether the callee is of the graphics convention, which saves other registers.
    pub graphics: bool,
    /// Whether the call, the last instruction of a block that returns, is a jump to a callee that returns to this function's caller.
    pub tail: bool,
    /// The function called, where it has a name; another object may define it.
    pub callee: Option<crate::ir::Func>,
    /// Registers that the callee, with all that it calls, and the call itself change, where the code of all of them is known. Else it is
    /// what the convention lets a callee change. Of VGPRs lanes that are not active are never changed.
    pub changes: Option<Box<super::RegSet>>,
}

impl CallSite {
    /// Numbered SGPRs, VCC and VGPRs that are not the same behind the call.
    pub fn changed(&self) -> &super::RegSet {
        match &self.changes {
            Some(changes) => changes,
            None => crate::abi::call::changed_by_convention(self.graphics),
        }
    }

    /// Whether `reg`, a numbered SGPR, VCC or a VGPR, is the same behind the call; of others nothing is said.
    pub fn keeps(&self, reg: PReg) -> bool {
        super::RegSet::may_contain(reg) && !self.changed().contains(reg)
    }
}

/// How many registers and how much memory a finished function needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Highest SGPR used + 1, without VCC, FLAT_SCRATCH and XNACK_MASK.
    pub sgprs: u32,
    /// Highest VGPR used + 1.
    pub vgprs: u32,
    /// Whether VCC is used.
    pub vcc: bool,
    /// Whether FLAT_SCRATCH is set up or used.
    pub flat_scratch: bool,
    /// SGPRs spilled, in dwords.
    pub sgpr_spills: u32,
    /// VGPRs spilled, in dwords a lane.
    pub vgpr_spills: u32,
    /// Scratch bytes a lane.
    pub scratch_bytes: u32,
}

/// A machine function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Symbol name.
    pub name: String,
    /// Calling convention.
    pub call_conv: CallConv,
    /// The IR function it was made from.
    pub source: crate::ir::Func,
    /// Lanes of the waves that run it, which decides how wide masks are.
    pub wave: WaveSize,
    /// Virtual registers.
    pub vregs: PrimaryMap<VReg, VRegData>,
    /// All blocks ever made.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Blocks in the order of the code, the entry first.
    pub layout: Vec<Block>,
    /// Frame objects.
    pub frame: PrimaryMap<FrameSlot, FrameSlotData>,
    /// Symbols referred to.
    pub symbols: PrimaryMap<SymbolId, SymbolRef>,
    /// Entry state of a kernel.
    pub entry: EntryState,
    /// Kernel arguments.
    pub kernarg: KernargLayout,
    /// LDS layout.
    pub lds: LdsLayout,
    /// Source positions; entry 0 is "unknown".
    pub locs: Vec<SourceLoc>,
    /// Whether flat instructions may touch scratch, so that FLAT_SCRATCH must be set up.
    pub uses_flat_scratch: bool,
    /// Largest flat work-group size that the kernel may be launched with.
    pub max_flat_workgroup_size: u32,
    /// Filled in by allocation and frame layout.
    pub resources: Resources,
    /// How far it has come.
    pub stage: super::Stage,
    /// VGPRs from v0 on that hold the result where the function returns.
    pub result_dwords: u8,
    /// Registers that hold the results of a shader where it ends.
    pub shader_results: Vec<PReg>,
    /// How the code reaches scratch.
    pub scratch: ScratchAccess,
    /// The register to which objects on the stack are relative, where it is not 0: a kernel's frame starts at 0. What it counts
    /// says [`Self::bytes_in_base`].
    pub frame_base: Option<PReg>,
    /// Whether the stack pointer moves inside of the function.
    pub dynamic_stack: bool,
    /// Calls, by the operand of their instruction.
    pub calls: Vec<CallSite>,
    /// Inline assembly, by the number in its instruction.
    pub asm_sites: Vec<super::AsmSite>,
    /// Where every caller is known to expect what the code changes: the VGPR from which on it saves those that the convention says. It saves no other
    /// register for callers but the scratch resource, stack and frame pointer, and VGPRs in lanes that are not active.
    pub saves_from: Option<u16>,
    /// VGPRs of which lanes matter that are not active: they hold spilled SGPRs or are accessed across lanes. Filled in by
    /// allocation.
    pub whole_wave_vgprs: Vec<PReg>,
}

impl Function {
    /// An empty function for waves of 64 lanes.
    pub fn new(name: impl Into<String>, call_conv: CallConv, source: crate::ir::Func) -> Self {
        Self {
            name: name.into(),
            call_conv,
            source,
            wave: WaveSize::default(),
            vregs: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            frame: PrimaryMap::new(),
            symbols: PrimaryMap::new(),
            entry: if call_conv.is_callable() { EntryState::of_called() } else { EntryState::default() },
            kernarg: KernargLayout::default(),
            lds: LdsLayout::default(),
            locs: vec![SourceLoc::default()],
            uses_flat_scratch: false,
            max_flat_workgroup_size: 1024,
            resources: Resources::default(),
            stage: super::Stage::Selected,
            result_dwords: 0,
            shader_results: Vec::new(),
            scratch: ScratchAccess::default(),
            frame_base: None,
            dynamic_stack: false,
            calls: Vec::new(),
            asm_sites: Vec::new(),
            saves_from: None,
            whole_wave_vgprs: Vec::new(),
        }
    }

    /// What one byte of a lane counts in stack pointer, frame pointer and other bases of scratch accesses.
    pub fn bytes_in_base(&self) -> u32 {
        self.scratch.bytes_in_base(self.wave)
    }

    /// First byte behind all objects of the frame that have a place.
    pub fn frame_end(&self) -> u32 {
        let ends = self.frame.values().filter_map(|slot| Some(slot.offset_bytes? + slot.size_bytes));
        ends.max().unwrap_or(0)
    }

    /// Waves of the largest work-group that share a SIMD: a compute unit has 4 SIMDs, and all of a work-group must be resident.
    pub fn waves_of_workgroup(&self, target: &Target) -> u32 {
        self.max_flat_workgroup_size.div_ceil(target.wave_size()).div_ceil(4).max(1)
    }

    /// Whether callers rely on finding `reg` as it was.
    pub fn saves(&self, reg: PReg) -> bool {
        let convention = crate::abi::call::is_callee_saved(reg, self.saves_as_graphics());
        let agreed = |from: u16| {
            reg.vgpr_index().map_or_else(|| crate::abi::call::is_always_saved(reg), |n| n >= from)
        };
        convention && self.saves_from.is_none_or(agreed)
    }

    /// Whether callers expect what the graphics convention saves.
    pub fn saves_as_graphics(&self) -> bool {
        self.call_conv == CallConv::AmdgpuGfx
    }

    /// Whether the wave graph exists: linearisation, or a later pass, is done.
    #[inline]
    pub fn is_linear(&self) -> bool {
        self.stage > super::Stage::Selected
    }

    /// What the call instruction `inst` reads and writes; `None` for other instructions.
    #[inline]
    pub fn call_site(&self, inst: &Inst) -> Option<&CallSite> {
        if inst.op == crate::isa::Opcode::CALL { self.site_of_call(inst) } else { None }
    }

    fn site_of_call(&self, inst: &Inst) -> Option<&CallSite> {
        self.calls.get(usize::try_from(inst.operands.get(2)?.as_imm()?).ok()?)
    }

    /// A new virtual register.
    #[inline]
    pub fn new_vreg(&mut self, file: RegFile, dwords: u8) -> VReg {
        self.vregs.push(VRegData { file, dwords, flags: VRegFlags::empty(), hint: None })
    }

    /// A new register that holds one bit a lane.
    #[inline]
    pub fn new_lane_mask(&mut self) -> VReg {
        self.vregs.push(VRegData::mask(self.wave))
    }

    /// A new block at the end of the layout.
    pub fn add_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }
}
