//! What members metadata may have, and of what kind their values are: for text that people write, before it becomes a note.
//!
//! Tables name the members; [`Schema::check`] compares a document with them. As in LLVM, a string where a number or a truth value is
//! wanted is read as one, which makes the quotes of `'8'` harmless. V3 and later allow members beyond those of the table, V2 does not.
//!
//! Cost: each member of the document is looked up among at most 30. The tables bound the depth.
//!
//! Source: AMDGPU usage guide of LLVM 22, "Code Object Metadata", with the values that llvm-mc 22 (V3 and later) and llvm-mc 14 (V2) take.

use super::Document;
use crate::{Diagnostic, Result};

/// What a value must be.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A string.
    Text,
    /// A string; other scalars are taken for one as they are written.
    Scalar,
    /// An integer of 64 bits.
    Integer,
    /// An integer of so many bits without a sign.
    Unsigned(u32),
    /// A truth value.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of values of a kind, of this length where it is given.
    List(&'static Kind, Option<usize>),
    /// A map.
    Map(&'static Schema),
}

/// A member of a map: its key, whether it must be there, what it is.
type Member = (&'static str, bool, Kind);

/// The members of a map.
#[derive(Debug)]
pub struct Schema {
    /// What the map describes, for messages.
    what: &'static str,
    members: &'static [Member],
    /// There may be others.
    open: bool,
}

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

const ANY_NUMBERS: Kind = Kind::List(&Kind::Unsigned(32), None);

/// V3 and later.
#[rustfmt::skip]
pub static METADATA: Schema = Schema {
    what: "metadata",
    open: true,
    members: &[
        ("amdhsa.version", REQUIRED, Kind::List(&Kind::Integer, Some(2))),
        ("amdhsa.printf", OPTIONAL, Kind::List(&Kind::Text, None)),
        ("amdhsa.kernels", REQUIRED, Kind::List(&Kind::Map(&KERNEL), None)),
    ],
};

#[rustfmt::skip]
static KERNEL: Schema = Schema {
    what: "kernel",
    open: true,
    members: &[
        (".name", REQUIRED, Kind::Text),
        (".symbol", REQUIRED, Kind::Text),
        (".language", OPTIONAL, Kind::Word(&["OpenCL C", "OpenCL C++", "HCC", "HIP", "OpenMP", "Assembler"])),
        (".language_version", OPTIONAL, Kind::List(&Kind::Integer, Some(2))),
        (".args", OPTIONAL, Kind::List(&Kind::Map(&ARGUMENT), None)),
        (".reqd_workgroup_size", OPTIONAL, Kind::List(&Kind::Integer, Some(3))),
        (".workgroup_size_hint", OPTIONAL, Kind::List(&Kind::Integer, Some(3))),
        (".cluster_dims", OPTIONAL, Kind::List(&Kind::Integer, Some(3))),
        (".vec_type_hint", OPTIONAL, Kind::Text),
        (".device_enqueue_symbol", OPTIONAL, Kind::Text),
        (".kernarg_segment_size", REQUIRED, Kind::Integer),
        (".group_segment_fixed_size", REQUIRED, Kind::Integer),
        (".private_segment_fixed_size", REQUIRED, Kind::Integer),
        (".uses_dynamic_stack", OPTIONAL, Kind::Bool),
        (".workgroup_processor_mode", OPTIONAL, Kind::Integer),
        (".kernarg_segment_align", REQUIRED, Kind::Integer),
        (".wavefront_size", REQUIRED, Kind::Integer),
        (".sgpr_count", REQUIRED, Kind::Integer),
        (".vgpr_count", REQUIRED, Kind::Integer),
        (".max_flat_workgroup_size", REQUIRED, Kind::Integer),
        (".sgpr_spill_count", OPTIONAL, Kind::Integer),
        (".vgpr_spill_count", OPTIONAL, Kind::Integer),
        (".uniform_work_group_size", OPTIONAL, Kind::Integer),
    ],
};

const ACCESS: Kind = Kind::Word(&["read_only", "write_only", "read_write"]);

#[rustfmt::skip]
static ARGUMENT: Schema = Schema {
    what: "argument",
    open: true,
    members: &[
        (".name", OPTIONAL, Kind::Text),
        (".type_name", OPTIONAL, Kind::Text),
        (".size", REQUIRED, Kind::Integer),
        (".offset", REQUIRED, Kind::Integer),
        (".value_kind", REQUIRED, Kind::Word(&[
            "by_value", "global_buffer", "dynamic_shared_pointer", "sampler", "image", "pipe", "queue",
            "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z",
            "hidden_group_size_x", "hidden_group_size_y", "hidden_group_size_z",
            "hidden_remainder_x", "hidden_remainder_y", "hidden_remainder_z",
            "hidden_global_offset_x", "hidden_global_offset_y", "hidden_global_offset_z", "hidden_grid_dims",
            "hidden_none", "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_heap_v1", "hidden_default_queue",
            "hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_dynamic_lds_size",
            "hidden_private_base", "hidden_shared_base", "hidden_queue_ptr",
        ])),
        (".pointee_align", OPTIONAL, Kind::Integer),
        (".address_space", OPTIONAL, Kind::Word(&["private", "global", "constant", "local", "generic", "region"])),
        (".access", OPTIONAL, ACCESS),
        (".actual_access", OPTIONAL, ACCESS),
        (".is_const", OPTIONAL, Kind::Bool),
        (".is_restrict", OPTIONAL, Kind::Bool),
        (".is_volatile", OPTIONAL, Kind::Bool),
        (".is_pipe", OPTIONAL, Kind::Bool),
    ],
};

/// V2.
#[rustfmt::skip]
pub static METADATA_V2: Schema = Schema {
    what: "metadata",
    open: false,
    members: &[
        ("Version", REQUIRED, ANY_NUMBERS),
        ("Printf", OPTIONAL, Kind::List(&Kind::Scalar, None)),
        ("Kernels", OPTIONAL, Kind::List(&Kind::Map(&KERNEL_V2), None)),
    ],
};

#[rustfmt::skip]
static KERNEL_V2: Schema = Schema {
    what: "kernel",
    open: false,
    members: &[
        ("Name", REQUIRED, Kind::Scalar),
        ("SymbolName", REQUIRED, Kind::Scalar),
        ("Language", OPTIONAL, Kind::Scalar),
        ("LanguageVersion", OPTIONAL, ANY_NUMBERS),
        ("Attrs", OPTIONAL, Kind::Map(&Schema {
            what: "Attrs",
            open: false,
            members: &[
                ("ReqdWorkGroupSize", OPTIONAL, ANY_NUMBERS),
                ("WorkGroupSizeHint", OPTIONAL, ANY_NUMBERS),
                ("VecTypeHint", OPTIONAL, Kind::Scalar),
                ("RuntimeHandle", OPTIONAL, Kind::Scalar),
            ],
        })),
        ("Args", OPTIONAL, Kind::List(&Kind::Map(&ARGUMENT_V2), None)),
        ("CodeProps", OPTIONAL, Kind::Map(&Schema {
            what: "CodeProps",
            open: false,
            members: &[
                ("KernargSegmentSize", REQUIRED, Kind::Unsigned(64)),
                ("GroupSegmentFixedSize", REQUIRED, Kind::Unsigned(32)),
                ("PrivateSegmentFixedSize", REQUIRED, Kind::Unsigned(32)),
                ("KernargSegmentAlign", REQUIRED, Kind::Unsigned(32)),
                ("WavefrontSize", REQUIRED, Kind::Unsigned(32)),
                ("NumSGPRs", OPTIONAL, Kind::Unsigned(16)),
                ("NumVGPRs", OPTIONAL, Kind::Unsigned(16)),
                ("MaxFlatWorkGroupSize", OPTIONAL, Kind::Unsigned(32)),
                ("IsDynamicCallStack", OPTIONAL, Kind::Bool),
                ("IsXNACKEnabled", OPTIONAL, Kind::Bool),
                ("NumSpilledSGPRs", OPTIONAL, Kind::Unsigned(16)),
                ("NumSpilledVGPRs", OPTIONAL, Kind::Unsigned(16)),
            ],
        })),
        ("DebugProps", OPTIONAL, Kind::Map(&Schema {
            what: "DebugProps",
            open: false,
            members: &[
                ("DebuggerABIVersion", OPTIONAL, ANY_NUMBERS),
                ("ReservedNumVGPRs", OPTIONAL, Kind::Unsigned(16)),
                ("ReservedFirstVGPR", OPTIONAL, Kind::Unsigned(16)),
                ("PrivateSegmentBufferSGPR", OPTIONAL, Kind::Unsigned(16)),
                ("WavefrontPrivateSegmentOffsetSGPR", OPTIONAL, Kind::Unsigned(16)),
            ],
        })),
    ],
};

const ACCESS_V2: Kind = Kind::Word(&["Default", "ReadOnly", "WriteOnly", "ReadWrite"]);

#[rustfmt::skip]
static ARGUMENT_V2: Schema = Schema {
    what: "argument",
    open: false,
    members: &[
        ("Name", OPTIONAL, Kind::Scalar),
        ("TypeName", OPTIONAL, Kind::Scalar),
        ("Size", REQUIRED, Kind::Unsigned(32)),
        ("Align", REQUIRED, Kind::Unsigned(32)),
        ("ValueKind", REQUIRED, Kind::Word(&[
            "ByValue", "GlobalBuffer", "DynamicSharedPointer", "Sampler", "Image", "Pipe", "Queue",
            "HiddenGlobalOffsetX", "HiddenGlobalOffsetY", "HiddenGlobalOffsetZ", "HiddenNone", "HiddenPrintfBuffer",
            "HiddenHostcallBuffer", "HiddenDefaultQueue", "HiddenCompletionAction", "HiddenMultiGridSyncArg",
        ])),
        ("ValueType", OPTIONAL, Kind::Word(&[
            "Struct", "I8", "U8", "I16", "U16", "F16", "I32", "U32", "F32", "I64", "U64", "F64",
        ])),
        ("PointeeAlign", OPTIONAL, Kind::Unsigned(32)),
        ("AddrSpaceQual", OPTIONAL, Kind::Word(&["Private", "Global", "Constant", "Local", "Generic", "Region"])),
        ("AccQual", OPTIONAL, ACCESS_V2),
        ("ActualAccQual", OPTIONAL, ACCESS_V2),
        ("IsConst", OPTIONAL, Kind::Bool),
        ("IsRestrict", OPTIONAL, Kind::Bool),
        ("IsVolatile", OPTIONAL, Kind::Bool),
        ("IsPipe", OPTIONAL, Kind::Bool),
    ],
};

impl Schema {
    /// Checks that `document` has the members of the table, and turns strings into the numbers and truth values that they spell.
    ///
    /// # Errors
    /// The first member that is missing, unknown or of another kind, with the place in the document
    /// ([`crate::ErrorKind::Malformed`]).
    pub fn check(&self, document: &mut Document) -> Result<()> {
        self.check_map(document).map_err(|fault| Diagnostic::malformed(format!("{}{fault}", self.what)))
    }

    /// The same; what is wrong stands behind the place of the map.
    fn check_map(&self, map: &mut Document) -> std::result::Result<(), String> {
        let Document::Map(entries) = map else { return Err(" is no map".to_owned()) };
        for (key, value) in &mut *entries {
            let name = key.as_text().unwrap_or_default();
            match self.members.iter().find(|(known, ..)| *known == name) {
                Some((_, _, kind)) => kind.check(value).map_err(|fault| format!(": {name}{fault}"))?,
                None if self.open => {}
                None => return Err(format!(": unknown member {key:?}")),
            }
        }
        let missing = |(key, required, _): &&Member| {
            *required && !entries.iter().any(|(name, _)| name.as_text() == Some(key))
        };
        self.members.iter().find(missing).map_or(Ok(()), |(key, ..)| Err(format!(" without {key}")))
    }
}

impl Kind {
    fn check(self, value: &mut Document) -> std::result::Result<(), String> {
        if let Document::Text(text) = value
            && let Some(meant) = self.spelled(text)
        {
            *value = meant;
        }
        let fits = match (self, &mut *value) {
            (Self::Map(schema), value) => return schema.check_map(value),
            (Self::List(kind, length), Document::List(items)) => {
                if let Some(length) = length.filter(|length| *length != items.len()) {
                    return Err(format!(" has {} items, not {length}", items.len()));
                }
                for (index, item) in items.iter_mut().enumerate() {
                    kind.check(item).map_err(|fault| format!(", item {index}{fault}"))?;
                }
                true
            }
            (Self::Word(words), Document::Text(text)) if !words.contains(&text.as_str()) => {
                return Err(format!(" is `{text}`, not one of {}", words.join(", ")));
            }
            (Self::Text | Self::Scalar | Self::Word(_), Document::Text(_))
            | (Self::Scalar, Document::Int(_) | Document::Bool(_) | Document::Float(_))
            | (Self::Integer, Document::Int(_))
            | (Self::Bool, Document::Bool(_)) => true,
            (Self::Unsigned(bits), Document::Int(value)) => {
                u64::try_from(*value).is_ok_and(|v| v >> (bits - 1) <= 1)
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!(" is no {}", self.name())) }
    }

    /// The number or truth value that `text` spells, where one is wanted.
    fn spelled(self, text: &str) -> Option<Document> {
        match (self, Document::from_plain(text)) {
            (Self::Integer | Self::Unsigned(_), value @ Document::Int(_)) => Some(value),
            (Self::Bool, value @ Document::Bool(_)) => Some(value),
            _ => None,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Text | Self::Scalar => "string".to_owned(),
            Self::Integer => "integer".to_owned(),
            Self::Unsigned(bits) => format!("unsigned integer of {bits} bits"),
            Self::Bool => "truth value".to_owned(),
            Self::Word(words) => format!("word of {}", words.join(", ")),
            Self::List(..) => "list".to_owned(),
            Self::Map(_) => "map".to_owned(),
        }
    }
}
