//! Whether an object is what was asked for: the symbols and kernel descriptors that `llc`'s has, only
//! instructions of the processor, no side effects lost.

use mir::isa;
use mir::target::{PROCESSORS, Target};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with an object. Both lists are empty for a good one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// It is not what was asked for.
    pub wrong: Vec<String>,
    /// Functions have lost side effects, or nearly all code.
    pub suspect: Vec<String>,
}

/// A function of an object.
#[derive(Clone, Debug, Default)]
struct Code {
    size: u64,
    effects: BTreeSet<&'static str>,
    unknown: Option<String>,
    local: bool,
}

#[derive(Default)]
struct Facts {
    functions: BTreeMap<String, Code>,
    descriptors: BTreeSet<String>,
}

/// The side effect of an instruction by its name in assembly.
fn effect(name: &str) -> Option<&'static str> {
    let any = |parts: &[&str]| parts.iter().any(|p| name.contains(p));
    Some(if any(&["atomic"]) {
        "atomic"
    } else if name.starts_with("ds_read") {
        "load"
    } else if name.starts_with("ds_") {
        match any(&["swizzle", "permute", "nop"]) {
            true => return None,
            false => "lds",
        }
    } else if any(&["_store"]) {
        "store"
    } else if name == "exp" {
        "export"
    } else if name.starts_with("s_swappc") || name.starts_with("s_call") {
        "call"
    } else if name.starts_with("s_sendmsg") {
        "message"
    } else if name == "s_barrier" {
        "barrier"
    } else if name.starts_with("s_setpc") {
        "return"
    } else if any(&["_load", "image_sample", "image_gather"]) {
        "load"
    } else {
        return None;
    })
}

fn facts(bytes: &[u8], target: &Target) -> Result<Facts, String> {
    let elf = ElfFile64::<Endianness>::parse(bytes).map_err(|e| format!("no ELF64 file: {e}"))?;
    let mut facts = Facts::default();
    for symbol in elf.symbols() {
        let name = symbol.name().map_err(|e| e.to_string())?.to_owned();
        if symbol.is_undefined() || name.is_empty() {
            continue;
        }
        if let Some(kernel) = name.strip_suffix(".kd") {
            facts.descriptors.insert(kernel.to_owned());
            continue;
        }
        // Kernels of code object version 2 have a type of their own.
        if symbol.kind() != SymbolKind::Text && symbol.elf_symbol().st_type().0 != 10 {
            continue;
        }
        let Some(section) = symbol.section_index().and_then(|i| elf.section_by_index(i).ok()) else {
            continue;
        };
        let data = section.data().map_err(|e| e.to_string())?;
        let start = symbol.address() as usize;
        let end = start.saturating_add(symbol.size() as usize);
        let code = data.get(start..end).ok_or_else(|| format!("symbol {name} exceeds its section"))?;
        let own = Code { size: symbol.size(), local: symbol.is_local(), ..Code::default() };
        let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect();
        let as_for = |target: &Target| decode_all(&name, &words, own.clone(), target);
        let mut code = as_for(target);
        if code.unknown.is_some() && elf.elf_header().e_flags.get(Endianness::Little).0 & MACH_MASK == 0 {
            // An object for no processor in particular: its functions may be, each for its own.
            let known = PROCESSORS.iter().map(|processor| as_for(&Target::new(processor)));
            code = known.into_iter().find(|code| code.unknown.is_none()).unwrap_or(code);
        }
        facts.functions.insert(name, code);
    }
    Ok(facts)
}

/// `EF_AMDGPU_MACH` of `e_flags`.
const MACH_MASK: u32 = 0xff;

fn decode_all(name: &str, words: &[u32], mut code: Code, target: &Target) -> Code {
    let mut at = 0;
    while at < words.len() {
        match isa::decode_lenient(&words[at..], target) {
            Ok((inst, size)) => {
                code.effects.extend(effect(inst.op.info().name));
                at += size.max(1);
            }
            Err(error) => {
                code.unknown.get_or_insert_with(|| format!("{name}+0x{:x}: {error}", at * 4));
                at += 1;
            }
        }
    }
    code
}

/// Compares `ours` with `theirs`, both for `target`.
pub fn check(ours: &[u8], theirs: &[u8], target: &Target) -> Findings {
    let mut findings = Findings::default();
    let ours = match facts(ours, target) {
        Ok(facts) => facts,
        Err(error) => {
            findings.wrong.push(error);
            return findings;
        }
    };
    let Ok(theirs) = facts(theirs, target) else { return findings };
    for name in theirs.descriptors.difference(&ours.descriptors) {
        findings.wrong.push(format!("{name} has no kernel descriptor"));
    }
    for name in ours.descriptors.difference(&theirs.descriptors) {
        findings.wrong.push(format!("{name} has a kernel descriptor"));
    }
    for (name, their) in &theirs.functions {
        let Some(our) = ours.functions.get(name) else {
            if !their.local {
                findings.wrong.push(format!("function {name} is missing"));
            }
            continue;
        };
        if our.size == 0 && their.size > 0 {
            findings.wrong.push(format!("function {name} has no code"));
        }
        if let (Some(unknown), None) = (&our.unknown, &their.unknown) {
            findings.wrong.push(unknown.clone());
        }
        for effect in their.effects.difference(&our.effects) {
            // Another kind of access may do the same. Beside an atomic operation, llc has loads and stores for pointers that may be
            // private, where the pointer cannot be, and for functions that keep registers of their caller.
            let replaced = match *effect {
                "atomic" => our.effects.contains("lds"),
                "lds" => our.effects.contains("atomic") || our.effects.contains("store"),
                "load" | "store" => our.effects.contains("atomic"),
                _ => false,
            };
            if !replaced {
                findings.suspect.push(format!("{name} has lost: {effect}"));
            }
        }
        if our.size * 4 < their.size && their.size > 64 {
            findings.suspect.push(format!("{name} has {} bytes, llc's {}", our.size, their.size));
        }
    }
    for (name, our) in &ours.functions {
        if !theirs.functions.contains_key(name) && !our.local {
            findings.wrong.push(format!("function {name} is extra"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::effect;
    use mir::isa::Opcode;

    /// The names are those of the table, whatever case it writes them in.
    #[test]
    fn effects_are_found_by_the_names_of_the_table() {
        let of = |op: Opcode| effect(op.info().name);
        let expected = [
            (Opcode::BUFFER_STORE_DWORD, "store"),
            (Opcode::GLOBAL_ATOMIC_ADD, "atomic"),
            (Opcode::DS_READ_B32, "load"),
            (Opcode::DS_WRITE_B32, "lds"),
            (Opcode::EXP, "export"),
            (Opcode::S_SWAPPC_B64, "call"),
            (Opcode::S_SENDMSG, "message"),
            (Opcode::S_BARRIER, "barrier"),
            (Opcode::S_SETPC_B64, "return"),
            (Opcode::IMAGE_SAMPLE, "load"),
        ];
        for (op, effect) in expected {
            assert_eq!(of(op), Some(effect), "{}", op.info().name);
        }
        assert_eq!((of(Opcode::DS_SWIZZLE_B32), of(Opcode::V_ADD_F32)), (None, None));
    }
}
