//! What RADV says of a shader, and how it is read: LLVM IR, disassembly, objects.

use mir::isa::parse::Parser;
use mir::target::Target;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A shader as the driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverShader {
    /// Name of the file without its extension.
    pub name: String,
    /// Statistics by name.
    pub statistics: BTreeMap<String, f64>,
    /// Texts by name: NIR, LLVM IR or ACO's, assembly.
    pub representations: BTreeMap<String, String>,
    /// Why there is nothing.
    pub error: Option<String>,
}

/// The LLVM IR of a shader, as LLVM 22 says what it means.
///
/// The driver was built with LLVM 15, which made one instruction of `llvm.sqrt.f32`, as ACO does of its square root. From LLVM 18 on that is a root rounded
/// correctly, ten instructions more; the instruction has an intrinsic of its own.
///
/// # Errors
/// The driver did not use LLVM.
pub fn ir(shader: &DriverShader) -> Result<String, String> {
    let ir = shader.representations.get("LLVM IR").ok_or("the driver has no LLVM back end")?;
    Ok(ir.replace("@llvm.sqrt.f32(", "@llvm.amdgcn.sqrt.f32("))
}

/// The instruction words of a shader that ACO compiled: behind each line of its disassembly stand the words of the instruction in hexadecimal
/// digits, and a line says how often the one before is repeated. Where these words are none that gcnc decodes (ACO leaves what an instruction
/// ignores in unused fields), the line is assembled.
///
/// # Errors
/// There is no disassembly, as for GFX6 and GFX7 without `clrxdisasm`, or a line is neither.
pub fn words(shader: &DriverShader, target: &Target) -> Result<Vec<u32>, String> {
    let text = shader.representations.get("Assembly").map_or("", String::as_str);
    let parser = Parser::new(target);
    let (mut words, mut last) = (Vec::new(), 0);
    for (number, line) in text.lines().enumerate() {
        if let Some((inst, code)) = line.rsplit_once(';') {
            last = words.len();
            for word in code.split_whitespace() {
                words.push(u32::from_str_radix(word, 16).map_err(|error| format!("{error} in {line:?}"))?);
            }
            if mir::isa::decode(&words[last..], target).is_err() {
                words.truncate(last);
                let parsed = parser.parse(inst.trim(), number as u32 + 1, &|_| None);
                words.extend_from_slice(&parsed.map_err(|error| format!("{line:?}: {error:?}"))?.words);
            }
        } else if let Some(times) = line.trim().strip_prefix("(then repeated ") {
            let times = times.split(' ').next().and_then(|count| count.parse::<usize>().ok());
            let inst = words[last..].to_vec();
            for _ in 0..times.ok_or_else(|| format!("no number in {line:?}"))? {
                words.extend_from_slice(&inst);
            }
        }
    }
    if words.is_empty() { Err("the driver has no disassembly".to_owned()) } else { Ok(words) }
}

/// A shader in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectShader {
    /// Its code.
    pub words: Vec<u32>,
    /// The field of VGPRs.
    pub vgpr_blocks: u32,
    /// The field of SGPRs.
    pub sgpr_blocks: u32,
    /// Scratch bytes of a wave.
    pub scratch_bytes: u64,
    /// SGPRs spilled.
    pub sgpr_spills: u64,
    /// VGPRs spilled.
    pub vgpr_spills: u64,
}

/// Reads an object of one shader for Mesa: `.text`, and in `.AMDGPU.config` pairs of a register's address and its value.
///
/// Source: AMDGPU usage guide, "Mesa 3D" and register manuals (`COMPUTE_PGM_RSRC1`, `COMPUTE_TMPRING_SIZE`); 4 and 8 are LLVM's own numbers for
/// spilled registers.
///
/// # Errors
/// A section is missing or damaged.
pub fn object(bytes: &[u8]) -> Result<ObjectShader, String> {
    const RSRC1: u32 = 0xb848;
    const TMPRING_SIZE: u32 = 0xb860;
    let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
    let section = |name: &str| {
        let section = file.section_by_name(name).ok_or_else(|| format!("no section {name}"))?;
        let data = section.data().map_err(|error| error.to_string())?;
        let words = data.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        Ok::<Vec<u32>, String>(words.collect())
    };
    let mut out = ObjectShader { words: section(".text")?, ..ObjectShader::default() };
    // Padding follows the function.
    let function = file.symbols().find(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let function = function.ok_or("no function")?;
    let (start, end) = (function.address(), function.address().saturating_add(function.size()));
    let code = out.words.get((start / 4) as usize..(end / 4) as usize);
    out.words = code.ok_or("a function that is not in its section")?.to_vec();
    for &[register, value] in section(".AMDGPU.config")?.as_chunks::<2>().0 {
        match register {
            RSRC1 => (out.vgpr_blocks, out.sgpr_blocks) = (value & 0x3f, value >> 6 & 0xf),
            // In units of 256 dwords.
            TMPRING_SIZE => out.scratch_bytes = u64::from(value >> 12 & 0x1fff) * 1024,
            4 => out.sgpr_spills = value.into(),
            8 => out.vgpr_spills = value.into(),
            _ => {}
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shader(name: &str, text: &str) -> DriverShader {
        let representations = [(name.to_owned(), text.to_owned())].into();
        DriverShader { representations, ..DriverShader::default() }
    }

    fn gfx900() -> Target {
        Target::new(Target::processor_by_name("gfx900").expect("a known processor"))
    }

    #[test]
    fn words_stand_behind_the_disassembly() {
        let text = "BB0:\n\ts_load_dwordx4 s[8:11], s[2:3], 0x10   ; c00a0201 00000010\n\ts_nop 0 ; bf800000\n\
                    \t(then repeated 2 times)\n\ts_endpgm ; bf810000\n";
        let words = words(&shader("Assembly", text), &gfx900()).expect("there are words");
        assert_eq!(words, [0xc00a_0201, 0x10, 0xbf80_0000, 0xbf80_0000, 0xbf80_0000, 0xbf81_0000]);
    }

    #[test]
    fn unused_fields_do_not_hide_an_instruction() {
        // The address register of an access without one.
        let text = "\tbuffer_atomic_umax v0, off, s[4:7], 0   ; e11c0000 80010080\n\ts_endpgm ; bf810000\n";
        let words = words(&shader("Assembly", text), &gfx900()).expect("there are words");
        assert_eq!(words, [0xe11c_0000, 0x8001_0000, 0xbf81_0000]);
    }

    #[test]
    fn square_roots_are_the_instruction() {
        let text = "%1 = call float @llvm.sqrt.f32(float %0)\ndeclare double @llvm.sqrt.f64(double)\n";
        let ir = ir(&shader("LLVM IR", text)).expect("there is IR");
        assert_eq!(
            ir,
            "%1 = call float @llvm.amdgcn.sqrt.f32(float %0)\ndeclare double @llvm.sqrt.f64(double)\n"
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        let none = DriverShader::default();
        assert!(words(&none, &gfx900()).is_err() && ir(&none).is_err());
        assert!(words(&shader("Assembly", "not supported"), &gfx900()).is_err());
        assert_eq!(ir(&shader("LLVM IR", "; text")).as_deref(), Ok("; text"));
        assert!(object(b"no object").is_err());
    }

    #[test]
    fn our_objects_have_what_is_read() {
        let text = "target triple = \"amdgcn-mesa-mesa3d\"\ndefine amdgpu_cs void @main() {\n  ret void\n}\n";
        let options = gcnc::CompileOptions {
            cpu: "gfx900".into(),
            file_type: gcnc::FileType::Obj,
            ..gcnc::CompileOptions::default()
        };
        let output = gcnc::compile(text.as_bytes(), "test", &options).expect("it compiles");
        let shader = object(&output.bytes).expect("it is an object");
        assert_eq!((shader.words.first(), shader.vgpr_blocks), (Some(&0xbf81_0000), 0));
    }
}
