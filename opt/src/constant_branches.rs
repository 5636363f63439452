//! Branches on a constant become jumps, and what nothing reaches any longer goes.
//!
//! This is no optimisation and runs at every level. Which lanes run together, and so which values are
//! uniform, follows from loops, and an edge that nobody takes can make a loop: a block behind the loop would
//! count as a part of it, executed once an iteration. Everything behind legalisation (uniformity, selection,
//! linearisation) sees the same edges, so none may be dropped later. Legal IR therefore has no branch on a
//! constant.
//!
//! Cost: linear, and next to nothing where there is no such branch.

use super::cfg::Cfg;
use mir::ir::{Function, InstKind};

/// Folds the branches of `func` whose condition is a constant. Whether there were any.
pub fn fold(func: &mut Function) -> bool {
    let mut changed = false;
    for i in 0..func.layout.len() {
        let block = func.layout[i];
        let Some(last) = func.terminator(block) else { continue };
        let InstKind::Branch { cond, if_true, if_false } = &func.insts[last].kind else { continue };
        let Some(constant) = func.as_int(*cond) else { continue };
        let target = if constant & 1 == 1 { if_true } else { if_false }.clone();
        func.insts[last].kind = InstKind::Jump { target };
        changed = true;
    }
    if changed {
        func.layout = Cfg::new(func).rpo;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::{BlockCall, CallConv, Type};

    #[test]
    fn the_dead_edge_and_its_blocks_go() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let [entry, dead, end] = std::array::from_fn(|_| f.add_block());
        let no = f.int(Type::I1, 0);
        let kind = InstKind::Branch { cond: no, if_true: BlockCall::to(dead), if_false: BlockCall::to(end) };
        f.append(entry, kind, Type::Void);
        f.append(dead, InstKind::Jump { target: BlockCall::to(entry) }, Type::Void);
        f.append(end, InstKind::Ret { value: None }, Type::Void);
        assert!(fold(&mut f));
        assert_eq!(f.layout, [entry, end]);
        assert_eq!(f.successors(entry).collect::<Vec<_>>(), [end]);
        assert!(!fold(&mut f));
    }
}
