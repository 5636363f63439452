//! Runs one wave at any symbol of a code object: a kernel, a function that follows the calling convention, a graphics shader.
//!
//! Two compilers are compared by what such a wave leaves: its registers, LDS, scratch, and what [`Memory`] remembers of stores to unmapped
//! memory. The wave starts with the registers that the caller names; all others are undefined.
//!
//! * A *kernel* starts as a dispatch starts it, with one wave of one work-group; LDS beyond its static part holds what the caller says.
//! * A *function* gets the resource of scratch in `s[0:3]`, addresses in `s[4:11]`, work-group ids in `s[12:14]`, the return address in `s[30:31]`, the
//!   stack pointer in `s32`, packed work-item ids in `v31`. Returning ends the run. Source: AMDGPU usage guide, "Non-Kernel Functions".
//! * A *shader* ends with `s_endpgm` or by running off its last instruction, behind which a driver puts an epilog.
//!
//! An undefined symbol of the object has an address of its own outside the image ([`crate::load`]); a jump there calls [`Setting::external`]. Exports are
//! stores to [`EXPORTS`].

use super::scratch_dword3;
use super::start::start_wave;
use super::{Dispatch, PRIVATE_APERTURE, Run, SHARED_APERTURE, Setup};
use super::{bad, for_kernel, launch, prepare, trace};
use crate::exec::{Exec, Group, Launch};
use crate::load::{CodeObject, Kernel};
use crate::memory::{Bus, Memory, RegionKind};
use crate::program::{Op, Program};
use crate::report::{Config, Kind, Report, Result, Stats};
use crate::wave::{Lanes, MAX_LANES, Status, Wave};
use mir::abi::KernelDescriptor;
use mir::abi::call;
use mir::isa::Opcode;
use mir::machine::PReg;
use mir::target::{FlatScratch, Target, WaitCounts};

/// Offset from the image at which a function returns.
const RETURN: u64 = 0x8000_0000;
/// Where exports are stored: 4096 bytes a target, 16 a lane.
pub const EXPORTS: u64 = 0x6600_0000_0000;
/// Stack offset in bytes a lane at which a function's frame starts.
pub const STACK: u32 = 4096;
/// Scratch bytes of a lane of a function.
const FUNCTION_SCRATCH: u32 = 16384;

/// How a wave starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// As the dispatch says, in this work-group.
    Kernel([u32; 3]),
    /// By the calling convention of functions.
    Function,
    /// As a graphics shader.
    Shader,
}

/// What is called for an external function: its offset from the image, the wave, memory.
pub type External<'a> = dyn FnMut(u64, &mut Wave, &mut Memory) -> Result<()> + 'a;

/// What a run starts with.
pub struct Setting<'a> {
    /// How.
    pub entry: Entry,
    /// The symbol's name is the dispatch's kernel; functions and shaders use nothing else of it but the shape.
    pub dispatch: &'a Dispatch,
    /// Scalar registers.
    pub sgprs: &'a [(u16, u32)],
    /// Vector registers.
    pub vgprs: &'a [(u16, Lanes)],
    /// Active lanes of functions and shaders.
    pub exec: u64,
    /// MODE of functions and shaders.
    pub mode: u32,
    /// Whether the kernel's own variables hold something too; else they are undefined.
    pub own_lds: bool,
    /// The contents of LDS at an offset.
    pub lds: &'a dyn Fn(u32) -> u8,
    /// The dword of a function's scratch at (lane, byte offset); `None` is undefined.
    pub scratch: &'a dyn Fn(usize, u32) -> Option<u32>,
    /// External functions.
    pub external: &'a mut External<'a>,
}

/// What a run left.
#[derive(Debug)]
pub struct Finished {
    /// Counts.
    pub stats: Stats,
    /// Registers.
    pub wave: Wave,
    /// LDS.
    pub lds: Vec<u8>,
    /// Its undefined bits.
    pub lds_undef: Vec<u8>,
    /// Bytes of LDS that belong to the kernel's own variables.
    pub static_lds: u32,
    /// A function's scratch below [`STACK`], dword by dword for all lanes, with its undefined bits.
    pub scratch: Vec<(u32, u32)>,
}

/// The descriptor of what has none: all registers.
fn descriptor(scratch: u32) -> KernelDescriptor {
    KernelDescriptor {
        vgpr_blocks: 63,
        sgpr_blocks: 13,
        private_segment_fixed_size: scratch,
        ..KernelDescriptor::default()
    }
}

/// Runs one wave.
pub fn run_single(
    object: &CodeObject,
    mem: &mut Memory,
    setting: &mut Setting<'_>,
    cfg: &Config,
    target: &Target,
) -> Result<Finished> {
    let name = &setting.dispatch.kernel;
    let named = |mut r: Box<Report>| {
        r.kernel.clone_from(name);
        r
    };
    let kernel = match setting.entry {
        Entry::Kernel(_) => object.kernel(name).cloned().ok_or_else(|| bad(format!("no kernel {name}")))?,
        Entry::Function | Entry::Shader => {
            let entry = object.symbol(name).ok_or_else(|| bad(format!("no symbol {name}")))?;
            let scratch = if setting.entry == Entry::Function { FUNCTION_SCRATCH } else { 1024 };
            let descriptor = descriptor(scratch);
            Kernel {
                name: name.clone(),
                descriptor_offset: 0,
                entry,
                descriptor,
                private_element_bytes: 4,
                metadata: None,
            }
        }
    };
    let target = &match setting.entry {
        Entry::Kernel(_) => for_kernel(target, &kernel),
        Entry::Function | Entry::Shader => *target,
    };
    let static_lds = kernel.descriptor.group_segment_fixed_size;
    let mut dispatch = setting.dispatch.clone();
    dispatch.dynamic_lds = 65536u32.saturating_sub(static_lds);
    mem.unmapped = cfg.unmapped;
    let mut setup = prepare(object, &kernel, mem, &dispatch, target.wave()).map_err(named)?;
    if setting.entry == Entry::Function {
        let block = implicit_arguments(&dispatch, setup.queue.address());
        setup.extra.push(mem.map("implicit arguments", RegionKind::Runtime, block, false));
    }
    let result = wave_of(object, &kernel, &dispatch, mem, setting, cfg, target, &setup);
    let all = [setup.image, setup.kernarg, setup.packet, setup.queue, setup.gds];
    for id in all.into_iter().chain(setup.extra).chain(setup.scratch) {
        mem.unmap(id);
    }
    result.map_err(named)
}

fn wave_of(
    object: &CodeObject,
    kernel: &Kernel,
    dispatch: &Dispatch,
    mem: &mut Memory,
    setting: &mut Setting<'_>,
    cfg: &Config,
    target: &Target,
    setup: &Setup,
) -> Result<Finished> {
    let program = Program::new(mem.bytes(setup.image).to_vec(), *target);
    let scratch_base = setup.scratch_base(mem);
    let launch = launch(kernel, target, setup, scratch_base);
    for id in &setup.scratch {
        mem.set_undefined(*id);
    }
    let static_lds = kernel.descriptor.group_segment_fixed_size;
    let mut group = Group { lds: vec![0; 65536], lds_undef: vec![0; 65536], id: [0; 3], ..Group::default() };
    for (at, byte) in group.lds.iter_mut().enumerate() {
        *byte = (setting.lds)(at as u32);
    }
    let mut w = Wave::new(target.wave(), target.waits().max());
    match setting.entry {
        Entry::Kernel(id) => {
            group.id = id;
            let undefined = if setting.own_lds { 0 } else { static_lds.min(65536) as usize };
            group.lds_undef[..undefined].fill(0xff);
            let run = Run { kernel, dispatch, cfg, setup, launch: &launch, program: &program, scratch_base };
            start_wave(&mut w, 0, &dispatch.group, &run, &group);
        }
        Entry::Function | Entry::Shader => {
            w.reset(cfg.seed, 256);
            w.pc = kernel.entry;
            w.mode = setting.mode;
            w.set_exec(setting.exec);
            if setting.entry == Entry::Function {
                function_registers(&mut w, target, &launch, setup, scratch_base);
                function_scratch(mem, setting, setup, scratch_base, target.wave_size())?;
            }
        }
    }
    for &(n, value) in setting.sgprs {
        w.set_s(PReg::sgpr(n), value);
    }
    for &(n, value) in setting.vgprs {
        w.set_v(usize::from(n), value);
    }
    let end = match setting.entry {
        Entry::Shader => object.symbol_size(&kernel.name).map(|size| kernel.entry.wrapping_add(size)),
        _ => None,
    };
    let mut stats = Stats::default();
    let mut left = cfg.budget;
    let place = |mut r: Box<Report>, at: u64, op: Option<&Op>| {
        r.pc = Some(at.wrapping_sub(kernel.entry));
        r.instruction = op.map(|op| op.text(target));
        r
    };
    let over = |w: &Wave| w.status == Status::Done || Some(w.pc) == end || w.pc == RETURN;
    while !over(&w) {
        if object.is_external(w.pc) {
            // A function waits for everything first.
            w.waits.wait_for(WaitCounts::ZERO);
            (setting.external)(w.pc, &mut w, mem)?;
            w.pc = w.pair(call::RETURN_ADDRESS).wrapping_sub(launch.image_base);
            continue;
        }
        let at = w.pc;
        let op = program.op(at).map_err(|r| place(r, at, None))?;
        if op.inst.op == Opcode::EXP {
            export(&w, mem, launch.image_base.wrapping_add(at)).map_err(|r| place(r, at, Some(op)))?;
            w.pc = at.wrapping_add(u64::from(op.size));
            continue;
        }
        // Runs to the next place that concerns the loop around.
        let mut exec = Exec::new(mem, &launch, cfg);
        while !over(&w) && !object.is_external(w.pc) {
            let at = w.pc;
            let op = program.op(at).map_err(|r| place(r, at, None))?;
            if op.inst.op == Opcode::EXP {
                break;
            }
            if left == 0 {
                let message = "the instruction budget is used up: the wave may not end";
                return Err(place(Report::new(Kind::Budget, message), at, Some(op)));
            }
            left -= 1;
            if cfg.trace {
                trace(format_args!("+{:#x}: {}", at.wrapping_sub(kernel.entry), op.text(target)));
            }
            exec.step(&mut w, &mut group, op).map_err(|r| place(r, at, Some(op)))?;
            if matches!(w.status, Status::Barrier(_)) {
                w.status = Status::Running;
            }
        }
        stats.add(&exec.stats);
    }
    let mut scratch = Vec::new();
    if setting.entry == Entry::Function {
        let dwords = STACK as usize / 4 * target.wave_size() as usize;
        let (mut bytes, mut undef) = (vec![0; dwords * 4], vec![0; dwords * 4]);
        mem.load(scratch_base, &mut bytes, &mut undef)?;
        let word = |b: &[u8]| b.iter().rev().fold(0u32, |x, &b| x << 8 | u32::from(b));
        scratch = bytes.chunks(4).zip(undef.chunks(4)).map(|(b, u)| (word(b), word(u))).collect();
    }
    Ok(Finished { stats, wave: w, lds: group.lds, lds_undef: group.lds_undef, static_lds, scratch })
}

/// The registers that the calling convention gives every function.
fn function_registers(w: &mut Wave, target: &Target, launch: &Launch, setup: &Setup, scratch: u64) {
    let mut pair = |first: PReg, x: u64| {
        w.set_s(first, x as u32);
        w.set_s(first.plus(1), (x >> 32) as u32);
    };
    let word3 = scratch_dword3(target, 4);
    pair(call::SCRATCH_RESOURCE, scratch & 0xffff_ffff_ffff | 1 << 63);
    pair(call::SCRATCH_RESOURCE.plus(2), 0xffff_f000 | u64::from(word3) << 32);
    pair(call::DISPATCH_PTR, setup.packet.address());
    pair(call::QUEUE_PTR, setup.queue.address());
    pair(call::IMPLICITARG_PTR, setup.extra.last().map_or(0, |block| block.address()));
    pair(call::DISPATCH_ID, 1);
    pair(call::RETURN_ADDRESS, launch.image_base.wrapping_add(RETURN));
    for reg in call::WORKGROUP_IDS {
        w.set_s(reg, 0);
    }
    w.set_s(call::LDS_KERNEL_ID, 0);
    w.set_s(call::STACK_POINTER, STACK * target.wave_size());
    w.set_s(call::FRAME_POINTER, 0);
    let flat = if target.limits().flat_scratch != FlatScratch::SizeAndOffset {
        scratch
    } else {
        (scratch - launch.hidden_private_base) >> 8 << 32 | u64::from(FUNCTION_SCRATCH)
    };
    w.set_pair(PReg::FLAT_SCRATCH_LO, flat, 0);
    let ids: Lanes = std::array::from_fn(|l| l as u32);
    w.set_v(call::WORKITEM_IDS.vgpr_index().map_or(0, usize::from), ids);
}

/// The implicit arguments of version 5. Source: AMDGPU usage guide, "Code Object V5 Metadata".
fn implicit_arguments(dispatch: &Dispatch, queue: u64) -> Vec<u8> {
    let mut block = vec![0; 256];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    for k in 0..3 {
        put(4 * k, &(dispatch.grid[k] / dispatch.group[k].max(1)).to_le_bytes());
        put(12 + 2 * k, &(dispatch.group[k] as u16).to_le_bytes());
    }
    put(64, &1u16.to_le_bytes());
    put(192, &PRIVATE_APERTURE.to_le_bytes());
    put(196, &SHARED_APERTURE.to_le_bytes());
    put(200, &queue.to_le_bytes());
    block
}

fn function_scratch(
    mem: &mut Memory,
    setting: &Setting<'_>,
    setup: &Setup,
    base: u64,
    lanes: u32,
) -> Result<()> {
    if setup.scratch.is_empty() {
        return Ok(());
    }
    for dword in 0..FUNCTION_SCRATCH / 4 {
        for lane in 0..lanes as usize {
            if let Some(value) = (setting.scratch)(lane, dword * 4) {
                let at = base + u64::from(dword) * 4 * u64::from(lanes) + 4 * lane as u64;
                mem.store(at, &value.to_le_bytes(), &[0; 4])?;
            }
        }
    }
    Ok(())
}

/// An export, as stores of the components that it enables.
fn export(w: &Wave, mem: &mut Memory, at: u64) -> Result<()> {
    let (low, sources) = (mem.load_u32(at)?, mem.load_u32(at + 4)?);
    let target = u64::from(low >> 4 & 63);
    let compressed = low >> 10 & 1 != 0;
    for lane in (0..MAX_LANES).filter(|l| w.exec() >> l & 1 != 0) {
        for component in (0..4usize).filter(|c| low >> c & 1 != 0) {
            let register =
                (sources >> (8 * if compressed { component / 2 } else { component }) & 0xff) as usize;
            let (value, undef) = (w.v[register][lane], w.undef_at(register, lane));
            let base = EXPORTS + target * 4096 + 16 * lane as u64;
            if compressed {
                let half = component % 2 * 2;
                let (v, u) = (value.to_le_bytes(), undef.to_le_bytes());
                mem.store(base + 2 * component as u64, &v[half..half + 2], &u[half..half + 2])?;
            } else {
                mem.store(base + 4 * component as u64, &value.to_le_bytes(), &undef.to_le_bytes())?;
            }
        }
    }
    Ok(())
}
