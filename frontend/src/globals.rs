//! Variables, their initial contents, and aliases.

use crate::constants::Folded;
use crate::constructors::{self, Table};
use crate::enums::{linkage, visibility};
use crate::llvm::{LLVMOpcode, LLVMValueKind, ValueRef};
use crate::reader::Reader;
use mir::ir::{
    AddrSpace, Aggregate, Alias, Global, GlobalData, Initializer, InitializerRelocation, Linkage, Scalar,
    SymbolRef, Type, Visibility,
};
use mir::{Diagnostic, Result};

/// Priority of constructors and destructors that ask for none.
const DEFAULT_PRIORITY: u64 = 65535;

/// The section of what tools read in IR, names of annotations for one, which is in no object.
const METADATA: &str = "llvm.metadata";

/// Largest initial contents in bytes that are not zero to the end.
const MAX_INIT_BYTES: u64 = 1 << 31;

impl<'m> Reader<'m> {
    /// Reads all variables and aliases.
    pub(crate) fn globals(&mut self) {
        let globals: Vec<_> = self.llvm.globals().collect();
        let aliases: Vec<_> = self.llvm.aliases().collect();
        for &value in &globals {
            if let Err(error) = self.declare_global(value) {
                self.errors.push(error.at(value.print()));
            }
        }
        self.aliases(&aliases);
        for &value in &globals {
            if let Some(table) = constructors::table(&value.name())
                && self.tables.iter().any(|known| std::ptr::eq(*known, table))
            {
                if let Err(error) = self.constructor_entries(table, value) {
                    self.errors.push(error);
                }
                continue;
            }
            let Some(&(SymbolRef::Global(global), _)) = self.symbols.get(&value) else { continue };
            let Some(init) = value.initializer().filter(|_| value.section() != METADATA) else { continue };
            let undefined = matches!(
                init.kind(),
                LLVMValueKind::LLVMUndefValueValueKind | LLVMValueKind::LLVMPoisonValueKind
            );
            if matches!(self.module.globals[global].space, AddrSpace::LOCAL | AddrSpace::REGION) && !undefined
            {
                let name = &self.module.globals[global].name;
                let error =
                    Diagnostic::unsupported(format!("@{name}: unsupported initializer for address space"));
                self.errors.push(error);
                continue;
            }
            match self.initializer(global, init) {
                Ok(init) => self.module.globals[global].init = Some(init),
                Err(error) => {
                    let error = error.at(format!("@{}", self.module.globals[global].name));
                    self.errors.push(error);
                }
            }
        }
    }

    fn declare_global(&mut self, value: ValueRef<'m>) -> Result<()> {
        let name = value.name();
        if name == "llvm.used" || name == "llvm.compiler.used" {
            for index in 0..value.initializer().map_or(0, |init| init.num_operands()) {
                let used = value.initializer().and_then(|init| init.operand(index));
                // Variables are not declared yet: resolved in `aliases`.
                self.used.extend(used);
            }
            return Ok(());
        }
        if name.starts_with("llvm.") && matches!(linkage(value), Linkage::Appending) {
            // Tables for linkers and profilers (`llvm.global_ctors`, ...): only an entry makes a difference.
            let entries = value.initializer().map_or(0, |init| init.num_operands());
            let inert = name == "llvm.global.annotations" || value.section() == METADATA || entries == 0;
            if let Some(table) = constructors::table(&name).filter(|_| entries > 0) {
                self.tables.push(table);
                return Ok(());
            }
            return if inert { Ok(()) } else { Err(Diagnostic::unsupported(format!("table @{name}"))) };
        }
        if value.is_thread_local() {
            return Err(Diagnostic::unsupported(format!("thread-local variable @{name}")));
        }
        let value_type = value.global_type().ok_or_else(|| Diagnostic::defect("variable without a type"))?;
        let (size_bytes, natural) = match value_type.is_opaque() {
            // Another module knows what it is.
            true => (0, 1),
            false => {
                let ty = self.ty(value_type)?;
                (self.module.types.alloc_bytes(ty), self.module.types.abi_align(ty))
            }
        };
        let align = match value.global_alignment() {
            0 => natural,
            explicit => u64::from(explicit),
        };
        let global = self.module.globals.push(GlobalData {
            name,
            linkage: linkage(value),
            visibility: visibility(value),
            space: AddrSpace(value.ty().address_space()),
            size_bytes,
            align_log2: align.max(1).ilog2() as u8,
            is_constant: value.is_constant_variable(),
            section: value.section(),
            init: None,
        });
        self.symbols.insert(value, (SymbolRef::Global(global), 0));
        Ok(())
    }

    /// Turns the entries of a table into variables of its sections.
    fn constructor_entries(&mut self, table: &Table, value: ValueRef<'m>) -> Result<()> {
        let Some(list) = value.initializer() else { return Ok(()) };
        if list.kind() != LLVMValueKind::LLVMConstantArrayValueKind {
            return Ok(());
        }
        let malformed = || Diagnostic::malformed(format!("entry of @{}", table.name));
        let mut entries = Vec::new();
        for index in 0..list.num_operands() {
            let entry = list.operand(index).ok_or_else(malformed)?;
            // A null function ends the list, and so does an entry without contents.
            let (Some(priority), Some(function)) = (entry.operand(0), entry.operand(1)) else { break };
            let priority = priority.as_u64().ok_or_else(malformed)?;
            match self.fold(function, true)? {
                Some(Folded::Symbol(symbol, 0)) => entries.push((priority, symbol)),
                Some(Folded::Int(0)) => break,
                _ => return Err(malformed()),
            }
        }
        entries.sort_by_key(|entry| entry.0);
        for (priority, symbol) in entries {
            let section = match priority {
                DEFAULT_PRIORITY => table.section.to_owned(),
                priority => format!("{}.{priority}", table.section),
            };
            let relocation = InitializerRelocation {
                offset_bytes: 0,
                width_bytes: 8,
                symbol,
                addend: 0,
                is_relative: false,
            };
            self.module.globals.push(GlobalData {
                name: String::new(),
                linkage: Linkage::Private,
                visibility: Visibility::Default,
                space: AddrSpace::GLOBAL,
                size_bytes: 8,
                align_log2: 3,
                is_constant: false,
                section,
                init: Some(Initializer { bytes: Vec::new(), relocations: vec![relocation] }),
            });
        }
        Ok(())
    }

    /// Aliases may stand for aliases, in any order: each pass resolves those whose target is known.
    fn aliases(&mut self, aliases: &[ValueRef<'m>]) {
        for &value in aliases {
            // An alias of an alias names it directly, so following the chain is a loop; LLVM's verifier
            // refuses cycles.
            let mut chain = vec![value];
            while let Some(next) = chain.last().and_then(|last| last.aliasee())
                && next.kind() == LLVMValueKind::LLVMGlobalAliasValueKind
                && !self.symbols.contains_key(&next)
                && chain.len() <= aliases.len()
            {
                chain.push(next);
            }
            for value in chain.into_iter().rev() {
                let target = match value.aliasee() {
                    Some(aliasee) => self.fold(aliasee, true),
                    None => Ok(None),
                };
                match target {
                    Ok(Some(Folded::Symbol(target, offset))) => {
                        if self.symbols.insert(value, (target, offset)).is_none() {
                            self.module.aliases.push(Alias {
                                name: value.name(),
                                linkage: linkage(value),
                                visibility: visibility(value),
                                target,
                                offset,
                            });
                        }
                    }
                    Ok(_) => {
                        self.errors.push(Diagnostic::unsupported("alias of no symbol").at(value.print()))
                    }
                    Err(error) => self.errors.push(error.at(value.print())),
                }
            }
        }
        for used in std::mem::take(&mut self.used) {
            if let Ok(Some(Folded::Symbol(symbol, _))) = self.fold(used, true) {
                self.module.used.push(symbol);
            }
        }
    }

    /// Bytes and addresses of an initialiser.
    fn initializer(&mut self, variable: Global, root: ValueRef<'m>) -> Result<Initializer> {
        let mut init = Initializer::default();
        let mut stack = vec![(root, 0u64)];
        while let Some((constant, offset)) = stack.pop() {
            self.member(variable, constant, offset, &mut init, &mut stack)?;
        }
        // Members are visited in any order; the table is by place.
        init.relocations.sort_by_key(|relocation| relocation.offset_bytes);
        let used = init.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        init.bytes.truncate(used);
        Ok(init)
    }

    fn member(
        &mut self,
        variable: Global,
        constant: ValueRef<'m>,
        offset: u64,
        init: &mut Initializer,
        stack: &mut Vec<(ValueRef<'m>, u64)>,
    ) -> Result<()> {
        use LLVMValueKind::*;
        let refuse = || Diagnostic::unsupported(format!("unsupported initialiser {}", constant.print()));
        let ty = self.ty(constant.ty())?;
        match constant.kind() {
            LLVMConstantAggregateZeroValueKind
            | LLVMUndefValueValueKind
            | LLVMPoisonValueKind
            | LLVMConstantPointerNullValueKind => Ok(()),
            LLVMConstantDataArrayValueKind | LLVMConstantDataVectorValueKind => {
                write(init, offset, constant.raw_data().ok_or_else(refuse)?)
            }
            LLVMConstantArrayValueKind | LLVMConstantStructValueKind => {
                let Type::Aggregate(agg) = ty else { return Err(refuse()) };
                for index in 0..constant.num_operands() {
                    let place = match &self.module.types.aggregates[agg] {
                        Aggregate::Struct { fields, .. } => fields.get(index as usize).ok_or_else(refuse)?.1,
                        Aggregate::Array { stride_bytes, .. } => u64::from(index) * stride_bytes,
                    };
                    stack.push((constant.operand(index).ok_or_else(refuse)?, offset + place));
                }
                Ok(())
            }
            LLVMConstantVectorValueKind => {
                let Type::Vector(scalar, lanes) = ty else { return Err(refuse()) };
                if scalar.bits() % 8 == 0 {
                    for lane in 0..lanes {
                        let place = offset + u64::from(lane) * scalar.store_bytes();
                        stack.push((constant.operand(lane).ok_or_else(refuse)?, place));
                    }
                    return Ok(());
                }
                // Lanes of odd widths are packed without gaps, the first in the lowest bits.
                let mut bytes = vec![0u8; self.module.types.store_bytes(ty) as usize];
                for lane in 0..lanes {
                    let words = self.int_words(constant.operand(lane).ok_or_else(refuse)?)?;
                    for bit in 0..scalar.bits() {
                        let set =
                            words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0);
                        let place = u64::from(lane) * u64::from(scalar.bits()) + u64::from(bit);
                        bytes[place as usize / 8] |= u8::from(set) << (place % 8);
                    }
                }
                write(init, offset, &bytes)
            }
            LLVMConstantIntValueKind => {
                let words = self.int_words(constant)?;
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let size = (self.module.types.store_bytes(ty) as usize).min(bytes.len());
                write(init, offset, &bytes[..size])
            }
            LLVMConstantFPValueKind => {
                let bits = self.llvm.float_bits(constant).ok_or_else(refuse)?;
                let size = (self.module.types.store_bytes(ty) as usize).min(8);
                write(init, offset, &bits.to_le_bytes()[..size])
            }
            LLVMFunctionValueKind
            | LLVMGlobalVariableValueKind
            | LLVMGlobalAliasValueKind
            | LLVMBlockAddressValueKind
            | LLVMInstructionValueKind
            | LLVMConstantExprValueKind => {
                if constant.const_opcode() == Some(LLVMOpcode::LLVMBitCast)
                    && let Some(operand) = constant.operand(0)
                {
                    // The same bytes by another type.
                    stack.push((operand, offset));
                    return Ok(());
                }
                let Type::Scalar(scalar @ (Scalar::Int(_) | Scalar::Ptr(_))) = ty else {
                    return Err(refuse());
                };
                match (self.fold(constant, true)?, scalar.bits()) {
                    (Some(Folded::Int(number)), bits @ 1..=64) => {
                        write(init, offset, &number.to_le_bytes()[..bits.div_ceil(8) as usize])
                    }
                    (Some(Folded::Symbol(symbol, addend)), bits @ (32 | 64)) => {
                        init.relocations.push(InitializerRelocation {
                            offset_bytes: offset,
                            width_bytes: (bits / 8) as u8,
                            symbol,
                            addend,
                            is_relative: false,
                        });
                        Ok(())
                    }
                    (None, bits @ (32 | 64)) => {
                        let distance = self.distance_from(SymbolRef::Global(variable), constant)?;
                        let (symbol, addend) = distance.ok_or_else(refuse)?;
                        init.relocations.push(InitializerRelocation {
                            offset_bytes: offset,
                            width_bytes: (bits / 8) as u8,
                            symbol,
                            addend: addend.wrapping_add(offset as i64),
                            is_relative: true,
                        });
                        Ok(())
                    }
                    _ => Err(refuse()),
                }
            }
            _ => Err(refuse()),
        }
    }
}

/// Places `bytes` at `offset`; zeros at the end are left to the variable's size.
fn write(init: &mut Initializer, offset: u64, bytes: &[u8]) -> Result<()> {
    let Some(last) = bytes.iter().rposition(|&byte| byte != 0) else { return Ok(()) };
    let bytes = &bytes[..=last];
    let end = offset.saturating_add(bytes.len() as u64);
    if end > MAX_INIT_BYTES {
        return Err(Diagnostic::limit(format!("initial contents of {end} bytes")));
    }
    let (start, end) = (offset as usize, end as usize);
    if let Some(more) = end.checked_sub(init.bytes.len()).filter(|&more| more > 0) {
        let room = init.bytes.try_reserve(more);
        room.map_err(|_| Diagnostic::limit(format!("initial contents of {end} bytes: no memory for them")))?;
        init.bytes.resize(end, 0);
    }
    init.bytes[start..end].copy_from_slice(bytes);
    Ok(())
}
