//! Members of structs and arrays.

use super::exec::{Cx, Step, Stop};
use super::host::Cause;
use super::layout;
use mir::ir::Value;

fn no_member() -> Box<Stop> {
    Stop::new(Cause::Malformed("a path that leads to no member".to_owned()))
}

impl Cx<'_, '_> {
    /// `extractvalue`.
    pub fn extract_value(&mut self, aggregate: Value, path: &[u32], dst: usize) -> Step<()> {
        let types = &self.module.types;
        let (word, ty) = layout::member(types, self.ty(aggregate), path).ok_or_else(no_member)?;
        self.regs.copy(dst, self.slot(aggregate) + word, layout::words(types, ty), self.mask);
        Ok(())
    }

    /// `insertvalue`.
    pub fn insert_value(&mut self, aggregate: Value, value: Value, path: &[u32], dst: usize) -> Step<()> {
        let (word, _) = layout::member(&self.module.types, self.ty(aggregate), path).ok_or_else(no_member)?;
        self.regs.copy(dst, self.slot(aggregate), self.flat.words_of(aggregate), self.mask);
        self.regs.copy(dst + word, self.slot(value), self.flat.words_of(value), self.mask);
        Ok(())
    }
}
