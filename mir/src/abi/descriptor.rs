//! The kernel descriptor of code objects V3 and later: 64 bytes that tell the command processor how to start a wave.
//!
//! [`KernelDescriptor`] has one member a bit field; the macro below lists them once, with their place, and makes the struct,
//! [`KernelDescriptor::FIELDS`], packing and unpacking from that list. All bits outside the list are reserved and zero.
//!
//! Sources: AMDGPU usage guide, "Kernel Descriptor" (GFX6-GFX9) and "Initial Kernel Execution State".

use super::FloatMode;
use crate::ir;
use crate::machine::{EntryValue, Function, Resources};
use crate::target::{FIXED_SGPRS, Features, Target, WaveSize};
use crate::{Diagnostic, Result};

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 64;

/// Byte offset of the relocated entry offset in a descriptor.
pub const ENTRY_OFFSET_BYTES: u64 = 16;

/// Place of a bit field in the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Name of the member.
    pub name: &'static str,
    /// `.amdhsa_` directive that sets it, without the prefix; empty where the assembler derives it or there is none.
    pub directive: &'static str,
    /// Byte offset of the dword that holds it.
    pub offset_bytes: usize,
    /// Lowest bit.
    pub shift: u32,
    /// Bits.
    pub width: u32,
}

impl BitField {
    fn mask(&self) -> u32 {
        ((1u64 << self.width) - 1) as u32
    }

    /// Abilities without which the bits are reserved.
    pub fn requires(&self) -> Features {
        match self.name {
            "fp16_ovfl" => Features::FP16_OVERFLOW,
            "shared_vgpr_count"
            | "workgroup_processor_mode"
            | "memory_ordered"
            | "forward_progress"
            | "wavefront_size32" => Features::WORKGROUP_PROCESSORS,
            _ => Features::empty(),
        }
    }
}

macro_rules! descriptor {
    ($($(#[doc = $doc:literal])* $name:ident = $offset:literal [$shift:literal, $width:literal] $directive:literal;)*) => {
        /// A kernel descriptor by its fields; see [`Self::FIELDS`] for their places.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct KernelDescriptor {
            /// Address of the kernel's entry minus the address of the descriptor; set by relocation in objects.
            pub kernel_code_entry_byte_offset: i64,
            $($(#[doc = $doc])* pub $name: u32,)*
        }

/// Attribute of a kernel whose descriptor has the size of its arguments in V3, too, where the guide has zeros and LLVM wrote it.
pub const KERNARG_SIZE_ATTRIBUTE: &str = "gcnc-kernarg-size";

        impl KernelDescriptor {
            /// Every field but the 64-bit entry offset, in the order of the descriptor.
            pub const FIELDS: &'static [BitField] = &[$(BitField {
                name: stringify!($name), directive: $directive, offset_bytes: $offset, shift: $shift, width: $width,
            },)*];

            /// Values in the order of [`Self::FIELDS`].
            pub fn values(&self) -> Vec<u32> {
                vec![$(self.$name,)*]
            }

            /// The descriptor with these values, in the order of [`Self::FIELDS`].
            pub fn from_values(values: &[u32]) -> Self {
                let mut out = Self::default();
                out.set_values(values);
                out
            }

            fn set_values(&mut self, values: &[u32]) {
                let mut values = values.iter().copied();
                $(self.$name = values.next().unwrap_or(0);)*
            }
        }
    };
}

descriptor! {
    /// Static LDS bytes of a work-group.
    group_segment_fixed_size = 0 [0, 32] "group_segment_fixed_size";
    /// Scratch bytes of a lane.
    private_segment_fixed_size = 4 [0, 32] "private_segment_fixed_size";
    /// Bytes of the kernarg segment; reserved in V3.
    kernarg_size = 8 [0, 32] "kernarg_size";
    /// VGPRs that both halves of a wave of 64 lanes share, in granules of eight (GFX10).
    shared_vgpr_count = 44 [0, 4] "shared_vgpr_count";
    /// Allocated VGPRs in granules, minus one.
    vgpr_blocks = 48 [0, 6] "";
    /// Allocated SGPRs in granules of eight, minus one.
    sgpr_blocks = 48 [6, 4] "";
    /// Wave priority; set by the command processor.
    priority = 48 [10, 2] "";
    /// Rounding of 32-bit floats: 0 nearest even, 1 up, 2 down, 3 toward zero.
    float_round_mode_32 = 48 [12, 2] "float_round_mode_32";
    /// Rounding of 16- and 64-bit floats.
    float_round_mode_16_64 = 48 [14, 2] "float_round_mode_16_64";
    /// Denormals of 32-bit floats: 0 flush both, 1 flush results, 2 flush sources, 3 keep.
    float_denorm_mode_32 = 48 [16, 2] "float_denorm_mode_32";
    /// Denormals of 16- and 64-bit floats.
    float_denorm_mode_16_64 = 48 [18, 2] "float_denorm_mode_16_64";
    /// Privileged; set by the command processor.
    priv_mode = 48 [20, 1] "";
    /// `clamp` turns NaN into 0.
    dx10_clamp = 48 [21, 1] "dx10_clamp";
    /// Single-step; set by the command processor.
    debug_mode = 48 [22, 1] "";
    /// IEEE-754 2008 treatment of signalling NaNs.
    ieee_mode = 48 [23, 1] "ieee_mode";
    /// One work-group a compute unit; set by the command processor.
    bulky = 48 [24, 1] "";
    /// User-defined debug bit; set by the command processor.
    cdbg_user = 48 [25, 1] "";
    /// 16-bit overflow saturates (GFX9 and later).
    fp16_ovfl = 48 [26, 1] "fp16_overflow";
    /// Work-groups run on both compute units of a work-group processor (GFX10).
    workgroup_processor_mode = 48 [29, 1] "workgroup_processor_mode";
    /// Memory operations of a wave end in their order (GFX10).
    memory_ordered = 48 [30, 1] "memory_ordered";
    /// Every wave advances, not only the oldest (GFX10).
    forward_progress = 48 [31, 1] "forward_progress";
    /// Scratch wave offset is passed in a system SGPR, and scratch is set up.
    private_segment_wavefront_offset = 52 [0, 1] "system_sgpr_private_segment_wavefront_offset";
    /// Number of user SGPRs.
    user_sgpr_count = 52 [1, 5] "user_sgpr_count";
    /// Trap handler present; set by the command processor.
    trap_handler = 52 [6, 1] "";
    /// Work-group id X in a system SGPR.
    workgroup_id_x = 52 [7, 1] "system_sgpr_workgroup_id_x";
    /// Work-group id Y in a system SGPR.
    workgroup_id_y = 52 [8, 1] "system_sgpr_workgroup_id_y";
    /// Work-group id Z in a system SGPR.
    workgroup_id_z = 52 [9, 1] "system_sgpr_workgroup_id_z";
    /// Work-group information in a system SGPR.
    workgroup_info = 52 [10, 1] "system_sgpr_workgroup_info";
    /// Work-item ids in VGPRs: 0 X, 1 X and Y, 2 X, Y and Z.
    vgpr_workitem_id = 52 [11, 2] "system_vgpr_workitem_id";
    /// Address watch exceptions; set by the command processor.
    exception_address_watch = 52 [13, 1] "";
    /// Memory violation exceptions; set by the command processor.
    exception_memory = 52 [14, 1] "";
    /// LDS granules; set by the command processor from the dispatch packet.
    granulated_lds_size = 52 [15, 9] "";
    /// Invalid operation exceptions.
    exception_fp_ieee_invalid_op = 52 [24, 1] "exception_fp_ieee_invalid_op";
    /// Denormal source exceptions.
    exception_fp_denorm_src = 52 [25, 1] "exception_fp_denorm_src";
    /// Division by zero exceptions.
    exception_fp_ieee_div_zero = 52 [26, 1] "exception_fp_ieee_div_zero";
    /// Overflow exceptions.
    exception_fp_ieee_overflow = 52 [27, 1] "exception_fp_ieee_overflow";
    /// Underflow exceptions.
    exception_fp_ieee_underflow = 52 [28, 1] "exception_fp_ieee_underflow";
    /// Inexact exceptions.
    exception_fp_ieee_inexact = 52 [29, 1] "exception_fp_ieee_inexact";
    /// Integer division by zero exceptions.
    exception_int_div_zero = 52 [30, 1] "exception_int_div_zero";
    /// Scratch resource in user SGPRs.
    sgpr_private_segment_buffer = 56 [0, 1] "user_sgpr_private_segment_buffer";
    /// Dispatch packet pointer in user SGPRs.
    sgpr_dispatch_ptr = 56 [1, 1] "user_sgpr_dispatch_ptr";
    /// Queue pointer in user SGPRs.
    sgpr_queue_ptr = 56 [2, 1] "user_sgpr_queue_ptr";
    /// Kernarg segment pointer in user SGPRs.
    sgpr_kernarg_segment_ptr = 56 [3, 1] "user_sgpr_kernarg_segment_ptr";
    /// Dispatch id in user SGPRs.
    sgpr_dispatch_id = 56 [4, 1] "user_sgpr_dispatch_id";
    /// Flat scratch initialisation values in user SGPRs.
    sgpr_flat_scratch_init = 56 [5, 1] "user_sgpr_flat_scratch_init";
    /// Scratch size of a lane in a user SGPR.
    sgpr_private_segment_size = 56 [6, 1] "user_sgpr_private_segment_size";
    /// Waves have 32 lanes (GFX10).
    wavefront_size32 = 56 [10, 1] "wavefront_size32";
    /// The stack's size is not known statically (V5 and later; LLVM writes it in V4 too).
    uses_dynamic_stack = 56 [11, 1] "";
}

impl KernelDescriptor {
    /// The 64 bytes. Values wider than their field are an error ([`crate::ErrorKind::Limit`]).
    pub fn pack(&self) -> Result<[u8; DESCRIPTOR_BYTES]> {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        for (field, value) in Self::FIELDS.iter().zip(self.values()) {
            if value & !field.mask() != 0 {
                return Err(Diagnostic::limit(format!(
                    "{} = {value} does not fit the {} bits of its kernel descriptor field",
                    field.name, field.width
                )));
            }
            let place = field.offset_bytes..field.offset_bytes + 4;
            let old = read_dword(&bytes, field.offset_bytes);
            bytes[place].copy_from_slice(&(old | value << field.shift).to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.kernel_code_entry_byte_offset.to_le_bytes());
        Ok(bytes)
    }

    /// Reads a descriptor of GFX6 to GFX9 back. Reserved bits that are set are an error ([`crate::ErrorKind::Malformed`]).
    pub fn unpack(bytes: &[u8; DESCRIPTOR_BYTES]) -> Result<Self> {
        Self::unpack_with(bytes, Features::FP16_OVERFLOW)
    }

    /// The same for `target`.
    ///
    /// # Errors
    /// As [`Self::unpack`].
    pub fn unpack_for(bytes: &[u8; DESCRIPTOR_BYTES], target: &Target) -> Result<Self> {
        // That saturation is reserved somewhere is for those to say who write directives.
        Self::unpack_with(bytes, target.features | Features::FP16_OVERFLOW)
    }

    fn unpack_with(bytes: &[u8; DESCRIPTOR_BYTES], features: Features) -> Result<Self> {
        let mut out = Self::default();
        let values: Vec<u32> = Self::FIELDS
            .iter()
            .map(|field| match features.contains(field.requires()) {
                true => read_dword(bytes, field.offset_bytes) >> field.shift & field.mask(),
                false => 0,
            })
            .collect();
        out.set_values(&values);
        let mut entry = [0; 8];
        entry.copy_from_slice(&bytes[16..24]);
        out.kernel_code_entry_byte_offset = i64::from_le_bytes(entry);
        let again = out.pack()?;
        match (0..DESCRIPTOR_BYTES).find(|&i| again[i] != bytes[i]) {
            None => Ok(out),
            Some(i) => Err(Diagnostic::malformed(format!(
                "reserved bits {:#04x} are set in byte {i} of a kernel descriptor",
                bytes[i] ^ again[i]
            ))),
        }
    }

    /// The descriptor of a finished kernel; the entry offset stays 0 for the relocation.
    ///
    /// Errors: more user SGPRs or registers than the hardware has ([`crate::ErrorKind::Limit`]).
    pub fn for_kernel(function: &Function, source: &ir::Function, target: &Target) -> Result<Self> {
        let fail = |diagnostic: Box<Diagnostic>| diagnostic.in_function(&function.name);
        let entry = &function.entry;
        let user_sgprs = entry.user_sgprs();
        if user_sgprs > 16 {
            let message = format!("{user_sgprs} user SGPRs are needed, the hardware initialises 16");
            return Err(fail(Diagnostic::limit(message)));
        }
        let counts = RegisterCounts::of_kernel(function, target);
        let has = |value| u32::from(entry.contains(value));
        let mode = FloatMode::of(source);
        Ok(Self {
            group_segment_fixed_size: function.lds.size_bytes,
            private_segment_fixed_size: function.resources.scratch_bytes,
            kernarg_size: match target.code_object_version >= 4
                || source.attribute(KERNARG_SIZE_ATTRIBUTE).is_some()
            {
                true => function.kernarg.size_bytes,
                false => 0,
            },
            vgpr_blocks: counts.vgpr_blocks(target).map_err(fail)?,
            sgpr_blocks: counts.sgpr_blocks(target).map_err(fail)?,
            float_denorm_mode_32: mode.single.field(),
            float_denorm_mode_16_64: mode.half_double.field(),
            dx10_clamp: u32::from(mode.dx10_clamp),
            ieee_mode: u32::from(mode.ieee),
            workgroup_processor_mode: u32::from(target.splits_work_groups()),
            memory_ordered: u32::from(target.has(Features::WORKGROUP_PROCESSORS)),
            forward_progress: u32::from(target.has(Features::WORKGROUP_PROCESSORS)),
            wavefront_size32: u32::from(target.wave() == WaveSize::W32),
            private_segment_wavefront_offset: has(EntryValue::ScratchWaveOffset),
            user_sgpr_count: user_sgprs,
            workgroup_id_x: has(EntryValue::WorkgroupIdX),
            workgroup_id_y: has(EntryValue::WorkgroupIdY),
            workgroup_id_z: has(EntryValue::WorkgroupIdZ),
            workgroup_info: has(EntryValue::WorkgroupInfo),
            vgpr_workitem_id: match (has(EntryValue::WorkitemIdZ), has(EntryValue::WorkitemIdY)) {
                (1, _) => 2,
                (_, y) => y,
            },
            sgpr_private_segment_buffer: has(EntryValue::PrivateSegmentBuffer),
            sgpr_dispatch_ptr: has(EntryValue::DispatchPtr),
            sgpr_queue_ptr: has(EntryValue::QueuePtr),
            sgpr_kernarg_segment_ptr: has(EntryValue::KernargSegmentPtr),
            sgpr_dispatch_id: has(EntryValue::DispatchId),
            sgpr_flat_scratch_init: has(EntryValue::FlatScratchInit),
            sgpr_private_segment_size: has(EntryValue::PrivateSegmentSize),
            ..Self::default()
        })
    }
}

fn read_dword(bytes: &[u8; DESCRIPTOR_BYTES], offset: usize) -> u32 {
    let mut dword = [0; 4];
    dword.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(dword)
}

/// Registers that a kernel must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterCounts {
    /// SGPRs by number, specials not counted.
    pub numbered_sgprs: u32,
    /// Specials at the end of the allocation: VCC, FLAT_SCRATCH, XNACK_MASK.
    pub extra_sgprs: u32,
    /// VGPRs.
    pub vgprs: u32,
}

impl RegisterCounts {
    /// What `function` uses, and at least the registers that its entry state fills.
    pub fn of_kernel(function: &Function, target: &Target) -> Self {
        let Resources { mut sgprs, mut vgprs, vcc, flat_scratch, .. } = function.resources;
        for (value, first, _) in function.entry.registers() {
            let dwords = u32::from(value.dwords());
            if let Some(n) = first.sgpr_index() {
                sgprs = sgprs.max(u32::from(n) + dwords);
            }
            if let Some(n) = first.vgpr_index() {
                vgprs = vgprs.max(u32::from(n) + dwords);
            }
        }
        Self { numbered_sgprs: sgprs, extra_sgprs: extra_sgprs(target, vcc, flat_scratch), vgprs }
    }

    /// SGPRs in all, what metadata calls `.sgpr_count`.
    pub fn sgprs(&self) -> u32 {
        self.numbered_sgprs + self.extra_sgprs
    }

    /// `GRANULATED_WORKITEM_VGPR_COUNT`. Source: usage guide, compute_pgm_rsrc1.
    pub fn vgpr_blocks(&self, target: &Target) -> Result<u32> {
        let limits = target.limits();
        if self.vgprs > limits.addressable_vgprs {
            let limit = limits.addressable_vgprs;
            return Err(Diagnostic::limit(format!(
                "{} VGPRs are used, the hardware has {limit}",
                self.vgprs
            )));
        }
        Ok(self.vgprs.div_ceil(limits.vgpr_block).saturating_sub(1))
    }

    /// `GRANULATED_WAVEFRONT_SGPR_COUNT`: always in units of eight, but rounded to the granule of allocation, which is
    /// sixteen on GFX9 (GFX8 allocates sixteen too, its field is not rounded). LLVM 16 and 22 leave out the rounding; the hardware then rounds.
    /// Source: usage guide, compute_pgm_rsrc1; ERRATA E5.
    pub fn sgpr_blocks(&self, target: &Target) -> Result<u32> {
        let limits = target.limits();
        let fixed = target.has(Features::SGPR_INIT_BUG);
        let limit = if fixed { FIXED_SGPRS } else { limits.addressable_sgprs };
        let within = fixed || limits.special_sgprs.within_limit > 0;
        let used = if within { self.sgprs() } else { self.numbered_sgprs };
        if used > limit {
            let message = format!("{used} SGPRs are used, {target} can address {limit}");
            return Err(Diagnostic::limit(message));
        }
        // Erratum of the first GFX8 processors: the SPI initialises SGPRs right only for this allocation.
        let count = if fixed { FIXED_SGPRS } else { self.sgprs() };
        Ok(limits.sgpr_blocks(count))
    }
}

/// SGPRs that VCC, FLAT_SCRATCH and XNACK_MASK take at the end of the allocation: a deeper one implies those above it.
///
/// Source: usage guide, "Code Object V3 Metadata" (`.sgpr_count`); order of the registers: ISA manuals, "SGPR allocation".
pub fn extra_sgprs(target: &Target, vcc: bool, flat_scratch: bool) -> u32 {
    let special = target.limits().special_sgprs;
    let used = |count, used: bool| if used { count } else { 0 };
    used(special.vcc, vcc)
        .max(used(special.xnack_mask, target.has(Features::XNACK)))
        .max(used(special.flat_scratch, flat_scratch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CallConv, Type};
    use cranelift_entity::EntityRef;

    fn target(name: &str) -> Target {
        Target::new(Target::processor_by_name(name).expect("a processor of the table"))
    }

    fn kernel() -> (Function, ir::Function) {
        let source = ir::Function::new("k", CallConv::Kernel, Type::Void);
        (Function::new("k", CallConv::Kernel, ir::Func::new(0)), source)
    }

    fn dword(bytes: &[u8; 64], offset: usize) -> u32 {
        read_dword(bytes, offset)
    }

    /// What the command processor is told of waves on GFX10: their lanes, whether work-groups are spread, order and progress.
    #[test]
    fn modes_of_gfx10() {
        let fields = |features: Features| {
            let base = target("gfx1010");
            let target = Target { features: base.features ^ features, ..base };
            let (mut f, source) = kernel();
            f.resources.vgprs = 9;
            f.resources.sgprs = 40;
            let d = KernelDescriptor::for_kernel(&f, &source, &target).expect("a descriptor");
            assert_eq!((d.memory_ordered, d.forward_progress, d.sgpr_blocks), (1, 1, 0));
            (d.wavefront_size32, d.workgroup_processor_mode, d.vgpr_blocks)
        };
        assert_eq!(fields(Features::empty()), (1, 1, 1));
        assert_eq!(fields(Features::WAVEFRONTSIZE32), (0, 1, 2));
        assert_eq!(fields(Features::CU_MODE), (1, 0, 1));
    }

    #[test]
    fn fields_do_not_overlap() {
        let mut seen = [0u32; 16];
        for field in KernelDescriptor::FIELDS {
            let bits = field.mask() << field.shift;
            assert_eq!(seen[field.offset_bytes / 4] & bits, 0, "{}", field.name);
            seen[field.offset_bytes / 4] |= bits;
        }
        assert_eq!((seen[4], seen[5]), (0, 0), "the entry offset has its own place");
    }

    /// The dwords that llc 16 writes for a kernel with scratch, kernarg pointer, flat scratch and one work-group id.
    #[test]
    fn scratch_kernel_agrees_with_llc() {
        let (mut f, source) = kernel();
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
        f.resources = Resources { sgprs: 10, vgprs: 3, scratch_bytes: 260, ..Default::default() };
        f.lds.size_bytes = 128;
        f.kernarg.size_bytes = 12;
        let descriptor = KernelDescriptor::for_kernel(&f, &source, &target("gfx900")).expect("fits");
        let bytes = descriptor.pack().expect("fits");
        let got = [0, 4, 8, 48, 52, 56].map(|offset| dword(&bytes, offset));
        assert_eq!(got, [0x80, 0x104, 0, 0x00af_0000, 0x91, 0x29]);
        assert_eq!(KernelDescriptor::unpack(&bytes), Ok(descriptor));
        let v4 = Target { code_object_version: 4, ..target("gfx900") };
        assert_eq!(KernelDescriptor::for_kernel(&f, &source, &v4).map(|d| d.kernarg_size), Ok(12));
        // In V3 only where it is asked for.
        let v3 = Target { code_object_version: 3, ..v4 };
        assert_eq!(KernelDescriptor::for_kernel(&f, &source, &v3).map(|d| d.kernarg_size), Ok(0));
        let mut asked = source.clone();
        asked.attributes.insert(KERNARG_SIZE_ATTRIBUTE.to_owned(), String::new());
        assert_eq!(KernelDescriptor::for_kernel(&f, &asked, &v3).map(|d| d.kernarg_size), Ok(12));
    }

    #[test]
    fn granules_follow_the_processor() {
        let blocks = |name: &str, numbered_sgprs, extra_sgprs| {
            RegisterCounts { numbered_sgprs, extra_sgprs, vgprs: 5 }.sgpr_blocks(&target(name)).expect("fits")
        };
        assert_eq!([0, 8, 9, 16, 17, 102].map(|n| blocks("gfx803", n, 0)), [0, 0, 1, 1, 2, 12]);
        assert_eq!([0, 8, 9, 16, 17, 102].map(|n| blocks("gfx900", n, 0)), [0, 0, 0, 0, 2, 12]);
        assert_eq!(blocks("gfx900", 102, 6), 12);
        assert_eq!(blocks("gfx802", 3, 0), 11);
        let counts = RegisterCounts { numbered_sgprs: 103, extra_sgprs: 0, vgprs: 257 };
        assert!(
            counts.sgpr_blocks(&target("gfx900")).is_err() && counts.vgpr_blocks(&target("gfx900")).is_err()
        );
        assert!(counts.sgpr_blocks(&target("gfx600")).is_ok());
        let with_specials = RegisterCounts { numbered_sgprs: 103, extra_sgprs: 2, vgprs: 1 };
        assert!(with_specials.sgpr_blocks(&target("gfx600")).is_err());
        let fixed = |numbered_sgprs| RegisterCounts { numbered_sgprs, extra_sgprs: 6, vgprs: 1 };
        assert!(
            fixed(90).sgpr_blocks(&target("gfx802")).is_ok()
                && fixed(91).sgpr_blocks(&target("gfx802")).is_err()
        );
        let vgprs = [0, 1, 4, 5, 256].map(|vgprs| {
            RegisterCounts { numbered_sgprs: 0, extra_sgprs: 0, vgprs }
                .vgpr_blocks(&target("gfx600"))
                .expect("fits")
        });
        assert_eq!(vgprs, [0, 0, 0, 1, 63]);
    }

    #[test]
    fn special_registers_nest() {
        let extra = |name: &str| {
            [(false, false), (true, false), (false, true), (true, true)]
                .map(|(v, f)| extra_sgprs(&target(name), v, f))
        };
        assert_eq!(extra("gfx600"), [0, 2, 0, 2]);
        assert_eq!(extra("gfx700"), [0, 2, 4, 4]);
        assert_eq!(extra("gfx900"), [0, 2, 6, 6]);
        assert_eq!(extra("gfx902"), [4, 4, 6, 6]);
    }

    #[test]
    fn reserved_bits_and_wide_values_are_refused() {
        let mut bytes = KernelDescriptor::default().pack().expect("zeros fit");
        bytes[40] = 1;
        let error = KernelDescriptor::unpack(&bytes).expect_err("byte 40 is reserved");
        assert!(error.message.contains("byte 40"), "{error}");
        let wide = KernelDescriptor { user_sgpr_count: 32, ..Default::default() };
        assert!(wide.pack().expect_err("five bits").message.contains("user_sgpr_count"));
    }
}
