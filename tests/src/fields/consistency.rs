//! Fields that follow from the code, which two compilers write differently: they are not compared, but must agree with each other in one object.

use super::known::glob;
use emit::inspect::{CodeObject, Kernel, NoteContents};
use mir::abi::Document;
use mir::target::{FIXED_SGPRS, Features, Processor};

/// Patterns of such fields: registers, spills, bytes of scratch.
const OF_THE_CODE: &[&str] = &[
    "metadata*sgpr_count",
    "metadata*vgpr_count",
    "metadata *sgpr_spill_count",
    "metadata *vgpr_spill_count",
    "metadata *private_segment_fixed_size",
    "metadata *.CodeProps.NumSGPRs",
    "metadata *.CodeProps.NumVGPRs",
    "metadata *.CodeProps.NumSpilledSGPRs",
    "metadata *.CodeProps.NumSpilledVGPRs",
    "metadata *.CodeProps.PrivateSegmentFixedSize",
    "metadata*.scratch_memory_size",
    "metadata*.stack_frame_size_in_bytes",
    "descriptor *.private_segment_fixed_size",
    "descriptor *.vgpr_blocks",
    "descriptor *.sgpr_blocks",
    "amd_kernel_code_t *.granulated_workitem_vgpr_count",
    "amd_kernel_code_t *.granulated_wavefront_sgpr_count",
    "amd_kernel_code_t *.wavefront_sgpr_count",
    "amd_kernel_code_t *.workitem_vgpr_count",
    "amd_kernel_code_t *.workitem_private_segment_byte_size",
    "config *.vgpr_blocks*",
    "config *.sgpr_blocks*",
    "config *_TMPRING_SIZE*",
    "config *.spilled *",
    "pal *.vgpr_blocks*",
    "pal *.sgpr_blocks*",
];

/// PAL's facts of the stages: first and last number of VGPRs, SGPRs and scratch bytes. Source: `palPipelineAbi.h`.
const PAL_OF_THE_CODE: [(u32, u32); 3] =
    [(0x1000_0021, 0x1000_0027), (0x1000_0028, 0x1000_002e), (0x1000_0044, 0x1000_004a)];

/// Whether a field of this name follows from the code.
pub fn of_the_code(field: &str) -> bool {
    let number = field.strip_prefix("pal 0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let is_fact = number
        .is_some_and(|number| PAL_OF_THE_CODE.iter().any(|&(first, last)| (first..=last).contains(&number)));
    is_fact || OF_THE_CODE.iter().any(|pattern| glob(pattern, field))
}

/// A kernel's fields and what its metadata says.
struct Described<'a> {
    kernel: &'a Kernel,
    metadata: Option<&'a Document>,
    processor: &'static Processor,
}

impl Described<'_> {
    fn field(&self, name: &str) -> i64 {
        self.kernel.fields.iter().find(|field| field.name == name).map_or(0, |field| field.value)
    }

    fn number(&self, key: &str) -> Option<i64> {
        match self.metadata?.get(key)? {
            Document::Int(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Blocks of SGPRs in the field of a resource register. Source: usage guide, `GRANULATED_WAVEFRONT_SGPR_COUNT`.
    ///
    /// GFX9 allocates sixteen, and its field may be rounded to that or not. On GFX10 the field is 0, as every wave has all.
    fn sgpr_blocks(&self, count: i64) -> [i64; 2] {
        if self.processor.features.contains(Features::WORKGROUP_PROCESSORS) {
            return [0, 0];
        }
        let fixed = self.processor.features.contains(Features::SGPR_INIT_BUG);
        let count = if fixed { i64::from(FIXED_SGPRS) } else { count.max(1) };
        let blocks = (count + 7) / 8 - 1;
        [
            blocks,
            if self.processor.features.contains(Features::GLOBAL) {
                2 * ((count + 15) / 16 - 1)
            } else {
                blocks
            },
        ]
    }

    /// Blocks of VGPRs in the field. Source: usage guide, `GRANULATED_WORKITEM_VGPR_COUNT`: four each, eight in waves of 32 lanes.
    fn vgpr_blocks(&self, count: i64) -> i64 {
        let small = self.field("wavefront_size32") + self.field("enable_wavefront_size32") != 0;
        let block = if small { 8 } else { 4 };
        (count.max(1) + block - 1) / block - 1
    }

    fn check(&self, out: &mut Vec<String>) {
        let name = &self.kernel.name;
        let mut equal = |what: &str, left: i64, right: &[i64]| {
            if !right.contains(&left) {
                out.push(format!("{name}: {what} {left}, from other fields {right:?}"));
            }
        };
        if self.kernel.described_by == "descriptor" {
            if let Some(count) = self.number(".vgpr_count") {
                equal("blocks of VGPRs", self.field("vgpr_blocks"), &[self.vgpr_blocks(count)]);
            }
            if let Some(count) = self.number(".sgpr_count") {
                equal("blocks of SGPRs", self.field("sgpr_blocks"), &self.sgpr_blocks(count));
            }
            for (key, field) in [
                (".private_segment_fixed_size", "private_segment_fixed_size"),
                (".group_segment_fixed_size", "group_segment_fixed_size"),
            ] {
                if let Some(bytes) = self.number(key) {
                    equal(field, self.field(field), &[bytes]);
                }
            }
        } else {
            equal(
                "blocks of VGPRs",
                self.field("granulated_workitem_vgpr_count"),
                &[self.vgpr_blocks(self.field("workitem_vgpr_count"))],
            );
            equal(
                "blocks of SGPRs",
                self.field("granulated_wavefront_sgpr_count"),
                &self.sgpr_blocks(self.field("wavefront_sgpr_count")),
            );
        }
    }
}

/// The kernels of a note's metadata, by name.
fn kernel_metadata<'a>(object: &'a CodeObject, name: &str) -> Option<&'a Document> {
    object.notes.iter().find_map(|note| {
        let NoteContents::Metadata(document) = &note.contents else { return None };
        let Some(Document::List(kernels)) = document.get("amdhsa.kernels") else { return None };
        kernels.iter().find(|kernel| kernel.get(".name").and_then(Document::as_text) == Some(name))
    })
}

/// What contradicts itself in an object: registers and sizes of a kernel's descriptor, header and metadata.
pub fn consistency(object: &CodeObject) -> Vec<String> {
    let mut out = Vec::new();
    let processor = object
        .target
        .processor
        .and_then(|name| mir::target::PROCESSORS.iter().find(|processor| processor.name == name));
    let Some(processor) = processor else { return vec!["the processor is not known".to_owned()] };
    for kernel in &object.kernels {
        Described { kernel, metadata: kernel_metadata(object, &kernel.name), processor }.check(&mut out);
    }
    out
}
