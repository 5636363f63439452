//! Runs a dispatch on IR: what [`crate::ir`] asks of the outside, answered from a prepared dispatch.
//!
//! Buffers, kernel arguments and variables of the module are where the finished code has them, LDS variables where it places them. So memory can be
//! compared byte by byte with what later stages leave.

use crate::ir::{self, Barrier, Cause, Fault, Host, Launch, Program, Space, Store};
use crate::machine::Description;
use crate::record::{LdsHistory, Outcome, Stop, StopKind, Trace, Writer};
use mir::ir::{Func, Module, SymbolRef};
use sim::exec::Group;
use sim::{Memory, Prepared};
use std::fmt::Write as _;

/// A module to run, and what the finished code says about it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The module.
    pub module: &'a Module,
    /// Whether it is legal IR.
    pub legal: bool,
    /// The kernel.
    pub kernel: Func,
    /// The address of a symbol as a function sees it: an offset for variables in LDS.
    pub symbol: &'a dyn Fn(Func, SymbolRef) -> Option<u64>,
    /// Offset of the first hidden argument in the kernarg segment.
    pub implicit_offset: u32,
}

/// Numbers of instructions: those of each function follow those of the one before.
struct Sites {
    first: Vec<u32>,
}

impl Sites {
    fn new(module: &Module) -> Self {
        let mut first = Vec::with_capacity(module.functions.len());
        let mut next = 0u32;
        for function in module.functions.values() {
            first.push(next);
            next = next.saturating_add(function.insts.len() as u32);
        }
        Self { first }
    }

    fn number(&self, site: ir::Site) -> u32 {
        self.first
            .get(site.func.as_u32() as usize)
            .map_or(0, |first| first.saturating_add(site.inst.as_u32()))
    }
}

/// The instruction of `module` with a number that [`run`] gave it.
pub fn describe(module: &Module, site: u32) -> Description {
    let sites = Sites::new(module);
    let Some(index) = sites.first.partition_point(|&f| f <= site).checked_sub(1) else {
        return Description::default();
    };
    let function = &module.functions[Func::from_u32(index as u32)];
    let inst = mir::ir::Inst::from_u32(site - sites.first[index]);
    let block = function.layout.iter().find(|&&block| function.blocks[block].insts.contains(&inst));
    let mut instruction = String::new();
    if block.is_some() {
        let _ = write!(instruction, "{}", function.display_inst(module, inst));
    }
    Description {
        function: function.name.clone(),
        block: block.map_or_else(String::new, ToString::to_string),
        instruction,
    }
}

/// The outside of one work-group.
struct Outside<'a> {
    source: &'a Source<'a>,
    sites: &'a Sites,
    trace: &'a Trace,
    history: &'a mut LdsHistory,
    /// LDS as the stores leave it, for the end, which nobody tells of.
    lds: Group,
}

impl Host for Outside<'_> {
    fn symbol(&mut self, user: Func, symbol: SymbolRef) -> Option<u64> {
        (self.source.symbol)(user, symbol)
    }

    fn function_at(&mut self, address: u64) -> Option<Func> {
        let module = self.source.module;
        module
            .functions
            .keys()
            .find(|&func| (self.source.symbol)(func, SymbolRef::Func(func)) == Some(address))
    }

    fn store(&mut self, store: &Store<'_>) {
        let writer = Writer::new(
            self.history.group(),
            store.site.wave,
            store.site.lane,
            self.sites.number(store.site),
        );
        match store.space {
            Space::Global => self.trace.stored(store.address, store.bytes.len(), writer),
            Space::Local => {
                let at = store.address as u32;
                self.trace.lds_stored(at, store.bytes.len(), writer);
                let end = (at as usize).saturating_add(store.bytes.len());
                if let (Some(bytes), Some(undef)) =
                    (self.lds.lds.get_mut(at as usize..end), self.lds.lds_undef.get_mut(at as usize..end))
                {
                    bytes.copy_from_slice(store.bytes);
                    undef.copy_from_slice(store.undef);
                }
            }
            Space::Private => {}
        }
    }

    fn barrier(&mut self, barrier: &Barrier<'_>) {
        self.history.note_bytes(barrier.lds, barrier.lds_undef, self.trace);
    }
}

/// Runs all work-groups of `prepared` with `source` in the place of the object's code. `fuel` bounds the instructions of all waves.
pub fn run(source: &Source<'_>, prepared: &Prepared<'_>, memory: &mut Memory, fuel: u64) -> Outcome {
    let mut program = if source.legal { Program::legal(source.module) } else { Program::new(source.module) };
    let sites = Sites::new(source.module);
    let mut trace = Trace::new(memory, prepared);
    let mut lds = Vec::new();
    let (mut left, mut stop, mut approximate) = (fuel, None, false);
    for (number, id) in prepared.groups().enumerate() {
        let launch = launch(source, prepared, id, left);
        let bytes = launch.lds_bytes as usize;
        trace.start_group(bytes);
        let mut history = LdsHistory::new(number as u32, prepared.waves(id));
        let state = Group { lds: vec![0; bytes], lds_undef: vec![0xff; bytes], ..Group::default() };
        history.start(&state);
        let mut outside = Outside { source, sites: &sites, trace: &trace, history: &mut history, lds: state };
        let result = program.run_group(source.kernel, &launch, &mut outside, memory);
        let state = outside.lds;
        history.note(&state, &trace);
        lds.push(history);
        match result {
            Ok(done) => {
                left = left.saturating_sub(done.instructions);
                approximate |= done.approximate;
            }
            Err(fault) => {
                stop = Some(stopped(source.module, &sites, &fault, id));
                break;
            }
        }
    }
    Outcome { approximate, ..Outcome::new(memory, trace, lds, stop, fuel - left) }
}

fn launch(source: &Source<'_>, prepared: &Prepared<'_>, id: [u32; 3], fuel: u64) -> Launch {
    let shared = prepared.launch();
    let kernarg = prepared.kernarg().address();
    Launch {
        target: shared.target,
        group: id,
        size: prepared.size(id),
        kernarg,
        implicitarg: kernarg.wrapping_add(source.implicit_offset.into()),
        dispatch: prepared.packet().address(),
        queue: prepared.queue().address(),
        // What the command processor gives a kernel that asks.
        dispatch_id: 1,
        shared_aperture: shared.shared_aperture,
        private_aperture: shared.private_aperture,
        lds_bytes: prepared.lds_bytes(),
        static_lds_bytes: prepared.kernel().descriptor.group_segment_fixed_size,
        fuel,
    }
}

fn stopped(module: &Module, sites: &Sites, fault: &Fault, group: [u32; 3]) -> Stop {
    let kind = match fault.cause {
        Cause::Unsupported(_) => StopKind::Unsupported,
        Cause::Fuel => StopKind::Fuel,
        _ => StopKind::Fault,
    };
    Stop {
        kind,
        message: fault.cause.to_string(),
        group,
        wave: fault.site.map_or(0, |site| site.wave),
        place: fault.site.map(|site| describe(module, sites.number(site))).unwrap_or_default(),
    }
}
