//! LLVM's code generator in this process.

use inkwell::OptimizationLevel;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use inkwell::values::BasicValue;

/// LLVM's code generator for `cpu` at `-O{level}`.
///
/// # Errors
/// LLVM does not know the processor.
pub fn machine(cpu: &str, level: u8) -> Result<TargetMachine, String> {
    let level = match level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    Target::initialize_amd_gpu(&InitializationConfig::default());
    let triple = TargetTriple::create("amdgcn-amd-amdhsa");
    let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
    target
        .create_target_machine(&triple, cpu, "", level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| format!("LLVM has no processor {cpu}"))
}

/// The object that LLVM makes of `module`, which it changes.
///
/// # Errors
/// What LLVM says.
pub fn compile(machine: &TargetMachine, module: &Module) -> Result<MemoryBuffer<'static>, String> {
    machine.write_to_memory_buffer(module, FileType::Object).map_err(|error| error.to_string())
}

/// clang emits beside every kernel a second copy of its body that nothing calls. gcnc does not compile it;
/// LLVM would, so it is removed for both.
#[allow(unsafe_code, reason = "inkwell has no safe way to remove a function")]
pub fn remove_dead_copies(module: &Module) {
    let dead: Vec<_> = module
        .get_functions()
        .filter(|f| f.get_name().to_bytes().starts_with(b"__clang_ocl_kern_imp_"))
        .filter(|f| f.as_global_value().as_pointer_value().get_first_use().is_none())
        .collect();
    for function in dead {
        // SAFETY: nothing uses the function, and its handle is dropped here.
        unsafe { function.delete() };
    }
}

/// Instructions of the functions of `module`.
pub fn instructions(module: &Module) -> u64 {
    let blocks = module.get_functions().flat_map(|f| f.get_basic_blocks());
    blocks.map(|block| block.get_instructions().count() as u64).sum()
}
