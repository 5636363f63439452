//! The functions that kernels call, by the relocations of a relocatable object.
//!
//! A compiler that calls a function writes it once, one that inlines it once for each call: what a kernel takes is its own code and that of all functions
//! it can reach. Calls through pointers that are computed elsewhere are not followed.

use crate::measure::{self, CodeFacts, KernelFacts};
use mir::target::Target;
use object::elf::RelocationType;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionIndex, SymbolIndex, SymbolKind};
use std::collections::{HashMap, HashSet};

/// `R_AMDGPU_REL32_LO`: the lower half of a distance. Source: AMDGPU usage guide, "Relocation Records".
const REL32_LO: RelocationType = RelocationType(10);

/// A function of an object.
struct Code<'a> {
    name: &'a str,
    symbol: SymbolIndex,
    section: SectionIndex,
    /// Its place in the section.
    bytes: std::ops::Range<u64>,
}

/// Adds to `kernels` the code of the functions that each of them calls, directly or not, as `relocatable`, the object they are linked from, has it.
///
/// # Errors
/// It is no object, or has functions that are no code.
pub fn add(kernels: &mut [KernelFacts], relocatable: &[u8], target: &Target) -> Result<(), String> {
    let file = object::File::parse(relocatable).map_err(|error| error.to_string())?;
    let functions = functions(&file);
    let callees = callees(&file, &functions);
    let mut own: Vec<Option<CodeFacts>> = vec![None; functions.len()];
    for kernel in kernels {
        let Some(start) = functions.iter().position(|function| function.name == kernel.name) else {
            continue;
        };
        let mut reached = HashSet::from([start]);
        let mut work = vec![start];
        while let Some(caller) = work.pop() {
            for &callee in callees[caller].iter().filter(|&&callee| reached.insert(callee)) {
                let facts = match own[callee] {
                    Some(facts) => facts,
                    None => *own[callee].insert(code(&file, &functions[callee], target)?),
                };
                kernel.add(&facts);
                work.push(callee);
            }
        }
    }
    Ok(())
}

/// The functions of `file`, kernels among them, in the order of their places.
fn functions<'a>(file: &object::File<'a>) -> Vec<Code<'a>> {
    let code = |symbol: object::Symbol<'a, '_>| {
        let is_code = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
        let section = symbol.section_index().filter(|_| is_code)?;
        let bytes = symbol.address()..symbol.address() + symbol.size();
        Some(Code { name: symbol.name().ok()?, symbol: symbol.index(), section, bytes })
    };
    let mut functions: Vec<_> = file.symbols().filter_map(code).collect();
    functions.sort_by_key(|function| (function.section.0, function.bytes.start));
    functions
}

/// The functions that each function names in its code.
fn callees(file: &object::File<'_>, functions: &[Code<'_>]) -> Vec<Vec<usize>> {
    let by_symbol: HashMap<SymbolIndex, usize> =
        functions.iter().enumerate().map(|(n, function)| (function.symbol, n)).collect();
    let mut callees = vec![Vec::new(); functions.len()];
    for section in file.sections() {
        for (offset, relocation) in section.relocations() {
            let object::RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let callee = match by_symbol.get(&symbol) {
                Some(&callee) => Some(callee),
                None => {
                    local(file, symbol, &relocation).and_then(|(section, at)| around(functions, section, at))
                }
            };
            if let (Some(caller), Some(callee)) = (around(functions, section.index(), offset), callee) {
                callees[caller].push(callee);
            }
        }
    }
    callees
}

/// What the lower half of a distance leads to whose relocation names the section alone: it is counted from behind `s_getpc_b64`, four bytes in front of its
/// place.
fn local(
    file: &object::File<'_>,
    symbol: SymbolIndex,
    relocation: &object::Relocation,
) -> Option<(SectionIndex, u64)> {
    let lower_half = RelocationFlags::Elf { r_type: REL32_LO };
    let symbol = file.symbol_by_index(symbol).ok().filter(|_| relocation.flags() == lower_half)?;
    let at = relocation.addend().checked_sub(4)?;
    (symbol.kind() == SymbolKind::Section).then_some((symbol.section_index()?, u64::try_from(at).ok()?))
}

/// The function that has byte `at` of `section`.
fn around(functions: &[Code<'_>], section: SectionIndex, at: u64) -> Option<usize> {
    let behind =
        functions.partition_point(|function| (function.section.0, function.bytes.start) <= (section.0, at));
    let function = behind.checked_sub(1)?;
    let code = &functions[function];
    (code.section == section && code.bytes.contains(&at)).then_some(function)
}

/// What the code of `function` says.
fn code(file: &object::File<'_>, function: &Code<'_>, target: &Target) -> Result<CodeFacts, String> {
    let told = |error: object::Error| format!("{}: {error}", function.name);
    let section = file.section_by_index(function.section).map_err(told)?;
    let size = function.bytes.end - function.bytes.start;
    let bytes = section.data_range(function.bytes.start, size).map_err(told)?.unwrap_or_default();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    measure::count(&words, target, false).map_err(|error| format!("{}: {error}", function.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Kinds;

    const PROGRAM: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define internal i32 @leaf(i32 %x) noinline {
  %y = mul i32 %x, %x
  ret i32 %y
}
define internal i32 @middle(i32 %x) noinline {
  %y = call i32 @leaf(i32 %x)
  %z = call i32 @leaf(i32 %y)
  ret i32 %z
}
define amdgpu_kernel void @calls(ptr addrspace(1) %p, i32 %x) {
  %y = call i32 @middle(i32 %x)
  store i32 %y, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @alone(ptr addrspace(1) %p) {
  store i32 0, ptr addrspace(1) %p
  ret void
}
"#;

    #[test]
    fn each_function_that_is_reached_counts_once() {
        let options = gcnc::CompileOptions {
            cpu: "gfx900".into(),
            file_type: gcnc::FileType::Obj,
            opt_level: 0,
            ..Default::default()
        };
        let object = gcnc::compile(PROGRAM.as_bytes(), "callees", &options).expect("it compiles").bytes;
        let file = object::File::parse(&*object).expect("an object");
        let size = |name: &str| {
            file.symbols().find(|symbol| symbol.name() == Ok(name)).map_or(0, |symbol| symbol.size())
        };
        let target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
        let kernel = |name: &str| KernelFacts { name: name.into(), ..KernelFacts::default() };
        let mut kernels = [kernel("calls"), kernel("alone")];
        add(&mut kernels, &object, &target).expect("functions are code");
        let called = size("middle") + size("leaf");
        assert!(called > 0);
        assert_eq!([kernels[0].code_bytes, kernels[1].code_bytes], [called, 0]);
        assert!(kernels[0].instructions > 0 && kernels[0].kinds != Kinds::default());
    }
}
