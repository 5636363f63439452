//! llc's flags that change code.
//!
//! Most of them set a default for a function attribute: a function that has the attribute keeps its own.

use isel::memory_model;
use mir::abi::{descriptor, metadata};

/// How denormals are treated.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Denormals {
    Ieee,
    PreserveSign,
    PositiveZero,
    Dynamic,
}

impl Denormals {
    fn attribute(self) -> &'static str {
        match self {
            Self::Ieee => "ieee,ieee",
            Self::PreserveSign => "preserve-sign,preserve-sign",
            Self::PositiveZero => "positive-zero,positive-zero",
            Self::Dynamic => "dynamic,dynamic",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Contract {
    Fast,
    On,
    Off,
}

/// Flags of llc that change code.
#[derive(Debug, clap::Args)]
pub struct CodeFlags {
    /// Denormals of 16- and 64-bit floats, and of 32-bit ones without a flag of their own.
    #[arg(long, value_enum, value_name = "MODE")]
    denormal_fp_math: Option<Denormals>,
    /// Denormals of 32-bit floats.
    #[arg(long, value_enum, value_name = "MODE")]
    denormal_fp_math_f32: Option<Denormals>,
    /// `fast` fuses multiplications and additions wherever it pays, `on` and `off` where their flags allow
    /// it.
    #[arg(long, value_enum, value_name = "MODE")]
    fp_contract: Option<Contract>,
    /// Assume that reassociation and other inexact changes are welcome.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    enable_unsafe_fp_math: Option<bool>,
    /// Assume that there are no NaNs.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    enable_no_nans_fp_math: Option<bool>,
    /// Assume that there are no infinities.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    enable_no_infs_fp_math: Option<bool>,
    /// Assume that the sign of zero does not matter.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    enable_no_signed_zeros_fp_math: Option<bool>,
    /// Which functions keep a frame pointer.
    #[arg(long, value_parser = ["all", "non-leaf", "none", "reserved"], value_name = "WHICH")]
    frame_pointer: Option<String>,
    /// End in a trap where control cannot get.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    trap_unreachable: Option<bool>,
    /// Each function in a section of its own.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    function_sections: Option<bool>,
    /// Wait for each volatile access before the next instruction; `false` leaves them under way, in order.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    volatile_waits: Option<bool>,
    /// Invalidate no caches where the memory model asks for it.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    amdgcn_skip_cache_invalidations: Option<bool>,
    /// Each variable in a section of its own.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    data_sections: Option<bool>,
    /// Bytes of stack that a call of an unknown function takes.
    #[arg(long, value_name = "BYTES")]
    amdgpu_assume_external_call_stack_size: Option<u32>,
    /// Bytes of stack that a function's objects of variable size take.
    #[arg(long, value_name = "BYTES")]
    amdgpu_assume_dynamic_stack_object_size: Option<u32>,
    /// Source language in the kernels' metadata, of which LLVM IR tells only where it is OpenCL C.
    #[arg(long, value_parser = mir::abi::metadata::LANGUAGES, value_name = "LANGUAGE")]
    metadata_language: Option<String>,
    /// Types of arguments in the metadata of V3, as the first guide to it asks for.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    metadata_value_types: Option<bool>,
    /// The size of a kernel's arguments in its descriptor of V3, as LLVM 14 has it.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = switch, value_name = "BOOL")]
    kernarg_size_in_v3: Option<bool>,
    /// Code is position-independent whatever is asked for.
    #[arg(long, value_parser = ["static", "pic", "dynamic-no-pic"], value_name = "MODEL")]
    relocation_model: Option<String>,
    /// Pass over llc's flags that have no meaning here, with a warning.
    #[arg(long)]
    llc_compat: bool,
}

/// A boolean in llc's spellings.
fn switch(text: &str) -> Result<bool, String> {
    gcnc::llc_flags::boolean(text).ok_or_else(|| "expected true or false".to_owned())
}

impl CodeFlags {
    /// Attributes that functions get unless they have their own.
    pub fn function_attributes(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        let mut add = |key: &str, value: Option<&str>| {
            out.extend(value.map(|value| (key.to_owned(), value.to_owned())));
        };
        let text = |on: bool| if on { "true" } else { "false" };
        add("denormal-fp-math", self.denormal_fp_math.map(Denormals::attribute));
        add("denormal-fp-math-f32", self.denormal_fp_math_f32.map(Denormals::attribute));
        add("unsafe-fp-math", self.enable_unsafe_fp_math.map(text));
        add("no-nans-fp-math", self.enable_no_nans_fp_math.map(text));
        add("no-infs-fp-math", self.enable_no_infs_fp_math.map(text));
        add("no-signed-zeros-fp-math", self.enable_no_signed_zeros_fp_math.map(text));
        add("frame-pointer", self.frame_pointer.as_deref());
        add(metadata::LANGUAGE_ATTRIBUTE, self.metadata_language.as_deref());
        add(metadata::VALUE_TYPES_ATTRIBUTE, self.metadata_value_types.filter(|&on| on).map(text));
        add(descriptor::KERNARG_SIZE_ATTRIBUTE, self.kernarg_size_in_v3.filter(|&on| on).map(text));
        add("gcnc-trap-unreachable", self.trap_unreachable.filter(|&on| on).map(text));
        out
    }

    /// Whether every multiplication and addition may be fused.
    pub fn contract_all(&self) -> bool {
        self.fp_contract == Some(Contract::Fast)
    }

    /// What is assumed for stacks without a bound.
    pub fn assumed_stack(&self) -> mir::abi::call_graph::AssumedWish {
        mir::abi::call_graph::AssumedWish {
            call_bytes: self.amdgpu_assume_external_call_stack_size,
            object_bytes: self.amdgpu_assume_dynamic_stack_object_size,
        }
    }

    /// What is wished of the memory model.
    pub fn memory_model(&self) -> memory_model::Wishes {
        let volatile = match self.volatile_waits {
            Some(false) => memory_model::Volatile::AsOthers,
            _ => memory_model::Volatile::Waited,
        };
        let skip_invalidates = self.amdgcn_skip_cache_invalidations == Some(true);
        memory_model::Wishes { volatile, skip_invalidates }
    }

    /// Whether variables get sections of their own.
    pub fn data_sections(&self) -> bool {
        self.data_sections == Some(true)
    }

    /// Whether functions get sections of their own.
    pub fn function_sections(&self) -> bool {
        self.function_sections == Some(true)
    }
}
