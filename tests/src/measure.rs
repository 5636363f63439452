//! Numbers about what a compiler wrote, read from the object alone, so that gcnc and llc are measured alike.

use crate::toolchain::{self, Machine};
use mir::target::Target;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A compiler to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// Ours.
    Gcnc,
    /// LLVM's.
    Llc,
}

impl Compiler {
    /// Name for files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcnc => "gcnc",
            Self::Llc => "llc",
        }
    }
}

/// Compiles `bitcode` for `machine` with the whole command and returns its wall time.
pub fn compile(
    compiler: Compiler,
    gcnc: &Path,
    bitcode: &Path,
    object: &Path,
    machine: Machine<'_>,
    level: u8,
) -> Result<Duration, String> {
    let start = Instant::now();
    match compiler {
        Compiler::Llc => toolchain::llc(bitcode, object, machine, level)?,
        Compiler::Gcnc => {
            let mut command = Command::new(gcnc);
            command
                .args(["-filetype=obj", "--amdhsa-code-object-version=3"])
                .args(machine.flags())
                .arg(format!("-O{level}"))
                .arg(bitcode)
                .arg("-o")
                .arg(object);
            toolchain::run(&mut command)?;
        }
    }
    Ok(start.elapsed())
}

/// A kernel's resources and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// Name.
    pub name: String,
    /// Instructions.
    pub instructions: u64,
    /// SGPRs by metadata, specials included.
    pub sgprs: u64,
    /// VGPRs by metadata.
    pub vgprs: u64,
    /// Waves that a SIMD holds, by registers and LDS.
    pub occupancy: u64,
    /// Static LDS bytes.
    pub lds_bytes: u64,
    /// Scratch bytes a lane.
    pub scratch_bytes: u64,
    /// Bytes of code up to the last `s_endpgm`.
    pub code_bytes: u64,
}

/// Facts about every kernel of a linked code object, in its order.
pub fn kernels(bytes: &[u8]) -> Result<Vec<KernelFacts>, String> {
    let object = sim::CodeObject::load(bytes).map_err(|report| report.to_string())?;
    let processor = object.processor().ok_or("the object names no processor")?;
    let target = Target::new(processor);
    let image = object.image_at(0).map_err(|report| report.to_string())?;
    let facts = |kernel: &sim::Kernel| {
        let metadata = kernel.metadata.as_ref().ok_or_else(|| format!("{} has no metadata", kernel.name))?;
        let end = object
            .code_ranges()
            .iter()
            .map(|&(start, end)| (start, end.min(next_entry(&object, kernel.entry))))
            .find(|range| (range.0..range.1).contains(&kernel.entry))
            .ok_or_else(|| format!("{} has no code", kernel.name))?
            .1;
        let code = image.get(kernel.entry as usize..end as usize).ok_or("entry outside the image")?;
        let (instructions, code_bytes) = count(code, &target)?;
        let lds_bytes = u64::from(kernel.descriptor.group_segment_fixed_size);
        Ok(KernelFacts {
            name: kernel.name.clone(),
            instructions,
            sgprs: metadata.sgpr_count.into(),
            vgprs: metadata.vgpr_count.into(),
            occupancy: u64::from(processor.limits().waves_that_fit(metadata.sgpr_count, metadata.vgpr_count)),
            lds_bytes,
            scratch_bytes: u64::from(kernel.descriptor.private_segment_fixed_size),
            code_bytes,
        })
    };
    object.kernels().iter().map(facts).collect()
}

/// Where the next kernel's code starts.
fn next_entry(object: &sim::CodeObject, entry: u64) -> u64 {
    object.kernels().iter().map(|k| k.entry).filter(|&other| other > entry).min().unwrap_or(u64::MAX)
}

/// Instructions and bytes up to the last `s_endpgm`; what follows is padding.
fn count(code: &[u8], target: &Target) -> Result<(u64, u64), String> {
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (mut at, mut instructions, mut last) = (0, 0, (0, 0));
    while at < words.len() {
        // Padding need not decode.
        let Ok((inst, len)) = mir::isa::decode(&words[at..], target) else { break };
        at += len;
        instructions += 1;
        if inst.op == mir::isa::Opcode::S_ENDPGM {
            last = (instructions, 4 * at as u64);
        }
    }
    if last.0 == 0 { Err("no s_endpgm".into()) } else { Ok(last) }
}
