//! Functions: blocks, instructions and values in dense tables.

use super::{Attributes, CastOp, Global, InstData, InstFlags, InstKind, Module, Type};
use crate::abi::call::{CallLayout, Inputs};
use crate::diag::{Diagnostic, Result, SourceLocation};
use crate::machine::PReg;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// An SSA value of a function: instruction result, block or function parameter, or constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A basic block of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// A function of a module, defined or declared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Func(u32);
entity_impl!(Func, "fn");

/// An entry of [`Function::inline_asm`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InlineAsmId(u32);
entity_impl!(InlineAsmId, "asm");

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// Integer of up to 64 bits, zero-extended.
    Int(u64),
    /// Integer of more than 64 bits: little-endian words, the last one zero-extended.
    Wide(Box<[u64]>),
    /// Floating point: IEEE bits, zero-extended.
    Float(u64),
    /// All bits zero; used for null pointers, vectors and aggregates (scalar integers and floats use their own variant).
    Zero,
    /// Any bit pattern, possibly another one at each use.
    Undef,
    /// The result of a broken promise.
    Poison,
    /// Address of a symbol plus a byte offset.
    Symbol(SymbolRef, i64),
    /// Vector, struct or array by its members; each is a constant value of the same function.
    Elements(Box<[Value]>),
}

/// A symbol of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolRef {
    /// Function.
    Func(Func),
    /// Variable.
    Global(Global),
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The result of an instruction.
    Inst(Inst),
    /// Parameter `index` of a block.
    BlockParam(Block, u32),
    /// Parameter `index` of the function.
    FuncParam(u32),
    /// A constant.
    Const(Const),
}

/// A value's type and origin.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Type, never void.
    pub ty: Type,
    /// Origin.
    pub def: ValueDef,
}

/// A block: parameters and instructions, the terminator last.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Parameters (phi nodes).
    pub params: Vec<Value>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// Whether the loop of this one block may do several iterations at a time.
    pub unrolling: Unrolling,
}

/// Whether a loop of one block may do several iterations at a time; a hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unrolling {
    /// Nothing is known.
    #[default]
    Open,
    /// It is to.
    Wanted,
    /// It is not to: metadata `!llvm.loop` of the terminator asks for that, or it does already.
    Never,
}

bitflags::bitflags! {
    /// Promises about a parameter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ParamFlags: u16 {
        /// Nothing else refers to the memory during the call.
        const NOALIAS = 1 << 0;
        /// The function does not write through it.
        const READONLY = 1 << 1;
        /// The function does not read through it.
        const WRITEONLY = 1 << 2;
        /// Uniform, passed in SGPRs.
        const INREG = 1 << 3;
        /// Points to the memory of the result.
        const SRET = 1 << 4;
        /// Zero-extended by the caller.
        const ZEROEXT = 1 << 5;
        /// Sign-extended by the caller.
        const SIGNEXT = 1 << 6;
        /// Not null.
        const NONNULL = 1 << 7;
        /// Not undef nor poison.
        const NOUNDEF = 1 << 8;
    }
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Param {
    /// The value inside the function.
    pub value: Value,
    /// Source name; empty where unknown.
    pub name: String,
    /// Promises.
    pub flags: ParamFlags,
    /// `byval`/`byref`: the type pointed to; kernels get the bytes in the kernarg segment.
    pub indirect: Option<IndirectParam>,
    /// `align` attribute as log2; 0 where absent.
    pub align_log2: u8,
    /// `dereferenceable` bytes; 0 where absent.
    pub dereferenceable_bytes: u64,
    /// In legal IR of functions that are called: the register that holds this dword of the arguments.
    pub register: Option<PReg>,
}

/// A parameter passed as a pointer to a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndirectParam {
    /// Type of the memory.
    pub ty: Type,
    /// Whether the callee owns a copy (`byval`) or not (`byref`).
    pub by_value: bool,
}

/// What a call says about one argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallArgument {
    /// Promises, and how it is passed.
    pub flags: ParamFlags,
    /// `byval`/`byref`: the type pointed to.
    pub indirect: Option<IndirectParam>,
    /// `align` attribute as log2; 0 where absent.
    pub align_log2: u8,
}

/// What a call says about its callee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Calling convention.
    pub call_conv: CallConv,
    /// Arguments in order.
    pub args: Vec<CallArgument>,
    /// How a narrow result is extended.
    pub ret_flags: ParamFlags,
    /// Where the callee takes more arguments than it has parameters: the number of its parameters.
    pub variadic: Option<u32>,
    /// Whether a callee with the name of a library's function is not that function (`nobuiltin`).
    pub no_builtin: bool,
    /// Whether the callee may take the place of the caller.
    pub tail: TailCall,
}

/// What a call in front of a return says about the caller's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TailCall {
    /// Nothing is known: the callee may look at the caller's stack objects. Also what `notail` forbids.
    #[default]
    No,
    /// The callee does not look at the caller's stack objects, so the call may be a jump (`tail`).
    May,
    /// The call must not make the stack grow (`musttail`).
    Must,
}

/// LLVM calling conventions that matter to AMDGPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own words")]
pub enum CallConv {
    /// `amdgpu_kernel` or `spir_kernel`.
    Kernel,
    /// `ccc`, `fastcc`, `coldcc`, `spir_func`.
    Device,
    AmdgpuPs,
    AmdgpuVs,
    AmdgpuGs,
    AmdgpuHs,
    AmdgpuLs,
    AmdgpuEs,
    AmdgpuCs,
    AmdgpuGfx,
    AmdgpuCsChain,
    AmdgpuCsChainPreserve,
    /// Any other, by LLVM's number; refused at selection.
    Other(u32),
}

impl CallConv {
    /// Whether functions of this convention are called by others and return to them.
    #[inline]
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Device | Self::AmdgpuGfx)
    }

    /// Whether other code jumps to functions of this convention, with arguments in registers, and never gets control back.
    #[inline]
    pub fn is_chain(self) -> bool {
        matches!(self, Self::AmdgpuCsChain | Self::AmdgpuCsChainPreserve)
    }

    /// Whether code of the same wave runs before functions of this convention: nothing is known of what it left in flight.
    #[inline]
    pub fn follows_others(self) -> bool {
        self.is_callable() || self.is_chain()
    }
}

/// Who can see or replace a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own words")]
pub enum Linkage {
    External,
    AvailableExternally,
    LinkOnceAny,
    LinkOnceOdr,
    WeakAny,
    WeakOdr,
    Appending,
    Internal,
    Private,
    ExternalWeak,
    Common,
}

impl Linkage {
    /// Whether another object may hold a definition that means something else and comes in this one's place when objects are
    /// linked. Definitions "ODR" may be replaced too, by others that mean the same.
    pub fn is_interposable(self) -> bool {
        matches!(self, Self::LinkOnceAny | Self::WeakAny | Self::ExternalWeak | Self::Common)
    }
}

/// ELF visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "ELF's own words")]
pub enum Visibility {
    Default,
    Hidden,
    Protected,
}

bitflags::bitflags! {
    /// Attributes without a value.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct FuncFlags: u16 {
        /// Inline whatever it costs.
        const ALWAYS_INLINE = 1 << 0;
        /// Never inline.
        const NO_INLINE = 1 << 1;
        /// Do not optimise.
        const OPT_NONE = 1 << 2;
        /// Depends on which lanes are active.
        const CONVERGENT = 1 << 3;
        /// Does not return.
        const NO_RETURN = 1 << 4;
        /// Optimise for size.
        const OPT_SIZE = 1 << 5;
        /// Strict floating point (constrained intrinsics).
        const STRICT_FP = 1 << 6;
        /// A copy is worth more than of other functions.
        const INLINE_HINT = 1 << 7;
        /// Optimise for size, whatever it costs.
        const MIN_SIZE = 1 << 8;
    }
}

/// OpenCL's description of one kernel argument (`!kernel_arg_*`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelArgInfo {
    /// Parameter name (`kernel_arg_name`).
    pub name: String,
    /// Address space number as OpenCL counts it (`kernel_arg_addr_space`).
    pub addr_space: u32,
    /// `read_only`, `write_only`, `read_write` or `none` (`kernel_arg_access_qual`).
    pub access: String,
    /// Declared type (`kernel_arg_type`).
    pub ty: String,
    /// Type without typedefs (`kernel_arg_base_type`).
    pub base_ty: String,
    /// Space-separated `const`, `restrict`, `volatile`, `pipe` (`kernel_arg_type_qual`).
    pub qualifiers: String,
}

/// Metadata of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelMetadata {
    /// One entry an argument; empty where the producer wrote none.
    pub args: Vec<KernelArgInfo>,
    /// `!reqd_work_group_size`.
    pub reqd_work_group_size: Option<[u32; 3]>,
    /// `!work_group_size_hint`.
    pub work_group_size_hint: Option<[u32; 3]>,
    /// `!vec_type_hint` in OpenCL's spelling.
    pub vec_type_hint: Option<String>,
    /// `"runtime-handle"` attribute: symbol for device enqueue.
    pub device_enqueue_symbol: Option<String>,
    /// `!llvm.amdgcn.lds.kernel.id`.
    pub lds_kernel_id: Option<u32>,
}

/// Inline assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineAsm {
    /// Template.
    pub text: String,
    /// LLVM constraint string.
    pub constraints: String,
}

/// A source position of an instruction; `file` indexes [`Module::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SourceLoc {
    /// Line from 1; 0 where unknown.
    pub line: u32,
    /// Column from 1; 0 where unknown.
    pub column: u32,
    /// Index into [`Module::files`].
    pub file: u32,
}

/// A function. A declaration has no blocks.
#[derive(Clone, Debug)]
pub struct Function {
    /// Symbol name.
    pub name: String,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// Calling convention.
    pub call_conv: CallConv,
    /// Valueless attributes.
    pub flags: FuncFlags,
    /// `"key"="value"` attributes.
    pub attributes: Attributes,
    /// Section, empty for the default.
    pub section: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Type of the result.
    pub ret: Type,
    /// How a narrow result is extended.
    pub ret_flags: ParamFlags,
    /// Of a pixel shader in legal IR: its interpolation inputs.
    pub ps_inputs: crate::abi::shader::PsInputs,
    /// Of a shader in legal IR: number of the SGPR behind the arguments.
    pub arguments_end: u16,
    /// Whether more arguments than parameters may be passed.
    pub variadic: bool,
    /// All blocks ever made.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Blocks that exist, the entry first.
    pub layout: Vec<Block>,
    /// All instructions ever made.
    pub insts: PrimaryMap<Inst, InstData>,
    /// All values ever made.
    pub values: PrimaryMap<Value, ValueData>,
    /// Source positions.
    pub locs: SecondaryMap<Inst, SourceLoc>,
    /// Inline assembly.
    pub inline_asm: PrimaryMap<InlineAsmId, InlineAsm>,
    /// Which sets of accesses have nothing in common, as scopes say.
    pub alias_sets: super::AliasSets,
    /// log2 of the alignment in bytes that a `memcpy`, `memmove` or `memset` promises for its destination and source;
    /// an instruction that is absent promises 1 byte.
    pub mem_aligns: FxHashMap<Inst, [u8; 2]>,
    /// What calls say about their arguments beyond what the function called says.
    pub call_sites: FxHashMap<Inst, CallSite>,
    /// In legal IR: where calls put their arguments.
    pub call_layouts: FxHashMap<Inst, CallLayout>,
    /// In legal IR: what it, and what it calls, asks its caller for.
    pub inputs: Inputs,
    /// Kernel metadata; meaningful for [`CallConv::Kernel`].
    pub kernel: KernelMetadata,
    /// Line of the definition, from the function's `DISubprogram`.
    pub loc: SourceLoc,
    /// The constants among `values`, by type and content.
    consts: HashTable<Value>,
}

/// Attribute of a function whose definition asks for an alignment of its code: the bytes, in decimal.
pub const CODE_ALIGNMENT: &str = "gcnc-alignment";

/// Most work-items of a work-group.
const MAX_WORK_GROUP_SIZE: u32 = 1024;

/// Largest alignment of code in bytes.
pub const MAX_CODE_ALIGNMENT: u64 = 1 << 20;

impl Function {
    /// An empty external function without parameters.
    pub fn new(name: impl Into<String>, call_conv: CallConv, ret: Type) -> Self {
        Self {
            name: name.into(),
            linkage: Linkage::External,
            visibility: Visibility::Default,
            call_conv,
            flags: FuncFlags::empty(),
            attributes: Attributes::new(),
            section: String::new(),
            params: Vec::new(),
            ret,
            ret_flags: ParamFlags::empty(),
            ps_inputs: crate::abi::shader::PsInputs::default(),
            arguments_end: 0,
            variadic: false,
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            values: PrimaryMap::new(),
            locs: SecondaryMap::new(),
            inline_asm: PrimaryMap::new(),
            alias_sets: super::AliasSets::default(),
            mem_aligns: FxHashMap::default(),
            call_sites: FxHashMap::default(),
            call_layouts: FxHashMap::default(),
            inputs: Inputs::empty(),
            kernel: KernelMetadata::default(),
            loc: SourceLoc::default(),
            consts: HashTable::new(),
        }
    }

    /// Whether it has no body.
    #[inline]
    pub fn is_declaration(&self) -> bool {
        self.layout.is_empty()
    }

    /// Whether the body here is the code that calls reach. Definitions that may be merged with another object's may have been
    /// compiled otherwise there, "ODR" or not: what can be read off the body, such as what it needs of its callers, is not known of it.
    pub fn is_exact(&self) -> bool {
        !self.is_declaration()
            && matches!(self.linkage, Linkage::External | Linkage::Internal | Linkage::Private)
    }

    /// Whether it is the entry point of a dispatch.
    #[inline]
    pub fn is_kernel(&self) -> bool {
        self.call_conv == CallConv::Kernel
    }

    /// The entry block; only for definitions.
    #[inline]
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// Byte alignment of the code: what hardware starts is at a multiple of 256, callees are whole dwords, and the attribute
    /// [`CODE_ALIGNMENT`] may ask for more. Source: usage guide, "Kernel Dispatch"; LangRef, `align` of functions.
    pub fn code_alignment(&self) -> u64 {
        let least = if self.call_conv.is_callable() { 4 } else { 256 };
        let asked = self.attribute(CODE_ALIGNMENT).and_then(|text| text.parse::<u64>().ok());
        let asked = asked.filter(|bytes| bytes.is_power_of_two() && *bytes <= MAX_CODE_ALIGNMENT);
        asked.map_or(least, |bytes| bytes.max(least))
    }

    /// Adds a parameter without promises.
    pub fn add_param(&mut self, ty: Type, name: impl Into<String>) -> Value {
        let index = self.params.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::FuncParam(index) });
        self.params.push(Param {
            value,
            name: name.into(),
            flags: ParamFlags::empty(),
            indirect: None,
            align_log2: 0,
            dereferenceable_bytes: 0,
            register: None,
        });
        value
    }

    /// Adds an empty block at the end of the layout.
    pub fn add_block(&mut self) -> Block {
        let block = self.blocks.push(BlockData::default());
        self.layout.push(block);
        block
    }

    /// Adds a parameter to `block`; its branches must then pass one more argument.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].params.len() as u32;
        let value = self.values.push(ValueData { ty, def: ValueDef::BlockParam(block, index) });
        self.blocks[block].params.push(value);
        value
    }

    /// The value of a constant; equal constants share one value.
    pub fn constant(&mut self, ty: Type, constant: Const) -> Value {
        let hash = FxBuildHasher.hash_one((ty, &constant));
        let values = &self.values;
        let same = |&value: &Value| {
            let data = &values[value];
            data.ty == ty && matches!(&data.def, ValueDef::Const(known) if *known == constant)
        };
        if let Some(&value) = self.consts.find(hash, same) {
            return value;
        }
        let value = self.values.push(ValueData { ty, def: ValueDef::Const(constant) });
        self.note_constant(hash, value);
        value
    }

    /// The value that stands for a constant, if there is one.
    pub(crate) fn find_constant(&self, ty: Type, constant: &Const) -> Option<Value> {
        let same = |&value: &Value| {
            let data = &self.values[value];
            data.ty == ty && matches!(&data.def, ValueDef::Const(known) if known == constant)
        };
        self.consts.find(FxBuildHasher.hash_one((ty, constant)), same).copied()
    }

    /// Makes `value`, which nothing defines yet, stand for a constant; false where another value does.
    pub(super) fn define_constant(&mut self, value: Value, ty: Type, constant: Const) -> bool {
        if self.find_constant(ty, &constant).is_some() {
            return false;
        }
        let hash = FxBuildHasher.hash_one((ty, &constant));
        self.values[value] = ValueData { ty, def: ValueDef::Const(constant) };
        self.note_constant(hash, value);
        true
    }

    /// Enters a constant into the table of those that there are.
    fn note_constant(&mut self, hash: u64, value: Value) {
        let values = &self.values;
        self.consts.insert_unique(hash, value, |&value| match &values[value].def {
            ValueDef::Const(constant) => FxBuildHasher.hash_one((values[value].ty, constant)),
            _ => 0,
        });
    }

    /// An integer constant of type `ty` (up to 64 bits), truncated to its width.
    pub fn int(&mut self, ty: Type, value: u64) -> Value {
        let bits = ty.bits().unwrap_or(64);
        let masked = if bits >= 64 { value } else { value & ((1 << bits) - 1) };
        self.constant(ty, Const::Int(masked))
    }

    /// Makes an instruction, with a result where `ty` is not void, without placing it in a block.
    #[inline]
    pub fn make_inst(&mut self, kind: InstKind, ty: Type, flags: InstFlags) -> Inst {
        crate::interrupt::charge(crate::interrupt::IR_INST_BYTES);
        let def = ValueDef::Inst(self.insts.next_key());
        let result = (ty != Type::Void).then(|| self.values.push(ValueData { ty, def }));
        self.insts.push(InstData { kind, ty, flags, fpmath_ulp_256: 0, result })
    }

    /// Makes an instruction at the end of `block` and returns its result.
    pub fn append(&mut self, block: Block, kind: InstKind, ty: Type) -> Option<Value> {
        let inst = self.make_inst(kind, ty, InstFlags::empty());
        self.blocks[block].insts.push(inst);
        self.insts[inst].result
    }

    /// The constant behind `value`, if it is one.
    #[inline]
    pub fn as_const(&self, value: Value) -> Option<&Const> {
        match &self.values[value].def {
            ValueDef::Const(constant) => Some(constant),
            _ => None,
        }
    }

    /// The integer (zero-extended) behind `value`, if it is a constant of up to 64 bits; a null pointer is 0.
    #[inline]
    pub fn as_int(&self, value: Value) -> Option<u64> {
        match self.as_const(value)? {
            Const::Int(bits) => Some(*bits),
            Const::Zero if matches!(self.values[value].ty, Type::Scalar(_)) => Some(0),
            _ => None,
        }
    }

    /// The instruction that defines `value`, if one does.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            ValueDef::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The stack object whose address `value` is, as such or cast to another address space.
    pub fn stack_object(&self, mut value: Value) -> Option<Inst> {
        // An object of an old module is cast once; what is cast back and forth is not worth looking for.
        for _ in 0..4 {
            let inst = self.def_inst(value)?;
            match self.insts[inst].kind {
                InstKind::Alloca { .. } => return Some(inst),
                InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => value = arg,
                _ => return None,
            }
        }
        None
    }

    /// Type of `value`.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// The terminator of `block`; `None` while it is being built.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.blocks[block].insts.last().copied().filter(|&inst| self.insts[inst].kind.is_terminator())
    }

    /// Successor blocks in branch order; a block occurs once for each edge.
    #[inline]
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.terminator(block)
            .map(|inst| self.insts[inst].kind.targets())
            .unwrap_or_default()
            .into_iter()
            .map(|target| target.block)
    }

    /// Value of a string attribute.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).map(String::as_str)
    }

    /// Work-items that a work-group has at most: what `!reqd_work_group_size` or `"amdgpu-flat-work-group-size"` says, else 1024.
    pub fn max_work_group_size(&self) -> u32 {
        // `"min,max"`; older producers write the maximum alone.
        let range = self.attribute("amdgpu-flat-work-group-size").and_then(|text| text.split(',').nth(1));
        let from_attribute = range
            .or_else(|| self.attribute("amdgpu-max-work-group-size"))
            .and_then(|max| max.trim().parse::<u32>().ok());
        let required = self
            .kernel
            .reqd_work_group_size
            .map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z))
            .filter(|&n| n > 0);
        required.or(from_attribute).unwrap_or(MAX_WORK_GROUP_SIZE).clamp(1, MAX_WORK_GROUP_SIZE)
    }

    /// Whether each wave of `lanes` starts with all of them: work-groups are whole, as those of graphics are and others that promise it, and have a size that is a
    /// multiple.
    pub fn starts_full_waves(&self, lanes: u32) -> bool {
        let whole = match self.call_conv {
            CallConv::AmdgpuCs => true,
            _ => {
                self.is_kernel()
                    && self.attribute("uniform-work-group-size").is_some_and(|value| value != "false")
            }
        };
        let least = self.attribute("amdgpu-flat-work-group-size").and_then(|text| text.split(',').next());
        let required = self.kernel.reqd_work_group_size.is_some_and(|size| !size.contains(&0));
        let exact =
            required || least.is_some_and(|least| least.trim().parse() == Ok(self.max_work_group_size()));
        whole && exact && self.max_work_group_size().is_multiple_of(lanes)
    }

    /// What the work-item's id in `dimension` (0 to 2) is below.
    pub fn work_item_id_limit(&self, dimension: usize) -> u32 {
        // A function that kernels call knows nothing of them.
        if !self.is_kernel() {
            return MAX_WORK_GROUP_SIZE;
        }
        let required = self.kernel.reqd_work_group_size.map(|size| size[dimension]).filter(|&n| n > 0);
        required.unwrap_or(MAX_WORK_GROUP_SIZE).min(self.max_work_group_size())
    }

    /// The upper half of addresses of 32 bits in the constant address space (`"amdgpu-32bit-address-high-bits"`): without the
    /// attribute they lie in the first 4 GB.
    ///
    /// # Errors
    /// The attribute is no number of 32 bits.
    pub fn short_address_high_bits(&self) -> Result<u32> {
        let Some(text) = self.attribute("amdgpu-32bit-address-high-bits") else { return Ok(0) };
        let number = match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => text.parse(),
        };
        number.map_err(|_| Diagnostic::malformed(format!("high bits of addresses: \"{text}\"")))
    }

    /// Source position of `inst` in the form that diagnostics carry.
    pub fn source_location(&self, module: &Module, inst: Inst) -> Option<SourceLocation> {
        let loc = self.locs[inst];
        (loc.line != 0).then(|| SourceLocation {
            file: module.files.get(loc.file as usize).cloned().unwrap_or_default(),
            line: loc.line,
            column: loc.column,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BinaryOp, BlockCall};

    #[test]
    fn constants_are_shared_and_walks_agree() {
        let mut f = Function::new("f", CallConv::Device, Type::I32);
        let x = f.add_param(Type::I32, "x");
        let (entry, exit) = (f.add_block(), f.add_block());
        let p = f.add_block_param(exit, Type::I32);
        let (a, b) = (f.int(Type::I32, 7), f.int(Type::I32, 7 | 1 << 40));
        assert_eq!(a, b);
        let sum = f.append(entry, InstKind::Binary { op: BinaryOp::Add, args: [x, a] }, Type::I32).unwrap();
        let target = BlockCall { block: exit, args: [sum].into_iter().collect() };
        f.append(entry, InstKind::Jump { target }, Type::Void);
        f.append(exit, InstKind::Ret { value: Some(p) }, Type::Void);
        assert_eq!(f.successors(entry).collect::<Vec<_>>(), [exit]);
        let jump = f.terminator(entry).unwrap();
        let mut seen = Vec::new();
        f.insts[jump].kind.for_each_value(|v| seen.push(v));
        assert_eq!(seen, [sum]);
        f.insts[jump].kind.for_each_value_mut(|v| *v = x);
        let InstKind::Jump { target } = &f.insts[jump].kind else { unreachable!() };
        assert_eq!(target.args[..], [x]);
    }
}
