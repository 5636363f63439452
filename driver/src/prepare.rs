//! What options and attributes mean to passes: small adapters of the list in [`crate::pipeline`].

use crate::options::FileType;
use crate::pass::{FunctionContext, ModuleContext};
use emit::FinalFunction;
use emit::link::{Input, LinkOptions};
use mir::ir::{FuncFlags, Function, InstFlags, InstKind, Intrinsic, Module, Scalar, Type, UnaryOp};
use mir::target::{Features, Os, Target};
use mir::{Diagnostic, Result};

/// Puts into the module what the command line adds to it: attributes, sections, and the symbols of which
/// prologs build the scratch resource.
pub fn apply_options(module: &mut Module, cx: &ModuleContext<'_>) {
    let options = cx.options;
    for function in module.functions.values_mut().filter(|f| !f.is_declaration()) {
        for (key, value) in &options.function_attributes {
            if !function.attributes.contains_key(key) {
                function.attributes.insert(key.clone(), value.clone());
            }
        }
    }
    for function in module.functions.values_mut() {
        promise_as_function(function);
    }
    // No system passes the resource there.
    if cx.target.os == Os::Unknown {
        for name in mir::abi::shader::SCRATCH_SYMBOLS {
            if !module.globals.values().any(|global| global.name == name) {
                module.globals.push(mir::ir::GlobalData::external(name));
            }
        }
    }
    if options.data_sections {
        emit::separate_sections(module);
    }
    if options.function_sections {
        for function in module.functions.values_mut().filter(|f| f.section.is_empty()) {
            function.section = format!(".text.{}", function.name);
        }
    }
}

/// Attributes by which a function promises for all its operations what fast-math flags promise for one.
const PROMISES: [(&str, InstFlags); 3] = [
    ("no-nans-fp-math", InstFlags::NNAN),
    ("no-infs-fp-math", InstFlags::NINF),
    ("no-signed-zeros-fp-math", InstFlags::NSZ),
];

/// Gives the operations of `function` the flags that its attributes stand for: passes, and functions that it is inlined in, see only those.
///
/// Source: LLVM's `TargetMachine::resetTargetOptions`.
fn promise_as_function(function: &mut Function) {
    let promised = PROMISES.iter().filter(|(name, _)| function.attribute(name) == Some("true"));
    let promised = promised.fold(InstFlags::empty(), |all, &(_, flag)| all | flag);
    if promised.is_empty() {
        return;
    }
    let is_float = |ty: Type| matches!(ty.scalar(), Some(Scalar::Float(_)));
    for data in function.insts.values_mut().filter(|data| !data.flags.contains(InstFlags::STRICT)) {
        let computes = match data.kind {
            InstKind::Unary { op: UnaryOp::FNeg, .. } | InstKind::Fcmp { .. } => true,
            InstKind::Binary { .. } | InstKind::Select { .. } | InstKind::Intrinsic { .. } => {
                is_float(data.ty)
            }
            _ => false,
        };
        if computes {
            data.flags |= promised;
        }
    }
}

/// Whether the function is to be small rather than fast.
pub fn is_for_size(cx: &FunctionContext<'_>) -> bool {
    cx.ir().flags.intersects(FuncFlags::OPT_SIZE | FuncFlags::MIN_SIZE)
}

/// Limits that the function's attributes set on register allocation.
///
/// # Errors
/// `Malformed` where an attribute is not a number.
pub fn register_limits(cx: &FunctionContext<'_>) -> Result<regalloc::Options> {
    let ir = cx.ir();
    let number = |key: &str| -> Result<Option<u32>> {
        // `"amdgpu-waves-per-eu"="m,n"`: the lower bound is the one that limits registers.
        let Some(text) = ir.attribute(key) else { return Ok(None) };
        let first = text.split(',').next().unwrap_or_default().trim();
        let malformed = |_| Diagnostic::malformed(format!("attribute \"{key}\" is not a number: \"{text}\""));
        first.parse().map(Some).map_err(malformed)
    };
    Ok(regalloc::Options {
        verify: cx.options.verify,
        max_vgprs: number("amdgpu-num-vgpr")?,
        max_sgprs: number("amdgpu-num-sgpr")?,
        min_waves: number("amdgpu-waves-per-eu")?,
        regalloc2: cx.options.opt_level >= 1,
        quick: cx.options.opt_level == 0,
    })
}

/// What bounds registers when code is scheduled: the same.
///
/// # Errors
/// As [`register_limits`].
pub fn schedule_options(cx: &FunctionContext<'_>) -> Result<schedule::Options> {
    let regalloc::Options { verify, max_vgprs, max_sgprs, min_waves, .. } = register_limits(cx)?;
    Ok(schedule::Options { verify, max_vgprs, max_sgprs, min_waves })
}

/// Attributes whose first number is read where nobody can refuse it: bytes that are reserved at the start of
/// LDS and GDS.
const RESERVED: [&str; 2] = ["amdgpu-lds-size", "amdgpu-gds-size"];

/// Refuses attributes that later passes could not read.
///
/// # Errors
/// `Malformed`, naming the attribute.
pub fn check_attributes(cx: &FunctionContext<'_>) -> Result<()> {
    register_limits(cx)?;
    let refuse = |key: &str, what: &str, text: &str| {
        Err(Diagnostic::malformed(format!("attribute \"{key}\" is not {what}: \"{text}\"")))
    };
    let is_number = |text: &str| text.trim().parse::<u32>().is_ok();
    for key in RESERVED {
        if let Some(text) = cx.ir().attribute(key)
            && !text.split(',').next().is_some_and(is_number)
        {
            return refuse(key, "a number", text);
        }
    }
    let key = "amdgpu-max-num-workgroups";
    match cx.ir().attribute(key) {
        Some(text) if text.split(',').count() != 3 || !text.split(',').all(is_number) => {
            refuse(key, "three numbers", text)
        }
        _ => Ok(()),
    }
}

/// A line for each function with a `debugtrap` that no handler would see: it is left out.
pub fn warnings_of_traps(module: &Module, target: &Target) -> Vec<String> {
    if target.os == Os::AmdHsa && target.has(Features::TRAP_HANDLER) {
        return Vec::new();
    }
    let is_trap =
        |kind: &InstKind| matches!(kind, InstKind::Intrinsic { intrinsic: Intrinsic::Debugtrap, .. });
    let traps = module.functions.values().filter(|f| f.insts.values().any(|inst| is_trap(&inst.kind)));
    traps.map(|f| format!("in function {}: debugtrap handler not supported", f.name)).collect()
}

/// The file that was asked for.
///
/// # Errors
/// Those of the writers.
pub fn write(functions: &[FinalFunction], module: &Module, cx: &ModuleContext<'_>) -> Result<Vec<u8>> {
    match cx.options.file_type {
        FileType::Asm => emit::emit_asm(module, functions, cx.target).map(String::into_bytes),
        FileType::Obj => emit::emit_object(module, functions, cx.target),
        FileType::Hsaco => {
            let object = emit::emit_object(module, functions, cx.target)?;
            let input = Input { name: "the object", bytes: &object, whole_archive: false };
            emit::link::link(&[input], &LinkOptions::default())
        }
        FileType::Null => Ok(Vec::new()),
    }
}
