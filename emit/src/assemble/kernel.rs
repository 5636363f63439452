//! `.amdhsa_kernel`: the directives that make a kernel descriptor.
//!
//! Values may depend on symbols that later lines define, so the descriptor is packed at the end; until then
//! 64 zero bytes hold its place. Defaults and the arithmetic of register blocks are those of LLVM's
//! assembler. The entry offset is the kernel's address minus the descriptor's.

use super::symbols::extra_sgprs;
use super::{Assembler, MAX_SECTION_BYTES, Origin, Place, Result, Value, fail};
use mir::abi::KernelDescriptor;
use mir::abi::descriptor::DESCRIPTOR_BYTES;
use mir::abi::metadata::target_id;
use mir::target::{FIXED_SGPRS, Features, SGPR_BLOCK, Target, WaveSize};
use object::elf as raw;

/// What a directive sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The bit field of this index.
    Bits(usize),
    /// First VGPR that is not used.
    NextFreeVgpr,
    /// First numbered SGPR that is not used.
    NextFreeSgpr,
    /// VCC is used.
    ReserveVcc,
    /// FLAT_SCRATCH is used.
    ReserveFlatScratch,
    /// XNACK_MASK is used.
    ReserveXnackMask,
}

/// The field that `.amdhsa_NAME` sets.
pub fn field(name: &str) -> Option<Field> {
    Some(match name {
        "next_free_vgpr" => Field::NextFreeVgpr,
        "next_free_sgpr" => Field::NextFreeSgpr,
        "reserve_vcc" => Field::ReserveVcc,
        "reserve_flat_scratch" => Field::ReserveFlatScratch,
        "reserve_xnack_mask" => Field::ReserveXnackMask,
        _ => {
            // A field that compilers of V3 never wrote has its directive's name from the start.
            let names = |f: &mir::abi::descriptor::BitField| match f.name {
                "uses_dynamic_stack" => f.name,
                _ => f.directive,
            };
            Field::Bits(KernelDescriptor::FIELDS.iter().position(|f| names(f) == name)?)
        }
    })
}

/// A kernel whose directives have been read.
#[derive(Clone, Debug)]
pub struct Kernel<'a> {
    /// The kernel's symbol.
    pub name: &'a str,
    /// Where its descriptor is.
    pub place: Place,
    /// The `.amdhsa_kernel` line.
    pub origin: Origin,
    fields: Vec<(Field, Value<'a>)>,
}

impl<'a> Kernel<'a> {
    /// Notes a directive.
    pub fn set(&mut self, field: Field, value: Value<'a>, at: usize, name: &str) -> Result {
        if self.fields.iter().any(|(old, _)| *old == field) {
            return fail(at, format!("{name} is given twice"));
        }
        self.fields.push((field, value));
        Ok(())
    }

    /// Applies `change` to every place in it.
    pub fn each_place(&mut self, change: &mut impl FnMut(&mut Place)) {
        change(&mut self.place);
        self.fields.iter_mut().for_each(|(_, value)| change(&mut value.here));
    }
}

impl<'a> Assembler<'a, '_> {
    pub(super) fn begin_kernel(&mut self, name: &'a str, origin: Origin) -> Result {
        let section = self.section();
        if section.is_nobits() || section.size() > MAX_SECTION_BYTES {
            return fail(origin.at, "no room for a kernel descriptor in this section");
        }
        let place = self.here();
        self.section().data.extend_from_slice(&[0; DESCRIPTOR_BYTES]);
        self.open_kernel = Some(Kernel { name, place, origin, fields: Vec::new() });
        Ok(())
    }

    pub(super) fn end_kernel(&mut self, at: usize) -> Result {
        let Some(kernel) = self.open_kernel.take() else { return Ok(()) };
        for (field, name) in [(Field::NextFreeVgpr, "vgpr"), (Field::NextFreeSgpr, "sgpr")] {
            if !kernel.fields.iter().any(|(given, _)| *given == field) {
                return fail(at, format!(".amdhsa_next_free_{name} directive is required"));
            }
        }
        let defined = self.symbols.define(format!("{}.kd", kernel.name), kernel.place);
        let id = defined.or_else(|message| fail(at, message))?;
        let symbol = self.symbols.of(id);
        symbol.kind = raw::STT_OBJECT;
        symbol.fixed_size = DESCRIPTOR_BYTES as u64;
        self.kernels.push(kernel);
        Ok(())
    }

    /// Packs the descriptor of `kernel`; every symbol has its value.
    pub(super) fn pack(
        &mut self,
        kernel: &Kernel<'a>,
    ) -> std::result::Result<[u8; DESCRIPTOR_BYTES], (Origin, String)> {
        let target = self.target;
        let mut values = vec![0; KernelDescriptor::FIELDS.len()];
        let index = |name: &str| {
            KernelDescriptor::FIELDS
                .iter()
                .position(|f| f.name == name)
                .expect("fields are called by their names")
        };
        for (name, default) in
            [("float_denorm_mode_16_64", 3), ("dx10_clamp", 1), ("ieee_mode", 1), ("workgroup_id_x", 1)]
        {
            values[index(name)] = default;
        }
        if target.has(Features::WORKGROUP_PROCESSORS) {
            for name in ["workgroup_processor_mode", "memory_ordered", "forward_progress"] {
                values[index(name)] = 1;
            }
            values[index("wavefront_size32")] = u32::from(target.wave() == WaveSize::W32);
        }
        // Where SGPRs are not counted, it does not matter what they are reserved for.
        let counts_sgprs = target.limits().sgpr_block_granule != 0;
        let (mut vgprs, mut sgprs) = (0, 0);
        let (mut vcc, mut flat_scratch) = (true, true);
        // On, or on and off: code that does not say runs with replay on, too.
        let mut xnack = target.has(Features::XNACK);
        let mut user_sgprs_given = None;
        for (field, value) in &kernel.fields {
            let wrong = |message: String| (value.origin, message);
            let sum = self.symbols.evaluate(value, &target).map_err(wrong)?;
            if sum.plus.is_some() || sum.minus.is_some() {
                return Err(wrong("expected an absolute expression".to_owned()));
            }
            let Ok(number) = u32::try_from(sum.constant) else {
                return Err(wrong(format!("value {} is out of range", sum.constant)));
            };
            let flag = || match number {
                0 | 1 => Ok(number == 1),
                _ => Err(wrong(format!("value {number} is not 0 or 1"))),
            };
            match *field {
                Field::NextFreeVgpr => vgprs = number,
                Field::NextFreeSgpr => sgprs = number,
                Field::ReserveVcc => vcc = flag()?,
                Field::ReserveFlatScratch if counts_sgprs && !target.flat_scratch_is_sgprs() => {
                    return Err(wrong(format!("flat_scratch does not exist on {target}")));
                }
                Field::ReserveFlatScratch => flat_scratch = flag()?,
                Field::ReserveXnackMask if counts_sgprs && !target.has(Features::XNACK_MASK) => {
                    return Err(wrong(format!("xnack_mask does not exist on {target}")));
                }
                Field::ReserveXnackMask => {
                    let reserved = flag()?;
                    // From V4 on the target id tells whether code may be replayed; an id of V3 may leave that to the kernel.
                    if target.code_object_version >= 4 && reserved != xnack {
                        return Err(wrong(format!(
                            "xnack_mask {number} does not match target {}",
                            target_id(&target)
                        )));
                    }
                    xnack = reserved;
                }
                Field::Bits(i) => {
                    let bits = &KernelDescriptor::FIELDS[i];
                    if bits.name == "user_sgpr_count" {
                        user_sgprs_given = Some(value.origin);
                    }
                    if !target.has(bits.requires()) {
                        return Err(wrong(format!("{} does not exist on {target}", bits.directive)));
                    }
                    if bits.width < 32 && number >> bits.width != 0 {
                        return Err(wrong(format!("value {number} does not fit {} bits", bits.width)));
                    }
                    values[i] = number;
                }
            }
        }
        let (count, enabled) = (index("user_sgpr_count"), user_sgprs(&values));
        match user_sgprs_given {
            None => values[count] = enabled,
            Some(origin) if values[count] < enabled => {
                return Err((origin, format!("{} user SGPRs, {enabled} are enabled", values[count])));
            }
            Some(_) => {}
        }
        let wrong = |message| (kernel.origin, message);
        let extra = extra_sgprs(&target, vcc, flat_scratch, xnack);
        let wave = if values[index("wavefront_size32")] != 0 { WaveSize::W32 } else { WaveSize::W64 };
        let (vgpr_blocks, sgpr_blocks) = blocks(vgprs, sgprs, extra, &target, wave).map_err(wrong)?;
        let shared = values[index("shared_vgpr_count")];
        if shared != 0 && wave == WaveSize::W32 {
            return Err(wrong("shared_vgpr_count: waves of 32 lanes share no VGPRs".to_owned()));
        }
        if shared != 0 && shared * 2 + vgpr_blocks > 63 {
            return Err(wrong(format!("shared_vgpr_count {shared} beside {vgprs} VGPRs: there are 512")));
        }
        values[index("vgpr_blocks")] = vgpr_blocks;
        values[index("sgpr_blocks")] = sgpr_blocks;
        KernelDescriptor::from_values(&values).pack().map_err(|error| wrong(error.message))
    }
}

/// User SGPRs that the enabled values take.
fn user_sgprs(values: &[u32]) -> u32 {
    const DWORDS: [(&str, u32); 7] = [
        ("sgpr_private_segment_buffer", 4),
        ("sgpr_dispatch_ptr", 2),
        ("sgpr_queue_ptr", 2),
        ("sgpr_kernarg_segment_ptr", 2),
        ("sgpr_dispatch_id", 2),
        ("sgpr_flat_scratch_init", 2),
        ("sgpr_private_segment_size", 1),
    ];
    let fields = KernelDescriptor::FIELDS.iter().zip(values);
    fields
        .filter_map(|(field, value)| Some(DWORDS.iter().find(|(name, _)| *name == field.name)?.1 * value))
        .sum()
}

/// The register blocks of a descriptor: granules of 4 VGPRs and 8 SGPRs, minus one.
fn blocks(
    vgprs: u32,
    sgprs: u32,
    extra: i64,
    target: &Target,
    wave: WaveSize,
) -> std::result::Result<(u32, u32), String> {
    let limits = target.limits();
    let limit = limits.addressable_sgprs;
    let too_many = |count| Err(format!("{count} SGPRs, {target} can address {limit}"));
    let initialised_wrong = target.has(Features::SGPR_INIT_BUG);
    let apart = limits.special_sgprs.within_limit == 0 && !initialised_wrong;
    let counted = limits.sgpr_block_granule != 0;
    if counted && apart && sgprs > limit {
        return too_many(sgprs);
    }
    let mut sgprs = sgprs.saturating_add(extra as u32);
    if !apart && sgprs > limit {
        return too_many(sgprs);
    }
    if initialised_wrong {
        sgprs = FIXED_SGPRS;
    }
    if vgprs > limits.addressable_vgprs {
        return Err(format!("{vgprs} VGPRs, the hardware has {}", limits.addressable_vgprs));
    }
    let sgpr_blocks = if counted { sgprs.max(1).div_ceil(SGPR_BLOCK) - 1 } else { 0 };
    Ok((vgprs.max(1).div_ceil(target.limits_of(wave).vgpr_block) - 1, sgpr_blocks))
}
