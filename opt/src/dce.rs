//! Removal of instructions whose results nobody uses, and of block parameters likewise.
//!
//! Everything is dead until something with an effect needs it: roots are effects and terminators' conditions;
//! a block parameter that is live makes the arguments of all branches to its block live. So cycles of
//! parameters that only feed each other go, too. Cost: linear.

use super::flow::Flows;
use cranelift_entity::EntityRef;
use mir::ir::*;

/// Removes what is dead from `func`, whose blocks are all reachable.
pub fn remove_dead(func: &mut Function) {
    let mut live = vec![false; func.values.len()];
    let mut work: Vec<Value> = Vec::new();
    let feeds = Flows::of_params(func, |_| true);
    let need = |live: &mut Vec<bool>, work: &mut Vec<Value>, v: Value| {
        if !std::mem::replace(&mut live[v.index()], true) {
            work.push(v);
        }
    };
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            let data = &func.insts[inst];
            let kind = &data.kind;
            if kind.is_terminator() {
                match kind {
                    InstKind::Branch { cond, .. } => need(&mut live, &mut work, *cond),
                    InstKind::Switch { value, .. } => need(&mut live, &mut work, *value),
                    InstKind::Ret { value: Some(value) } => need(&mut live, &mut work, *value),
                    _ => {}
                }
            } else if data.has_side_effects() {
                kind.for_each_value(|v| need(&mut live, &mut work, v));
            }
        }
    }
    while let Some(value) = work.pop() {
        match func.values[value].def {
            ValueDef::Inst(inst) => {
                func.insts[inst].kind.for_each_value(|v| need(&mut live, &mut work, v));
            }
            ValueDef::BlockParam(..) => {
                for &arg in feeds.of(value) {
                    need(&mut live, &mut work, arg);
                }
            }
            _ => {}
        }
    }
    drop(feeds);
    // Arguments first, while parameter lists still show what to keep.
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let Some(last) = func.terminator(block) else { continue };
        let blocks = &func.blocks;
        for target in func.insts[last].kind.targets_mut() {
            let params = &blocks[target.block].params;
            let mut index = 0;
            target.args.retain(|_| {
                index += 1;
                params.get(index - 1).is_some_and(|&p| live[p.index()])
            });
        }
    }
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let mut params = std::mem::take(&mut func.blocks[block].params);
        params.retain(|&p| live[p.index()]);
        for (index, &param) in params.iter().enumerate() {
            func.values[param].def = ValueDef::BlockParam(block, index as u32);
        }
        func.blocks[block].params = params;
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| {
            let data = &func.insts[inst];
            data.has_side_effects() || data.result.is_some_and(|r| live[r.index()])
        });
        func.blocks[block].insts = insts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycle_of_parameters_without_use_goes() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let c = f.add_param(Type::I1, "c");
        let (entry, head, exit) = (f.add_block(), f.add_block(), f.add_block());
        let dead = f.add_block_param(head, Type::I32);
        let zero = f.int(Type::I32, 0);
        let one = f.int(Type::I32, 1);
        let to = |block, arg| BlockCall { block, args: std::iter::once(arg).collect() };
        f.append(entry, InstKind::Jump { target: to(head, zero) }, Type::Void);
        let next =
            f.append(head, InstKind::Binary { op: BinaryOp::Add, args: [dead, one] }, Type::I32).unwrap();
        let kind = InstKind::Branch { cond: c, if_true: to(head, next), if_false: BlockCall::to(exit) };
        f.append(head, kind, Type::Void);
        f.append(exit, InstKind::Ret { value: None }, Type::Void);
        remove_dead(&mut f);
        assert!(f.blocks[head].params.is_empty());
        assert_eq!(f.blocks[head].insts.len(), 1);
        let last = f.terminator(entry).unwrap();
        assert!(f.insts[last].kind.targets()[0].args.is_empty());
    }
}
