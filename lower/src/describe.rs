//! Descriptor and metadata of a kernel.

use emit::{FinalFunction, Kernel};
use mir::abi::KernelDescriptor;
use mir::abi::metadata::Metadata;
use mir::ir::Module;
use mir::target::{Os, Target};
use mir::{Diagnostic, Result};

/// Fills in what a code object says about `f` where it is a kernel of a system with such descriptors.
///
/// # Errors
/// `Limit` where the descriptor cannot hold what the kernel needs, `Defect` where `f` is not of `module`.
pub fn describe(f: &mut FinalFunction, module: &Module, target: &Target) -> Result<()> {
    let Some(source) = module.functions.get(f.function.source) else {
        return Err(Diagnostic::defect("the function is not of this module"));
    };
    if source.is_kernel() && target.os == Os::AmdHsa {
        let descriptor = KernelDescriptor::for_kernel(&f.function, source, target)?;
        let metadata = Metadata::new(module, [(&f.function, source)], target).kernels.pop();
        f.kernel = metadata.map(|metadata| Kernel { descriptor, metadata });
    }
    Ok(())
}
