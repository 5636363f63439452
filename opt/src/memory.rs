//! What instructions may write, as far as passes that share or move loads ask.
//!
//! An access belongs to the *root* of its address: the object or the argument that pointer arithmetic and casts
//! start from. Roots are few, at most [`MAX_ROOTS`], so that a set of them is a word; what is beyond, or
//! unknown, is one root for each address space. Which roots may share memory is a table:
//!
//! * LDS, GDS, scratch and the rest are apart, generic pointers may reach any;
//! * two stack objects, or two variables, are apart;
//! * a kernel's argument with `noalias` is apart from other arguments, and from variables;
//! * sets that scopes tell apart ([`AliasSets`]) are so whatever addresses start from: an address by which accesses of two sets go has two roots.
//!
//! Everything else that acts on memory, other than plain stores and relaxed atomics, is taken to write it all:
//! so are fences and barriers, behind which other waves' stores are seen.
//!
//! [`Flow`] adds where: sets of roots for each block, in an order in which loops are contiguous, with the union over
//! any range of the order in logarithmic time.
//!
//! Cost: linear in instructions and, in a tree over the blocks, n log n.

use mir::analysis::{Csr, Dominators, Loop, Loops, Order};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A set of roots.
pub type Roots = u64;

/// All memory.
pub const ALL: Roots = u64::MAX;

/// Part of [`Memory::writes`] for what may not go on to the next instruction: no memory, but behind it nothing is read
/// that would not be there if the program had ended.
pub const STOPS: Roots = 1 << 63;

/// Most roots that are told apart.
const MAX_ROOTS: usize = 60;

/// Most steps from an address to its root.
const MAX_CHAIN: usize = 32;

/// Most steps from a value to those of the launch that it is computed from.
const MAX_LAUNCH_STEPS: u32 = 6;

/// What an address starts from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Root {
    /// Nothing that is known, in one part of memory.
    Unknown(Part),
    /// The kernel's argument at this offset of its segment.
    Argument(i64),
    /// A variable.
    Variable(Global),
    /// A stack object.
    Stack(Inst),
}

/// Memory by how it is reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Global,
    Lds,
    Gds,
    Scratch,
    /// A generic pointer's, or that of a space that is not known here.
    Any,
}

impl Part {
    fn of(space: AddrSpace) -> Self {
        match space {
            AddrSpace::GLOBAL | AddrSpace::CONSTANT => Self::Global,
            AddrSpace::LOCAL => Self::Lds,
            AddrSpace::REGION => Self::Gds,
            AddrSpace::PRIVATE => Self::Scratch,
            _ => Self::Any,
        }
    }
}

/// The roots of a function.
pub struct Memory {
    numbers: FxHashMap<(Root, AliasSet), u8>,
    /// Of each root, those that may share memory with it, and itself.
    shares: Vec<Roots>,
    /// What can be said of accesses of each root in global memory without knowing the function.
    classes: Vec<AliasClass>,
    /// By the segment's offset: of `noalias` arguments the number among them.
    arguments: FxHashMap<i64, Option<usize>>,
}

impl Memory {
    /// Finds the roots of all accesses of `func`, which is legal and of `module`.
    pub fn new(func: &Function, module: &Module, target: &Target) -> Self {
        let mut this = Self {
            numbers: FxHashMap::default(),
            shares: Vec::new(),
            classes: Vec::new(),
            arguments: FxHashMap::default(),
        };
        if func.is_kernel() && func.params.iter().any(|p| p.flags.contains(ParamFlags::NOALIAS)) {
            let mut number = 0..;
            for (param, place) in
                func.params.iter().zip(mir::abi::kernarg::param_places(module, func, target))
            {
                let apart = param.flags.contains(ParamFlags::NOALIAS) && param.indirect.is_none();
                this.arguments.insert(i64::from(place.start), if apart { number.next() } else { None });
            }
        }
        let mut parts = Vec::new();
        for part in [Part::Any, Part::Global, Part::Lds, Part::Gds, Part::Scratch] {
            this.numbers.insert((Root::Unknown(part), AliasSet::ANY), parts.len() as u8);
            parts.push((Root::Unknown(part), part, AliasSet::ANY));
        }
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let Some((ptr, mem)) = access(&func.insts[inst].kind) else { continue };
                let (root, part) = this.root(func, module, ptr, mem.space);
                let set = func.alias_sets.telling(mem.set);
                if parts.len() < MAX_ROOTS && !this.numbers.contains_key(&(root, set)) {
                    this.numbers.insert((root, set), parts.len() as u8);
                    parts.push((root, part, set));
                }
            }
        }
        let shares = |a: &(Root, Part, AliasSet)| {
            let shares = |b: &(Root, Part, AliasSet)| {
                !func.alias_sets.are_apart(a.2, b.2) && this.may_share((a.0, a.1), (b.0, b.1))
            };
            let of = parts.iter().enumerate().filter(|(_, b)| shares(b));
            of.fold(0, |set, (number, _)| set | 1 << number)
        };
        this.shares = parts.iter().map(shares).collect();
        this.classes = this.classes_of(&parts, &func.alias_sets);
        this
    }

    /// The alias classes of roots in global memory: of `noalias` arguments their own, where scopes tell nothing. Where they do, roots that share memory are
    /// of one class, those apart that may be anything.
    fn classes_of(&self, parts: &[(Root, Part, AliasSet)], sets: &AliasSets) -> Vec<AliasClass> {
        let class = |&(root, part, _): &(Root, Part, AliasSet)| match (root, part) {
            (Root::Argument(at), Part::Global) => {
                self.noalias(at).map_or(AliasClass::REST, AliasClass::argument)
            }
            (Root::Variable(_), Part::Global) => AliasClass::REST,
            _ => AliasClass::UNKNOWN,
        };
        if sets.is_empty() {
            return parts.iter().map(class).collect();
        }
        let roots = |wanted: &dyn Fn(usize, &(Root, Part, AliasSet)) -> bool| {
            let found =
                parts.iter().enumerate().filter(|(n, root)| root.1 == Part::Global && wanted(*n, root));
            found.fold(0, |set: Roots, (number, _)| set | 1 << number)
        };
        let in_sets = roots(&|_, root| root.2 != AliasSet::ANY);
        // What shares memory with sets that are apart would join them.
        let told = roots(&|number, &(root, _, set)| match root {
            _ if set != AliasSet::ANY => true,
            Root::Argument(at) if self.noalias(at).is_some() => true,
            Root::Unknown(_) => false,
            _ => self.shares[number] & in_sets == 0,
        });
        let mut classes = vec![AliasClass::UNKNOWN; parts.len()];
        let (mut left, mut found): (Roots, usize) = (told, 0);
        while left != 0 {
            // All that roots share with each other, one with the next.
            let (mut members, mut new): (Roots, Roots) = (0, left & left.wrapping_neg());
            while new != 0 {
                members |= new;
                let next = bits(new).fold(0, |set, number| set | self.shares[number]);
                new = next & told & !members;
            }
            bits(members).for_each(|number| classes[number] = AliasClass::argument(found));
            found += 1;
            left &= !members;
        }
        classes
    }

    fn may_share(&self, a: (Root, Part), b: (Root, Part)) -> bool {
        let apart = match (a.1, b.1) {
            (Part::Any, _) | (_, Part::Any) => false,
            (x, y) => x != y,
        };
        let noalias = |root| matches!(root, Root::Argument(at) if self.noalias(at).is_some());
        if apart {
            return false;
        }
        match (a.0, b.0) {
            (x, y) if x == y => true,
            (Root::Unknown(_), _) | (_, Root::Unknown(_)) => true,
            (Root::Variable(_), Root::Variable(_)) | (Root::Stack(_), _) | (_, Root::Stack(_)) => false,
            (x, y) => !noalias(x) && !noalias(y),
        }
    }

    /// What `ptr`, by which `space` is accessed, starts from.
    fn root(&self, func: &Function, module: &Module, ptr: Value, space: AddrSpace) -> (Root, Part) {
        let unknown = |space| (Root::Unknown(Part::of(space)), Part::of(space));
        let mut value = ptr;
        for _ in 0..MAX_CHAIN {
            if let Some(Const::Symbol(SymbolRef::Global(global), _)) = func.as_const(value) {
                let data = &module.globals[*global];
                // Dynamic LDS: all such variables are at one place.
                let known = data.size_bytes > 0;
                return if known {
                    (Root::Variable(*global), Part::of(data.space))
                } else {
                    unknown(data.space)
                };
            }
            let Some(inst) = func.def_inst(value) else { break };
            match &func.insts[inst].kind {
                InstKind::PtrAdd { base, .. } if func.ty(*base).addr_space().is_some() => value = *base,
                InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => value = *arg,
                // The incoming arguments of a function are an object of no size.
                InstKind::Alloca { size_bytes, count: None, .. } if *size_bytes > 0 => {
                    return (Root::Stack(inst), Part::Scratch);
                }
                InstKind::Load { ptr, .. } => {
                    let space = func.ty(value).addr_space().unwrap_or(space);
                    return match self.argument(func, *ptr) {
                        Some(at) => (Root::Argument(at), Part::of(space)),
                        None => unknown(space),
                    };
                }
                _ => break,
            }
        }
        unknown(func.ty(value).addr_space().unwrap_or(space))
    }

    /// The offset of the argument that a load of `ptr` gives.
    fn argument(&self, func: &Function, ptr: Value) -> Option<i64> {
        let (base, offset) = match func.insts[func.def_inst(ptr)?].kind {
            InstKind::PtrAdd { base, index: None, offset, .. } => (base, offset),
            // The first argument is where the segment starts.
            _ => (ptr, 0),
        };
        let base = &func.insts[func.def_inst(base)?].kind;
        let is_segment = matches!(base, InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, .. });
        (is_segment && self.arguments.contains_key(&offset)).then_some(offset)
    }

    /// The number of the root of an access.
    pub fn number(&self, func: &Function, module: &Module, ptr: Value, mem: &MemAccess) -> u8 {
        let (root, part) = self.root(func, module, ptr, mem.space);
        let known = self.numbers.get(&(root, func.alias_sets.telling(mem.set)));
        known.or_else(|| self.numbers.get(&(Root::Unknown(part), AliasSet::ANY))).copied().unwrap_or(0)
    }

    /// Roots that may share memory with the one of this number.
    pub fn shares(&self, number: u8) -> Roots {
        self.shares.get(usize::from(number)).copied().unwrap_or(ALL)
    }

    /// The number of the argument at this offset of the segment among those that are `noalias`.
    fn noalias(&self, at: i64) -> Option<usize> {
        self.arguments.get(&at).copied().flatten()
    }

    /// What can be said of accesses by `ptr` in global memory without knowing the function.
    pub fn alias_class(&self, func: &Function, module: &Module, ptr: Value, mem: &MemAccess) -> AliasClass {
        let number = self.number(func, module, ptr, mem);
        self.classes.get(usize::from(number)).copied().unwrap_or(AliasClass::UNKNOWN)
    }

    /// Whether some argument is `noalias`, or scopes tell accesses apart.
    pub fn tells_classes(&self, func: &Function) -> bool {
        !func.alias_sets.is_empty() || self.arguments.values().any(Option::is_some)
    }

    /// Number of roots.
    pub fn len(&self) -> usize {
        self.shares.len()
    }

    /// Roots whose memory `inst` may change, or show anew what others have written.
    pub fn writes(&self, func: &Function, module: &Module, inst: Inst) -> Roots {
        let kind = &func.insts[inst].kind;
        match kind {
            InstKind::Store { ptr, mem, .. } if mem.is_simple() => {
                self.shares(self.number(func, module, *ptr, mem))
            }
            InstKind::AtomicRmw { ptr, mem, .. } | InstKind::CmpXchg { ptr, mem, .. }
                if mem.ordering <= Ordering::Monotonic && !mem.flags.contains(MemFlags::VOLATILE) =>
            {
                self.shares(self.number(func, module, *ptr, mem))
            }
            kind if kind.is_terminator() || !kind.has_side_effects() => 0,
            kind if kind.may_stop() => ALL,
            _ => ALL & !STOPS,
        }
    }
}

/// The numbers of the roots in a set.
fn bits(mut set: Roots) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        number
    })
}

/// Address and treatment of a load, store or atomic operation.
fn access(kind: &InstKind) -> Option<(Value, &MemAccess)> {
    match kind {
        InstKind::Load { ptr, mem }
        | InstKind::Store { ptr, mem, .. }
        | InstKind::AtomicRmw { ptr, mem, .. }
        | InstKind::CmpXchg { ptr, mem, .. } => Some((*ptr, mem)),
        _ => None,
    }
}

/// Whether the memory that a plain load reads cannot have another content at any time of the dispatch up to it.
pub fn is_constant(mem: &MemAccess) -> bool {
    mem.space == AddrSpace::CONSTANT || mem.flags.intersects(MemFlags::INVARIANT | MemFlags::NO_CLOBBER)
}

/// Whether the memory that a load reads has one content throughout the dispatch. That nobody has written it *yet* says nothing of what follows.
pub fn never_changes(mem: &MemAccess) -> bool {
    mem.space == AddrSpace::CONSTANT || mem.flags.contains(MemFlags::INVARIANT)
}

/// Whether the result of `data` is computed, in a few steps, from what the launch gives the wave as a whole. A load
/// of memory that never changes at such an address is one of scalar memory.
pub fn is_of_wave(func: &Function, data: &InstData) -> bool {
    comes_from_launch(func, data, MAX_LAUNCH_STEPS)
}

fn comes_from_launch(func: &Function, data: &InstData, steps: u32) -> bool {
    match &data.kind {
        InstKind::Load { mem, .. } if mem.is_simple() && is_constant(mem) => {}
        InstKind::Intrinsic { intrinsic, .. } => {
            return matches!(
                intrinsic,
                Intrinsic::KernargSegmentPtr | Intrinsic::DispatchPtr | Intrinsic::ImplicitBufferPtr
            );
        }
        InstKind::PtrAdd { .. } | InstKind::InsertElement { .. } | InstKind::ExtractElement { .. } => {}
        InstKind::Cast { op: CastOp::IntToPtr | CastOp::PtrToInt | CastOp::BitCast, .. } => {}
        _ => return false,
    }
    let mut all = steps > 0;
    data.kind.for_each_value(|v| {
        all &= all
            && match func.values[v].def {
                ValueDef::Const(_) => true,
                ValueDef::FuncParam(n) => {
                    func.params.get(n as usize).is_some_and(|param| param.flags.contains(ParamFlags::INREG))
                }
                ValueDef::Inst(inst) => comes_from_launch(func, &func.insts[inst], steps - 1),
                ValueDef::BlockParam(..) => false,
            };
    });
    all
}

/// A function's blocks in an order in which loops are contiguous, and what they write.
pub struct Flow {
    /// Edges.
    pub graph: Csr,
    /// The order; loops are contiguous.
    pub order: Order,
    /// The dominator tree.
    pub dominators: Dominators,
    /// The loops.
    pub loops: Loops,
    /// Of each loop, the position behind its last block.
    ends: Vec<u32>,
    /// Sets of roots: leaves by position, above them the unions of two each.
    tree: Vec<Roots>,
}

impl Flow {
    /// The blocks of `func`, which has a body.
    pub fn new(func: &Function) -> Self {
        let graph = Csr::of_ir(func);
        let rpo = Order::reverse_post_order(&graph);
        let dominators = Dominators::new(&graph, &rpo);
        let loops = Loops::new(&graph, &rpo, &dominators);
        let order = rpo.loops_contiguous(&loops);
        let mut ends = vec![0; loops.len()];
        for (position, &block) in order.blocks().iter().enumerate() {
            if let Some(l) = loops.innermost(block) {
                ends[l.index()] = position as u32 + 1;
            }
        }
        // Inner loops have higher numbers than those around them.
        for l in loops.iter().rev() {
            if let Some(parent) = loops[l].parent {
                ends[parent.index()] = ends[parent.index()].max(ends[l.index()]);
            }
        }
        Self { graph, order, dominators, loops, ends, tree: Vec::new() }
    }

    /// Notes what each block writes.
    pub fn note_writes(&mut self, func: &Function, module: &Module, memory: &Memory) {
        let blocks = self.order.blocks().len();
        self.tree = vec![0; blocks * 2];
        for (position, &block) in self.order.blocks().iter().enumerate() {
            let insts = &func.blocks[Block::from_u32(block)].insts;
            self.tree[blocks + position] =
                insts.iter().fold(0, |set, &inst| set | memory.writes(func, module, inst));
        }
        for node in (1..blocks).rev() {
            self.tree[node] = self.tree[node * 2] | self.tree[node * 2 + 1];
        }
    }

    /// What the blocks at positions from `from` up to before `to` write.
    pub fn written(&self, from: u32, to: u32) -> Roots {
        let leaves = self.tree.len() / 2;
        let (mut low, mut high) = (leaves + from as usize, leaves + to as usize);
        let mut set = 0;
        while low < high {
            if low % 2 == 1 {
                set |= self.tree[low];
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                set |= self.tree[high];
            }
            low /= 2;
            high /= 2;
        }
        set
    }

    /// What a loop writes.
    pub fn written_in(&self, l: Loop) -> Roots {
        let Range { start, end } = self.positions_in(l);
        self.written(start, end)
    }

    /// The blocks of a loop, those of loops inside included.
    pub fn blocks_in(&self, l: Loop) -> &[u32] {
        let Range { start, end } = self.positions_in(l);
        self.order.blocks().get(start as usize..end as usize).unwrap_or_default()
    }

    fn positions_in(&self, l: Loop) -> Range<u32> {
        self.order.position(self.loops[l].header).unwrap_or(0)..self.ends[l.index()]
    }

    /// The loop that a block is the header of.
    pub fn headed_by(&self, block: u32) -> Option<Loop> {
        self.loops.innermost(block).filter(|&l| self.loops[l].header == block)
    }

    /// What may be written between the end of the immediate dominator of `block` and its start.
    pub fn written_above(&self, block: u32) -> Roots {
        use mir::analysis::Graph;
        let Some(dominator) = self.dominators.idom(block) else { return ALL };
        let own = self.headed_by(block).map_or(0, |l| self.written_in(l));
        if self.graph.preds(block).len() == 1 {
            return own;
        }
        // Blocks on the way are behind the dominator in the order and, since loops that do not have this block
        // are contiguous, in front of the block.
        match (self.order.position(dominator), self.order.position(block)) {
            (Some(from), Some(to)) if from < to => own | self.written(from + 1, to),
            _ => ALL,
        }
    }
}
