//! The registers with which a wave starts.
//!
//! Source: AMDGPU usage guide, "Initial Kernel Execution State".

use super::Run;
use super::scratch_dword3;
use crate::exec::Group;
use crate::report::Checks;
use crate::wave::{Lanes, MAX_LANES, Wave};
use mir::machine::PReg;
use mir::target::FlatScratch;

/// Registers of a wave at its start.
pub(super) fn start_wave(w: &mut Wave, index: u32, size: &[u32; 3], run: &Run<'_>, group: &Group) {
    let Run { kernel, cfg, setup, launch, scratch_base, .. } = *run;
    let desc = &kernel.descriptor;
    w.reset(cfg.seed, if cfg.checks.contains(Checks::REGISTER_RANGE) { launch.vgprs as usize } else { 256 });
    w.index = index;
    w.pc = kernel.entry;
    // MODE: rounding and denormals, DX10_CLAMP, IEEE, exceptions off.
    w.mode = desc.float_round_mode_32
        | desc.float_round_mode_16_64 << 2
        | desc.float_denorm_mode_32 << 4
        | desc.float_denorm_mode_16_64 << 6
        | desc.dx10_clamp << 8
        | desc.ieee_mode << 9;
    let total = size.iter().product::<u32>();
    let lanes = w.size.lanes();
    let first = index * lanes;
    let active = total.saturating_sub(first).min(lanes);
    let exec = if active >= lanes { w.size.all_lanes() } else { (1 << active) - 1 };
    w.set_exec(exec);
    let slot = setup.scratch.get(index as usize).map_or(0, |b| b.address() - scratch_base);
    let mut next = 0u16;
    let mut push = |w: &mut Wave, values: &[u32]| {
        for &v in values {
            w.set_s(PReg::sgpr(next), v);
            next += 1;
        }
    };
    let pair = |x: u64| [x as u32, (x >> 32) as u32];
    if desc.sgpr_private_segment_buffer != 0 {
        let bytes: u64 = setup.scratch.len() as u64 * 0x1_0000_0000;
        let [lo, hi] = pair(scratch_base);
        let word3 = scratch_dword3(&launch.target, kernel.private_element_bytes);
        push(w, &[lo, hi & 0xffff | 1 << 31, bytes.min(0xffff_f000) as u32, word3]);
    }
    if desc.sgpr_dispatch_ptr != 0 {
        push(w, &pair(setup.packet.address()));
    }
    if desc.sgpr_queue_ptr != 0 {
        push(w, &pair(setup.queue.address()));
    }
    if desc.sgpr_kernarg_segment_ptr != 0 {
        push(w, &pair(setup.kernarg.address()));
    }
    if desc.sgpr_dispatch_id != 0 {
        push(w, &[1, 0]);
    }
    if desc.sgpr_flat_scratch_init != 0 {
        if launch.target.limits().flat_scratch != FlatScratch::SizeAndOffset {
            push(w, &pair(scratch_base));
        } else {
            push(w, &[(scratch_base - launch.hidden_private_base) as u32, launch.scratch_lane_bytes]);
        }
    }
    if desc.sgpr_private_segment_size != 0 {
        push(w, &[launch.scratch_lane_bytes]);
    }
    // Missing user SGPRs are not loaded; the count of the descriptor says where system SGPRs start.
    next = desc.user_sgpr_count as u16;
    let mut push = |w: &mut Wave, v: u32| {
        w.set_s(PReg::sgpr(next), v);
        next += 1;
    };
    for (enabled, id) in
        [desc.workgroup_id_x, desc.workgroup_id_y, desc.workgroup_id_z].into_iter().zip(group.id)
    {
        if enabled != 0 {
            push(w, id);
        }
    }
    if desc.workgroup_info != 0 {
        push(w, setup.shape.waves | u32::from(index == 0) << 31);
    }
    if desc.private_segment_wavefront_offset != 0 {
        push(w, slot as u32);
    }
    let mut ids: [Lanes; 3] = [[0; MAX_LANES]; 3];
    for l in 0..MAX_LANES as u32 {
        // Lanes beyond the work-group are never active.
        let item = first + l;
        ids[0][l as usize] = item % size[0];
        ids[1][l as usize] = item / size[0] % size[1];
        ids[2][l as usize] = item / size[0] / size[1];
    }
    let highest = desc.vgpr_workitem_id as usize;
    for (k, id) in ids.iter().enumerate().take(highest.min(2) + 1) {
        w.set_v(k, *id);
    }
}
