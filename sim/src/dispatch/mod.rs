//! Starts a kernel as the command processor and the dispatcher do, and runs its work-groups.
//!
//! The result is that of running the work-groups one after the other in the order of their ids, so a dispatch is deterministic. Several run at
//! the same time, each on a private view of memory ([`crate::memory::View`]); one that has read what an earlier one of the same
//! batch wrote runs again. Where that happens often (work-groups that talk by atomics), batches shrink to one.
//!
//! Source of the initial state: AMDGPU usage guide, "Initial Kernel Execution State", "Kernel Descriptor",
//! "Code Object V3/V4/V5 Metadata" (hidden arguments), and the HSA AQL packet format.

mod group;
mod kernarg;
pub mod prepared;
pub mod single;
mod start;

use crate::exec::Launch;
use crate::load::{CodeObject, Kernel};
use crate::memory::{BufferId, Delta, History, Memory, RegionKind, View, Written};
use crate::printf::{self, Printed};
use crate::program::Program;
use crate::report::{Checks, Config, Kind, Report, Result, Stats, Unmapped};
use crate::timing::record::GroupTrace;
use crate::timing::{Model, Needs, Unit};
use group::{Workspace, run_one};
use kernarg::{kernarg_block, packet, queue};
use mir::target::{Features, Target, WaveSize};
use rayon::prelude::*;
use std::io::Write as _;

/// High dword of the LDS aperture.
const SHARED_APERTURE: u32 = 0x0001_0000;
/// High dword of the scratch aperture.
const PRIVATE_APERTURE: u32 = 0x0002_0000;
/// Most bytes of scratch of a work-group.
const SCRATCH_MAX: u64 = 1 << 28;
/// Most work-groups of a batch that runs at the same time.
const BATCH_MAX: usize = 64;

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

/// Bytes that a lane gets beyond what its kernel asks for where that has no bound, as a runtime's limit of the stack adds them.
const DYNAMIC_STACK: u32 = 1 << 16;

/// Scratch bytes of a lane of `kernel`.
fn scratch_lane_bytes(kernel: &Kernel) -> u32 {
    let more = if kernel.descriptor.uses_dynamic_stack != 0 { DYNAMIC_STACK } else { 0 };
    kernel.descriptor.private_segment_fixed_size.saturating_add(more)
}

/// Writes an executed instruction to standard error, as far as anybody reads that.
fn trace(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn bad(message: impl Into<String>) -> Box<Report> {
    Report::new(Kind::BadDispatch, message)
}

/// Memory that belongs to a dispatch, unmapped at its end.
struct Setup {
    image: BufferId,
    kernarg: BufferId,
    packet: BufferId,
    queue: BufferId,
    gds: BufferId,
    extra: Vec<BufferId>,
    /// The buffer of `printf`, which is one of the former.
    printf: Option<BufferId>,
    scratch: Vec<BufferId>,
    lds_bytes: u32,
    shape: Shape,
}

impl Setup {
    /// Where scratch starts, or would.
    fn scratch_base(&self, mem: &Memory) -> u64 {
        self.scratch.first().map_or(mem.next_address(), |b| b.address())
    }
}

/// How the grid is cut.
#[derive(Clone, Copy)]
struct Shape {
    groups: [u32; 3],
    waves: u32,
}

impl Shape {
    fn new(d: &Dispatch, wave: WaveSize) -> Result<Self> {
        if d.group.contains(&0) || d.grid.contains(&0) {
            return Err(bad("a grid or group size is zero"));
        }
        let items = d.group.iter().try_fold(1u32, |p, &g| p.checked_mul(g)).filter(|&n| n <= 1024);
        let items = items.ok_or_else(|| bad("a work-group has more than 1024 work-items"))?;
        let groups: [u32; 3] = std::array::from_fn(|k| d.grid[k].div_ceil(d.group[k]));
        if groups.iter().try_fold(1u64, |p, &g| p.checked_mul(g.into())).is_none() {
            return Err(bad(format!("a grid of {} x {} x {} work-groups", groups[0], groups[1], groups[2])));
        }
        Ok(Self { groups, waves: items.div_ceil(wave.lanes()) })
    }
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
    let at_kernel = |r: Box<Report>| {
        let mut r = at_kernel(r);
        r.source = r.pc.and_then(|pc| object.source_line(kernel.entry.wrapping_add(pc)));
        r
    };
    let target = &for_kernel(target, kernel);
    mem.unmapped = cfg.unmapped;
    mem.printed = Printed::default();
    let setup = prepare(object, kernel, mem, d, target.wave()).map_err(at_kernel)?;
    let result = run_groups(kernel, mem, d, cfg, target, &setup);
    if let Some(buffer) = setup.printf {
        mem.printed = printf::read(object.printf_formats(), mem.bytes(buffer));
    }
    let all = [setup.image, setup.kernarg, setup.packet, setup.queue, setup.gds];
    for id in all.into_iter().chain(setup.extra).chain(setup.scratch) {
        mem.unmap(id);
    }
    result.map_err(at_kernel)
}

fn prepare(
    object: &CodeObject,
    kernel: &Kernel,
    mem: &mut Memory,
    d: &Dispatch,
    wave: WaveSize,
) -> Result<Setup> {
    let (shape, lanes) = (Shape::new(d, wave)?, wave.lanes());
    let image_data = object.image_at(mem.next_address())?;
    let image = mem.map("code object", RegionKind::Code, image_data, object.is_writable());
    let queue = mem.map("queue", RegionKind::Runtime, queue(), false);
    let mut lds_bytes = kernel.descriptor.group_segment_fixed_size;
    let mut extra = Vec::new();
    let mut printf = None;
    let block =
        kernarg_block(kernel, d, mem, &mut lds_bytes, &mut extra, &mut printf, queue, object.is_mesa())?;
    lds_bytes = lds_bytes.saturating_add(d.dynamic_lds);
    if lds_bytes > 65536 {
        return Err(bad(format!("{lds_bytes} bytes of LDS")));
    }
    let kernarg = mem.map("kernarg segment", RegionKind::Runtime, block, false);
    let data = packet(d, kernel, image.address(), kernarg.address(), lds_bytes);
    let packet = mem.map("dispatch packet", RegionKind::Runtime, data, false);
    let lane = u64::from(scratch_lane_bytes(kernel));
    if lane > 1 << 20 {
        return Err(bad("more than a megabyte of scratch a lane"));
    }
    if lane * u64::from(lanes) * u64::from(shape.waves) > SCRATCH_MAX {
        return Err(bad(format!("{lane} bytes of scratch a lane in {} waves", shape.waves)));
    }
    let gds = mem.map("GDS", RegionKind::Runtime, vec![0; 65536], true);
    mem.set_undefined(gds);
    let mut scratch = Vec::new();
    if lane > 0 {
        let bytes =
            (lane.next_multiple_of(kernel.private_element_bytes.max(4).into()) * u64::from(lanes)) as usize;
        for slot in 0..shape.waves {
            let id =
                mem.map(&format!("scratch of wave {slot}"), RegionKind::Scratch(slot), vec![0; bytes], true);
            scratch.push(id);
        }
    }
    Ok(Setup { image, kernarg, packet, queue, gds, extra, printf, scratch, lds_bytes, shape })
}

/// `target` with waves of the size that the kernel's descriptor asks for, where the generation leaves the choice.
fn for_kernel(target: &Target, kernel: &Kernel) -> Target {
    let mut target = *target;
    if target.limits().wave_sizes.len() > 1 {
        target.features.set(Features::WAVEFRONTSIZE32, kernel.descriptor.wavefront_size32 != 0);
    }
    target
}

/// VGPRs of a wave whose descriptor says `blocks`: one stands for 4 of 64 lanes, or 8 of 32. Source: AMDGPU usage guide, `GRANULATED_WORKITEM_VGPR_COUNT`.
fn vgprs(target: &Target, blocks: u32) -> u32 {
    ((blocks + 1) * 4 * (WaveSize::W64.lanes() / target.wave_size())).min(256)
}

/// SGPRs of a wave whose descriptor says `blocks`; GFX10 gives all to each wave and has no count.
fn sgprs(target: &Target, blocks: u32) -> u32 {
    if has_all_sgprs(target) {
        return target.limits().addressable_sgprs;
    }
    target.limits().allocated_sgprs(blocks)
}

fn has_all_sgprs(target: &Target) -> bool {
    target.has(Features::WORKGROUP_PROCESSORS)
}

/// Dword 3 of a resource of GFX10 for scratch: a format of a dword (12 and up), lane ids added (23), the level (24), and no check of the range but of an
/// empty buffer (29:28). Source: RDNA ISA, "Buffer Resource Descriptor".
const SCRATCH_DWORD3_GFX10: u32 = 20 << 12 | 1 << 23 | 1 << 24 | 2 << 28;

/// Dword 3 of the resource of scratch, without a data format: swizzled, as many lanes as a wave has, elements of `element` bytes, lane ids added.
fn scratch_dword3(target: &Target, element: u32) -> u32 {
    if target.has(Features::WORKGROUP_PROCESSORS) {
        return SCRATCH_DWORD3_GFX10 | (target.wave_size().ilog2() - 3) << 21;
    }
    let rules = &target.limits().buffers;
    let size = if rules.element_size { element.ilog2().saturating_sub(1) } else { 0 };
    rules.scratch_dword3 & !0xffff | size << 19
}

fn occupancy(kernel: &Kernel, target: &Target, lds: u32, waves_per_group: u32) -> u32 {
    let p = target.limits();
    let by_vgprs = p.total_vgprs / vgprs(target, kernel.descriptor.vgpr_blocks);
    let by_sgprs = match has_all_sgprs(target) {
        true => u32::MAX,
        false => p.total_sgprs / sgprs(target, kernel.descriptor.sgpr_blocks),
    };
    let groups = if lds == 0 { u32::MAX } else { target.timing().lds.bytes / lds.max(1) };
    let by_lds = groups.saturating_mul(waves_per_group) / u32::from(target.timing().front.simds.max(1));
    by_vgprs.min(by_sgprs).min(by_lds.max(1)).min(p.max_waves_per_simd)
}

/// What all work-groups of a dispatch share.
#[derive(Clone, Copy)]
struct Run<'a> {
    kernel: &'a Kernel,
    dispatch: &'a Dispatch,
    cfg: &'a Config,
    setup: &'a Setup,
    launch: &'a Launch,
    program: &'a Program,
    scratch_base: u64,
}

/// What all waves of a dispatch share.
fn launch(kernel: &Kernel, target: &Target, setup: &Setup, scratch_base: u64) -> Launch {
    Launch {
        target: *target,
        image_base: setup.image.address(),
        shared_aperture: SHARED_APERTURE,
        private_aperture: PRIVATE_APERTURE,
        hidden_private_base: scratch_base & !0xff_ffff,
        gds: setup.gds.address(),
        scratch_lane_bytes: scratch_lane_bytes(kernel),
        sgprs: sgprs(target, kernel.descriptor.sgpr_blocks),
        vgprs: vgprs(target, kernel.descriptor.vgpr_blocks),
        wgp: target.has(Features::WORKGROUP_PROCESSORS) && kernel.descriptor.workgroup_processor_mode != 0,
        first_gfx10: target.processor.isa_version()[..2] == [10, 1],
    }
}

fn run_groups(
    kernel: &Kernel,
    mem: &mut Memory,
    d: &Dispatch,
    cfg: &Config,
    target: &Target,
    setup: &Setup,
) -> Result<Stats> {
    let program = Program::new(mem.bytes(setup.image).to_vec(), *target);
    let scratch_base = setup.scratch_base(mem);
    let launch = launch(kernel, target, setup, scratch_base);
    let run = Run { kernel, dispatch: d, cfg, setup, launch: &launch, program: &program, scratch_base };
    let needs = needs(&launch, setup);
    let mut modelled = cfg.model.map(|model| Modelled { model, unit: Unit::new(&program, needs), share: 0 });
    let mut stats = run_batches(&run, mem, modelled.as_mut())?;
    stats.occupancy = occupancy(kernel, target, setup.lds_bytes, setup.shape.waves);
    stats.model = modelled.map(|m| Box::new(m.unit.finish(m.share, kernel.entry, m.model.per_instruction)));
    stats.unmapped_stores = mem.unmapped_stores;
    stats.store_log_digest = mem.store_log_digest;
    Ok(stats)
}

/// What a work-group takes of a compute unit.
fn needs(launch: &Launch, setup: &Setup) -> Needs {
    let limits = launch.target.limits();
    Needs {
        waves_per_simd: limits.waves_that_fit(launch.sgprs, launch.vgprs),
        lds: setup.lds_bytes.next_multiple_of(limits.lds_granule.max(1)),
        base: launch.image_base,
    }
}

/// The model of cycles at work.
struct Modelled<'a> {
    model: Model,
    unit: Unit<'a>,
    /// Instructions of all work-groups that run on the compute unit.
    share: u64,
}

impl Modelled<'_> {
    /// Work-group `number` has run.
    fn ran(&mut self, number: u64, stats: &Stats, trace: Option<GroupTrace>) {
        if self.model.has(number) {
            self.share += stats.instructions;
        }
        if let Some(trace) = trace {
            self.unit.push(trace);
        }
    }
}

/// Runs all work-groups, several at the same time where that pays.
fn run_batches(run: &Run<'_>, mem: &mut Memory, mut modelled: Option<&mut Modelled<'_>>) -> Result<Stats> {
    let [nx, ny, nz] = run.setup.shape.groups.map(u64::from);
    let id = |n: u64| [(n % nx) as u32, (n / nx % ny) as u32, (n / nx / ny) as u32];
    let total = nx * ny * nz;
    // Views know no unmapped memory, and traces are read in order.
    let views = run.cfg.unmapped == Unmapped::Fault && !run.cfg.trace;
    let together = views && run.cfg.threads != 1 && rayon::current_num_threads() > 1;
    // The waves of a work-group share one L1, unless they run on a pair of compute units.
    let several = total > 1 || run.launch.wgp && run.setup.shape.waves > 1;
    let caches = views && several && run.cfg.checks.intersects(Checks::STALE | Checks::RELEASE);
    let threads = if together { rayon::current_num_threads() } else { 1 };
    let watch = run.cfg.watch.as_deref();
    if let Some(watch) = watch {
        watch.begin(total);
    }
    let mut stats = Stats::default();
    let mut own = Workspace::new(run);
    // What all work-groups so far have written, for the checks of caches and of order.
    let mut history = History::new(run.cfg.checks, run.launch.wgp);
    let records = |number| run.cfg.model.is_some_and(|model| model.models(number));
    let (mut next, mut batch) = (0, 1);
    while next < total {
        if let Some(watch) = watch {
            watch.ended(next, &stats, threads)?;
        }
        let left = run.cfg.budget.saturating_sub(stats.instructions);
        let n = (total - next).min(batch as u64);
        if n == 1 {
            for id in &run.setup.scratch {
                mem.set_undefined(*id);
            }
            let (s, trace) = if caches {
                let mut view = View::new(mem, Some(&history), next);
                let ran = run_one(run, &mut own, &mut view, id(next), left, records(next))?;
                let delta = view.finish();
                delta.record(mem, &mut history);
                delta.commit(mem, &mut Written::default());
                ran
            } else {
                run_one(run, &mut own, mem, id(next), left, records(next))?
            };
            stats.add(&s);
            if let Some(modelled) = &mut modelled {
                modelled.ran(next, &s, trace);
            }
            next += 1;
            if together {
                // The first work-group has decoded the program; later ones grow the batch again after conflicts.
                batch = if next == 1 || next.is_multiple_of(16) { 4 } else { 1 };
            }
            continue;
        }
        let shared: &Memory = mem;
        let known = caches.then_some(&history);
        let results: Vec<Result<(Stats, Option<GroupTrace>, Delta)>> = (next..next + n)
            .into_par_iter()
            .map_init(
                || Workspace::new(run),
                |work, number| {
                    let mut view = View::new(shared, known, number);
                    let (stats, trace) = run_one(run, work, &mut view, id(number), left, records(number))?;
                    Ok((stats, trace, view.finish()))
                },
            )
            .collect();
        let mut written = Written::default();
        let mut committed = 0;
        for result in results {
            match result {
                Ok((s, trace, delta))
                    if delta.is_valid(&written, mem)
                        && stats.instructions + s.instructions <= run.cfg.budget =>
                {
                    if caches {
                        delta.record(mem, &mut history);
                    }
                    delta.commit(mem, &mut written);
                    stats.add(&s);
                    if let Some(modelled) = &mut modelled {
                        modelled.ran(next + committed, &s, trace);
                    }
                    committed += 1;
                }
                // A failure may come of a conflict; on its own the work-group shows.
                Ok(_) | Err(_) => break,
            }
        }
        next += committed;
        batch = if committed == n { (batch * 2).min(BATCH_MAX) } else { 1 };
    }
    if let Some(watch) = watch {
        watch.ended(next, &stats, threads)?;
    }
    Ok(stats)
}
