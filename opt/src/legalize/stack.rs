//! The stack pointer inside of a function: objects that each execution makes anew, saving and restoring.
//!
//! Objects of known size in the entry block have places in the frame. One of variable size, or one that is
//! made elsewhere where the function has cycles, is put behind everything that is on the stack, and is gone
//! when the function returns or the stack pointer goes back to what it was. A function without such objects
//! has nothing to save.
//!
//! The stack pointer is the wave's, but lanes run apart: where some of the lanes that saved it wait
//! elsewhere, their objects live on, and to put it back would give their place to what the others call. So it
//! goes back only where all lanes that saved it are there; otherwise the stack stays as large as it is until
//! a later restoring or the function's end.
//!
//! Cost: linear.

use super::{Legalizer, Parts};
use crate::cfg::Cfg;
use mir::analysis::Graph;
use mir::ir::*;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;

impl Legalizer<'_> {
    /// Finds objects that are made anew, and whether anything moves the stack pointer.
    pub(super) fn find_stack_growth(&mut self, cfg: &Cfg) {
        let mut cycles = false;
        for at in 0..cfg.rpo.len() as u32 {
            cycles |= cfg.graph.succs(at).iter().any(|&to| to <= at);
        }
        // Which object an address is in.
        let mut objects: FxHashMap<Value, Inst> = FxHashMap::default();
        for &block in &cfg.rpo {
            for &inst in &self.old.blocks[block].insts {
                let data = &self.old.insts[inst];
                if let InstKind::Alloca { count, .. } = data.kind {
                    self.grows_stack |= count.is_some_and(|count| self.old.as_int(count).is_none());
                    if let Some(result) = data.result.filter(|_| cycles && block != self.old.entry()) {
                        objects.insert(result, inst);
                    }
                } else if !objects.is_empty() {
                    self.follow_addresses(data, &mut objects);
                }
            }
        }
        self.grows_stack |= !self.renewed.is_empty();
    }

    /// Notes the address that an instruction makes of another one; where it does anything else with it but
    /// access memory, objects of earlier turns may be found again, so that each needs a place of its own.
    fn follow_addresses(&mut self, data: &InstData, objects: &mut FxHashMap<Value, Inst>) {
        let derived = match &data.kind {
            InstKind::PtrAdd { base, .. } | InstKind::Cast { op: CastOp::AddrSpaceCast, arg: base } => {
                objects.get(base).copied()
            }
            _ => None,
        };
        if let (Some(object), Some(result)) = (derived, data.result) {
            objects.insert(result, object);
            return;
        }
        let pointer = match &data.kind {
            InstKind::Load { ptr, .. }
            | InstKind::Store { ptr, .. }
            | InstKind::AtomicRmw { ptr, .. }
            | InstKind::CmpXchg { ptr, .. } => Some(*ptr),
            InstKind::Intrinsic {
                intrinsic:
                    Intrinsic::Memcpy
                    | Intrinsic::Memmove
                    | Intrinsic::Memset
                    | Intrinsic::LifetimeStart
                    | Intrinsic::LifetimeEnd,
                ..
            } => return,
            _ => None,
        };
        let mut uses_of_pointer = 0;
        let renewed = &mut self.renewed;
        data.kind.for_each_value(|value| {
            if Some(value) == pointer {
                uses_of_pointer += 1;
            }
            if let Some(&object) = objects.get(&value)
                && (Some(value) != pointer || uses_of_pointer > 1)
            {
                renewed.insert(object);
            }
        });
    }

    /// `llvm.stacksave`.
    pub(super) fn lower_stack_save(&mut self, ty: Type) -> Result<Parts> {
        is_stack_pointer(ty)?;
        let pointer = self.part_types(ty)?[0];
        if !self.grows_stack {
            return Ok(Parts::from_slice(&[self.b.zero(pointer)]));
        }
        let saved = self.b.intrinsic(Intrinsic::Stacksave, &[], Type::I32);
        let lanes = self.lanes_here();
        if let Some(result) = self.old.insts[self.current].result {
            self.stack_saves.insert(result, lanes);
        }
        let wide = self.b.zext_or_trunc(saved, Type::int(pointer.bits().unwrap_or(32) as u32));
        Ok(Parts::from_slice(&[self.b.integer_as(wide, pointer)]))
    }

    /// `llvm.stackrestore`.
    pub(super) fn lower_stack_restore(&mut self, pointer: Value) -> Result<Parts> {
        is_stack_pointer(self.old.ty(pointer))?;
        if !self.grows_stack {
            return Ok(Parts::new());
        }
        let value = self.part(pointer)?;
        let value = self.b.as_integer(value);
        let mut place = self.b.zext_or_trunc(value, Type::I32);
        if let Some(&saved) = self.stack_saves.get(&pointer) {
            let now = self.b.intrinsic(Intrinsic::Stacksave, &[], Type::I32);
            let lanes = self.lanes_here();
            let there = self.b.and(lanes, saved);
            let all = self.b.icmp(IntPredicate::Eq, there, saved);
            place = self.b.select(all, place, now);
        }
        self.push_effect(Intrinsic::Stackrestore, &[place]);
        Ok(Parts::new())
    }

    fn lanes_here(&mut self) -> Value {
        let every = self.b.bool(true);
        self.b.intrinsic(Intrinsic::Ballot, &[every], Type::I64)
    }
}

/// The stack is in the address space of stack objects alone.
fn is_stack_pointer(ty: Type) -> Result<()> {
    match ty {
        Type::Scalar(Scalar::Ptr(AddrSpace::PRIVATE)) => Ok(()),
        _ => Err(Diagnostic::unsupported("the place of the stack in another address space than 5")),
    }
}
