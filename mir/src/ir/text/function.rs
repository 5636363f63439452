//! Writes functions.

use super::*;
use crate::abi::call::Place;
use crate::abi::shader::PsInputs;
use crate::text::{comma_separated, write_flags};
use cranelift_entity::EntityRef;
use std::fmt::Write as _;

/// Constants on one line.
const CONSTANTS_PER_LINE: usize = 12;

/// Prints a function; made by [`Function::display`].
pub struct DisplayFunction<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
}

impl DisplayFunction<'_> {
    fn param(&self, f: &mut Formatter<'_>, param: &Param) -> fmt::Result {
        let ty = self.function.ty(param.value);
        write!(f, "{}: {}", param.value, self.module.types.display(ty))?;
        write_flags!(f, PARAM_FLAGS, param.flags);
        if param.align_log2 != 0 {
            write!(f, " align {}", 1u64 << param.align_log2.min(63))?;
        }
        if param.dereferenceable_bytes != 0 {
            write!(f, " dereferenceable {}", param.dereferenceable_bytes)?;
        }
        if let Some(indirect) = param.indirect {
            f.write_str(&self.indirect(indirect))?;
        }
        if let Some(register) = param.register {
            write!(f, " in ${register}")?;
        }
        if !param.name.is_empty() {
            write!(f, " {}", Quoted(&param.name))?;
        }
        Ok(())
    }

    fn header(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.function;
        f.write_str(if function.is_declaration() { "declare " } else { "define " })?;
        write!(f, "{}", CallConvWord(function.call_conv))?;
        write_flags!(f, PARAM_FLAGS, function.ret_flags);
        write!(f, " {} {}(", self.module.types.display(function.ret), Symbol(&function.name))?;
        comma_separated(f, function.params.iter(), |f, param| self.param(f, param))?;
        f.write_str(if function.variadic { " ...)" } else { ")" })?;
        linkage(f, function.linkage, function.visibility)?;
        write_flags!(f, FUNC_FLAGS, function.flags);
        if !function.section.is_empty() {
            write!(f, " section {}", Quoted(&function.section))?;
        }
        if function.loc != SourceLoc::default() {
            write!(f, " loc {} {} {}", function.loc.file, function.loc.line, function.loc.column)?;
        }
        for (key, value) in function.attributes.iter() {
            write!(f, "\n    {} = {}", Quoted(key), Quoted(value))?;
        }
        let kernel = &function.kernel;
        for arg in &kernel.args {
            let KernelArgInfo { name, addr_space, access, ty, base_ty, qualifiers } = arg;
            write!(f, "\n    kernel_arg {addr_space}")?;
            for text in [name, access, ty, base_ty, qualifiers] {
                write!(f, " {}", Quoted(text))?;
            }
        }
        for (word, size) in [
            ("reqd_work_group_size", kernel.reqd_work_group_size),
            ("work_group_size_hint", kernel.work_group_size_hint),
        ] {
            if let Some([x, y, z]) = size {
                write!(f, "\n    {word} {x} {y} {z}")?;
            }
        }
        for (word, text) in [
            ("vec_type_hint", &kernel.vec_type_hint),
            ("device_enqueue_symbol", &kernel.device_enqueue_symbol),
        ] {
            if let Some(text) = text {
                write!(f, "\n    {word} {}", Quoted(text))?;
            }
        }
        if let Some(number) = kernel.lds_kernel_id {
            write!(f, "\n    lds_kernel_id {number}")?;
        }
        if !function.inputs.is_empty() {
            f.write_str("\n    inputs")?;
            write_flags!(f, INPUTS, function.inputs);
        }
        let PsInputs { addr, ena } = function.ps_inputs;
        if (addr, ena) != (0, 0) {
            write!(f, "\n    ps_inputs {addr:#x} {ena:#x}")?;
        }
        if function.arguments_end != 0 {
            write!(f, "\n    arguments_end {}", function.arguments_end)?;
        }
        Ok(())
    }

    /// What the function knows of a call beside the instruction.
    fn call_facts(&self, f: &mut Formatter<'_>, inst: Inst) -> fmt::Result {
        if let Some(site) = self.function.call_sites.get(&inst) {
            write!(f, " !site {}", CallConvWord(site.call_conv))?;
            write_flags!(f, PARAM_FLAGS, site.ret_flags);
            f.write_str(" [")?;
            comma_separated(f, &site.args, |f, arg| self.call_argument(f, arg))?;
            f.write_char(']')?;
            if let Some(params) = site.variadic {
                write!(f, " variadic {params}")?;
            }
            if site.no_builtin {
                f.write_str(" nobuiltin")?;
            }
            f.write_str(match site.tail {
                TailCall::No => "",
                TailCall::May => " tail",
                TailCall::Must => " musttail",
            })?;
        }
        if let Some(layout) = self.function.call_layouts.get(&inst) {
            f.write_str(" !places [")?;
            comma_separated(f, &layout.places, |f, place| match place {
                Place::Register(register) => write!(f, "${register}"),
                Place::Stack(offset) => write!(f, "{offset}"),
            })?;
            f.write_str(if layout.graphics { "] graphics" } else { "]" })?;
            f.write_str(if layout.tail { " tail" } else { "" })?;
        }
        Ok(())
    }

    fn call_argument(&self, f: &mut Formatter<'_>, arg: &CallArgument) -> fmt::Result {
        if *arg == CallArgument::default() {
            return f.write_char('_');
        }
        let mut words = String::new();
        write_flags!(words, PARAM_FLAGS, arg.flags);
        if arg.align_log2 != 0 {
            write!(words, " align {}", 1u64 << arg.align_log2.min(63))?;
        }
        if let Some(indirect) = arg.indirect {
            write!(words, "{}", self.indirect(indirect))?;
        }
        f.write_str(words.trim_start())
    }

    fn indirect(&self, indirect: IndirectParam) -> String {
        let word = if indirect.by_value { "byval" } else { "byref" };
        format!(" {word} {}", self.module.types.display(indirect.ty))
    }

    /// Which sets of accesses have nothing in common.
    fn alias_sets(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.function.alias_sets.is_empty() {
            return Ok(());
        }
        f.write_str("apart ")?;
        comma_separated(f, self.function.alias_sets.pairs(), |f, (a, b)| write!(f, "{} {}", a.0, b.0))?;
        f.write_char('\n')
    }

    /// The numbers of constants, and of what is in the tables and nowhere else.
    fn numbers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let function = self.function;
        // Members stand before what consists of them, so that they are known by then.
        let (mut constants, mut composed) = (Vec::new(), Vec::new());
        for (value, data) in function.values.iter() {
            if let ValueDef::Const(constant) = &data.def
                && function.find_constant(data.ty, constant) == Some(value)
            {
                let is_composed = matches!(constant, Const::Elements(_));
                if is_composed { &mut composed } else { &mut constants }.push(value);
            }
        }
        constants.append(&mut composed);
        for line in constants.chunks(CONSTANTS_PER_LINE) {
            f.write_str("constants ")?;
            comma_separated(f, line, |f, &value| {
                write!(f, "{value} = {}", function.display_value(self.module, value))
            })?;
            f.write_char('\n')?;
        }
        let (mut values, mut insts, mut blocks) = (constants.iter().copied().max(), 0, None);
        let mut note = |shown: &[Value]| values = values.max(shown.iter().copied().max());
        function.params.iter().for_each(|param| note(&[param.value]));
        for &block in &function.layout {
            let data = &function.blocks[block];
            note(&data.params);
            insts += data.insts.len();
            blocks = blocks.max(Some(block));
            for &inst in &data.insts {
                note(function.insts[inst].result.as_slice());
            }
        }
        let count = |last: Option<usize>| last.map_or(0, |n| n + 1);
        let shown = (count(values.map(Value::index)), insts, count(blocks.map(Block::index)));
        let tables = (function.values.len(), function.insts.len(), function.blocks.len());
        if tables != shown {
            let (values, insts, blocks) = tables;
            writeln!(f, "tables {values} values {insts} instructions {blocks} blocks")?;
        }
        Ok(())
    }
}

impl Display for DisplayFunction<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.header(f)?;
        let function = self.function;
        if function.is_declaration() {
            return f.write_char('\n');
        }
        f.write_str(" {\n")?;
        for &block in &function.layout {
            let data = &function.blocks[block];
            write!(f, "{block}")?;
            if !data.params.is_empty() {
                f.write_char('(')?;
                comma_separated(f, data.params.iter(), |f, &param| {
                    write!(f, "{param}: {}", self.module.types.display(function.ty(param)))
                })?;
                f.write_char(')')?;
            }
            f.write_str(match data.unrolling {
                Unrolling::Open => ":\n",
                Unrolling::Wanted => " unroll:\n",
                Unrolling::Never => " no_unroll:\n",
            })?;
            for &inst in &data.insts {
                write!(f, "  {}", function.display_inst(self.module, inst))?;
                self.call_facts(f, inst)?;
                f.write_char('\n')?;
            }
        }
        self.alias_sets(f)?;
        self.numbers(f)?;
        f.write_str("}\n")
    }
}
