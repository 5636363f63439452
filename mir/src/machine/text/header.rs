//! Writes what stands before the code of a machine function, as far as it is not what [`Function::new`]
//! makes.

use super::registers::{Named, Tuple};
use super::{ENTRY_VALUES, VREG_FLAGS};
use crate::ir::{CallConv, CallConvWord, SourceLoc, SymbolRef};
use crate::machine::*;
use crate::target::{ScratchAccess, WaveSize};
use crate::text::{Quoted, comma_separated, write_lds};
use cranelift_entity::EntityRef;
use std::fmt::{self, Formatter};

/// Items of a list on one line.
const ITEMS_PER_LINE: usize = 12;
/// Kernel arguments, which take more room.
const ARGS_PER_LINE: usize = 3;

/// Prints the header of a function.
pub(super) struct Header<'a>(pub &'a Function);

/// How the code names a register.
#[derive(Clone, Copy, Default)]
struct Mention {
    /// At all.
    named: bool,
    /// As a whole, so that its width can be seen.
    whole: bool,
}

impl fmt::Display for Header<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.title(f)?;
        self.registers(f)?;
        self.entry(f)?;
        self.memory(f)?;
        self.properties(f)?;
        self.sites(f)
    }
}

impl Header<'_> {
    fn title(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.0;
        let plain = function.name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
            && function.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if plain {
            write!(f, "function {}", function.name)?;
        } else {
            write!(f, "function {}", Quoted(&function.name))?;
        }
        if function.call_conv != CallConv::Kernel {
            write!(f, ", {}", CallConvWord(function.call_conv))?;
        }
        if function.wave != WaveSize::default() {
            write!(f, ", wave{}", function.wave.lanes())?;
        }
        if function.source.index() != 0 {
            write!(f, ", source {}", Symbol(SymbolRef::Func(function.source)))?;
        }
        if function.stage != Stage::default() {
            write!(f, ", {}", function.stage.word())?;
        }
        writeln!(f)
    }

    /// Registers of which the code does not say everything, and the numbers of those that it does not name.
    fn registers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.0;
        let mentions = mentions(function);
        let last = mentions.iter().rposition(|m| m.named).map_or(0, |n| n + 1);
        if last != function.vregs.len() {
            writeln!(f, "  vregs {}", function.vregs.len())?;
        }
        let blocks = last_block(function).map_or(0, |block| block.index() + 1);
        if blocks != function.blocks.len() {
            writeln!(f, "  blocks {}", function.blocks.len())?;
        }
        let named = || function.vregs.iter().filter(|(reg, _)| mentions[reg.index()].named);
        for (flag, word) in VREG_FLAGS {
            let marked = named().filter(|(_, data)| data.flags.contains(flag));
            list(f, word, ITEMS_PER_LINE, &marked.map(|(reg, _)| Named(function, reg)).collect::<Vec<_>>())?;
        }
        let hints = named().filter_map(|(reg, data)| Some(Hint(Named(function, reg), data.hint?)));
        list(f, "hints", ITEMS_PER_LINE, &hints.collect::<Vec<_>>())?;
        let unclear = |reg: VReg, data: &VRegData| {
            !mentions[reg.index()].whole && data.flags.is_empty() && data.hint.is_none()
        };
        let declared = named().filter(|(reg, data)| unclear(*reg, data));
        list(f, "declare", ITEMS_PER_LINE, &declared.map(|(reg, _)| Named(function, reg)).collect::<Vec<_>>())
    }

    fn entry(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (function, entry) = (self.0, &self.0.entry);
        if entry.called != function.call_conv.is_callable() {
            writeln!(f, "  {}", if entry.called { "called" } else { "not_called" })?;
        }
        let EntryLayout { arguments_end, wave_offset, builds_scratch, resource } = entry.layout;
        if arguments_end != 0 {
            writeln!(f, "  arguments_end {arguments_end}")?;
        }
        if let Some(reg) = wave_offset {
            writeln!(f, "  wave_offset {reg}")?;
        }
        if builds_scratch {
            writeln!(f, "  builds_scratch")?;
        }
        if let Some(reg) = resource {
            writeln!(f, "  scratch_resource {reg}")?;
        }
        let places = entry.registers();
        for (&value, &reg) in &entry.values {
            f.write_str("  entry ")?;
            if let Some(reg) = reg {
                write!(f, "{} = ", Named(function, reg))?;
            }
            match (value, ENTRY_VALUES.iter().find(|(v, _)| *v == value)) {
                (EntryValue::Argument(place), _) => write!(f, "argument {place}")?,
                (_, Some((_, word))) => f.write_str(word)?,
                (_, None) => {}
            }
            let stated = matches!(value, EntryValue::Argument(_));
            if let Some((_, first, _)) = places.iter().find(|(v, ..)| *v == value && !stated) {
                write!(f, " in {}", Tuple(*first, value.dwords()))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn memory(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.0;
        for (slot, data) in function.frame.iter() {
            let align = 1u64 << data.align_log2.min(63);
            write!(f, "  {slot}: {} bytes align {align}", data.size_bytes)?;
            if let Some(offset) = data.offset_bytes {
                write!(f, " at {offset}")?;
            }
            writeln!(f)?;
        }
        for (id, &symbol) in function.symbols.iter() {
            writeln!(f, "  {id} = {}", Symbol(symbol))?;
        }
        let kernarg = &function.kernarg;
        if (kernarg.size_bytes, kernarg.align_bytes, kernarg.implicit_offset) != (0, 0, 0) {
            write!(f, "  kernarg {} bytes align {}", kernarg.size_bytes, kernarg.align_bytes)?;
            writeln!(f, " hidden at {}", kernarg.implicit_offset)?;
        }
        list(f, "args", ARGS_PER_LINE, &kernarg.args.iter().map(Arg).collect::<Vec<_>>())?;
        if function.lds != LdsLayout::default() {
            f.write_str("  lds ")?;
            write_lds(f, &function.lds, |f, global| write!(f, "{}", Symbol(SymbolRef::Global(global))))?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn properties(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.0;
        let locs = function.locs.iter().skip(1).map(Loc).collect::<Vec<_>>();
        list(f, "locs", ITEMS_PER_LINE, &locs)?;
        if function.uses_flat_scratch {
            writeln!(f, "  uses_flat_scratch")?;
        }
        if function.max_flat_workgroup_size != 1024 {
            writeln!(f, "  max_flat_workgroup_size {}", function.max_flat_workgroup_size)?;
        }
        if function.resources != Resources::default() {
            let Resources { sgprs, vgprs, vcc, flat_scratch, sgpr_spills, vgpr_spills, scratch_bytes } =
                function.resources;
            write!(f, "  resources sgprs {sgprs} vgprs {vgprs}")?;
            write!(f, " sgpr_spills {sgpr_spills} vgpr_spills {vgpr_spills} scratch_bytes {scratch_bytes}")?;
            f.write_str(if vcc { " vcc" } else { "" })?;
            writeln!(f, "{}", if flat_scratch { " flat_scratch" } else { "" })?;
        }
        if function.result_dwords != 0 {
            writeln!(f, "  result_dwords {}", function.result_dwords)?;
        }
        list(f, "shader_results", ITEMS_PER_LINE, &function.shader_results)?;
        if function.scratch == ScratchAccess::Scratch {
            writeln!(f, "  scratch_instructions")?;
        }
        if let Some(base) = function.frame_base {
            writeln!(f, "  frame_base {base}")?;
        }
        if function.dynamic_stack {
            writeln!(f, "  dynamic_stack")?;
        }
        if let Some(first) = function.saves_from {
            writeln!(f, "  saves_from {}", PReg::vgpr(first))?;
        }
        list(f, "whole_wave_vgprs", ITEMS_PER_LINE, &function.whole_wave_vgprs)
    }

    fn sites(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.0;
        for (n, call) in function.calls.iter().enumerate() {
            write!(f, "  call {n}:")?;
            if let Some(callee) = call.callee {
                write!(f, " {}", Symbol(SymbolRef::Func(callee)))?;
            }
            f.write_str(if call.graphics { " graphics" } else { "" })?;
            f.write_str(if call.tail { " tail" } else { "" })?;
            if call.result_dwords != 0 {
                write!(f, " result_dwords {}", call.result_dwords)?;
            }
            if call.stack_bytes != 0 {
                write!(f, " stack_bytes {}", call.stack_bytes)?;
            }
            if let Some(changes) = &call.changes {
                f.write_str(if changes.is_empty() { " changes none" } else { " changes " })?;
                let tuples: Vec<_> = changes.tuples().map(|(first, dwords)| Tuple(first, dwords)).collect();
                comma_separated(f, &tuples, |f, tuple| write!(f, "{tuple}"))?;
            }
            if !call.reads.is_empty() {
                f.write_str(" reads ")?;
                comma_separated(f, &call.reads, |f, reg| write!(f, "{reg}"))?;
            }
            writeln!(f)?;
        }
        for (n, site) in function.asm_sites.iter().enumerate() {
            write!(f, "  asm {n}: {}", Quoted(&site.text))?;
            if site.named_sgprs != 0 {
                write!(f, " named_sgprs {}", site.named_sgprs)?;
            }
            f.write_str(if site.pure { " pure" } else { "" })?;
            f.write_str(if site.opaque { " opaque" } else { "" })?;
            f.write_str(" (")?;
            comma_separated(f, &site.arguments, |f, argument| match argument {
                AsmArgument::Operand(n) => write!(f, "operand {n}"),
                AsmArgument::Number(n) => write!(f, "{n}"),
                AsmArgument::Text(text) => write!(f, "{}", Quoted(text)),
            })?;
            f.write_str(")\n")?;
            for inst in &site.inside {
                writeln!(f, "    inside {}", function.display_inst(inst))?;
            }
        }
        Ok(())
    }
}

/// Prints a kernel argument.
struct Arg<'a>(&'a KernelArg);

impl fmt::Display for Arg<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let arg = self.0;
        match arg.param {
            Some(param) => write!(f, "{param}")?,
            None => f.write_str("hidden")?,
        }
        write!(f, ": {} bytes at {} {}", arg.size_bytes, arg.offset_bytes, arg.value_kind)?;
        if let Some(space) = arg.space {
            write!(f, " space {}", space.0)?;
        }
        if arg.pointee_align != 0 {
            write!(f, " pointee_align {}", arg.pointee_align)?;
        }
        Ok(())
    }
}

/// Lines of `word` with `items`, none where there are no items.
fn list<T: fmt::Display>(f: &mut Formatter<'_>, word: &str, per_line: usize, items: &[T]) -> fmt::Result {
    for line in items.chunks(per_line) {
        write!(f, "  {word} ")?;
        comma_separated(f, line, |f, item| item.fmt(f))?;
        writeln!(f)?;
    }
    Ok(())
}

/// Prints a symbol by its number in the module.
struct Symbol(SymbolRef);

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            SymbolRef::Func(func) => write!(f, "#{func}"),
            SymbolRef::Global(global) => write!(f, "#{global}"),
        }
    }
}

struct Hint<'a>(Named<'a>, PReg);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.0, self.1)
    }
}

struct Loc<'a>(&'a SourceLoc);

impl fmt::Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.0.file, self.0.line, self.0.column)
    }
}

/// How the text names each register.
fn mentions(function: &Function) -> Vec<Mention> {
    let mut out = vec![Mention::default(); function.vregs.len()];
    let mut note = |reg: VReg, whole: bool| {
        if let Some(mention) = out.get_mut(reg.index()) {
            mention.named = true;
            mention.whole |= whole;
        }
    };
    let insts = |insts: &[Inst], note: &mut dyn FnMut(VReg, bool)| {
        for operand in insts.iter().flat_map(|inst| &inst.operands) {
            if let Operand::Reg(RegOperand { reg: Reg::Virtual(reg), sub, dwords }) = *operand {
                let width = function.vregs.get(reg).map(|data| data.dwords);
                note(reg, sub == 0 && width == Some(dwords));
            }
        }
    };
    function.entry.values.values().flatten().for_each(|&reg| note(reg, true));
    function.asm_sites.iter().for_each(|site| insts(&site.inside, &mut note));
    for &block in &function.layout {
        let data = &function.blocks[block];
        data.vparams.iter().chain(&data.sparams).for_each(|&reg| note(reg, true));
        insts(&data.insts, &mut note);
        if let Terminator::Divergent(mask) = data.term {
            note(mask, true);
        }
        let edges = data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args);
        edges.chain(data.thread_sargs.iter().flatten()).for_each(|&reg| note(reg, false));
    }
    out
}

/// The block with the largest number that the text names.
fn last_block(function: &Function) -> Option<Block> {
    let targets = |block: &Block| {
        let data = &function.blocks[*block];
        let edges = data.thread_succs.iter().chain(&data.wave_succs).map(|edge| edge.block);
        let operands = data.insts.iter().flat_map(|inst| &inst.operands);
        let operands =
            operands.filter_map(|o| if let Operand::Block(target) = o { Some(*target) } else { None });
        edges.chain(operands).max().max(Some(*block))
    };
    function.layout.iter().filter_map(targets).max()
}
