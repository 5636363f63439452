//! Pipeline metadata of amdpal: what the front end says of a pipeline, completed by what the compiler knows.
//!
//! A module carries it in one of two forms, and the object has the same one; without any, the second.
//!
//! * Pairs of a register's number and its value ([`PalMetadata::Registers`]), in the note `NT_AMD_PAL_METADATA`. Numbers from 0x1000_0000 on
//!   are no registers but facts of the pipeline.
//! * A MessagePack map ([`PalMetadata::MsgPack`]), in the note of amdhsa's metadata.
//!
//! The compiler adds the program resource registers, and of each hardware stage its entry point, register counts and scratch size. Functions that are
//! called have entries of their own in the map; their registers count for the compute stage, too. Of two functions of a stage the larger numbers count.
//! Values that are given already are joined bit by bit.
//! Maps of version 3 on have members of the stages in place of registers.
//!
//! Sources: PAL's `palPipelineAbi.h` and AMDGPU usage guide, "AMDPAL code object metadata"; what llc 22 writes.

use super::legacy;
use crate::FinalFunction;
use mir::abi::Document;
use mir::abi::descriptor::RegisterCounts;
use mir::ir::{CallConv, Module, PalMetadata};
use mir::target::{Features, Target, WaveSize};
use mir::{Diagnostic, Result};
use std::collections::BTreeMap;

/// Owner and type of the note with pairs.
pub(crate) const REGISTERS_NOTE: (&str, u32) = ("AMD", 12);

/// A hardware stage.
struct Stage {
    convention: CallConv,
    /// Key in the map of stages.
    key: &'static str,
    /// Name of the entry point.
    entry: &'static str,
    /// Number of the first resource register; the second follows.
    rsrc1: u32,
    /// Name of the stage in the names of registers.
    register_suffix: &'static str,
    /// Bits of the first resource register: work-groups on pairs of compute units, and memory operations that are counted in order. GFX10.
    wgp_mode: u32,
    mem_ordered: u32,
    /// Register and bit that say waves of 32 lanes. GFX10.
    wave32: Option<(u32, u32)>,
}

const fn stage(
    convention: CallConv,
    key: &'static str,
    entry: &'static str,
    rsrc1: u32,
    suffix: &'static str,
) -> Stage {
    let (wgp_mode, mem_ordered, wave32) = (0, 0, None);
    Stage { convention, key, entry, rsrc1, register_suffix: suffix, wgp_mode, mem_ordered, wave32 }
}

impl Stage {
    /// With what GFX10 adds.
    const fn gfx10(self, wgp_mode: u32, mem_ordered: u32, wave32: (u32, u32)) -> Self {
        Self { wgp_mode, mem_ordered, wave32: Some(wave32), ..self }
    }

    /// The first resource register, whose modes `compute` has where `COMPUTE_PGM_RSRC1` has them.
    fn resources(&self, compute: u32) -> u32 {
        let bit = |mode: u32, own: u32| if compute & mode != 0 { own } else { 0 };
        compute & !MODES
            | bit(WGP_MODE, self.wgp_mode)
            | bit(MEM_ORDERED, self.mem_ordered)
            | match self.key {
                ".cs" => compute & FORWARD_PROGRESS,
                _ => 0,
            }
    }
}

/// In the order of their facts among the pairs.
static STAGES: [Stage; 7] = [
    stage(CallConv::AmdgpuLs, ".ls", "_amdgpu_ls_main", 0x2d4a, "LS"),
    stage(CallConv::AmdgpuHs, ".hs", "_amdgpu_hs_main", 0x2d0a, "HS").gfx10(
        1 << 26,
        1 << 24,
        (VGT_SHADER_STAGES_EN, 1 << 21),
    ),
    stage(CallConv::AmdgpuEs, ".es", "_amdgpu_es_main", 0x2cca, "ES"),
    stage(CallConv::AmdgpuGs, ".gs", "_amdgpu_gs_main", 0x2c8a, "GS").gfx10(
        1 << 27,
        1 << 25,
        (VGT_SHADER_STAGES_EN, 1 << 22),
    ),
    stage(CallConv::AmdgpuVs, ".vs", "_amdgpu_vs_main", 0x2c4a, "VS").gfx10(
        0,
        1 << 27,
        (VGT_SHADER_STAGES_EN, 1 << 23),
    ),
    stage(CallConv::AmdgpuPs, ".ps", "_amdgpu_ps_main", 0x2c0a, "PS").gfx10(
        0,
        1 << 25,
        (SPI_PS_IN_CONTROL, 1 << 15),
    ),
    stage(CallConv::AmdgpuCs, ".cs", "_amdgpu_cs_main", 0x2e12, "").gfx10(
        WGP_MODE,
        MEM_ORDERED,
        (COMPUTE_DISPATCH_INITIATOR, 1 << 15),
    ),
];

/// Modes of `COMPUTE_PGM_RSRC1` that GFX10 adds. Source: AMDGPU usage guide, "compute_pgm_rsrc1 for GFX6-GFX12".
const WGP_MODE: u32 = 1 << 29;
const MEM_ORDERED: u32 = 1 << 30;
const FORWARD_PROGRESS: u32 = 1 << 31;
const MODES: u32 = WGP_MODE | MEM_ORDERED | FORWARD_PROGRESS;

/// Index of the compute stage, which kernels are, too.
const COMPUTE: usize = 6;
const COMPUTE_DISPATCH_INITIATOR: u32 = 0x2e00;
const VGT_SHADER_STAGES_EN: u32 = 0xa2d5;
const SPI_PS_IN_CONTROL: u32 = 0xa1b6;
const SPI_PS_INPUT_ENA: u32 = 0xa1b3;
const SPI_PS_INPUT_ADDR: u32 = 0xa1b4;
/// First of the facts "VGPRs used", one a stage.
const PAIR_VGPRS: u32 = 0x1000_0021;
/// First of "SGPRs used".
const PAIR_SGPRS: u32 = 0x1000_0028;
/// First of "scratch bytes".
const PAIR_SCRATCH: u32 = 0x1000_0044;

/// The metadata of an object.
pub(crate) enum Note {
    /// Pairs, by number.
    Pairs(BTreeMap<u32, u32>),
    /// A map.
    Document(Document),
}

/// What is used by the function of a stage, or by one that is called.
#[derive(Default)]
struct Usage {
    symbol: String,
    scratch_bytes: u32,
    lds_bytes: u32,
    sgprs: u32,
    vgprs: u32,
    ieee: bool,
    scratch: bool,
    /// Those of [`MODES`] that are on.
    modes: u32,
}

/// What a pixel shader wants interpolated, bits of `SPI_PS_INPUT_ENA` and `_ADDR`, and its LDS in granules.
struct PixelInputs {
    ena: u32,
    addr: u32,
    extra_lds: u32,
}

/// Names of the bits of `SPI_PS_INPUT_ENA`, lowest first.
const PIXEL_INPUTS: [&str; 16] = [
    ".persp_sample_ena",
    ".persp_center_ena",
    ".persp_centroid_ena",
    ".persp_pull_model_ena",
    ".linear_sample_ena",
    ".linear_center_ena",
    ".linear_centroid_ena",
    ".line_stipple_tex_ena",
    ".pos_x_float_ena",
    ".pos_y_float_ena",
    ".pos_z_float_ena",
    ".pos_w_float_ena",
    ".front_face_ena",
    ".ancillary_ena",
    ".sample_coverage_ena",
    ".pos_fixed_pt_ena",
];
/// Bit of the first resource register: IEEE treatment of signalling NaNs.
const IEEE_MODE: u32 = 1 << 23;

/// Fields of a resource register that are numbers, by first bit and width: registers, user SGPRs, ids of work-items, LDS.
/// Source: AMDGPU usage guide, "Kernel Descriptor"; `SPI_SHADER_PGM_RSRC2_PS` in the register reference.
fn number_fields(register: u32) -> &'static [(u32, u32)] {
    let stage = STAGES.iter().find(|stage| register == stage.rsrc1 || register == stage.rsrc1 + 1);
    match stage {
        Some(stage) if register == stage.rsrc1 => &[(0, 6), (6, 4)],
        Some(stage) if stage.key == ".cs" => &[(1, 5), (11, 2), (15, 9)],
        Some(stage) if stage.key == ".ps" => &[(1, 5), (8, 8)],
        Some(_) => &[(1, 5)],
        None => &[],
    }
}

impl Usage {
    /// What a stage needs for this function and for `others` of it.
    fn with(mut self, others: Option<Self>) -> Self {
        if let Some(others) = others {
            self.scratch_bytes = self.scratch_bytes.max(others.scratch_bytes);
            self.lds_bytes = self.lds_bytes.max(others.lds_bytes);
            self.sgprs = self.sgprs.max(others.sgprs);
            self.vgprs = self.vgprs.max(others.vgprs);
            self.ieee |= others.ieee;
            self.scratch |= others.scratch;
            self.modes |= others.modes;
        }
        self
    }

    /// What the resource registers say, as members of an entry point's stage.
    fn set_members(&self, stage: &mut Document, compute: bool) -> Result<()> {
        set(stage, ".debug_mode", Document::Bool(false))?;
        set(stage, ".scratch_en", Document::Bool(self.scratch))?;
        self.set_modes(stage, compute)
    }

    /// The members that functions have, too, which are called from a stage.
    fn set_modes(&self, stage: &mut Document, compute: bool) -> Result<()> {
        for (key, mode) in
            [(".forward_progress", FORWARD_PROGRESS), (".mem_ordered", MEM_ORDERED), (".wgp_mode", WGP_MODE)]
        {
            set(stage, key, Document::Bool(self.modes & mode != 0))?;
        }
        set(stage, ".ieee_mode", Document::Bool(self.ieee))?;
        set(stage, ".lds_size", Document::Int(self.lds_bytes.into()))?;
        if compute {
            set(stage, ".excp_en", Document::Int(0))?;
            set(stage, ".trap_present", Document::Bool(false))?;
        }
        Ok(())
    }
}

/// What the compiler knows.
#[derive(Default)]
struct Facts {
    registers: BTreeMap<u32, u32>,
    /// By index of [`STAGES`].
    stages: BTreeMap<usize, Usage>,
    functions: BTreeMap<String, Usage>,
    pixel: Option<PixelInputs>,
}

impl Facts {
    fn of(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Self> {
        let mut facts = Self::default();
        for function in functions {
            let f = &function.function;
            // Its callers count it; pipelines name only functions of the graphics convention.
            if f.call_conv == CallConv::Device {
                continue;
            }
            let source = &module.functions[f.source];
            let index = STAGES.iter().position(|stage| stage.convention == f.call_conv).unwrap_or(COMPUTE);
            let [rsrc1, compute_rsrc2] =
                legacy::compute_registers(function, source, target).map_err(|e| e.in_function(&f.name))?;
            let scratch = u32::from(f.resources.scratch_bytes > 0 || f.dynamic_stack);
            let rsrc2 = match f.call_conv {
                CallConv::AmdgpuPs => scratch | legacy::lds_blocks(function, target) << 8,
                _ if index == COMPUTE => compute_rsrc2 | scratch,
                _ => scratch,
            };
            facts.join(STAGES[index].rsrc1, STAGES[index].resources(rsrc1));
            facts.join(STAGES[index].rsrc1 + 1, rsrc2);
            let chooses = target.has(Features::WORKGROUP_PROCESSORS) && !f.call_conv.follows_others();
            if let Some((register, bit)) = STAGES[index].wave32
                && f.wave == WaveSize::W32
                && chooses
            {
                facts.join(register, bit);
            }
            if f.call_conv == CallConv::AmdgpuPs {
                facts.join(SPI_PS_INPUT_ENA, source.ps_inputs.ena);
                facts.join(SPI_PS_INPUT_ADDR, source.ps_inputs.addr);
                let extra_lds = legacy::lds_blocks(function, target);
                let (ena, addr) = (source.ps_inputs.ena, source.ps_inputs.addr);
                facts.pixel = Some(PixelInputs { ena, addr, extra_lds });
            }
            let counts = RegisterCounts::of_kernel(f, target);
            let usage = Usage {
                symbol: f.name.clone(),
                scratch_bytes: f.resources.scratch_bytes,
                lds_bytes: if f.call_conv.follows_others() {
                    f.lds.size_bytes
                } else {
                    legacy::lds_blocks(function, target) * target.limits().lds_granule
                },
                ieee: rsrc1 & IEEE_MODE != 0,
                modes: rsrc1 & MODES,
                scratch: scratch != 0,
                sgprs: counts.sgprs().max(1),
                vgprs: counts.vgprs.max(1),
            };
            if f.call_conv.follows_others() {
                facts.functions.insert(f.name.clone(), usage);
            } else {
                let others = facts.stages.remove(&index);
                facts.stages.insert(index, usage.with(others));
            }
        }
        Ok(facts)
    }

    /// Adds a register of a function to what others of its stage ask for: flags of either, the larger of two numbers.
    fn join(&mut self, register: u32, value: u32) {
        let slot = self.registers.entry(register).or_default();
        let numbers = number_fields(register).iter().map(|&(shift, width)| ((1 << width) - 1) << shift);
        let (mut flags, mut joined) = (u32::MAX, 0);
        for mask in numbers {
            flags &= !mask;
            joined |= (*slot & mask).max(value & mask);
        }
        *slot = (*slot | value) & flags | joined;
    }

    fn pairs(self, given: &[(u32, u32)]) -> BTreeMap<u32, u32> {
        let mut pairs: BTreeMap<u32, u32> = given.iter().copied().collect();
        for (register, value) in self.registers {
            *pairs.entry(register).or_default() |= value;
        }
        for (index, usage) in &self.stages {
            let index = *index as u32;
            pairs.insert(PAIR_VGPRS + index, usage.vgprs);
            pairs.insert(PAIR_SGPRS + index, usage.sgprs);
            pairs.insert(PAIR_SCRATCH + index, usage.scratch_bytes.next_multiple_of(16));
        }
        pairs
    }

    fn document(self, given: Option<&[u8]>, target: &Target) -> Result<Document> {
        let mut root = match given {
            Some(bytes) => Document::from_msgpack(bytes)?,
            None => Document::Map(Vec::new()),
        };
        let version = match root.get("amdpal.version") {
            Some(Document::List(version)) => version.clone(),
            _ => Vec::new(),
        };
        let by_members = matches!(version.first(), Some(Document::Int(3..)));
        // From 3.6 on, stages name the symbol alone.
        let names_entry = match version[..] {
            [Document::Int(major), Document::Int(minor), ..] => (major, minor) < (3, 6),
            _ => true,
        };
        let pipelines = member(&mut root, "amdpal.pipelines", Document::List(Vec::new()))?;
        let Document::List(pipelines) = pipelines else { return Err(unexpected("amdpal.pipelines")) };
        if pipelines.is_empty() {
            pipelines.push(Document::Map(Vec::new()));
        }
        let Some(pipeline) = pipelines.first_mut() else { return Err(unexpected("amdpal.pipelines")) };
        let empty = || Document::Map(Vec::new());
        let number = |value: u32| Document::Int(value.into());
        if !self.stages.is_empty() {
            let stages = member(pipeline, ".hardware_stages", empty())?;
            for (index, usage) in &self.stages {
                let stage = member(stages, STAGES[*index].key, empty())?;
                if names_entry {
                    set(stage, ".entry_point", Document::Text(STAGES[*index].entry.to_owned()))?;
                }
                set(stage, ".entry_point_symbol", Document::Text(usage.symbol.clone()))?;
                set(stage, ".scratch_memory_size", number(usage.scratch_bytes.next_multiple_of(16)))?;
                set(stage, ".sgpr_count", number(usage.sgprs))?;
                set(stage, ".vgpr_count", number(usage.vgprs))?;
                if by_members {
                    usage.set_members(stage, *index == COMPUTE)?;
                }
            }
        }
        // A library of functions: without a shader the modes of the stage are theirs.
        if by_members && !self.stages.contains_key(&COMPUTE) && !self.functions.is_empty() {
            let stages = member(pipeline, ".hardware_stages", empty())?;
            let stage = member(stages, STAGES[COMPUTE].key, empty())?;
            let all = self.functions.values();
            let largest = all.clone().map(|usage| usage.lds_bytes).max().unwrap_or(0);
            let library = Usage {
                modes: all.clone().fold(0, |modes, usage| modes | usage.modes),
                ieee: all.into_iter().any(|usage| usage.ieee),
                // In granules, as the register that it stands for.
                lds_bytes: largest.next_multiple_of(target.limits().lds_granule),
                ..Usage::default()
            };
            library.set_modes(stage, true)?;
        }
        if let Some(inputs) = self.pixel.as_ref().filter(|_| by_members) {
            let registers = member(pipeline, ".graphics_registers", empty())?;
            set(registers, ".ps_extra_lds_size", number(inputs.extra_lds))?;
            for (key, bits) in [(".spi_ps_input_ena", inputs.ena), (".spi_ps_input_addr", inputs.addr)] {
                let fields = member(registers, key, empty())?;
                for (bit, name) in PIXEL_INPUTS.iter().enumerate() {
                    set(fields, name, Document::Bool(bits >> bit & 1 != 0))?;
                }
            }
        }
        if !self.functions.is_empty() {
            let functions = member(pipeline, ".shader_functions", empty())?;
            for (name, usage) in &self.functions {
                let function = member(functions, name, empty())?;
                set(function, ".backend_stack_size", number(usage.scratch_bytes))?;
                set(function, ".lds_size", number(usage.lds_bytes))?;
                set(function, ".sgpr_count", number(usage.sgprs))?;
                set(function, ".stack_frame_size_in_bytes", number(usage.scratch_bytes))?;
                set(function, ".vgpr_count", number(usage.vgprs))?;
            }
        }
        let registers = member(pipeline, ".registers", empty())?;
        let Document::Map(entries) = registers else { return Err(unexpected(".registers")) };
        let added = if by_members { BTreeMap::new() } else { self.registers };
        for (register, value) in added {
            let key = Document::Int(register.into());
            match entries.iter_mut().find(|(k, _)| *k == key) {
                Some((_, Document::Int(old))) => *old |= i128::from(value),
                Some(_) => return Err(unexpected(".registers")),
                None => entries.push((key, number(value))),
            }
        }
        root.sort_keys()?;
        Ok(root)
    }
}

fn unexpected(key: &str) -> Box<Diagnostic> {
    Diagnostic::malformed(format!("{key} of the pipeline metadata has an unexpected type"))
}

/// The value of `key` in the map `parent`, which gets `default` where it has none.
fn member<'a>(parent: &'a mut Document, key: &str, default: Document) -> Result<&'a mut Document> {
    let Document::Map(entries) = parent else { return Err(unexpected(key)) };
    let at = match entries.iter().position(|(k, _)| k.as_text() == Some(key)) {
        Some(at) => at,
        None => {
            entries.push((Document::Text(key.to_owned()), default));
            entries.len() - 1
        }
    };
    Ok(&mut entries[at].1)
}

fn set(parent: &mut Document, key: &str, value: Document) -> Result<()> {
    *member(parent, key, Document::Null)? = value;
    Ok(())
}

/// The pipeline metadata of the object that holds `functions`.
///
/// # Errors
/// Metadata of the module that is no MessagePack, or has another shape than PAL's.
pub(crate) fn note(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Note> {
    let facts = Facts::of(module, functions, target)?;
    Ok(match &module.pal_metadata {
        Some(PalMetadata::Registers(pairs)) => Note::Pairs(facts.pairs(pairs)),
        Some(PalMetadata::MsgPack(bytes)) => Note::Document(facts.document(Some(bytes), target)?),
        None => Note::Document(facts.document(None, target)?),
    })
}

/// The assembly text of `note`.
pub(crate) fn text(note: Note) -> String {
    match note {
        Note::Pairs(pairs) => {
            let numbers: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{key:#x},{value:#x}")).collect();
            format!("\t.amd_amdgpu_pal_metadata {}\n", numbers.join(","))
        }
        Note::Document(mut document) => {
            name_registers(&mut document);
            format!("\t.amdgpu_pal_metadata\n{}\t.end_amdgpu_pal_metadata\n", document.to_yaml())
        }
    }
}

/// Gives registers their names, as far as they are known; the assembler reads the number in front.
fn name_registers(root: &mut Document) {
    let Some(Document::List(pipelines)) = root.get_mut("amdpal.pipelines") else { return };
    for pipeline in pipelines {
        let Some(Document::Map(entries)) = pipeline.get_mut(".registers") else { continue };
        for (key, _) in entries {
            if let Document::Int(number) = *key {
                *key = Document::Text(match register_name(number) {
                    Some(name) => format!("{number:#x} ({name})"),
                    None => format!("{number:#x}"),
                });
            }
        }
    }
}

/// The name of a register of pipeline metadata.
pub(crate) fn register_name(number: i128) -> Option<String> {
    let number = u32::try_from(number).ok()?;
    match number {
        SPI_PS_INPUT_ENA => return Some("SPI_PS_INPUT_ENA".to_owned()),
        SPI_PS_INPUT_ADDR => return Some("SPI_PS_INPUT_ADDR".to_owned()),
        SPI_PS_IN_CONTROL => return Some("SPI_PS_IN_CONTROL".to_owned()),
        VGT_SHADER_STAGES_EN => return Some("VGT_SHADER_STAGES_EN".to_owned()),
        COMPUTE_DISPATCH_INITIATOR => return Some("COMPUTE_DISPATCH_INITIATOR".to_owned()),
        _ => {}
    }
    let stage = STAGES.iter().find(|stage| number == stage.rsrc1 || number == stage.rsrc1 + 1)?;
    let which = number - stage.rsrc1 + 1;
    Some(match stage.register_suffix {
        "" => format!("COMPUTE_PGM_RSRC{which}"),
        suffix => format!("SPI_SHADER_PGM_RSRC{which}_{suffix}"),
    })
}
