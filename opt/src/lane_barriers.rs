//! Empty inline assembly in front of operations across lanes.
//!
//! `asm sideeffect "; 1", "=v,0"(x)` emits nothing: it hides from LLVM what its result is. Mesa's RADV puts one in front of each operation
//! across lanes, as LLVM may otherwise move them to where other lanes are active. Here nothing moves such an operation across branches
//! ([`IntrinsicProps::CONVERGENT`]), so it reads `x` itself: a vote of an `i1` is the mask that a comparison left, and no copy is made.
//! Any other reader keeps what was hidden from it, as does assembly that nobody reads. Cost: linear; nothing without inline assembly.

use mir::ir::*;
use mir::machine::RegFile;
use rustc_hash::{FxHashMap, FxHashSet};

/// Lets operations across lanes see through empty assembly, and removes what nobody else reads.
pub fn open(func: &mut Function) {
    if func.inline_asm.is_empty() {
        return;
    }
    let mut barriers = Barriers::of(func);
    if barriers.hidden.is_empty() {
        return;
    }
    for at in 0..func.layout.len() {
        for i in 0..func.blocks[func.layout[at]].insts.len() {
            mir::interrupt::checkpoint();
            let inst = func.blocks[func.layout[at]].insts[i];
            if let InstKind::Intrinsic { intrinsic, args } = &mut func.insts[inst].kind
                && intrinsic.props().contains(IntrinsicProps::CONVERGENT)
                && !intrinsic.has_side_effects()
            {
                args.iter_mut().for_each(|arg| *arg = barriers.open(*arg));
            }
        }
    }
    barriers.remove_unread(func);
}

/// What empty assembly hides.
struct Barriers {
    /// By result.
    hidden: FxHashMap<Value, Hidden>,
}

/// The operand of empty assembly.
struct Hidden {
    value: Value,
    /// Whether an operation reads the operand instead of the result.
    opened: bool,
}

impl Barriers {
    fn of(func: &Function) -> Self {
        let mut hidden = FxHashMap::default();
        for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
            let data = &func.insts[inst];
            if let (InstKind::InlineAsm { asm, args, .. }, Some(result)) = (&data.kind, data.result)
                && let &[value] = args.as_slice()
                && func.values[value].ty == data.ty
                && func.inline_asm.get(*asm).is_some_and(is_empty)
            {
                hidden.insert(result, Hidden { value, opened: false });
            }
        }
        Self { hidden }
    }

    /// What `value` is behind all assembly.
    fn open(&mut self, mut value: Value) -> Value {
        // In unreachable code assembly may be its own operand.
        for _ in 0..self.hidden.len() {
            let Some(hidden) = self.hidden.get_mut(&value) else { break };
            hidden.opened = true;
            value = hidden.value;
        }
        value
    }

    /// Removes assembly that was opened, where its result has no reader that stays.
    fn remove_unread(mut self, func: &mut Function) {
        self.hidden.retain(|_, hidden| hidden.opened);
        let mut read: FxHashSet<Value> = FxHashSet::default();
        for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
            let data = &func.insts[inst];
            if data.result.is_some_and(|result| self.hidden.contains_key(&result)) {
                continue;
            }
            data.kind.for_each_value(|value| {
                if self.hidden.contains_key(&value) {
                    read.insert(value);
                }
            });
        }
        // Assembly that stays reads its operand.
        let mut work: Vec<Value> = read.iter().copied().collect();
        while let Some(value) = work.pop() {
            if let Some(hidden) = self.hidden.get(&value)
                && self.hidden.contains_key(&hidden.value)
                && read.insert(hidden.value)
            {
                work.push(hidden.value);
            }
        }
        for at in 0..func.layout.len() {
            let block = func.layout[at];
            let insts = &func.insts;
            func.blocks[block].insts.retain(|&inst| match insts[inst].result {
                Some(result) => !self.hidden.contains_key(&result) || read.contains(&result),
                None => true,
            });
        }
    }
}

/// Whether assembly emits nothing and leaves its one operand, a register of each lane, as it is.
fn is_empty(asm: &InlineAsm) -> bool {
    let comment_only = |line: &str| line.split(';').next().is_none_or(|code| code.trim().is_empty());
    let Ok(operands) = asm.operands() else { return false };
    let [output, input] = operands.as_slice() else { return false };
    let is = |operand: &AsmOperand, role, place| {
        operand.role == role && !operand.indirect && operand.places.as_slice() == [place]
    };
    asm.text.lines().all(comment_only)
        && is(output, AsmRole::Output, AsmPlace::Class(RegFile::Vgpr))
        && is(input, AsmRole::Input, AsmPlace::SameAs(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_and_one_tied_register_are_empty() {
        let is = |text: &str, constraints: &str| {
            is_empty(&InlineAsm { text: text.into(), constraints: constraints.into() })
        };
        assert!(is("; 1", "=v,0") && is("", "=v,0") && is(" ; a\n\n; b", "=&v,0"));
        assert!(!is("s_nop 0 ; 1", "=v,0"));
        assert!(!is("; 1\nv_mov_b32 $0, 1", "=v,0"));
        // A scalar register has one lane's value; what is behind another register, or memory, is not known.
        for constraints in ["=s,0", "=v,v", "=v,0,~{memory}", "={v1},0", "=v,0,v", "v"] {
            assert!(!is("", constraints), "{constraints}");
        }
    }
}
