//! The memory that a dispatch is given: kernel arguments, the dispatch packet, the queue.

use super::{Arg, Dispatch, PRIVATE_APERTURE, SHARED_APERTURE, bad, scratch_lane_bytes};
use crate::load::Kernel;
use crate::memory::{BufferId, Memory, RegionKind};
use crate::report::Result;

/// Size of the buffer of `printf`.
const PRINTF_BYTES: u32 = 1 << 20;

/// Bytes of Mesa's implicit arguments.
const MESA_BYTES: u64 = 16;

fn put(block: &mut [u8], at: u64, bytes: &[u8]) {
    if let Some(slot) =
        usize::try_from(at).ok().and_then(|at| block.get_mut(at..at.checked_add(bytes.len())?))
    {
        slot.copy_from_slice(bytes);
    }
}

/// The explicit arguments' places: (offset, size, is a dynamic LDS pointer with this alignment).
pub(super) fn kernarg_block(
    kernel: &Kernel,
    d: &Dispatch,
    mem: &mut Memory,
    lds_bytes: &mut u32,
    extra: &mut Vec<BufferId>,
    printf: &mut Option<BufferId>,
    queue: BufferId,
    is_mesa: bool,
) -> Result<Vec<u8>> {
    let meta = kernel.metadata.as_ref();
    let declared = meta.map_or(0, |m| m.kernarg_segment_size).max(kernel.descriptor.kernarg_size);
    if declared > 1 << 20 {
        return Err(bad("the kernarg segment is larger than a megabyte"));
    }
    let mut block = vec![0u8; (declared as usize).next_multiple_of(64).max(64)];
    let explicit: Vec<_> = meta.map_or(Vec::new(), |m| m.args.iter().filter(|a| !a.is_hidden()).collect());
    if meta.is_some() && explicit.len() != d.args.len() {
        return Err(bad(format!("{} takes {} arguments, not {}", kernel.name, explicit.len(), d.args.len())));
    }
    let mut at = 0u64;
    for (i, arg) in d.args.iter().enumerate() {
        let place = explicit.get(i);
        let natural = match arg {
            Arg::Buffer(_) | Arg::Address(_) => 8,
            Arg::Local(_) => 4,
            Arg::Value(v) => v.len() as u64,
        };
        let size = place.map_or(natural, |p| p.size.into());
        let align = natural.next_power_of_two().clamp(1, 16);
        let offset = place.map_or((at + align - 1) & !(align - 1), |p| p.offset.into());
        at = offset + size;
        let bytes: Vec<u8> = match arg {
            Arg::Buffer(b) => b.address().to_le_bytes().to_vec(),
            Arg::Address(a) => a.to_le_bytes().to_vec(),
            Arg::Local(n) => {
                let align = place.and_then(|p| p.pointee_align).unwrap_or(16).clamp(1, 64);
                let start = lds_bytes.next_multiple_of(align.next_power_of_two());
                *lds_bytes = start.saturating_add(*n);
                u64::from(start).to_le_bytes().to_vec()
            }
            Arg::Value(v) => v.clone(),
        };
        if !matches!(arg, Arg::Local(_)) && bytes.len() as u64 != size {
            return Err(bad(format!(
                "argument {i} of {} has {size} bytes, not {}",
                kernel.name,
                bytes.len()
            )));
        }
        if offset + size > block.len() as u64 {
            return Err(bad(format!("argument {i} lies outside the kernarg segment")));
        }
        put(&mut block, offset, &bytes[..bytes.len().min(size as usize)]);
    }
    if is_mesa && u64::from(declared) >= at + MESA_BYTES {
        // Dimensions and offset of the grid, at the block's end.
        let start = u64::from(declared) - MESA_BYTES;
        put(&mut block, start, &u32::from(dimensions(d)).to_le_bytes());
        for (k, offset) in (1..).zip(d.offset) {
            put(&mut block, start + 4 * k, &(offset as u32).to_le_bytes());
        }
    }
    let mut runtime = |mem: &mut Memory, name: &str, contents: Vec<u8>| {
        let id = mem.map(name, RegionKind::Runtime, contents, true);
        extra.push(id);
        id.address().to_le_bytes()
    };
    for a in meta.iter().flat_map(|m| &m.args).filter(|a| a.is_hidden()) {
        let remainder = |k: usize| ((d.grid[k] % d.group[k]) as u16).to_le_bytes();
        let count = |k: usize| (d.grid[k] / d.group[k]).to_le_bytes();
        let size = |k: usize| (d.group[k] as u16).to_le_bytes();
        match a.value_kind.as_str() {
            "hidden_global_offset_x" => put(&mut block, a.offset.into(), &d.offset[0].to_le_bytes()),
            "hidden_global_offset_y" => put(&mut block, a.offset.into(), &d.offset[1].to_le_bytes()),
            "hidden_global_offset_z" => put(&mut block, a.offset.into(), &d.offset[2].to_le_bytes()),
            "hidden_block_count_x" => put(&mut block, a.offset.into(), &count(0)),
            "hidden_block_count_y" => put(&mut block, a.offset.into(), &count(1)),
            "hidden_block_count_z" => put(&mut block, a.offset.into(), &count(2)),
            "hidden_group_size_x" => put(&mut block, a.offset.into(), &size(0)),
            "hidden_group_size_y" => put(&mut block, a.offset.into(), &size(1)),
            "hidden_group_size_z" => put(&mut block, a.offset.into(), &size(2)),
            "hidden_remainder_x" => put(&mut block, a.offset.into(), &remainder(0)),
            "hidden_remainder_y" => put(&mut block, a.offset.into(), &remainder(1)),
            "hidden_remainder_z" => put(&mut block, a.offset.into(), &remainder(2)),
            "hidden_grid_dims" => {
                put(&mut block, a.offset.into(), &dimensions(d).to_le_bytes());
            }
            "hidden_printf_buffer" => {
                // Behind the number of bytes that are taken is how many there are.
                let mut contents = vec![0; PRINTF_BYTES as usize];
                put(&mut contents, 4, &PRINTF_BYTES.to_le_bytes());
                let id = mem.map("printf buffer", RegionKind::Runtime, contents, true);
                *printf = Some(id);
                put(&mut block, a.offset.into(), &id.address().to_le_bytes());
            }
            "hidden_hostcall_buffer" => {
                let p = runtime(mem, "hostcall buffer", vec![0; 4096]);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_multigrid_sync_arg" => {
                let p = runtime(mem, "multigrid arguments", vec![0; 256]);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_heap_v1" => {
                let p = runtime(mem, "heap", vec![0; 1 << 16]);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_default_queue" => {
                let p = runtime(mem, "default queue", vec![0; 4096]);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_completion_action" => {
                let p = runtime(mem, "completion action", vec![0; 4096]);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_private_base" => put(&mut block, a.offset.into(), &PRIVATE_APERTURE.to_le_bytes()),
            "hidden_shared_base" => put(&mut block, a.offset.into(), &SHARED_APERTURE.to_le_bytes()),
            "hidden_queue_ptr" => put(&mut block, a.offset.into(), &queue.address().to_le_bytes()),
            "hidden_dynamic_lds_size" => put(&mut block, a.offset.into(), &d.dynamic_lds.to_le_bytes()),
            _ => {}
        }
    }
    extra.extend(*printf);
    Ok(block)
}

/// Dimensions of a grid: those behind the last that has more than one work-item do not count.
fn dimensions(d: &Dispatch) -> u16 {
    match d.grid {
        [_, 0 | 1, 0 | 1] => 1,
        [_, _, 0 | 1] => 2,
        _ => 3,
    }
}

/// The AQL kernel dispatch packet.
pub(super) fn packet(d: &Dispatch, kernel: &Kernel, image: u64, kernarg: u64, lds: u32) -> Vec<u8> {
    let mut p = vec![0u8; 64];
    put(&mut p, 0, &2u16.to_le_bytes());
    put(&mut p, 2, &dimensions(d).to_le_bytes());
    for k in 0..3 {
        put(&mut p, 4 + 2 * k as u64, &(d.group[k] as u16).to_le_bytes());
        put(&mut p, 12 + 4 * k as u64, &d.grid[k].to_le_bytes());
    }
    put(&mut p, 24, &scratch_lane_bytes(kernel).to_le_bytes());
    put(&mut p, 28, &lds.to_le_bytes());
    put(&mut p, 32, &(image + kernel.descriptor_offset).to_le_bytes());
    put(&mut p, 40, &kernarg.to_le_bytes());
    p
}

/// `amd_queue_t`: what kernels read of it are the apertures at 0x40 and 0x44.
pub(super) fn queue() -> Vec<u8> {
    let mut q = vec![0u8; 256];
    put(&mut q, 0x40, &SHARED_APERTURE.to_le_bytes());
    put(&mut q, 0x44, &PRIVATE_APERTURE.to_le_bytes());
    q
}
