//! Code objects of version 2: `amd_kernel_code_t` in front of each kernel's code, metadata as YAML.
//!
//! Both are brought into the form of later versions, so that nothing else knows of them. Source: AMDGPU usage guide, "Code Object V2
//! Metadata", "Code Object V2 Note Records"; the layout of `amd_kernel_code_t` is that of the HSA runtime's public header.

use mir::abi::KernelDescriptor;
use mir::abi::metadata::{ArgMeta, KernelMeta, Metadata};

/// Bytes of `amd_kernel_code_t`.
pub const HEADER_BYTES: usize = 256;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// The kernel descriptor that says what an `amd_kernel_code_t` does, its entry relative to the header; the error says what is wrong.
pub fn descriptor(header: &[u8]) -> Result<KernelDescriptor, String> {
    if header.len() < HEADER_BYTES || u32_at(header, 0) != 1 {
        return Err("no amd_kernel_code_t of version 1".to_owned());
    }
    let mut bytes = [0; 64];
    let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(0, u32_at(header, 64));
    put(4, u32_at(header, 60));
    put(8, u32_at(header, 72));
    put(16, u32_at(header, 16));
    put(20, u32_at(header, 20));
    put(48, u32_at(header, 48));
    put(52, u32_at(header, 52));
    // Code properties: user SGPRs in bits 6:0; the rest has no counterpart.
    put(56, u32_at(header, 56) & 0x7f);
    KernelDescriptor::unpack(&bytes).map_err(|e| e.to_string())
}

/// `GlobalBuffer` as `global_buffer`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.char_indices() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A line: indentation (list dashes count as spaces), whether it starts a list item, key, value.
fn line(text: &str) -> Option<(usize, bool, &str, &str)> {
    let (key, value) = text.split_once(':')?;
    let trimmed = key.trim_start_matches([' ', '-']);
    let value = value.trim().trim_matches('\'');
    Some((key.len() - trimmed.len(), key.trim_start().starts_with('-'), trimmed.trim_end(), value))
}

/// Reads the metadata of a note; what is not understood is left out.
///
/// This is the subset of YAML that LLVM writes: a key a line, lists by indentation.
pub fn metadata(text: &str) -> Metadata {
    let mut out = Metadata::default();
    let mut args_indent = None;
    let mut end = 0u32;
    let mut align = 1;
    for (indent, item, key, value) in text.lines().filter_map(line) {
        if item && key == "Name" && args_indent.is_none_or(|a| indent <= a) {
            out.kernels.push(KernelMeta { name: value.to_owned(), ..KernelMeta::default() });
            (args_indent, end) = (None, 0);
            continue;
        }
        let Some(kernel) = out.kernels.last_mut() else { continue };
        if key == "Args" {
            args_indent = Some(indent);
            continue;
        }
        let number = || value.parse::<u32>().unwrap_or(0);
        if let Some(base) = args_indent
            && indent > base
        {
            if item {
                kernel.args.push(ArgMeta::default());
            }
            let Some(arg) = kernel.args.last_mut() else { continue };
            match key {
                "Name" => arg.name = Some(value.to_owned()),
                "TypeName" => arg.type_name = Some(value.to_owned()),
                "Size" => arg.size = number(),
                "Align" => align = number().max(1),
                "PointeeAlign" => arg.pointee_align = Some(number()),
                "ValueKind" => {
                    arg.value_kind = snake(value);
                    arg.offset = end.next_multiple_of(align);
                    end = arg.offset.saturating_add(arg.size);
                }
                _ => {}
            }
            continue;
        }
        args_indent = None;
        match key {
            "SymbolName" => value.clone_into(&mut kernel.symbol),
            "KernargSegmentSize" => kernel.kernarg_segment_size = number(),
            "KernargSegmentAlign" => kernel.kernarg_segment_align = number(),
            "GroupSegmentFixedSize" => kernel.group_segment_fixed_size = number(),
            "PrivateSegmentFixedSize" => kernel.private_segment_fixed_size = number(),
            "WavefrontSize" => kernel.wavefront_size = number(),
            "NumSGPRs" => kernel.sgpr_count = number(),
            "NumVGPRs" => kernel.vgpr_count = number(),
            "MaxFlatWorkGroupSize" => kernel.max_flat_workgroup_size = number(),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_arguments_are_read() {
        let text = "---\nVersion:         [ 1, 0 ]\nKernels:\n  - Name:            test\n    SymbolName:      'test@kd'\n    Args:\n      - Name:            p\n        Size:            8\n        Align:           8\n        ValueKind:       GlobalBuffer\n      - Size:            4\n        Align:           4\n        ValueKind:       ByValue\n      - Size:            8\n        Align:           8\n        ValueKind:       HiddenGlobalOffsetX\n    CodeProps:\n      KernargSegmentSize: 24\n      NumVGPRs:        5\n  - Name:            other\n...\n";
        let m = metadata(text);
        assert_eq!(m.kernels.len(), 2);
        let k = &m.kernels[0];
        assert_eq!(
            (k.name.as_str(), k.symbol.as_str(), k.kernarg_segment_size, k.vgpr_count),
            ("test", "test@kd", 24, 5)
        );
        let args: Vec<_> = k.args.iter().map(|a| (a.offset, a.size, a.value_kind.as_str())).collect();
        assert_eq!(args, [(0, 8, "global_buffer"), (8, 4, "by_value"), (16, 8, "hidden_global_offset_x")]);
        assert!(m.kernels[1].args.is_empty());
        assert!(metadata("garbage\n: :\n- Size: x").kernels.is_empty());
    }

    #[test]
    fn headers_become_descriptors() {
        let mut header = vec![0; 256];
        assert!(descriptor(&header).is_err());
        header[0] = 1;
        header[16..18].copy_from_slice(&256u16.to_le_bytes());
        header[48] = 5;
        header[56] = 0x0a;
        header[64] = 128;
        let d = descriptor(&header).unwrap();
        assert_eq!(
            (d.kernel_code_entry_byte_offset, d.vgpr_blocks, d.group_segment_fixed_size),
            (256, 5, 128)
        );
        assert_eq!((d.sgpr_dispatch_ptr, d.sgpr_kernarg_segment_ptr, d.sgpr_queue_ptr), (1, 1, 0));
    }
}
