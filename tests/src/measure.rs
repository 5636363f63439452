//! Numbers about what a compiler wrote, read from the object alone, so that gcnc and llc are measured alike.

use crate::examples::Example;
use crate::gpu::{Gpu, Launch};
use crate::toolchain::{self, Machine};
use mir::isa::{Format, Opcode};
use mir::target::Target;
use sim::{Cycles, Model};
use std::path::{Path, PathBuf};
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

/// The command that compiles `bitcode` for `machine` to a relocatable object.
pub fn command(
    compiler: Compiler,
    gcnc: &Path,
    bitcode: &Path,
    object: &Path,
    machine: Machine<'_>,
    level: u8,
) -> Command {
    match compiler {
        Compiler::Llc => toolchain::llc_command(bitcode, object, machine, level),
        Compiler::Gcnc => {
            let mut command = Command::new(gcnc);
            command
                .arg("-filetype=obj")
                .args(machine.flags())
                .arg(format!("-O{level}"))
                .arg(bitcode)
                .arg("-o")
                .arg(object);
            command
        }
    }
}

/// Compiles `bitcode` for `machine` with the whole command and returns its wall time.
///
/// # Errors
/// What the command says.
pub fn compile(
    compiler: Compiler,
    gcnc: &Path,
    bitcode: &Path,
    object: &Path,
    machine: Machine<'_>,
    level: u8,
) -> Result<Duration, String> {
    let mut command = command(compiler, gcnc, bitcode, object, machine, level);
    let start = Instant::now();
    toolchain::run(&mut command)?;
    Ok(start.elapsed())
}

/// A kernel's resources and size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Name.
    pub name: String,
    /// Instructions of its own code, and of the functions that it reaches where [`crate::callees::add`] has added them.
    pub instructions: u64,
    /// The same by kind.
    pub kinds: Kinds,
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
    /// SGPRs spilled, in dwords.
    pub sgpr_spills: u64,
    /// VGPRs spilled, in dwords of a lane.
    pub vgpr_spills: u64,
    /// Bytes of those instructions.
    pub code_bytes: u64,
    /// Its own code alone.
    pub words: Vec<u32>,
}

impl KernelFacts {
    /// Adds the code of a function that the kernel reaches.
    pub(crate) fn add(&mut self, code: &CodeFacts) {
        self.instructions += code.instructions;
        self.code_bytes += code.bytes;
        self.kinds.add_all(&code.kinds);
    }
}

/// Instructions by what executes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Vector ALU.
    pub valu: u64,
    /// Scalar ALU.
    pub salu: u64,
    /// Vector memory: buffers, images, flat, global, scratch.
    pub vmem: u64,
    /// Scalar memory.
    pub smem: u64,
    /// LDS and GDS.
    pub lds: u64,
    /// Jumps, conditional or not.
    pub branches: u64,
    /// Waits, NOPs, barriers, messages, exports, the end.
    pub other: u64,
}

impl Kinds {
    /// Counts an instruction.
    fn add(&mut self, op: Opcode) {
        let place = match op.info().format {
            _ if sim::timing::record::jumps(op) => &mut self.branches,
            format if format.is_vector_alu() => &mut self.valu,
            Format::Smem => &mut self.smem,
            Format::Ds => &mut self.lds,
            format if format.is_memory() => &mut self.vmem,
            Format::Sopp => &mut self.other,
            format if format.is_scalar_alu() => &mut self.salu,
            _ => &mut self.other,
        };
        *place += 1;
    }

    /// Adds what is counted in `other`.
    fn add_all(&mut self, other: &Self) {
        let Self { valu, salu, vmem, smem, lds, branches, other: rest } = other;
        self.valu += valu;
        self.salu += salu;
        self.vmem += vmem;
        self.smem += smem;
        self.lds += lds;
        self.branches += branches;
        self.other += rest;
    }
}

/// What code says by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    /// Instructions.
    pub instructions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Instructions by kind.
    pub kinds: Kinds,
}

/// Facts about every kernel of a linked code object, in its order.
pub fn kernels(bytes: &[u8]) -> Result<Vec<KernelFacts>, String> {
    let object = sim::CodeObject::load(bytes).map_err(|report| report.to_string())?;
    let processor = object.processor().ok_or("the object names no processor")?;
    let target = Target::new(processor);
    let image = object.image_at(0).map_err(|report| report.to_string())?;
    let facts = |kernel: &sim::Kernel| {
        let metadata = kernel.metadata.as_ref().ok_or_else(|| format!("{} has no metadata", kernel.name))?;
        let size = object.symbol_size(&kernel.name).filter(|&size| size > 0);
        let end = object
            .code_ranges()
            .iter()
            .map(|&(start, end)| (start, end.min(next_entry(&object, kernel.entry))))
            .find(|range| (range.0..range.1).contains(&kernel.entry))
            .ok_or_else(|| format!("{} has no code", kernel.name))?
            .1;
        let end = size.map_or(end, |size| end.min(kernel.entry.saturating_add(size)));
        let code = image.get(kernel.entry as usize..end as usize).ok_or("entry outside the image")?;
        let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let CodeFacts { instructions, bytes: code_bytes, kinds } = count(&words, &target, size.is_none())?;
        let lds_bytes = u64::from(kernel.descriptor.group_segment_fixed_size);
        Ok(KernelFacts {
            name: kernel.name.clone(),
            instructions,
            kinds,
            sgpr_spills: metadata.sgpr_spill_count.into(),
            vgpr_spills: metadata.vgpr_spill_count.into(),
            sgprs: metadata.sgpr_count.into(),
            vgprs: metadata.vgpr_count.into(),
            occupancy: u64::from(target.limits().waves_that_fit(metadata.sgpr_count, metadata.vgpr_count)),
            lds_bytes,
            scratch_bytes: u64::from(kernel.descriptor.private_segment_fixed_size),
            code_bytes,
            words,
        })
    };
    object.kernels().iter().map(facts).collect()
}

/// Where the next kernel's code starts.
fn next_entry(object: &sim::CodeObject, entry: u64) -> u64 {
    object.kernels().iter().map(|k| k.entry).filter(|&other| other > entry).min().unwrap_or(u64::MAX)
}

/// Counts the instructions of `words`. With `open_end` nobody knows where the code ends: what follows the last `s_endpgm` is taken for padding.
/// Else all of it is code; compilers put blocks behind an `s_endpgm`, too.
///
/// # Errors
/// There is no `s_endpgm` where the end is open, or something is no instruction where it is known.
pub fn count(words: &[u32], target: &Target, open_end: bool) -> Result<CodeFacts, String> {
    let (mut facts, mut last) = (CodeFacts::default(), None);
    let mut at = 0;
    while at < words.len() {
        let (inst, len) = match mir::isa::decode(&words[at..], target) {
            Ok(decoded) => decoded,
            // Padding need not decode.
            Err(_) if open_end => break,
            Err(error) => return Err(format!("byte {}: {error}", 4 * at)),
        };
        at += len;
        facts.instructions += 1;
        facts.bytes = 4 * at as u64;
        facts.kinds.add(inst.op);
        if inst.op == Opcode::S_ENDPGM {
            last = Some(facts);
        }
    }
    if open_end { last.ok_or_else(|| "no s_endpgm".to_owned()) } else { Ok(facts) }
}

/// What one compiler made of one example, and what running it gave.
pub struct Side {
    /// Facts about its kernels.
    pub kernels: Vec<KernelFacts>,
    /// Launches in their order, with modelled cycles where the level is above 0.
    pub launches: Vec<Launch>,
    /// Wall time of the compiler's command.
    pub compile_time: Duration,
    /// Lines of llvm-objdump's disassembly that are no instruction.
    pub unknown_instructions: Vec<String>,
    /// Whether the outputs are the CPU's.
    pub result: Result<(), String>,
}

impl Side {
    /// The launches of a kernel with their cycles.
    pub fn cycles<'a>(&'a self, kernel: &'a str) -> impl Iterator<Item = &'a Cycles> {
        self.launches.iter().filter(move |l| l.kernel == kernel).filter_map(|l| l.cycles.as_deref())
    }

    /// Modelled cycles of all launches of a kernel.
    pub fn modelled(&self, kernel: &str) -> u64 {
        self.cycles(kernel).map(|cycles| cycles.cycles).sum()
    }

    /// Wave instructions that all launches of a kernel executed.
    pub fn executed(&self, kernel: &str) -> u64 {
        self.launches.iter().filter(|l| l.kernel == kernel).map(|l| l.instructions).sum()
    }
}

/// Compiles an example by clang at `clang_level` and by `compiler` at `level`, in `folder`, and runs it on the
/// simulator.
///
/// # Errors
/// What a command says; a wrong result is none ([`Side::result`]).
pub fn build_and_run(
    example: Example,
    folder: &Path,
    gcnc: &Path,
    machine: Machine<'_>,
    compiler: Compiler,
    [clang_level, level]: [u8; 2],
) -> Result<Side, String> {
    let stem = format!("{}-{}-O{clang_level}", example.name, compiler.name());
    let bitcode: PathBuf = folder.join(&stem).with_extension("bc");
    let object = bitcode.with_extension("o");
    let source = toolchain::examples_folder().join(example.name).with_extension("cl");
    let wave = machine.wave_flag();
    toolchain::clang(&source, &bitcode, machine.cpu, clang_level, wave.as_slice())?;
    let compile_time = compile(compiler, gcnc, &bitcode, &object, machine, level)?;
    let shared = toolchain::link(&object)?;
    let mut gpu = Gpu::new(&shared)?;
    if level > 0 {
        gpu.model(Model { per_instruction: true, ..Model::default() });
    }
    let result = (example.run)(&mut gpu);
    Ok(Side {
        kernels: kernels(&shared)?,
        launches: gpu.launches,
        compile_time,
        unknown_instructions: toolchain::unknown_instructions(&object, machine.cpu)?,
        result,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_count_by_kind() {
        let target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
        // s_mov_b32, v_mov_b32, s_cbranch_scc0, s_endpgm, s_nop, s_endpgm, s_nop.
        let code =
            [0xbe80_0080, 0x7e00_0280, 0xbf84_0000, 0xbf81_0000, 0xbf80_0000, 0xbf81_0000, 0xbf80_0000];
        let kinds = Kinds { salu: 1, valu: 1, branches: 1, other: 3, ..Kinds::default() };
        // What follows the last s_endpgm is code where the end is known.
        let all = count(&code, &target, false).expect("all are instructions");
        assert_eq!((all.instructions, all.bytes, all.kinds), (7, 28, Kinds { other: 4, ..kinds }));
        // Else it is padding, which need not decode.
        let padded = [&code[..], &[0xffff_ffff]].concat();
        let padded_facts = count(&padded, &target, true).expect("there is an s_endpgm");
        assert_eq!((padded_facts.instructions, padded_facts.bytes, padded_facts.kinds), (6, 24, kinds));
        assert!(count(&padded, &target, false).is_err());
        assert!(count(&code[..3], &target, true).is_err());
    }
}
