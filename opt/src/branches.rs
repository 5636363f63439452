//! Clean-up of the control flow of legal IR, in place: fewer blocks, fewer divergent branches.
//!
//! One walk in post-order, so that successors are in their final form, does to each block what applies, as
//! long as something does:
//!
//! * an edge to a block that only jumps on goes where that jump goes;
//! * a branch whose edges agree, or whose condition is constant, is a jump;
//! * an edge that decides the branch of a block without instructions goes straight to the target decided;
//! * a block and its only successor, of which it is the only predecessor, become one;
//! * a branch over one or two small arms becomes selects. A divergent branch costs about five scalar
//!   instructions (EXEC saved, masked, tested, restored) and both arms run anyway; so arms of a handful of
//!   cheap instructions that neither touch memory nor look at other lanes are better run unconditionally.
//!
//! Back edges are left alone, so that loops keep one latch where they had one.
//!
//! Cost: linear, but for chains of empty blocks, which are followed up to [`MAX_STEPS`].

use super::cfg::Cfg;
use super::params::{Replaced, fold_params};
use cranelift_entity::SecondaryMap;
use mir::ir::*;
use smallvec::SmallVec;

/// Most instructions (dwords of work) in the arms and selects of a converted branch.
const MAX_ARMS_COST: u32 = 8;
/// Most things done to one block.
const MAX_STEPS: usize = 1000;

/// Most walks over a function.
const MAX_WALKS: usize = 3;

/// Cleans up the control flow of `func`, whose blocks are all reachable.
pub fn clean_up(func: &mut Function) {
    if func.layout.len() < 2 {
        return;
    }
    for _ in 0..MAX_WALKS {
        // A threaded edge may have been the one that kept two blocks apart which were visited before.
        if !walk(func) {
            break;
        }
    }
}

/// One walk; whether it threaded an edge.
fn walk(func: &mut Function) -> bool {
    fold_params(func, &mut Replaced::default());
    let cfg = Cfg::new(func);
    let mut position = SecondaryMap::new();
    let mut preds: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (i, &block) in cfg.rpo.iter().enumerate() {
        position[block] = i as u32;
        for succ in func.successors(block) {
            preds[succ] += 1;
        }
    }
    let mut header: SecondaryMap<Block, bool> = SecondaryMap::new();
    for (i, &block) in cfg.rpo.iter().enumerate() {
        header[block] = cfg.preds(i).iter().any(|&pred| pred as usize >= i);
    }
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(func.values.len());
    for &block in &cfg.rpo {
        for &inst in &func.blocks[block].insts {
            func.insts[inst].kind.for_each_value(|v| uses[v] += 1);
        }
    }
    let (replaced, gone) = (Replaced::default(), SecondaryMap::new());
    let mut cleaner = Cleaner { func, position, header, preds, uses, replaced, gone, threaded: false };
    let mut changed = false;
    for &block in cfg.rpo.iter().rev() {
        if !cleaner.gone[block] {
            for _ in 0..MAX_STEPS {
                if !cleaner.step(block) {
                    break;
                }
                changed = true;
            }
        }
    }
    let (mut replaced, threaded) = (cleaner.replaced, cleaner.threaded);
    func.layout = cfg.rpo;
    if !changed {
        return false;
    }
    // Threading leaves blocks behind that nothing reaches.
    replaced.apply(func);
    let reached = Cfg::new(func);
    func.layout = reached.rpo;
    fold_params(func, &mut Replaced::default());
    threaded
}

struct Cleaner<'a> {
    func: &'a mut Function,
    position: SecondaryMap<Block, u32>,
    /// Blocks where loops begin.
    header: SecondaryMap<Block, bool>,
    /// Edges into a block.
    preds: SecondaryMap<Block, u32>,
    /// Uses of a value; may be too high once blocks are gone, never too low.
    uses: SecondaryMap<Value, u32>,
    replaced: Replaced,
    /// Blocks whose instructions moved to another one, or that lost their last predecessor.
    gone: SecondaryMap<Block, bool>,
    /// Whether an edge has been threaded.
    threaded: bool,
}

impl Cleaner<'_> {
    /// Does one thing to `block`; false where there is none.
    fn step(&mut self, block: Block) -> bool {
        let Some(inst) = self.func.terminator(block) else { return false };
        match &self.func.insts[inst].kind {
            InstKind::Jump { target } => {
                let target = target.clone();
                match self.threaded(block, &target) {
                    Some(new) => {
                        self.retarget(&target, &new);
                        self.func.insts[inst].kind = InstKind::Jump { target: new };
                        true
                    }
                    None => self.merge(block, &target),
                }
            }
            InstKind::Branch { cond, if_true, if_false } => {
                let (cond, if_true, if_false) = (*cond, if_true.clone(), if_false.clone());
                self.branch(block, inst, cond, [if_true, if_false])
            }
            _ => false,
        }
    }

    fn branch(&mut self, block: Block, inst: Inst, cond: Value, targets: [BlockCall; 2]) -> bool {
        let cond = self.replaced.resolve(cond);
        if let Some(c) = self.func.as_int(cond) {
            let [if_true, if_false] = targets;
            let (taken, other) = if c & 1 == 1 { (if_true, if_false) } else { (if_false, if_true) };
            self.drop_edge(&other);
            self.func.insts[inst].kind = InstKind::Jump { target: taken };
            return true;
        }
        if self.same(&targets[0], &targets[1]) {
            let [target, other] = targets;
            self.drop_edge(&other);
            self.func.insts[inst].kind = InstKind::Jump { target };
            return true;
        }
        if self.convert(block, inst, cond, &targets) {
            return true;
        }
        for i in 0..2 {
            // Two edges to one block with other arguments would have to be split again.
            if let Some(new) = self.threaded(block, &targets[i])
                && (new.block != targets[1 - i].block || self.same(&new, &targets[1 - i]))
            {
                self.retarget(&targets[i], &new);
                let [if_true, if_false] = targets;
                let [if_true, if_false] = if i == 0 { [new, if_false] } else { [if_true, new] };
                self.func.insts[inst].kind = InstKind::Branch { cond, if_true, if_false };
                return true;
            }
        }
        false
    }

    fn same(&mut self, a: &BlockCall, b: &BlockCall) -> bool {
        a.block == b.block
            && a.args.iter().zip(&b.args).all(|(&x, &y)| self.replaced.resolve(x) == self.replaced.resolve(y))
    }

    /// Counts the edge to `new` instead of the one to `old`.
    fn retarget(&mut self, old: &BlockCall, new: &BlockCall) {
        self.threaded = true;
        self.preds[new.block] += 1;
        for &arg in &new.args {
            self.uses[arg] += 1;
        }
        self.drop_edge(old);
    }

    fn drop_edge(&mut self, target: &BlockCall) {
        let mut lost: SmallVec<[Block; 4]> = SmallVec::from_slice(&[target.block]);
        while let Some(block) = lost.pop() {
            self.preds[block] -= 1;
            if self.preds[block] == 0 && !self.gone[block] {
                self.gone[block] = true;
                lost.extend(self.func.successors(block));
            }
        }
    }

    // ---- threading

    /// Where an edge from `block` to `target` leads in the end, if that is further on and known.
    fn threaded(&mut self, block: Block, target: &BlockCall) -> Option<BlockCall> {
        let through = target.block;
        let &[inst] = &self.func.blocks[through].insts[..] else { return None };
        // Loops keep their headers and latches; entered behind the header, they could become irreducible.
        if self.position[through] <= self.position[block] || self.header[through] {
            return None;
        }
        let mut kind = self.func.insts[inst].kind.clone();
        kind.for_each_value_mut(|v| *v = self.replaced.resolve(*v));
        let next = match &kind {
            InstKind::Jump { target: next } => next,
            InstKind::Branch { cond, if_true, if_false } => {
                let at = self.func.blocks[through].params.iter().position(|&p| p == *cond)?;
                let known = self.replaced.resolve(*target.args.get(at)?);
                if self.func.as_int(known)? & 1 == 1 { if_true } else { if_false }
            }
            _ => return None,
        };
        if self.position[next.block] <= self.position[through] {
            return None;
        }
        // The block no longer dominates what it did, so its parameters must not be used elsewhere.
        let params = &self.func.blocks[through].params;
        let mut used: u32 = 0;
        kind.for_each_value(|v| used += u32::from(params.contains(&v)));
        if params.iter().map(|&p| self.uses[p]).sum::<u32>() > used {
            return None;
        }
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        for &arg in &next.args {
            let at = self.func.blocks[through].params.iter().position(|&p| p == arg);
            args.push(match at {
                Some(at) => *target.args.get(at)?,
                None => arg,
            });
        }
        Some(BlockCall { block: next.block, args })
    }

    // ---- merging

    /// Appends the only successor, if this is its only predecessor.
    fn merge(&mut self, block: Block, target: &BlockCall) -> bool {
        let next = target.block;
        if self.preds[next] != 1 || next == block || next == self.func.entry() {
            return false;
        }
        let params = std::mem::take(&mut self.func.blocks[next].params);
        for (&param, &arg) in params.iter().zip(&target.args) {
            let arg = self.replaced.resolve(arg);
            if arg != param {
                self.replaced.set(param, arg);
                self.uses[arg] += self.uses[param];
            }
        }
        let insts = std::mem::take(&mut self.func.blocks[next].insts);
        let unrolling = self.func.blocks[next].unrolling;
        let data = &mut self.func.blocks[block];
        data.insts.pop();
        data.insts.extend(insts);
        data.unrolling = unrolling;
        self.gone[next] = true;
        true
    }

    // ---- if-conversion

    /// Turns a branch over small arms into selects.
    fn convert(&mut self, block: Block, inst: Inst, cond: Value, targets: &[BlockCall; 2]) -> bool {
        // Arms that can be run unconditionally, with the edge by which they leave.
        let mut arms: [Option<BlockCall>; 2] = [None, None];
        let mut cost = 0;
        for (arm, target) in arms.iter_mut().zip(targets) {
            *arm = self.arm(target, &mut cost);
        }
        let join = match (&arms[0], &arms[1]) {
            (Some(a), Some(b)) if a.block == b.block => a.block,
            (Some(a), _) if a.block == targets[1].block => {
                let join = a.block;
                arms[1] = None;
                join
            }
            (_, Some(b)) if b.block == targets[0].block => {
                let join = b.block;
                arms[0] = None;
                join
            }
            (None, None) if targets[0].block == targets[1].block => targets[0].block,
            _ => return false,
        };
        if self.position[join] <= self.position[block] {
            return false;
        }
        let [a, b] = [0, 1].map(|i| arms[i].clone().unwrap_or_else(|| targets[i].clone()));
        let mut args: SmallVec<[(Value, Value); 4]> = SmallVec::new();
        for (&x, &y) in a.args.iter().zip(&b.args) {
            let pair = (self.replaced.resolve(x), self.replaced.resolve(y));
            if pair.0 != pair.1 {
                let ty = self.func.ty(pair.0);
                match ty {
                    // A lane mask takes three instructions.
                    Type::I1 => cost += 3,
                    Type::Scalar(scalar) => cost += scalar.bits().div_ceil(32),
                    _ => return false,
                }
            }
            args.push(pair);
        }
        if cost > MAX_ARMS_COST {
            return false;
        }
        self.func.blocks[block].insts.pop();
        for i in 0..2 {
            if arms[i].is_some() {
                let arm = targets[i].block;
                let mut insts = std::mem::take(&mut self.func.blocks[arm].insts);
                insts.pop();
                self.func.blocks[block].insts.extend(insts);
                self.gone[arm] = true;
                self.preds[arm] = 0;
            }
        }
        // Two edges into the join become one.
        self.preds[join] -= 1;
        let loc = self.func.locs[inst];
        let mut joined: SmallVec<[Value; 4]> = SmallVec::new();
        for (x, y) in args {
            let value = if x == y { x } else { self.select(block, cond, x, y, loc) };
            self.uses[value] += 1;
            joined.push(value);
        }
        self.func.insts[inst].kind = InstKind::Jump { target: BlockCall { block: join, args: joined } };
        self.func.blocks[block].insts.push(inst);
        true
    }

    /// The edge by which a block leaves that may be run unconditionally; adds its cost.
    fn arm(&mut self, target: &BlockCall, cost: &mut u32) -> Option<BlockCall> {
        let block = target.block;
        if self.preds[block] != 1 || !self.func.blocks[block].params.is_empty() {
            return None;
        }
        let (&last, body) = self.func.blocks[block].insts.split_last()?;
        let InstKind::Jump { target } = &self.func.insts[last].kind else { return None };
        if body.len() > MAX_ARMS_COST as usize {
            return None;
        }
        let mut sum = 0;
        for &inst in body {
            sum += speculation_cost(self.func, inst)?;
        }
        *cost += sum;
        Some(target.clone())
    }

    fn select(&mut self, block: Block, cond: Value, x: Value, y: Value, loc: SourceLoc) -> Value {
        let ty = self.func.ty(x);
        let bits = if ty == Type::I1 { [self.func.as_int(x), self.func.as_int(y)] } else { [None, None] };
        let binary = |op, args| InstKind::Binary { op, args };
        let mut push = |kind, ty| {
            let inst = self.func.make_inst(kind, ty, InstFlags::empty());
            self.func.locs[inst] = loc;
            self.func.insts[inst].kind.for_each_value(|v| self.uses[v] += 1);
            self.func.blocks[block].insts.push(inst);
            self.func.insts[inst].result
        };
        let made = match bits {
            [Some(1), Some(0)] => Some(cond),
            [Some(1), None] => push(binary(BinaryOp::Or, [cond, y]), ty),
            [None, Some(0)] => push(binary(BinaryOp::And, [cond, x]), ty),
            _ => push(InstKind::Select { cond, if_true: x, if_false: y }, ty),
        };
        made.unwrap_or(x)
    }
}

/// What it costs to run `inst` where its result may not be needed, in vector instructions; `None` where it
/// must not.
fn speculation_cost(func: &Function, inst: Inst) -> Option<u32> {
    let data = &func.insts[inst];
    if data.flags.contains(InstFlags::STRICT) {
        return None;
    }
    let dwords = data.ty.bits().map_or(1, |bits| bits.div_ceil(32) as u32);
    match &data.kind {
        InstKind::Binary { op, .. } => match op {
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem => None,
            BinaryOp::FDiv | BinaryOp::FRem => None,
            // Quarter rate.
            BinaryOp::Mul if dwords == 2 => Some(8),
            BinaryOp::Mul => Some(4),
            BinaryOp::FAdd | BinaryOp::FMul | BinaryOp::FSub if dwords == 2 => Some(4),
            _ => Some(dwords),
        },
        InstKind::Unary { .. } | InstKind::Select { .. } | InstKind::PtrAdd { .. } => Some(dwords),
        InstKind::Icmp { .. } | InstKind::Fcmp { .. } => Some(1),
        InstKind::Cast { op, .. } => match op {
            CastOp::Trunc | CastOp::BitCast | CastOp::PtrToInt | CastOp::IntToPtr => Some(0),
            CastOp::AddrSpaceCast => Some(3),
            _ => Some(dwords),
        },
        InstKind::ExtractElement { .. } | InstKind::InsertElement { .. } => Some(1),
        InstKind::Intrinsic { intrinsic, .. } => {
            use Intrinsic::*;
            let cheap = matches!(
                intrinsic,
                Smin | Smax
                    | Umin
                    | Umax
                    | Minnum
                    | Maxnum
                    | Fabs
                    | Fma
                    | Ubfe
                    | Sbfe
                    | Fshr
                    | Bitreverse
                    | Ctpop
            );
            (cheap && dwords == 1).then_some(1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cleans `f` of a module text with that one function and gives the result back as a module.
    fn cleaned(body: &str) -> Module {
        let text =
            format!("define kernel void @f(v0: i32, v1: i32, v2: i1, v3: ptr addrspace(1)) {{\n{body}}}\n");
        let mut module = mir::ir::parse_module(&text, "test").unwrap();
        let mut func = module.functions.values().next().unwrap().clone();
        clean_up(&mut func);
        mir::ir::verify(&module, &func).unwrap();
        *module.functions.values_mut().next().unwrap() = func;
        module
    }

    fn blocks(module: &Module) -> usize {
        module.functions.values().next().unwrap().layout.len()
    }

    fn count(module: &Module, wanted: impl Fn(&InstKind) -> bool) -> usize {
        let f = module.functions.values().next().unwrap();
        f.layout.iter().flat_map(|&b| &f.blocks[b].insts).filter(|&&i| wanted(&f.insts[i].kind)).count()
    }

    #[test]
    fn small_diamond_becomes_a_select() {
        let module = cleaned(
            "block0:\n  br v2, block1, block2\nblock1:\n  v4: i32 = add v0, i32 1\n  jump block3(v4)\n\
             block2:\n  v5: i32 = sub v1, i32 1\n  jump block3(v5)\nblock3(v6: i32):\n  \
             store v3, v6 addrspace(1) align 4\n  ret\n",
        );
        assert_eq!(blocks(&module), 1);
        assert_eq!(count(&module, |k| matches!(k, InstKind::Select { .. })), 1);
    }

    #[test]
    fn arm_with_memory_access_stays() {
        let module = cleaned(
            "block0:\n  br v2, block1, block2\nblock1:\n  store v3, v0 addrspace(1) align 4\n  jump block2\n\
             block2:\n  ret\n",
        );
        assert_eq!(blocks(&module), 3);
    }

    #[test]
    fn edge_that_decides_a_branch_is_threaded() {
        // `a && b` in the shape of a front end without optimisation; the store keeps the arm from becoming a
        // select.
        let module = cleaned(
            "block0:\n  br v2, block1, block2(i1 0)\nblock1:\n  store v3, v0 addrspace(1) align 4\n  \
             v4: i1 = icmp eq v0, v1\n  jump block2(v4)\nblock2(v5: i1):\n  br v5, block3, block4\n\
             block3:\n  store v3, v1 addrspace(1) align 4\n  jump block4\nblock4:\n  ret\n",
        );
        let f = module.functions.values().next().unwrap();
        assert!(f.layout.iter().all(|&b| f.blocks[b].params.is_empty()));
        assert_eq!(blocks(&module), 4);
    }

    #[test]
    fn loop_keeps_its_shape_and_invariant_parameters_go() {
        let module = cleaned(
            "block0:\n  jump block1(i32 0, v1)\nblock1(v4: i32, v5: i32):\n  v6: i32 = add v4, v5\n  \
             v7: i1 = icmp ult v6, v0\n  br v7, block2, block3\nblock2:\n  jump block1(v6, v5)\nblock3:\n  \
             store v3, v6 addrspace(1) align 4\n  ret\n",
        );
        assert_eq!(blocks(&module), 4);
        let f = module.functions.values().next().unwrap();
        assert_eq!(f.layout.iter().map(|&b| f.blocks[b].params.len()).sum::<usize>(), 1);
    }
}
