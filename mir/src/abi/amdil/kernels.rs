//! The metadata of compiled kernels in AMDIL's form: what [`Metadata`] says, as far as AMDIL has words for it.
//!
//! Arguments have the places that AMDIL's rules give them, one behind the other in constant buffer 1; kernels of code objects read theirs from
//! the kernarg segment, whose offsets code objects state themselves. Hidden arguments are left out: buffer 0 has what they say.

use super::layout::{IMAGE_BYTES, SLOT_BYTES, Slots, argument_bytes, element_bytes};
use super::{Dimension, ImageAccess, Kernel, MemorySpace, PointerSpace, Token, Unit, VERSION, ValueType};
use crate::abi::metadata::{ArgMeta, KernelMeta, Metadata};

/// The unit of the kernels of `metadata`, compiled for `device`.
pub fn of_metadata(metadata: &Metadata, device: &str) -> Unit {
    let printf: Vec<Token> = metadata.printf.iter().filter_map(|format| printf(format)).collect();
    let kernels = metadata.kernels.iter().enumerate();
    let kernels = kernels.map(|(index, meta)| kernel(meta, index as u32, device, &printf)).collect();
    Unit { kernels, ..Unit::default() }
}

fn kernel(meta: &KernelMeta, id: u32, device: &str, printf: &[Token]) -> Kernel {
    let mut tokens = vec![Token::Version(VERSION), Token::Device(device.to_owned()), Token::UniqueId(id)];
    for (space, bytes) in [
        (MemorySpace::HwPrivate, meta.private_segment_fixed_size),
        (MemorySpace::HwLocal, meta.group_segment_fixed_size),
    ] {
        tokens.push(Token::Memory { space, bytes });
    }
    tokens.push(match meta.reqd_workgroup_size {
        Some(size) => Token::GroupSize(size),
        None => Token::MaxGroup(meta.max_flat_workgroup_size),
    });
    let (mut slots, mut samplers, mut images) = (Slots::default(), 0, 0);
    for (index, arg) in meta.args.iter().filter(|arg| !arg.is_hidden()).enumerate() {
        let name = arg.name.clone().filter(|name| !name.contains(':'));
        let name = name.unwrap_or_else(|| format!("arg{index}"));
        match arg.value_kind.as_str() {
            "global_buffer" | "dynamic_shared_pointer" => tokens.push(pointer(name, arg, &mut slots)),
            "image" => {
                let three = arg.type_name.as_deref().is_some_and(|name| name.starts_with("image3d"));
                let dimension = if three { Dimension::D3 } else { Dimension::D2 };
                let access = match arg.access.as_deref() {
                    Some("write_only") => ImageAccess::Write,
                    Some("read_write") => ImageAccess::Both,
                    _ => ImageAccess::Read,
                };
                tokens.push(Token::Image {
                    name,
                    dimension,
                    access,
                    id: images,
                    place: slots.take(IMAGE_BYTES),
                });
                images += 1;
            }
            kind => {
                let (ty, count) = if kind == "by_value" { value_type(arg) } else { (ValueType::I32, 1) };
                let (ty, count) =
                    if matches!(kind, "queue" | "pipe") { (ValueType::Opaque, 1) } else { (ty, count) };
                if kind == "sampler" {
                    tokens.push(Token::Sampler { name: name.clone(), id: samplers, value: None });
                    samplers += 1;
                }
                let place = slots.take(argument_bytes(ty, count));
                tokens.push(Token::Value { name, ty, count, place });
            }
        }
    }
    tokens.extend_from_slice(printf);
    Kernel { name: meta.name.clone(), tokens }
}

fn pointer(name: String, arg: &ArgMeta, slots: &mut Slots) -> Token {
    let space = match arg.address_space.as_deref() {
        Some("local") => PointerSpace::HwLocal,
        Some("constant") => PointerSpace::Constant,
        Some("region") => PointerSpace::HwRegion,
        Some("private") => PointerSpace::HwPrivate,
        _ => PointerSpace::Global,
    };
    let pointee = arg.type_name.as_deref().and_then(|name| name.strip_suffix('*')).and_then(named_type);
    let (ty, lanes) = pointee.unwrap_or((ValueType::I8, 1));
    // Vectors of three are aligned as those of four.
    let natural = element_bytes(ty) * if lanes == 3 { 4 } else { lanes };
    let align = arg.pointee_align.unwrap_or(natural);
    Token::Pointer { name, ty, place: slots.take(SLOT_BYTES), space, number: 0, align }
}

/// Type and count of what is passed by value: by its name, or else by its size.
fn value_type(arg: &ArgMeta) -> (ValueType, u32) {
    let named = arg.type_name.as_deref().and_then(named_type);
    let padded = |(ty, lanes): &(ValueType, u32)| element_bytes(*ty) * if *lanes == 3 { 4 } else { *lanes };
    // A name may be any type's; its size tells whether it is meant.
    if let Some(known) = named.filter(|known| padded(known) == arg.size) {
        return known;
    }
    match arg.size {
        1 => (ValueType::I8, 1),
        2 => (ValueType::I16, 1),
        4 => (ValueType::I32, 1),
        8 => (ValueType::I64, 1),
        bytes => (ValueType::Struct, bytes),
    }
}

/// OpenCL's type called `name`: type of the elements and how many.
fn named_type(name: &str) -> Option<(ValueType, u32)> {
    const TYPES: [(&str, ValueType); 8] = [
        ("char", ValueType::I8),
        ("short", ValueType::I16),
        ("int", ValueType::I32),
        ("long", ValueType::I64),
        ("half", ValueType::I16),
        ("float", ValueType::Float),
        ("double", ValueType::Double),
        ("bool", ValueType::I1),
    ];
    let scalar = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let lanes = match &name[scalar.len()..] {
        "" => 1,
        digits => digits.parse().ok().filter(|lanes| matches!(lanes, 2 | 3 | 4 | 8 | 16))?,
    };
    // Unsigned types have an `u` in front.
    let find = |wanted: &str| TYPES.iter().find(|(known, _)| *known == wanted).map(|(_, ty)| *ty);
    find(scalar).or_else(|| find(scalar.strip_prefix('u')?)).map(|ty| (ty, lanes))
}

/// A format of `amdhsa.printf`: `ID:N:S[0]:...:S[N-1]:format`.
fn printf(text: &str) -> Option<Token> {
    let (id, rest) = text.split_once(':')?;
    let (count, mut rest) = rest.split_once(':')?;
    let mut sizes = Vec::new();
    for _ in 0..count.parse::<u32>().ok()? {
        let (size, behind) = rest.split_once(':')?;
        sizes.push(size.parse().ok()?);
        rest = behind;
    }
    let format: String =
        rest.chars().map(|c| if c == '\n' { "\\n".to_owned() } else { c.to_string() }).collect();
    Some(Token::Printf { id: id.parse().ok()?, sizes, format })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_say_what_they_need() {
        let arg = |kind: &str, size: u32, type_name: &str| ArgMeta {
            value_kind: kind.into(),
            size,
            type_name: Some(type_name.into()),
            ..ArgMeta::default()
        };
        let local =
            ArgMeta { address_space: Some("local".into()), ..arg("dynamic_shared_pointer", 4, "double2*") };
        let image = ArgMeta { access: Some("write_only".into()), ..arg("image", 8, "image3d_t") };
        let meta = KernelMeta {
            name: "k".into(),
            args: vec![
                ArgMeta { name: Some("out".into()), ..arg("global_buffer", 8, "uint4*") },
                local,
                arg("by_value", 16, "float3"),
                arg("by_value", 20, "struct s"),
                image,
                arg("sampler", 8, "sampler_t"),
                arg("by_value", 1, "uchar"),
                arg("hidden_global_offset_x", 8, ""),
            ],
            group_segment_fixed_size: 64,
            private_segment_fixed_size: 16,
            max_flat_workgroup_size: 256,
            ..KernelMeta::default()
        };
        let second =
            KernelMeta { name: "l".into(), reqd_workgroup_size: Some([8, 8, 1]), ..KernelMeta::default() };
        let printf = vec!["1:2:4:8:%d: %s\n".to_owned()];
        let unit =
            of_metadata(&Metadata { kernels: vec![meta, second], printf, ..Metadata::default() }, "gfx900");
        let text = unit.to_string();
        let wanted = "\
;ARGSTART:k
;version:2:0:74
;device:gfx900
;uniqueid:0
;memory:hwprivate:16
;memory:hwlocal:64
;lws:256
;pointer:out:i32:1:1:0:g:0:16
;pointer:arg1:double:1:1:16:hl:0:16
;value:arg2:float:3:1:32
;value:arg3:struct:20:1:48
;image:arg4:3D:WO:0:1:80
;sampler:arg5:0:0:0
;value:arg5:i32:1:1:112
;value:arg6:i8:1:1:128
;printf_fmt:1:2:4:8:7:%d: %s\\n;
;ARGEND:k
";
        assert!(text.starts_with(wanted), "{text}");
        assert!(text.contains(";uniqueid:1\n;memory:hwprivate:0\n;memory:hwlocal:0\n;cws:8:8:1\n"), "{text}");
        assert_eq!(super::super::parse(&text), Ok(unit));
    }
}
