//! `amd_kernel_code_t`: 256 bytes in front of a kernel's code that tell the command processor how to start a wave. Code objects V2 and Mesa's
//! kernels have it; later versions have a [`KernelDescriptor`] apart from the code.
//!
//! [`KernelCode`] has one member a field; the macro below lists them once, with their place and their names in assembly, and makes the
//! struct, [`KernelCode::FIELDS`], packing and unpacking from that list. All bits outside the list are reserved and zero.
//!
//! Sources: AMD GPU Compute ABI 0.40, "AMD Kernel Code Object amd_kernel_code_t"; names in assembly: AMDGPU usage guide, ".amd_kernel_code_t",
//! and what llvm-mc 14 accepts.

use super::KernelDescriptor;
use super::descriptor::{DESCRIPTOR_BYTES, RegisterCounts};
use super::shader::element_code;
use crate::machine::Function;
use crate::target::{FIXED_SGPRS, Features, Target, WaveSize};
use crate::{Diagnostic, Result};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 256;

/// Type of the ELF symbol of a kernel with such a header (`STT_AMDGPU_HSA_KERNEL`); it covers header and code.
pub const STT_HSA_KERNEL: u8 = 10;

/// Where the control directives begin, which take the rest.
const DIRECTIVES_AT: usize = 128;

/// Place of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCodeField {
    /// Name of the member.
    pub name: &'static str,
    /// Key in `.amd_kernel_code_t`; empty where it is not written.
    pub key: &'static str,
    /// Another key that is read; empty where there is none.
    pub other_key: &'static str,
    /// Byte offset of what holds it.
    pub offset_bytes: usize,
    /// Lowest bit.
    pub shift: u32,
    /// Bits.
    pub width: u32,
    /// Whether it is a number in two's complement.
    pub signed: bool,
}

impl KernelCodeField {
    /// All bits of the field, at bit 0.
    pub fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The bits of `number`, where the field can hold it.
    pub fn encode(&self, number: i64) -> Option<u64> {
        let bits = number as u64;
        let sign = 64 - self.width;
        let fits = bits & !self.mask() == 0 || self.signed && (number << sign) >> sign == number;
        fits.then_some(bits & self.mask())
    }

    /// The number that `bits` of the field mean.
    pub fn decode(&self, bits: u64) -> i64 {
        let sign = 64 - self.width;
        if self.signed { ((bits << sign) as i64) >> sign } else { bits as i64 }
    }

    /// Bytes of what holds the field.
    fn bytes(&self) -> usize {
        (self.shift + self.width).div_ceil(8) as usize
    }
}

macro_rules! kernel_code {
    ($($(#[doc = $doc:literal])* $name:ident = $offset:literal [$shift:literal, $width:literal] $signed:literal $key:literal $other:literal;)*) => {
        /// An `amd_kernel_code_t` by its fields; see [`Self::FIELDS`] for their places.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct KernelCode {
            $($(#[doc = $doc])* pub $name: u64,)*
            /// What the finalizer was asked for; compilers of LLVM IR leave it zero.
            pub control_directives: [u8; HEADER_BYTES - DIRECTIVES_AT],
        }

        impl KernelCode {
            /// Every field but the control directives, in the order of the header, which is that of assembly text.
            pub const FIELDS: &'static [KernelCodeField] = &[$(KernelCodeField {
                name: stringify!($name), key: $key, other_key: $other,
                offset_bytes: $offset, shift: $shift, width: $width, signed: $signed,
            },)*];

            /// Values in the order of [`Self::FIELDS`].
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$name,)*]
            }

            /// All bits zero.
            fn zero() -> Self {
                Self { $($name: 0,)* control_directives: [0; HEADER_BYTES - DIRECTIVES_AT] }
            }

            /// Gives the fields `values`, in the order of [`Self::FIELDS`].
            pub fn set_values(&mut self, values: &[u64]) {
                let mut values = values.iter().copied();
                $(self.$name = values.next().unwrap_or(0);)*
            }
        }
    };
}

kernel_code! {
    /// Version of the layout: 1.
    amd_code_version_major = 0 [0, 32] false "amd_code_version_major" "kernel_code_version_major";
    /// Its minor version; 2 in what LLVM writes.
    amd_code_version_minor = 4 [0, 32] false "amd_code_version_minor" "kernel_code_version_minor";
    /// 1 is AMDGPU, 0 nothing.
    amd_machine_kind = 8 [0, 16] false "amd_machine_kind" "machine_kind";
    /// Major number of the instruction set.
    amd_machine_version_major = 10 [0, 16] false "amd_machine_version_major" "machine_version_major";
    /// Minor number of the instruction set.
    amd_machine_version_minor = 12 [0, 16] false "amd_machine_version_minor" "machine_version_minor";
    /// Stepping of the instruction set.
    amd_machine_version_stepping = 14 [0, 16] false "amd_machine_version_stepping" "machine_version_stepping";
    /// Bytes from the header to the first instruction.
    kernel_code_entry_byte_offset = 16 [0, 64] true "kernel_code_entry_byte_offset" "";
    /// Bytes from the header to what is worth prefetching.
    kernel_code_prefetch_byte_offset = 24 [0, 64] true "" "";
    /// Bytes that are worth prefetching; 0 where nobody knows.
    kernel_code_prefetch_byte_size = 32 [0, 64] false "kernel_code_prefetch_byte_size" "";
    /// Scratch bytes for a full GPU; 0 where nobody knows.
    max_scratch_backing_memory_byte_size = 40 [0, 64] false "" "max_scratch_backing_memory_byte_size";
    /// Allocated VGPRs in granules, minus one.
    granulated_workitem_vgpr_count = 48 [0, 6] false "granulated_workitem_vgpr_count" "compute_pgm_rsrc1_vgprs";
    /// Allocated SGPRs in granules of eight, minus one.
    granulated_wavefront_sgpr_count = 48 [6, 4] false "granulated_wavefront_sgpr_count" "compute_pgm_rsrc1_sgprs";
    /// Wave priority; set by the command processor.
    priority = 48 [10, 2] false "priority" "compute_pgm_rsrc1_priority";
    /// Rounding and denormals, two bits each for 32-bit floats and for the others.
    float_mode = 48 [12, 8] false "float_mode" "compute_pgm_rsrc1_float_mode";
    /// Privileged; set by the command processor.
    priv_mode = 48 [20, 1] false "priv" "compute_pgm_rsrc1_priv";
    /// `clamp` turns NaN into 0.
    enable_dx10_clamp = 48 [21, 1] false "enable_dx10_clamp" "compute_pgm_rsrc1_dx10_clamp";
    /// Single steps; set by the command processor.
    debug_mode = 48 [22, 1] false "debug_mode" "compute_pgm_rsrc1_debug_mode";
    /// Signalling NaNs are quieted.
    enable_ieee_mode = 48 [23, 1] false "enable_ieee_mode" "compute_pgm_rsrc1_ieee_mode";
    /// One work-group a compute unit; set by the command processor.
    bulky = 48 [24, 1] false "" "";
    /// For debuggers; set by the command processor.
    cdbg_user = 48 [25, 1] false "" "";
    /// Work-groups on two compute units (GFX10).
    enable_wgp_mode = 48 [29, 1] false "enable_wgp_mode" "compute_pgm_rsrc1_wgp_mode";
    /// Loads return in order (GFX10).
    enable_mem_ordered = 48 [30, 1] false "enable_mem_ordered" "compute_pgm_rsrc1_mem_ordered";
    /// Every wave advances (GFX10).
    enable_fwd_progress = 48 [31, 1] false "enable_fwd_progress" "compute_pgm_rsrc1_fwd_progress";
    /// The wave's scratch offset in an SGPR.
    enable_sgpr_private_segment_wave_byte_offset = 52 [0, 1] false
        "enable_sgpr_private_segment_wave_byte_offset" "compute_pgm_rsrc2_scratch_en";
    /// SGPRs that the command processor fills.
    user_sgpr_count = 52 [1, 5] false "user_sgpr_count" "compute_pgm_rsrc2_user_sgpr";
    /// A trap handler is installed; set by the command processor.
    enable_trap_handler = 52 [6, 1] false "enable_trap_handler" "compute_pgm_rsrc2_trap_handler";
    /// Work-group id X in an SGPR.
    enable_sgpr_workgroup_id_x = 52 [7, 1] false "enable_sgpr_workgroup_id_x" "compute_pgm_rsrc2_tgid_x_en";
    /// Work-group id Y in an SGPR.
    enable_sgpr_workgroup_id_y = 52 [8, 1] false "enable_sgpr_workgroup_id_y" "compute_pgm_rsrc2_tgid_y_en";
    /// Work-group id Z in an SGPR.
    enable_sgpr_workgroup_id_z = 52 [9, 1] false "enable_sgpr_workgroup_id_z" "compute_pgm_rsrc2_tgid_z_en";
    /// Number and size of waves in an SGPR.
    enable_sgpr_workgroup_info = 52 [10, 1] false "enable_sgpr_workgroup_info" "compute_pgm_rsrc2_tg_size_en";
    /// Work-item ids in VGPRs: 0 X, 1 X and Y, 2 all.
    enable_vgpr_workitem_id = 52 [11, 2] false "enable_vgpr_workitem_id" "compute_pgm_rsrc2_tidig_comp_cnt";
    /// Exceptions of address watch and memory violation.
    enable_exception_msb = 52 [13, 2] false "enable_exception_msb" "compute_pgm_rsrc2_excp_en_msb";
    /// LDS granules; on HSA set by the command processor from the dispatch packet.
    granulated_lds_size = 52 [15, 9] false "granulated_lds_size" "compute_pgm_rsrc2_lds_size";
    /// Exceptions of arithmetic.
    enable_exception = 52 [24, 7] false "enable_exception" "compute_pgm_rsrc2_excp_en";
    /// Scratch resource in user SGPRs.
    enable_sgpr_private_segment_buffer = 56 [0, 1] false "enable_sgpr_private_segment_buffer" "";
    /// Dispatch packet pointer in user SGPRs.
    enable_sgpr_dispatch_ptr = 56 [1, 1] false "enable_sgpr_dispatch_ptr" "";
    /// Queue pointer in user SGPRs.
    enable_sgpr_queue_ptr = 56 [2, 1] false "enable_sgpr_queue_ptr" "";
    /// Kernarg segment pointer in user SGPRs.
    enable_sgpr_kernarg_segment_ptr = 56 [3, 1] false "enable_sgpr_kernarg_segment_ptr" "";
    /// Dispatch id in user SGPRs.
    enable_sgpr_dispatch_id = 56 [4, 1] false "enable_sgpr_dispatch_id" "";
    /// Flat scratch initialisation values in user SGPRs.
    enable_sgpr_flat_scratch_init = 56 [5, 1] false "enable_sgpr_flat_scratch_init" "";
    /// Scratch size of a lane in a user SGPR.
    enable_sgpr_private_segment_size = 56 [6, 1] false "enable_sgpr_private_segment_size" "";
    /// Number of work-groups in X in a user SGPR; no firmware does it.
    enable_sgpr_grid_workgroup_count_x = 56 [7, 1] false "enable_sgpr_grid_workgroup_count_x" "";
    /// Number of work-groups in Y in a user SGPR; no firmware does it.
    enable_sgpr_grid_workgroup_count_y = 56 [8, 1] false "enable_sgpr_grid_workgroup_count_y" "";
    /// Number of work-groups in Z in a user SGPR; no firmware does it.
    enable_sgpr_grid_workgroup_count_z = 56 [9, 1] false "enable_sgpr_grid_workgroup_count_z" "";
    /// Waves have 32 lanes (GFX10).
    enable_wavefront_size32 = 56 [10, 1] false "enable_wavefront_size32" "";
    /// Ordered append through GDS.
    enable_ordered_append_gds = 56 [16, 1] false "enable_ordered_append_gds" "";
    /// Interleaving of scratch: 0 2 bytes, 1 4, 2 8, 3 16.
    private_element_size = 56 [17, 2] false "private_element_size" "";
    /// Pointers have 64 bits.
    is_ptr64 = 56 [19, 1] false "is_ptr64" "";
    /// The stack's size is not known statically.
    is_dynamic_callstack = 56 [20, 1] false "is_dynamic_callstack" "";
    /// Registers are reserved for a debugger.
    is_debug_enabled = 56 [21, 1] false "is_debug_enabled" "";
    /// The code may run with replay of page faults.
    is_xnack_enabled = 56 [22, 1] false "is_xnack_enabled" "";
    /// Scratch bytes of a lane.
    workitem_private_segment_byte_size = 60 [0, 32] false "workitem_private_segment_byte_size" "";
    /// Static LDS bytes of a work-group.
    workgroup_group_segment_byte_size = 64 [0, 32] false "workgroup_group_segment_byte_size" "";
    /// GDS bytes.
    gds_segment_byte_size = 68 [0, 32] false "gds_segment_byte_size" "";
    /// Bytes of the kernarg segment.
    kernarg_segment_byte_size = 72 [0, 64] false "kernarg_segment_byte_size" "";
    /// Fine-grained barriers, which HSAIL has.
    workgroup_fbarrier_count = 80 [0, 32] false "workgroup_fbarrier_count" "";
    /// SGPRs, specials included.
    wavefront_sgpr_count = 84 [0, 16] false "wavefront_sgpr_count" "";
    /// VGPRs.
    workitem_vgpr_count = 86 [0, 16] false "workitem_vgpr_count" "";
    /// First VGPR that the kernel leaves alone.
    reserved_vgpr_first = 88 [0, 16] false "reserved_vgpr_first" "";
    /// How many.
    reserved_vgpr_count = 90 [0, 16] false "reserved_vgpr_count" "";
    /// First SGPR that the kernel leaves alone.
    reserved_sgpr_first = 92 [0, 16] false "reserved_sgpr_first" "";
    /// How many.
    reserved_sgpr_count = 94 [0, 16] false "reserved_sgpr_count" "";
    /// SGPR of the wave's scratch offset, for debuggers.
    debug_wavefront_private_segment_offset_sgpr = 96 [0, 16] false "debug_wavefront_private_segment_offset_sgpr" "";
    /// First SGPR of the scratch resource, for debuggers.
    debug_private_segment_buffer_sgpr = 98 [0, 16] false "debug_private_segment_buffer_sgpr" "";
    /// Alignment of the kernarg segment, as a power of two; at least 4.
    kernarg_segment_alignment = 100 [0, 8] false "kernarg_segment_alignment" "";
    /// Alignment of LDS, as a power of two; at least 4.
    group_segment_alignment = 101 [0, 8] false "group_segment_alignment" "";
    /// Alignment of scratch, as a power of two; at least 4.
    private_segment_alignment = 102 [0, 8] false "private_segment_alignment" "";
    /// Lanes of a wave, as a power of two.
    wavefront_size = 103 [0, 8] false "wavefront_size" "";
    /// Convention of indirect calls; -1 without.
    call_convention = 104 [0, 32] true "call_convention" "";
    /// The loader's symbol of the kernel; 0 in files.
    runtime_loader_kernel_symbol = 120 [0, 64] false "runtime_loader_kernel_symbol" "";
}

impl KernelCode {
    /// What fields are that nobody mentions: as LLVM's assembler has it.
    pub fn new(target: &Target) -> Self {
        let [major, minor, stepping] = target.processor.isa_version();
        Self {
            amd_code_version_major: 1,
            amd_code_version_minor: 2,
            amd_machine_kind: 1,
            amd_machine_version_major: major.into(),
            amd_machine_version_minor: minor.into(),
            amd_machine_version_stepping: stepping.into(),
            kernel_code_entry_byte_offset: HEADER_BYTES as u64,
            kernarg_segment_alignment: 4,
            group_segment_alignment: 4,
            private_segment_alignment: 4,
            wavefront_size: target.wave_size().trailing_zeros().into(),
            call_convention: u64::from(u32::MAX),
            ..Self::zero()
        }
    }

    /// The header of a finished kernel with `descriptor`.
    ///
    /// # Errors
    /// Values that their fields cannot hold ([`crate::ErrorKind::Limit`]).
    pub fn for_kernel(function: &Function, descriptor: &KernelDescriptor, target: &Target) -> Result<Self> {
        let counts = RegisterCounts::of_kernel(function, target);
        let mut out = Self::new(target);
        out.set_registers(descriptor)?;
        let sgprs = if target.has(Features::SGPR_INIT_BUG) { FIXED_SGPRS } else { counts.sgprs() };
        let kernarg_align = function.kernarg.align_bytes.max(16).trailing_zeros();
        Ok(Self {
            private_element_size: element_code(target.private_element_bytes.into()).into(),
            is_ptr64: 1,
            enable_wavefront_size32: u64::from(target.wave() == WaveSize::W32),
            is_dynamic_callstack: u64::from(function.dynamic_stack),
            is_xnack_enabled: u64::from(target.has(Features::XNACK)),
            workitem_private_segment_byte_size: function.resources.scratch_bytes.into(),
            workgroup_group_segment_byte_size: function.lds.size_bytes.into(),
            kernarg_segment_byte_size: function.kernarg.size_bytes.into(),
            wavefront_sgpr_count: sgprs.into(),
            workitem_vgpr_count: counts.vgprs.into(),
            kernarg_segment_alignment: kernarg_align.into(),
            ..out
        })
    }

    /// Takes over the registers `COMPUTE_PGM_RSRC1` and `2` and the user SGPRs of a descriptor, which have the same bits.
    ///
    /// # Errors
    /// Those of [`KernelDescriptor::pack`].
    pub fn set_registers(&mut self, descriptor: &KernelDescriptor) -> Result<()> {
        let packed = descriptor.pack()?;
        let mut bytes = self.pack()?;
        bytes[48..56].copy_from_slice(&packed[48..56]);
        bytes[56] = bytes[56] & !USER_SGPR_BITS | packed[56] & USER_SGPR_BITS;
        *self = Self::unpack(&bytes)?;
        Ok(())
    }

    /// The descriptor that starts the same waves; its entry is relative to the header.
    ///
    /// # Errors
    /// Bits that a descriptor does not have ([`crate::ErrorKind::Malformed`]).
    pub fn descriptor(&self) -> Result<KernelDescriptor> {
        let header = self.pack()?;
        let mut bytes = [0; DESCRIPTOR_BYTES];
        // LDS, scratch and kernarg bytes; the entry; registers.
        for (to, from, count) in [(0, 64, 4), (4, 60, 4), (8, 72, 4), (16, 16, 8), (48, 48, 8)] {
            bytes[to..to + count].copy_from_slice(&header[from..from + count]);
        }
        bytes[56] = header[56] & USER_SGPR_BITS;
        let descriptor = KernelDescriptor::unpack(&bytes)?;
        Ok(KernelDescriptor { wavefront_size32: self.enable_wavefront_size32 as u32, ..descriptor })
    }

    /// The 256 bytes. Values wider than their field are an error ([`crate::ErrorKind::Limit`]).
    pub fn pack(&self) -> Result<[u8; HEADER_BYTES]> {
        let mut bytes = [0; HEADER_BYTES];
        for (field, value) in Self::FIELDS.iter().zip(self.values()) {
            if value & !field.mask() != 0 {
                return Err(Diagnostic::limit(format!(
                    "{} = {value} does not fit the {} bits of its field of amd_kernel_code_t",
                    field.name, field.width
                )));
            }
            let shifted = (value << field.shift).to_le_bytes();
            let place = &mut bytes[field.offset_bytes..field.offset_bytes + field.bytes()];
            place.iter_mut().zip(shifted).for_each(|(byte, more)| *byte |= more);
        }
        bytes[DIRECTIVES_AT..].copy_from_slice(&self.control_directives);
        Ok(bytes)
    }

    /// Reads a header back.
    ///
    /// # Errors
    /// Another version of the layout, reserved bits that are set ([`crate::ErrorKind::Malformed`]).
    pub fn unpack(bytes: &[u8; HEADER_BYTES]) -> Result<Self> {
        let values: Vec<u64> = Self::FIELDS
            .iter()
            .map(|field| {
                let mut word = [0; 8];
                let count = field.bytes();
                word[..count].copy_from_slice(&bytes[field.offset_bytes..field.offset_bytes + count]);
                u64::from_le_bytes(word) >> field.shift & field.mask()
            })
            .collect();
        let mut out = Self::zero();
        out.set_values(&values);
        out.control_directives.copy_from_slice(&bytes[DIRECTIVES_AT..]);
        if out.amd_code_version_major != 1 {
            return Err(Diagnostic::malformed(format!(
                "amd_kernel_code_t of version {}, not 1",
                out.amd_code_version_major
            )));
        }
        let again = out.pack()?;
        match (0..HEADER_BYTES).find(|&i| again[i] != bytes[i]) {
            None => Ok(out),
            Some(i) => Err(Diagnostic::malformed(format!(
                "reserved bits {:#04x} are set in byte {i} of an amd_kernel_code_t",
                bytes[i] ^ again[i]
            ))),
        }
    }
}

/// Bits of byte 56 that enable user SGPRs, in descriptors and here.
const USER_SGPR_BITS: u8 = 0x7f;

/// Names of instruction sets of V2: the processor's, then the name without and with replay of page faults, which V2 knows as processors of
/// their own; nothing where there was none. Source: usage guide, "Code Object V2", "AMDGPU Processors"; llc 14.
#[rustfmt::skip]
const V2_NAMES: &[(&str, Option<&str>, Option<&str>)] = &[
    ("generic-hsa", Some("gfx700"), Some("gfx700")),
    ("gfx600", Some("gfx600"), Some("gfx600")),
    ("gfx601", Some("gfx601"), Some("gfx601")),
    ("gfx602", Some("gfx602"), Some("gfx602")),
    ("gfx700", Some("gfx700"), Some("gfx700")),
    ("gfx701", Some("gfx701"), Some("gfx701")),
    ("gfx702", Some("gfx702"), Some("gfx702")),
    ("gfx703", Some("gfx703"), Some("gfx703")),
    ("gfx704", Some("gfx704"), Some("gfx704")),
    ("gfx705", Some("gfx705"), Some("gfx705")),
    ("gfx801", None,           Some("gfx801")),
    ("gfx802", Some("gfx802"), Some("gfx802")),
    ("gfx803", Some("gfx803"), Some("gfx803")),
    ("gfx805", Some("gfx805"), Some("gfx805")),
    ("gfx810", None,           Some("gfx810")),
    ("gfx900", Some("gfx900"), Some("gfx901")),
    ("gfx902", Some("gfx902"), Some("gfx903")),
    ("gfx904", Some("gfx904"), Some("gfx905")),
    ("gfx906", Some("gfx906"), Some("gfx907")),
    ("gfx90c", Some("gfx90c"), None),
];

/// The name by which V2 knows the instruction set of `target`.
///
/// # Errors
/// A processor, or a setting of replay, that V2 has no name for ([`crate::ErrorKind::Unsupported`]).
pub fn v2_isa(target: &Target) -> Result<&'static str> {
    let processor = target.processor.name;
    let xnack = target.has(Features::XNACK);
    let Some(&(_, without, with)) = V2_NAMES.iter().find(|row| row.0 == processor) else {
        return Err(Diagnostic::unsupported(format!("code object V2 does not know {processor}")));
    };
    (if xnack { with } else { without }).ok_or_else(|| {
        let setting = if xnack { "with" } else { "without" };
        Diagnostic::unsupported(format!("code object V2 does not know {processor} {setting} xnack"))
    })
}

/// The processor whose instruction set V2 calls `name`, and whether that name stands for replay of page faults, where it tells.
pub fn v2_processor(name: &str) -> Option<(&'static str, Option<bool>)> {
    let &(processor, without, with) =
        V2_NAMES.iter().rev().find(|(_, without, with)| *without == Some(name) || *with == Some(name))?;
    let tells = without != with;
    Some((processor, tells.then_some(with == Some(name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{self, CallConv};
    use crate::machine::{EntryValue, Resources};
    use cranelift_entity::EntityRef;

    fn target(name: &str) -> Target {
        Target::new(Target::processor_by_name(name).expect("a processor of the table"))
    }

    #[test]
    fn fields_do_not_overlap_and_have_one_meaning() {
        let mut seen = [0u8; HEADER_BYTES];
        let mut keys = std::collections::HashSet::new();
        for field in KernelCode::FIELDS {
            let bits = (field.mask() << field.shift).to_le_bytes();
            for (slot, bits) in seen[field.offset_bytes..].iter_mut().zip(&bits[..field.bytes()]) {
                assert_eq!(*slot & bits, 0, "{}", field.name);
                *slot |= bits;
            }
            for key in [field.key, field.other_key].into_iter().filter(|key| !key.is_empty()) {
                assert!(keys.insert(key), "{key}");
            }
        }
        assert!(seen[DIRECTIVES_AT..].iter().chain(&seen[108..120]).all(|bits| *bits == 0));
        assert_eq!([seen[51], seen[55], seen[57], seen[58], seen[59]], [0xe3, 0x7f, 0x07, 0x7f, 0]);
    }

    /// The bytes that llc 14 writes for a kernel of gfx900 with scratch, LDS and arguments.
    #[test]
    fn header_agrees_with_llc() {
        let source = ir::Function::new("k", CallConv::Kernel, ir::Type::Void);
        let mut f = Function::new("k", CallConv::Kernel, ir::Func::new(0));
        for value in [
            EntryValue::PrivateSegmentBuffer,
            EntryValue::KernargSegmentPtr,
            EntryValue::FlatScratchInit,
            EntryValue::WorkgroupIdX,
            EntryValue::ScratchWaveOffset,
            EntryValue::WorkitemIdX,
        ] {
            f.entry.request(value, None);
        }
        f.resources = Resources { sgprs: 10, vgprs: 3, scratch_bytes: 20, ..Default::default() };
        f.lds.size_bytes = 64;
        f.kernarg.size_bytes = 56;
        f.kernarg.align_bytes = 16;
        let target = target("gfx900");
        let descriptor = KernelDescriptor::for_kernel(&f, &source, &target).expect("fits");
        let code = KernelCode::for_kernel(&f, &descriptor, &target).expect("fits");
        let bytes = code.pack().expect("fits");
        let dwords: Vec<(usize, u32)> = (0..HEADER_BYTES)
            .step_by(4)
            .map(|at| (at, u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])))
            .filter(|&(_, word)| word != 0)
            .collect();
        let wanted = [
            (0, 1),
            (4, 2),
            (8, 0x0009_0001),
            (16, 256),
            (48, 0x00af_0000),
            (52, 0x91),
            (56, 0x000a_0029),
            (60, 20),
            (64, 64),
            (72, 56),
            (84, 0x0003_000a),
            (100, 0x0604_0404),
            (104, 0xffff_ffff),
        ];
        assert_eq!(dwords, wanted);
        assert_eq!(KernelCode::unpack(&bytes), Ok(code));
        let back = code.descriptor().expect("the same registers");
        assert_eq!(
            back,
            KernelDescriptor { kernel_code_entry_byte_offset: 256, kernarg_size: 56, ..descriptor }
        );
    }

    /// What starts a wave of GFX10 learns of its size from the header alone.
    #[test]
    fn waves_of_32_lanes_are_in_the_header() {
        let f = Function::new("k", CallConv::Kernel, ir::Func::new(0));
        let mut target = target("gfx1030");
        for small in [1, 0] {
            target.features.set(Features::WAVEFRONTSIZE32, small == 1);
            let code = KernelCode::for_kernel(&f, &KernelDescriptor::default(), &target).expect("fits");
            assert_eq!((code.enable_wavefront_size32, code.wavefront_size), (small, 6 - small));
            assert_eq!(u64::from(code.descriptor().expect("fits").wavefront_size32), small);
        }
    }

    #[test]
    fn every_field_keeps_its_value_apart_from_the_others() {
        let base = KernelCode::new(&target("gfx803"));
        for i in 1..KernelCode::FIELDS.len() {
            let mut values = base.values();
            values[i] ^= KernelCode::FIELDS[i].mask();
            let mut code = base;
            code.set_values(&values);
            let bytes = code.pack().expect("fits");
            assert_eq!(KernelCode::unpack(&bytes), Ok(code), "{}", KernelCode::FIELDS[i].name);
        }
        let directives = KernelCode { control_directives: [7; 128], ..base };
        assert_eq!(KernelCode::unpack(&directives.pack().expect("fits")), Ok(directives));
    }

    #[test]
    fn reserved_bits_other_versions_and_wide_values_are_refused() {
        let base = KernelCode::new(&target("gfx900"));
        let mut bytes = base.pack().expect("fits");
        bytes[110] = 1;
        assert!(KernelCode::unpack(&bytes).expect_err("reserved").message.contains("byte 110"));
        assert!(KernelCode::unpack(&[0; HEADER_BYTES]).expect_err("version 0").message.contains("version 0"));
        let wide = KernelCode { user_sgpr_count: 32, ..base };
        assert!(wide.pack().expect_err("five bits").message.contains("user_sgpr_count"));
        let convention = KernelCode::FIELDS.iter().find(|f| f.name == "call_convention").expect("a field");
        assert_eq!(
            (convention.encode(-1), convention.encode(1 << 32), convention.decode(0xffff_ffff)),
            (Some(0xffff_ffff), None, -1)
        );
    }

    #[test]
    fn instruction_sets_have_names_of_their_own() {
        let name = |processor: &str, xnack: bool| {
            let mut target = target(processor);
            target.features.set(Features::XNACK, xnack);
            v2_isa(&target).ok()
        };
        assert_eq!([name("gfx900", false), name("gfx900", true)], [Some("gfx900"), Some("gfx901")]);
        assert_eq!([name("gfx801", false), name("gfx801", true)], [None, Some("gfx801")]);
        assert_eq!(
            [name("gfx90c", false), name("gfx90c", true), name("gfx909", false)],
            [Some("gfx90c"), None, None]
        );
        assert_eq!(name("generic-hsa", false), Some("gfx700"));
        assert_eq!(v2_processor("gfx901"), Some(("gfx900", Some(true))));
        assert_eq!(v2_processor("gfx700"), Some(("gfx700", None)));
        assert_eq!(v2_processor("gfx909"), None);
        assert!(V2_NAMES.iter().all(|row| Target::processor_by_name(row.0).is_some()));
    }
}
