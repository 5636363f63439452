//! What is printed between passes.

use crate::compile::Form;
use crate::pass::FunctionContext;
use emit::FinalFunction;
use mir::analysis::Uniformity;
use mir::ir::{self, Module};
use std::fmt::Write as _;

/// A function as a dump shows it.
pub(crate) fn describe(cx: &FunctionContext<'_>, form: &Form) -> String {
    match form {
        Form::Ir => cx.ir().display(cx.module).to_string(),
        Form::Analysed(uniformity) => divergence(cx.module, cx.ir(), uniformity),
        Form::Machine(f) => f.to_string(),
        Form::Final(f) => format!("{}{}", f.function, descriptors(std::slice::from_ref(f))),
    }
}

/// Descriptors and metadata of kernels, as comments.
pub(crate) fn descriptors(functions: &[FinalFunction]) -> String {
    let mut text = String::new();
    for f in functions {
        let _ =
            writeln!(text, "; {}: {} bytes, {} relocations", f.function.name, f.code.len(), f.relocs.len());
        if let Some(kernel) = &f.kernel {
            for line in format!("{:#?}\n{:#?}", kernel.descriptor, kernel.metadata).lines() {
                let _ = writeln!(text, ";   {line}");
            }
        }
    }
    text
}

/// The parameters and instructions of `ir`, each marked `divergent` or `uniform`.
fn divergence(module: &Module, ir: &ir::Function, uniformity: &Uniformity) -> String {
    let mut text = String::new();
    let word = |divergent| if divergent { "divergent" } else { "uniform" };
    for &block in &ir.layout {
        let _ = writeln!(text, "{block}:");
        for &param in &ir.blocks[block].params {
            let _ = writeln!(text, "  {:9}  {param}", word(uniformity.is_divergent_where_defined(param)));
        }
        for &inst in &ir.blocks[block].insts {
            let divergent = match ir.insts[inst].result {
                Some(value) => uniformity.is_divergent_where_defined(value),
                None => ir.insts[inst].kind.is_terminator() && uniformity.is_divergent_branch(block),
            };
            let _ = writeln!(text, "  {:9}  {}", word(divergent), ir.display_inst(module, inst));
        }
    }
    text
}
