//! Which values and branches differ between the lanes of a wave.
//!
//! Problem: a value that is the same in all active lanes may live in an SGPR and a branch on it may stay a branch;
//! everything else needs VGPRs and EXEC. Idea: divergence spreads from its sources (work-item ids, atomics, lane-private
//! memory) in three ways until nothing changes:
//!
//! * *data*: an operation on a divergent operand is divergent;
//! * *joins*: where lanes that a divergent branch separated meet again, the block's parameters are divergent
//!   (the module `joins` finds these blocks);
//! * *time*: when lanes leave a loop in different iterations, each takes along its own iteration's value of whatever the
//!   loop computes. Inside the loop such a value stays uniform; each *use* outside is divergent
//!   ([`Uniformity::is_temporally_divergent`]).
//!
//! Loads from a uniform address outside private memory are uniform, whichever instruction makes them. Volatile and
//! atomic loads are not: the hardware may serve lanes one after the other.
//!
//! Cost: linear in uses, plus the regions between divergent branches and their joins, bounded by a budget after which the
//! answer is coarser (more joins divergent) but still right.

mod joins;

use crate::analysis::{Csr, Dominators, Loop, Loops, Order};
use crate::ir::{
    AddrSpace, Block, Function, Inst, InstKind, Intrinsic, IntrinsicProps, MemAccess, ParamFlags, Value,
    ValueDef,
};
use crate::target::Target;
use cranelift_entity::EntityRef;
use joins::{Joins, Outcome};

/// The result: a side table, the function is unchanged.
#[derive(Clone, Debug)]
pub struct Uniformity {
    divergent: Vec<bool>,
    divergent_branch: Vec<bool>,
    divergent_join: Vec<bool>,
    divergent_exit: Vec<bool>,
    /// Block that defines each value; `u32::MAX` for constants and parameters of the function.
    def_block: Vec<u32>,
    loops: Loops,
    dominators: Dominators,
    order: Order,
}

impl Uniformity {
    /// Analyses `f`. Works on any IR; answers are best on legal IR.
    pub fn compute(f: &Function, target: &Target) -> Self {
        let graph = Csr::of_ir(f);
        let rpo = Order::reverse_post_order(&graph);
        let dominators = Dominators::new(&graph, &rpo);
        let loops = Loops::new(&graph, &rpo, &dominators);
        let order = rpo.loops_contiguous(&loops);
        let mut pass = Pass::new(f, target, &graph, &loops, &order);
        if f.is_declaration() {
            return pass.out;
        }
        pass.run();
        let mut this = pass.out;
        this.loops = loops;
        this.dominators = dominators;
        this.order = order;
        this
    }

    /// Whether `value` may differ between the lanes that are active where it is defined. Uses outside of its loop may see more: they ask
    /// [`Self::is_divergent_at`].
    pub fn is_divergent_where_defined(&self, value: Value) -> bool {
        self.divergent.get(value.index()).is_some_and(|&d| d)
    }

    /// Whether lanes may take different targets of `block`'s branch.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.divergent_branch[block.index()]
    }

    /// Whether lanes that came different ways meet in `block`; its parameters are divergent.
    pub fn is_divergent_join(&self, block: Block) -> bool {
        self.divergent_join[block.index()]
    }

    /// Whether lanes may leave `l` in different iterations.
    pub fn has_divergent_exit(&self, l: Loop) -> bool {
        self.divergent_exit[l.index()]
    }

    /// Whether a use of `value` in `block` sees values of different iterations: `value` is defined in a loop with divergent
    /// exit that does not contain `block`. For an argument of a branch, `block` is the branch's target.
    pub fn is_temporally_divergent(&self, value: Value, block: Block) -> bool {
        self.temporal(&self.loops, value, block.as_u32())
    }

    /// Whether a use of `value` in `block` sees different values in different lanes, for either reason.
    pub fn is_divergent_at(&self, value: Value, block: Block) -> bool {
        self.is_divergent_where_defined(value) || self.is_temporally_divergent(value, block)
    }

    /// The dominator tree of the function's graph.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// The function's loops; nodes are block numbers.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Reverse post-order with loops contiguous; nodes are block numbers.
    pub fn order(&self) -> &Order {
        &self.order
    }

    fn temporal(&self, loops: &Loops, value: Value, block: u32) -> bool {
        let Some(&def) = self.def_block.get(value.index()).filter(|&&b| b != u32::MAX) else { return false };
        let mut at = loops.innermost(def);
        while let Some(l) = at {
            if loops.contains(l, block) {
                return false;
            }
            if self.divergent_exit[l.index()] {
                return true;
            }
            at = loops[l].parent;
        }
        false
    }
}

struct Pass<'a> {
    f: &'a Function,
    target: &'a Target,
    loops: &'a Loops,
    joins: Joins<'a>,
    /// Users of each value, grouped by value.
    uses: Vec<Inst>,
    use_start: Vec<u32>,
    inst_block: Vec<u32>,
    /// Values that leave each loop, by its number; empty until the first loop with a divergent exit is found.
    leaving: Vec<Vec<Value>>,
    worklist: Vec<Value>,
    /// While the sweep runs, the place of its block in the order.
    swept: Option<u32>,
    /// Whether any loop has a divergent exit.
    any_exit: bool,
    out: Uniformity,
}

impl<'a> Pass<'a> {
    /// Nothing is divergent yet.
    fn new(f: &'a Function, target: &'a Target, graph: &'a Csr, loops: &'a Loops, order: &'a Order) -> Self {
        let out = Uniformity {
            divergent: vec![false; f.values.len()],
            divergent_branch: vec![false; f.blocks.len()],
            divergent_join: vec![false; f.blocks.len()],
            divergent_exit: vec![false; loops.len()],
            def_block: vec![u32::MAX; f.values.len()],
            loops: Loops::default(),
            dominators: Dominators::default(),
            order: Order::default(),
        };
        Self {
            joins: Joins::new(graph, loops, order),
            f,
            target,
            loops,
            uses: Vec::new(),
            use_start: Vec::new(),
            inst_block: vec![u32::MAX; f.insts.len()],
            leaving: Vec::new(),
            worklist: Vec::new(),
            swept: None,
            any_exit: false,
            out,
        }
    }

    /// Finds what is divergent: in one sweep through the code, and behind it, from what the sweep learned too late, along lists of users.
    /// Where the joins of branches become coarse, the result would depend on the order of questions; there lists of users are all.
    fn run(&mut self) {
        self.find_blocks();
        if self.joins.is_exact() && self.joins.order.blocks().len() == self.f.layout.len() {
            self.sweep();
            if !self.worklist.is_empty() {
                self.index();
                self.spread();
            }
            if self.joins.is_exact() {
                return;
            }
            self.forget();
        }
        self.by_users();
    }

    /// Finds what is divergent along lists of users alone.
    fn by_users(&mut self) {
        self.index();
        self.seed();
        self.spread();
    }

    /// Forgets all that is divergent.
    fn forget(&mut self) {
        let Uniformity { divergent, divergent_branch, divergent_join, divergent_exit, .. } = &mut self.out;
        for all in [divergent, divergent_branch, divergent_join, divergent_exit] {
            all.fill(false);
        }
        self.any_exit = false;
        self.leaving.clear();
        self.joins.reset();
    }

    /// Goes over the code in the order in which definitions come before uses. Of what becomes divergent, users come by later but for those of
    /// parameters that the sweep has passed, which are left in the work list.
    fn sweep(&mut self) {
        self.swept = Some(0);
        self.seed_params();
        let (f, order) = (self.f, self.joins.order);
        for (&block, position) in order.blocks().iter().zip(0..) {
            self.swept = Some(position);
            for &inst in &f.blocks[Block::from_u32(block)].insts {
                crate::interrupt::checkpoint();
                match f.insts[inst].result {
                    Some(result) if self.is_source(inst) => self.mark(result),
                    _ => self.visit(inst, false),
                }
            }
        }
        self.swept = None;
    }

    /// Whether the sweep comes by all users of `value` later.
    fn is_ahead(&self, value: Value) -> bool {
        self.swept.is_some_and(|at| match self.f.values[value].def {
            ValueDef::BlockParam(block, _) => {
                self.joins.order.position(block.as_u32()).is_some_and(|position| position > at)
            }
            _ => true,
        })
    }

    /// Fills in the blocks of instructions and values.
    fn find_blocks(&mut self) {
        for &block in &self.f.layout {
            let data = &self.f.blocks[block];
            for &param in &data.params {
                self.out.def_block[param.index()] = block.as_u32();
            }
            for &inst in &data.insts {
                self.inst_block[inst.index()] = block.as_u32();
                if let Some(result) = self.f.insts[inst].result {
                    self.out.def_block[result.index()] = block.as_u32();
                }
            }
        }
    }

    /// Fills in users.
    fn index(&mut self) {
        let mut count = vec![0u32; self.f.values.len() + 1];
        let mut pairs: Vec<(Value, Inst)> = Vec::with_capacity(3 * self.f.insts.len());
        for &block in &self.f.layout {
            for &inst in &self.f.blocks[block].insts {
                crate::interrupt::checkpoint();
                self.f.insts[inst].kind.for_each_value(|v| {
                    count[v.index() + 1] += 1;
                    pairs.push((v, inst));
                });
            }
        }
        for i in 1..count.len() {
            count[i] += count[i - 1];
        }
        self.use_start = count.clone();
        self.uses = vec![Inst::from_u32(0); pairs.len()];
        for (v, inst) in pairs {
            self.uses[count[v.index()] as usize] = inst;
            count[v.index()] += 1;
        }
    }

    fn seed_params(&mut self) {
        if !self.f.is_kernel() {
            for param in &self.f.params {
                if !param.flags.contains(ParamFlags::INREG) {
                    self.mark(param.value);
                }
            }
        }
    }

    fn seed(&mut self) {
        self.seed_params();
        for &block in &self.f.layout {
            for &inst in &self.f.blocks[block].insts {
                if let Some(result) = self.f.insts[inst].result
                    && self.is_source(inst)
                {
                    self.mark(result);
                }
            }
        }
    }

    fn mark(&mut self, value: Value) {
        if matches!(self.f.values[value].def, ValueDef::Const(_)) {
            return;
        }
        if !std::mem::replace(&mut self.out.divergent[value.index()], true) && !self.is_ahead(value) {
            self.worklist.push(value);
        }
    }

    fn spread(&mut self) {
        while let Some(value) = self.worklist.pop() {
            crate::interrupt::checkpoint();
            self.visit_users(value);
        }
    }

    fn visit_users(&mut self, value: Value) {
        let divergent = self.out.divergent[value.index()];
        for i in self.use_start[value.index()]..self.use_start[value.index() + 1] {
            self.visit(self.uses[i as usize], divergent);
        }
    }

    /// Whether a use of `value` in `block` is divergent as far as known.
    fn differs(&self, value: Value, block: u32) -> bool {
        self.out.divergent[value.index()] || self.any_exit && self.out.temporal(self.loops, value, block)
    }

    /// Something changed among the operands of `inst`, of which one is `divergent` where it is defined, if that is known.
    fn visit(&mut self, inst: Inst, divergent: bool) {
        let block = self.inst_block[inst.index()];
        let data = &self.f.insts[inst];
        if !data.kind.is_terminator() {
            if let Some(result) = data.result
                && !self.out.divergent[result.index()]
                && self.spreads(inst, block, divergent)
            {
                self.mark(result);
            }
            return;
        }
        let condition = match &data.kind {
            InstKind::Branch { cond, .. } => Some(*cond),
            InstKind::Switch { value, .. } => Some(*value),
            _ => None,
        };
        if condition.is_some_and(|c| self.differs(c, block)) && !self.out.divergent_branch[block as usize] {
            self.out.divergent_branch[block as usize] = true;
            let outcomes = self.joins.of_branch(block);
            self.apply(outcomes);
        }
        for target in data.kind.targets() {
            let params = &self.f.blocks[target.block].params;
            for (&arg, &param) in target.args.iter().zip(params) {
                if self.differs(arg, target.block.as_u32()) {
                    self.mark(param);
                }
            }
        }
    }

    fn apply(&mut self, mut outcomes: Vec<Outcome>) {
        while let Some(outcome) = outcomes.pop() {
            match outcome {
                Outcome::Join(block) => {
                    if !std::mem::replace(&mut self.out.divergent_join[block as usize], true) {
                        for &param in &self.f.blocks[Block::from_u32(block)].params {
                            self.mark(param);
                        }
                    }
                }
                Outcome::DivergentExit(l) => {
                    if !std::mem::replace(&mut self.out.divergent_exit[l.index()], true) {
                        self.any_exit = true;
                        outcomes.extend(self.joins.of_loop(l));
                        self.leave(l);
                    }
                }
            }
        }
    }

    /// `l` has a divergent exit: values defined in it are looked at again where they are used outside.
    fn leave(&mut self, l: Loop) {
        if self.swept.is_some() {
            // The sweep is in the loop, and comes by what is behind it later; it may have passed exits.
            let (f, loops) = (self.f, self.loops);
            for &(from, _) in &loops[l].exits {
                if let Some(branch) = f.terminator(Block::from_u32(from)) {
                    self.visit(branch, false);
                }
            }
            return;
        }
        if self.leaving.is_empty() {
            self.find_leaving();
        }
        for value in std::mem::take(&mut self.leaving[l.index()]) {
            self.visit_users(value);
        }
    }

    /// Lists for each loop the values that are defined in it, or in a loop inside it, and used outside.
    fn find_leaving(&mut self) {
        self.leaving = vec![Vec::new(); self.loops.len()];
        for value in self.f.values.keys() {
            let def = Some(self.out.def_block[value.index()]).filter(|&b| b != u32::MAX);
            let Some(inner) = def.and_then(|b| self.loops.innermost(b)) else { continue };
            // The outermost loop that a use is outside of.
            let mut top = None;
            let uses = self.use_start[value.index()] as usize..self.use_start[value.index() + 1] as usize;
            for &user in &self.uses[uses] {
                let targets = self.f.insts[user].kind.targets();
                let targets = targets.iter().map(|target| target.block.as_u32());
                for block in targets.chain([self.inst_block[user.index()]]) {
                    let mut at = top.map_or(Some(inner), |l: Loop| self.loops[l].parent);
                    while let Some(l) = at.filter(|&l| !self.loops.contains(l, block)) {
                        top = Some(l);
                        at = self.loops[l].parent;
                    }
                }
            }
            let mut at = top.map(|_| inner);
            while let Some(l) = at {
                self.leaving[l.index()].push(value);
                at = if top == Some(l) { None } else { self.loops[l].parent };
            }
        }
    }

    /// Whether the result of `inst` is divergent whatever its operands are.
    fn is_source(&self, inst: Inst) -> bool {
        match &self.f.insts[inst].kind {
            InstKind::Load { mem, .. } => load_differs(mem),
            InstKind::AtomicRmw { .. } | InstKind::CmpXchg { .. } | InstKind::Call { .. } => true,
            // Members of a struct differ on their own.
            InstKind::InlineAsm { asm, .. } => {
                !matches!(self.f.insts[inst].ty, crate::ir::Type::Aggregate(_))
                    && !self.is_scalar_result(*asm, 0)
            }
            InstKind::ExtractValue { aggregate, path } => match self.asm_of(*aggregate) {
                Some(asm) => !self.is_scalar_result(asm, path.first().copied().unwrap_or(0)),
                None => false,
            },
            InstKind::Intrinsic { intrinsic, .. } => self.intrinsic_is_source(*intrinsic),
            _ => false,
        }
    }

    /// The inline assembly that returns `aggregate`.
    fn asm_of(&self, aggregate: Value) -> Option<crate::ir::InlineAsmId> {
        match self.f.insts[self.f.def_inst(aggregate)?].kind {
            InstKind::InlineAsm { asm, .. } => Some(asm),
            _ => None,
        }
    }

    fn is_scalar_result(&self, asm: crate::ir::InlineAsmId, index: u32) -> bool {
        self.f.inline_asm.get(asm).is_some_and(|asm| asm.result_is_scalar(index))
    }

    fn intrinsic_is_source(&self, intrinsic: Intrinsic) -> bool {
        if let Some((dimension, size)) =
            intrinsic.work_item_dimension().zip(self.f.kernel.reqd_work_group_size)
        {
            return !self.id_is_uniform(dimension, size);
        }
        let props = intrinsic.props();
        !props.contains(IntrinsicProps::UNIFORM)
            && props.intersects(IntrinsicProps::DIVERGENT.union(IntrinsicProps::EFFECT))
    }

    /// Whether all lanes of a wave have one id in `dimension`: it has a single one, or lower dimensions fill whole waves.
    fn id_is_uniform(&self, dimension: usize, size: [u32; 3]) -> bool {
        let below: u64 = size[..dimension].iter().map(|&s| u64::from(s)).product();
        size[dimension] == 1
            || (dimension > 0 && below != 0 && below.is_multiple_of(u64::from(self.target.wave_size())))
    }

    /// Whether `inst`, no source by itself, is divergent for its operands, of which one is `divergent`, if that is known.
    fn spreads(&self, inst: Inst, block: u32, divergent: bool) -> bool {
        match &self.f.insts[inst].kind {
            InstKind::Intrinsic { intrinsic, .. } if intrinsic.props().contains(IntrinsicProps::UNIFORM) => {
                false
            }
            InstKind::Intrinsic {
                intrinsic: Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ,
                ..
            } => false,
            InstKind::InlineAsm { .. } => false,
            _ if divergent => true,
            kind => {
                let mut any = false;
                kind.for_each_value(|v| any |= self.differs(v, block));
                any
            }
        }
    }
}

/// Private memory is another one in each lane, and generic pointers may point there; volatile and atomic loads may be
/// served lane by lane.
fn load_differs(mem: &MemAccess) -> bool {
    matches!(mem.space, AddrSpace::PRIVATE | AddrSpace::FLAT) || !mem.is_simple()
}

#[cfg(test)]
mod tests;
