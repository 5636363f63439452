//! Compute shaders through Mesa's RADV, which needs no GPU: what ACO makes of them, and what gcnc and llc make of the LLVM IR into which RADV
//! translates the same shaders for its LLVM back end.
//!
//! Both ways start from the same NIR; user SGPRs and descriptors are the same. Registers are those that the hardware allocates (blocks).
//! Cycles are those of [`crate::estimate`], as nothing is run.

use crate::estimate;
use crate::mesa::{self, DriverShader};
use crate::report::{CodeRow, Facts, stalls};
use gcnc_tests::measure;
use gcnc_tests::toolchain::{self, Machine};
use mir::target::{Features, Target};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the corpus.
const CORPUS: &str = "shaders";
/// Where Debian has the driver's manifest; other drivers are not asked.
const MANIFEST: &str = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
/// RADV's names of processors.
const FAMILIES: &[(&str, &str)] = &[
    ("gfx600", "tahiti"),
    ("gfx601", "pitcairn"),
    ("gfx602", "oland"),
    ("gfx700", "kaveri"),
    ("gfx701", "hawaii"),
    ("gfx704", "bonaire"),
    ("gfx802", "tonga"),
    ("gfx803", "polaris10"),
    ("gfx810", "stoney"),
    ("gfx900", "vega10"),
    ("gfx902", "raven"),
    ("gfx904", "vega12"),
    ("gfx906", "vega20"),
    ("gfx909", "raven2"),
    ("gfx90c", "renoir"),
    ("gfx1010", "navi10"),
    ("gfx1011", "navi12"),
    ("gfx1012", "navi14"),
    ("gfx1030", "navi21"),
    ("gfx1031", "navi22"),
    ("gfx1032", "navi23"),
    ("gfx1034", "navi24"),
];
/// RADV's compute shaders have waves of 64 lanes unless it is asked for others, and its IR does not say so.
const WAVES_OF_64: &str = "+wavefrontsize64";

/// The folder of the shaders' sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")
}

/// What the driver says of a SPIR-V file, as JSON. For a process of its own: drivers read the environment once, and end the process where a
/// shader is beyond them.
///
/// # Errors
/// There is no driver, or this program was built without the client.
pub fn ask_driver(shader: &Path) -> Result<String, String> {
    #[cfg(feature = "aco")]
    let answer = crate::radv::compile(&[shader.to_owned()])?.pop().ok_or("no answer")?;
    #[cfg(not(feature = "aco"))]
    let answer: DriverShader =
        return Err(format!("{}: this program was built without the feature `aco`", shader.display()));
    serde_json::to_string(&answer).map_err(|error| error.to_string())
}

/// The files in `folder` that end so, sorted.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut out: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    out.sort();
    Ok(out)
}

/// Compiles the shaders whose names contain `filter` to SPIR-V in `folder`.
fn to_spirv(folder: &Path, filter: &str) -> Result<(), String> {
    for source in files(&sources(), "comp")? {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains(filter) {
            let mut command = Command::new("glslangValidator");
            command.args(["-V", "--quiet", "--target-env", "vulkan1.2", "-o"]);
            command.arg(folder.join(name).with_extension("spv")).arg(&source);
            toolchain::run(&mut command)
                .map_err(|error| format!("{error} (Debian: glslang-tools; scripts/setup --bench)"))?;
        }
    }
    Ok(())
}

/// Asks the driver.
struct Driver<'a> {
    /// This program.
    me: &'a Path,
    /// The processor's name.
    family: &'static str,
}

impl Driver<'_> {
    /// What it says of a SPIR-V file, from its LLVM back end or from ACO.
    fn ask(&self, shader: &Path, llvm: bool) -> Result<DriverShader, String> {
        let mut command = Command::new(self.me);
        command
            .arg("radv")
            .arg(shader)
            .env("VK_ICD_FILENAMES", MANIFEST)
            .env("VK_DRIVER_FILES", MANIFEST)
            .env("RADV_FORCE_FAMILY", self.family)
            .env("RADV_DEBUG", if llvm { "nocache,llvm" } else { "nocache" });
        let output = command.output().map_err(|error| error.to_string())?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || errors.contains("ACO ERROR") {
            let last = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            return Err(format!("{}: {}", output.status, last.trim()));
        }
        let answer: DriverShader =
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        answer.error.clone().map_or(Ok(answer), Err)
    }
}

/// Measures the shaders whose names contain `filter`. What is refused is told in `notes`.
///
/// # Errors
/// Tools or the driver are missing: no shader is measured.
pub fn measure(
    me: &Path,
    folder: &Path,
    cpu: &str,
    level: u8,
    filter: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<CodeRow>, String> {
    let processor = Target::processor_by_name(cpu).ok_or_else(|| format!("no processor {cpu}"))?;
    let family = FAMILIES.iter().find(|(name, _)| *name == processor.name);
    let family = family.ok_or_else(|| format!("RADV has no name for {cpu}"))?.1;
    let folder = folder.join("shaders");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    to_spirv(&folder, filter)?;
    if !Path::new(MANIFEST).exists() {
        return Err(format!("{MANIFEST} is missing (Debian: mesa-vulkan-drivers; scripts/setup --bench)"));
    }
    let driver = Driver { me, family };
    let spirv = files(&folder, "spv")?;
    if let Some(first) = spirv.first() {
        // What is wrong with all is said once.
        driver.ask(first, true)?;
    }
    let mut target = Target::new(processor);
    let features = if target.limits().wave_sizes.len() > 1 { WAVES_OF_64 } else { "" };
    target.features.remove(Features::WAVEFRONTSIZE32);
    let work = Work { folder: &folder, machine: Machine { cpu, features }, level, target };
    let results: Vec<(Option<CodeRow>, Vec<String>)> = spirv
        .par_iter()
        .map(|shader| {
            let mut notes = Vec::new();
            let row = work.row(shader, driver.ask(shader, false), driver.ask(shader, true), &mut notes);
            (row, notes)
        })
        .collect();
    let mut rows = Vec::new();
    for (row, more) in results {
        rows.extend(row);
        notes.extend(more);
    }
    Ok(rows)
}

/// A statistic of the driver; 0 where it has none.
fn statistic(shader: &DriverShader, name: &str) -> u64 {
    shader.statistics.get(name).copied().unwrap_or(0.0) as u64
}

struct Work<'a> {
    folder: &'a Path,
    machine: Machine<'a>,
    level: u8,
    target: Target,
}

impl Work<'_> {
    fn row(
        &self,
        shader: &Path,
        aco: Result<DriverShader, String>,
        llvm: Result<DriverShader, String>,
        notes: &mut Vec<String>,
    ) -> Option<CodeRow> {
        let name = &*shader.file_stem().unwrap_or_default().to_string_lossy();
        let mut note =
            |who: &str, message: String| notes.push(format!("{CORPUS}/{name} with {who}: {message}"));
        let ir = match llvm.and_then(|shader| mesa::ir(&shader)) {
            Ok(ir) => ir,
            Err(message) => {
                note("RADV's LLVM", message);
                return None;
            }
        };
        let lds_bytes = aco.as_ref().map_or(0, |shader| statistic(shader, "LDS size") as u32);
        if let Some(text) = aco.as_ref().ok().and_then(|shader| shader.representations.get("Assembly")) {
            // For whoever keeps the folder.
            let _ = std::fs::write(self.folder.join(format!("{name}.aco.s")), text);
        }
        let gcnc = self.gcnc(name, &ir, lds_bytes).map_err(|message| note("gcnc", message)).ok()?;
        let mut rivals = BTreeMap::new();
        for (rival, facts) in
            [("aco", aco.and_then(|shader| self.aco(&shader))), ("llc", self.llc(name, &ir, lds_bytes))]
        {
            match facts {
                Ok(facts) => drop(rivals.insert(rival.to_owned(), facts)),
                Err(message) => note(rival, message),
            }
        }
        Some(CodeRow { corpus: CORPUS.to_owned(), kernel: name.to_owned(), gcnc, rivals })
    }

    /// What code says, with the walk's cycles. `facts` has the registers and LDS.
    fn with_code(&self, words: &[u32], lds_bytes: u32, registers: &Facts) -> Result<Facts, String> {
        let code = Facts::of_code(&measure::count(words, &self.target, false)?);
        let waves = self.target.limits().waves_that_fit(registers.sgprs as u32, registers.vgprs as u32);
        let cycles = estimate::walk(words, &self.target, waves, lds_bytes)?;
        Ok(Facts {
            vgprs: registers.vgprs,
            sgprs: registers.sgprs,
            waves: waves.into(),
            sgpr_spills: registers.sgpr_spills,
            vgpr_spills: registers.vgpr_spills,
            scratch: registers.scratch,
            cycles: Some(cycles.modelled_cycles),
            stalls: stalls([&cycles]),
            ..code
        })
    }

    fn aco(&self, shader: &DriverShader) -> Result<Facts, String> {
        let words = mesa::words(shader, &self.target)?;
        let statistic = |name: &str| statistic(shader, name);
        let registers = Facts {
            vgprs: statistic("VGPRs"),
            sgprs: statistic("SGPRs"),
            sgpr_spills: statistic("Spilled SGPRs"),
            vgpr_spills: statistic("Spilled VGPRs"),
            scratch: statistic("Scratch size"),
            ..Facts::default()
        };
        self.with_code(&words, statistic("LDS size") as u32, &registers)
    }

    fn gcnc(&self, name: &str, ir: &str, lds_bytes: u32) -> Result<Facts, String> {
        let options = gcnc::CompileOptions {
            cpu: self.machine.cpu.to_owned(),
            attributes: self.machine.features.split_terminator(',').map(str::to_owned).collect(),
            file_type: gcnc::FileType::Obj,
            opt_level: self.level,
            threads: 1,
            ..gcnc::CompileOptions::default()
        };
        let output =
            gcnc::compile(ir.as_bytes(), name, &options).map_err(|errors| crate::time::messages(&errors))?;
        let object = self.folder.join(format!("{name}.gcnc.o"));
        std::fs::write(object, &output.bytes).map_err(|error| error.to_string())?;
        self.object(&output.bytes, lds_bytes)
    }

    fn llc(&self, name: &str, ir: &str, lds_bytes: u32) -> Result<Facts, String> {
        let (input, object) = (self.folder.join(format!("{name}.ll")), self.folder.join(format!("{name}.o")));
        std::fs::write(&input, ir).map_err(|error| error.to_string())?;
        let mut command = Command::new("llc-22");
        command.args(["-filetype=obj", "-O3"]).args(self.machine.flags());
        toolchain::run(command.arg(&input).arg("-o").arg(&object))?;
        self.object(&std::fs::read(&object).map_err(|error| error.to_string())?, lds_bytes)
    }

    /// The one shader of an object that Mesa's driver would load. How much LDS it has the driver says.
    fn object(&self, bytes: &[u8], lds_bytes: u32) -> Result<Facts, String> {
        let shader = mesa::object(bytes)?;
        let limits = self.target.limits();
        let registers = Facts {
            vgprs: limits.allocated_vgprs(shader.vgpr_blocks).into(),
            sgprs: limits.allocated_sgprs(shader.sgpr_blocks).into(),
            scratch: shader.scratch_bytes / u64::from(self.target.wave_size()),
            sgpr_spills: shader.sgpr_spills,
            vgpr_spills: shader.vgpr_spills,
            ..Facts::default()
        };
        self.with_code(&shader.words, lds_bytes, &registers)
    }
}
