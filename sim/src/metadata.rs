//! Kernel metadata of code objects V3 to V6: the MessagePack map in the `NT_AMDGPU_METADATA` note.
//!
//! Source: AMDGPU usage guide, "Code Object V3 Metadata" and the sections on V4 and V5 that extend it. Unknown keys are ignored.

use serde::Deserialize;

/// The whole map.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metadata {
    /// `[major, minor]`; (1, 0) is code object V3, (1, 1) V4, (1, 2) V5 and V6.
    #[serde(rename = "amdhsa.version", default)]
    pub version: Vec<u64>,
    /// Target identifier, from V4 on.
    #[serde(rename = "amdhsa.target", default)]
    pub target: Option<String>,
    /// Kernels.
    #[serde(rename = "amdhsa.kernels", default)]
    pub kernels: Vec<KernelMetadata>,
}

/// One kernel.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct KernelMetadata {
    /// Source name.
    #[serde(rename = ".name")]
    pub name: String,
    /// Symbol of the descriptor, `NAME.kd`.
    #[serde(rename = ".symbol")]
    pub symbol: String,
    /// Arguments, hidden ones included.
    #[serde(rename = ".args", default)]
    pub args: Vec<ArgMetadata>,
    /// Bytes of the kernarg segment.
    #[serde(rename = ".kernarg_segment_size", default)]
    pub kernarg_segment_size: u64,
    /// Alignment of the kernarg segment.
    #[serde(rename = ".kernarg_segment_align", default)]
    pub kernarg_segment_align: u64,
    /// Static LDS bytes.
    #[serde(rename = ".group_segment_fixed_size", default)]
    pub group_segment_fixed_size: u64,
    /// Scratch bytes a lane.
    #[serde(rename = ".private_segment_fixed_size", default)]
    pub private_segment_fixed_size: u64,
    /// Lanes of a wave.
    #[serde(rename = ".wavefront_size", default)]
    pub wavefront_size: u64,
    /// SGPRs.
    #[serde(rename = ".sgpr_count", default)]
    pub sgpr_count: u64,
    /// VGPRs.
    #[serde(rename = ".vgpr_count", default)]
    pub vgpr_count: u64,
    /// Largest flat work-group size.
    #[serde(rename = ".max_flat_workgroup_size", default)]
    pub max_flat_workgroup_size: u64,
    /// `reqd_work_group_size`.
    #[serde(rename = ".reqd_workgroup_size", default)]
    pub reqd_workgroup_size: Vec<u64>,
}

/// One argument.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ArgMetadata {
    /// Byte offset in the kernarg segment.
    #[serde(rename = ".offset", default)]
    pub offset: u64,
    /// Bytes.
    #[serde(rename = ".size", default)]
    pub size: u64,
    /// `by_value`, `global_buffer`, `hidden_global_offset_x`, ...
    #[serde(rename = ".value_kind", default)]
    pub value_kind: String,
    /// Source name.
    #[serde(rename = ".name", default)]
    pub name: Option<String>,
    /// Alignment of what a dynamic LDS pointer points to.
    #[serde(rename = ".pointee_align", default)]
    pub pointee_align: Option<u64>,
}

impl ArgMetadata {
    /// Whether the runtime fills it in.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.starts_with("hidden_")
    }
}

impl Metadata {
    /// Reads the note's descriptor.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        rmp_serde::from_slice(bytes).map_err(|e| format!("metadata note: {e}"))
    }
}
