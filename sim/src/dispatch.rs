//! Starts a kernel as the command processor and the dispatcher do, and runs its work-groups.
//!
//! Work-groups run one after the other in the order of their ids, the waves of a group in turns: each until it waits at a barrier, ends, or has used up
//! its quantum. So a dispatch is deterministic, and atomics need no locks.
//!
//! Source of the initial state: AMDGPU usage guide, "Initial Kernel Execution State", "Kernel Descriptor",
//! "Code Object V3/V4/V5 Metadata" (hidden arguments), and the HSA AQL packet format.

use crate::exec::{Exec, Group, Launch};
use crate::load::{CodeObject, Kernel};
use crate::memory::{BufferId, Memory, RegionKind};
use crate::program::Program;
use crate::report::{Checks, Config, Kind, Report, Result, Stats};
use crate::wave::{LANES, Lanes, Status, Wave};
use mir::machine::PReg;
use mir::target::{Features, Generation, Target};

/// High dword of the LDS aperture.
const SHARED_APERTURE: u32 = 0x0001_0000;
/// High dword of the scratch aperture.
const PRIVATE_APERTURE: u32 = 0x0002_0000;
/// Instructions that a wave executes before another one has its turn.
const QUANTUM: u32 = 20_000;

/// A kernel argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// Pointer to a buffer.
    Buffer(BufferId),
    /// Any address.
    Address(u64),
    /// Bytes of dynamic LDS; the argument is its offset.
    Local(u32),
    /// A value, in memory order.
    Value(Vec<u8>),
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Dispatch {
    /// Kernel name.
    pub kernel: String,
    /// Work-items.
    pub grid: [u32; 3],
    /// Work-items of a work-group.
    pub group: [u32; 3],
    /// LDS bytes on top of the static ones and of [`Arg::Local`].
    pub dynamic_lds: u32,
    /// Explicit arguments in order.
    pub args: Vec<Arg>,
    /// Global offset.
    pub offset: [u64; 3],
}

fn bad(message: impl Into<String>) -> Box<Report> {
    Report::new(Kind::BadDispatch, message)
}

fn put(block: &mut [u8], at: u64, bytes: &[u8]) {
    if let Some(slot) =
        usize::try_from(at).ok().and_then(|at| block.get_mut(at..at.checked_add(bytes.len())?))
    {
        slot.copy_from_slice(bytes);
    }
}

/// Memory that belongs to a dispatch, unmapped at its end.
struct Setup {
    image: BufferId,
    kernarg: BufferId,
    packet: BufferId,
    queue: BufferId,
    extra: Vec<BufferId>,
    scratch: Vec<BufferId>,
    lds_bytes: u32,
    shape: Shape,
}

/// How the grid is cut.
#[derive(Clone, Copy)]
struct Shape {
    groups: [u32; 3],
    waves: u32,
}

impl Shape {
    fn new(d: &Dispatch) -> Result<Self> {
        if d.group.contains(&0) || d.grid.contains(&0) {
            return Err(bad("a grid or group size is zero"));
        }
        let items = d.group.iter().try_fold(1u32, |p, &g| p.checked_mul(g)).filter(|&n| n <= 1024);
        let items = items.ok_or_else(|| bad("a work-group has more than 1024 work-items"))?;
        let groups = std::array::from_fn(|k| d.grid[k].div_ceil(d.group[k]));
        Ok(Self { groups, waves: items.div_ceil(LANES as u32) })
    }
}

/// The explicit arguments' places: (offset, size, is a dynamic LDS pointer with this alignment).
fn kernarg_block(
    kernel: &Kernel,
    d: &Dispatch,
    shape: &Shape,
    mem: &mut Memory,
    lds_bytes: &mut u32,
    extra: &mut Vec<BufferId>,
    queue: BufferId,
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
    let mut runtime = |mem: &mut Memory, name: &str, bytes: usize| {
        let id = mem.map(name, RegionKind::Runtime, vec![0; bytes], true);
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
                let dims =
                    1 + u16::from(shape.groups[1] > 1 || d.group[1] > 1).max(2 * u16::from(d.grid[2] > 1));
                put(&mut block, a.offset.into(), &dims.to_le_bytes());
            }
            "hidden_printf_buffer" => {
                let p = runtime(mem, "printf buffer", 1 << 16);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_hostcall_buffer" => {
                let p = runtime(mem, "hostcall buffer", 4096);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_multigrid_sync_arg" => {
                let p = runtime(mem, "multigrid arguments", 256);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_heap_v1" => {
                let p = runtime(mem, "heap", 1 << 16);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_default_queue" => {
                let p = runtime(mem, "default queue", 4096);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_completion_action" => {
                let p = runtime(mem, "completion action", 4096);
                put(&mut block, a.offset.into(), &p);
            }
            "hidden_private_base" => put(&mut block, a.offset.into(), &PRIVATE_APERTURE.to_le_bytes()),
            "hidden_shared_base" => put(&mut block, a.offset.into(), &SHARED_APERTURE.to_le_bytes()),
            "hidden_queue_ptr" => put(&mut block, a.offset.into(), &queue.address().to_le_bytes()),
            "hidden_dynamic_lds_size" => put(&mut block, a.offset.into(), &d.dynamic_lds.to_le_bytes()),
            _ => {}
        }
    }
    Ok(block)
}

/// The AQL kernel dispatch packet.
fn packet(d: &Dispatch, kernel: &Kernel, image: u64, kernarg: u64, lds: u32) -> Vec<u8> {
    let mut p = vec![0u8; 64];
    put(&mut p, 0, &2u16.to_le_bytes());
    put(&mut p, 2, &3u16.to_le_bytes());
    for k in 0..3 {
        put(&mut p, 4 + 2 * k as u64, &(d.group[k] as u16).to_le_bytes());
        put(&mut p, 12 + 4 * k as u64, &d.grid[k].to_le_bytes());
    }
    put(&mut p, 24, &kernel.descriptor.private_segment_fixed_size.to_le_bytes());
    put(&mut p, 28, &lds.to_le_bytes());
    put(&mut p, 32, &(image + kernel.descriptor_offset).to_le_bytes());
    put(&mut p, 40, &kernarg.to_le_bytes());
    p
}

/// `amd_queue_t`: what kernels read of it are the apertures at 0x40 and 0x44.
fn queue() -> Vec<u8> {
    let mut q = vec![0u8; 256];
    put(&mut q, 0x40, &SHARED_APERTURE.to_le_bytes());
    put(&mut q, 0x44, &PRIVATE_APERTURE.to_le_bytes());
    q
}

/// VGPRs that the descriptor allocates, in granules of 4.
fn allocated_vgprs(kernel: &Kernel) -> u32 {
    (kernel.descriptor.vgpr_blocks + 1) * 4
}

fn allocated_sgprs(kernel: &Kernel, generation: Generation) -> u32 {
    let granules = kernel.descriptor.sgpr_blocks;
    if generation >= Generation::Gfx9 { (granules / 2 + 1) * 16 } else { (granules + 1) * 8 }
}

fn occupancy(kernel: &Kernel, target: &Target, lds: u32, waves_per_group: u32) -> u32 {
    let p = target.processor;
    let by_vgprs = 256 / allocated_vgprs(kernel);
    let by_sgprs = p.total_sgprs / allocated_sgprs(kernel, target.generation()).max(1);
    let groups = if lds == 0 { u32::MAX } else { p.lds_bytes / lds.max(1) };
    let by_lds = groups.saturating_mul(waves_per_group) / 4;
    by_vgprs.min(by_sgprs).min(by_lds.max(1)).min(p.max_waves_per_simd)
}

/// Runs a dispatch.
pub fn run(object: &CodeObject, mem: &mut Memory, d: &Dispatch, cfg: &Config) -> Result<Stats> {
    let processor = object.processor().ok_or_else(|| bad("the object names no processor known here"))?;
    run_on(object, mem, d, cfg, &Target::new(processor))
}

/// Runs a dispatch on `target` whatever the object names.
pub fn run_on(
    object: &CodeObject,
    mem: &mut Memory,
    d: &Dispatch,
    cfg: &Config,
    target: &Target,
) -> Result<Stats> {
    let at_kernel = |mut r: Box<Report>| {
        r.kernel.clone_from(&d.kernel);
        r
    };
    let kernel = object.kernel(&d.kernel).ok_or_else(|| {
        let names: Vec<_> = object.kernels().iter().map(|k| k.name.as_str()).collect();
        at_kernel(bad(format!("no such kernel; the object has {}", names.join(", "))))
    })?;
    mem.unmapped = cfg.unmapped;
    let setup = prepare(object, kernel, mem, d).map_err(at_kernel)?;
    let result = run_groups(kernel, mem, d, cfg, target, &setup);
    let all = [setup.image, setup.kernarg, setup.packet, setup.queue];
    for id in all.into_iter().chain(setup.extra).chain(setup.scratch) {
        mem.unmap(id);
    }
    result.map_err(at_kernel)
}

fn prepare(object: &CodeObject, kernel: &Kernel, mem: &mut Memory, d: &Dispatch) -> Result<Setup> {
    let shape = Shape::new(d)?;
    let image_data = object.image_at(mem.next_address())?;
    let image = mem.map("code object", RegionKind::Code, image_data, object.is_writable());
    let queue = mem.map("queue", RegionKind::Runtime, queue(), false);
    let mut lds_bytes = kernel.descriptor.group_segment_fixed_size;
    let mut extra = Vec::new();
    let block = kernarg_block(kernel, d, &shape, mem, &mut lds_bytes, &mut extra, queue)?;
    lds_bytes = lds_bytes.saturating_add(d.dynamic_lds);
    if lds_bytes > 65536 {
        return Err(bad(format!("{lds_bytes} bytes of LDS")));
    }
    let kernarg = mem.map("kernarg segment", RegionKind::Runtime, block, false);
    let data = packet(d, kernel, image.address(), kernarg.address(), lds_bytes);
    let packet = mem.map("dispatch packet", RegionKind::Runtime, data, false);
    let lane = u64::from(kernel.descriptor.private_segment_fixed_size);
    if lane > 1 << 20 {
        return Err(bad("more than a megabyte of scratch a lane"));
    }
    let mut scratch = Vec::new();
    if lane > 0 {
        let bytes = (lane.next_multiple_of(4) * LANES as u64) as usize;
        for slot in 0..shape.waves {
            let id =
                mem.map(&format!("scratch of wave {slot}"), RegionKind::Scratch(slot), vec![0; bytes], true);
            scratch.push(id);
        }
    }
    Ok(Setup { image, kernarg, packet, queue, extra, scratch, lds_bytes, shape })
}

fn run_groups(
    kernel: &Kernel,
    mem: &mut Memory,
    d: &Dispatch,
    cfg: &Config,
    target: &Target,
    setup: &Setup,
) -> Result<Stats> {
    let mut program = Program::new(mem.bytes(setup.image).to_vec(), *target);
    let generation = target.generation();
    let scratch_base = setup.scratch.first().map_or(mem.next_address(), |b| b.address());
    let launch = Launch {
        target: *target,
        image_base: setup.image.address(),
        shared_aperture: SHARED_APERTURE,
        private_aperture: PRIVATE_APERTURE,
        hidden_private_base: scratch_base & !0xff_ffff,
        scratch_lane_bytes: kernel.descriptor.private_segment_fixed_size,
        sgprs: allocated_sgprs(kernel, generation),
        vgprs: allocated_vgprs(kernel),
    };
    let (vm_max, lgkm_max) = if generation >= Generation::Gfx9 { (63, 15) } else { (15, 15) };
    let waves_per_group = setup.shape.waves as usize;
    let mut waves: Vec<Wave> = (0..waves_per_group).map(|_| Wave::new(vm_max, lgkm_max)).collect();
    let mut group = Group { lds: vec![0; setup.lds_bytes as usize], ..Group::default() };
    let mut budget = cfg.budget;
    let mut stats = Stats::default();
    let [nx, ny, nz] = setup.shape.groups;
    for gz in 0..nz {
        for gy in 0..ny {
            for gx in 0..nx {
                group.id = [gx, gy, gz];
                group
                    .lds
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, b)| *b = (i as u8).wrapping_mul(37) ^ cfg.seed as u8 ^ 0xa5);
                group.lds_undef.clear();
                group.lds_undef.resize(group.lds.len(), 0xff);
                for id in &setup.scratch {
                    mem.set_undefined(*id);
                }
                let size: [u32; 3] =
                    std::array::from_fn(|k| d.group[k].min(d.grid[k] - group.id[k] * d.group[k]));
                let items = size.iter().product::<u32>();
                let live = items.div_ceil(LANES as u32) as usize;
                for (n, w) in waves[..live].iter_mut().enumerate() {
                    start_wave(w, n as u32, &size, kernel, cfg, setup, &launch, &group, scratch_base);
                }
                stats.groups += 1;
                stats.waves += live as u64;
                let mut exec = Exec::new(mem, &launch, cfg);
                exec.stats = stats;
                let result =
                    run_group(&mut exec, &mut program, &mut waves[..live], &mut group, kernel, &mut budget);
                stats = exec.stats;
                result?;
            }
        }
    }
    stats.occupancy = occupancy(kernel, target, setup.lds_bytes, setup.shape.waves);
    stats.unmapped_stores = mem.unmapped_stores;
    stats.store_log_digest = mem.store_log_digest;
    Ok(stats)
}

/// Registers of a wave at its start.
fn start_wave(
    w: &mut Wave,
    index: u32,
    size: &[u32; 3],
    kernel: &Kernel,
    cfg: &Config,
    setup: &Setup,
    launch: &Launch,
    group: &Group,
    scratch_base: u64,
) {
    let desc = &kernel.descriptor;
    w.reset(cfg.seed);
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
    let first = index * LANES as u32;
    let active = total.saturating_sub(first).min(LANES as u32);
    let exec = if active >= 64 { u64::MAX } else { (1 << active) - 1 };
    w.set_pair(PReg::EXEC_LO, exec, 0);
    if !launch.target.has(Features::LDS_NO_M0) {
        // M0 is what the dispatcher leaves; nothing may rely on it.
        w.su[usize::from(PReg::M0.0)] = !0;
    }
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
        // Swizzled, 64 lanes, elements of 4 bytes, lane ids added.
        let word3 =
            1 << 23 | 3 << 21 | if launch.target.generation() < Generation::Gfx9 { 1 << 19 } else { 0 };
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
        if launch.target.generation() >= Generation::Gfx9 {
            push(w, &pair(scratch_base));
        } else {
            push(w, &[(scratch_base - launch.hidden_private_base) as u32, desc.private_segment_fixed_size]);
        }
    }
    if desc.sgpr_private_segment_size != 0 {
        push(w, &[desc.private_segment_fixed_size]);
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
    let mut ids: [Lanes; 3] = [[0; LANES]; 3];
    for l in 0..LANES as u32 {
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

fn run_group(
    exec: &mut Exec<'_>,
    program: &mut Program,
    waves: &mut [Wave],
    group: &mut Group,
    kernel: &Kernel,
    budget: &mut u64,
) -> Result<()> {
    let single = waves.len() == 1;
    loop {
        for w in waves.iter_mut() {
            let mut quantum = QUANTUM;
            while w.status == Status::Running && quantum > 0 {
                quantum -= 1;
                let at = w.pc;
                let number = program.prepare(at).map_err(|r| place(r, kernel, at, None, w, group))?;
                let op = program.op(number);
                if exec.cfg.trace {
                    eprintln!(
                        "w{} +{:#x}: {}",
                        w.index,
                        at.wrapping_sub(kernel.entry),
                        op.text(program.target())
                    );
                }
                if let Err(r) = exec.step(w, group, op) {
                    return Err(place(r, kernel, at, Some(op.text(program.target())), w, group));
                }
                if single && matches!(w.status, Status::Barrier(_)) {
                    w.status = Status::Running;
                }
                *budget = budget.saturating_sub(1);
                if *budget == 0 {
                    let r =
                        Report::new(Kind::Budget, "the instruction budget is used up: a wave may not end");
                    return Err(place(r, kernel, at, Some(op.text(program.target())), w, group));
                }
            }
        }
        if waves.iter().all(|w| w.status == Status::Done) {
            return Ok(());
        }
        if waves.iter().any(|w| w.status == Status::Running) {
            continue;
        }
        release_barrier(exec, waves, group, kernel)?;
    }
}

/// All waves wait at a barrier or have ended: lets them go on.
fn release_barrier(exec: &Exec<'_>, waves: &mut [Wave], group: &Group, kernel: &Kernel) -> Result<()> {
    if exec.checks(Checks::BARRIER) {
        let mut first = None;
        for w in waves.iter() {
            match w.status {
                Status::Barrier(pc) => {
                    if let Some(other) = first.filter(|&p| p != pc) {
                        let entry = kernel.entry;
                        let message = format!(
                            "waves of the work-group wait at different barriers: +0x{:x} and +0x{:x}",
                            u64::wrapping_sub(other, entry),
                            pc.wrapping_sub(entry)
                        );
                        return Err(place(Report::new(Kind::Barrier, message), kernel, pc, None, w, group));
                    }
                    first = Some(pc);
                }
                _ if w.status == Status::Done => {
                    let message = format!("wave {} has ended while others wait at a barrier", w.index);
                    return Err(place(Report::new(Kind::Barrier, message), kernel, w.pc, None, w, group));
                }
                _ => {}
            }
        }
    }
    for w in waves.iter_mut() {
        if matches!(w.status, Status::Barrier(_)) {
            w.status = Status::Running;
        }
    }
    Ok(())
}

fn place(
    mut r: Box<Report>,
    kernel: &Kernel,
    pc: u64,
    text: Option<String>,
    w: &Wave,
    g: &Group,
) -> Box<Report> {
    r.pc = Some(pc.wrapping_sub(kernel.entry));
    r.instruction = text;
    r.wave = Some(w.index);
    r.group = Some(g.id);
    r
}
