//! A dispatch that is mapped and ready to start, for those who run its waves themselves.
//!
//! [`super::run_on`] maps what a dispatch needs (image, kernel arguments, packet, queue, scratch), runs the code's bytes and unmaps it again. Whoever
//! executes something else in the place of those bytes, an earlier stage of the compiler, takes the first part from here: the same memory at the
//! same addresses, and the registers with which each wave of a work-group starts.

use super::group::Workspace;
use super::{Dispatch, Run, Setup, bad, for_kernel, launch, prepare};
use crate::exec::{Group, Launch};
use crate::load::{CodeObject, Kernel};
use crate::memory::{BufferId, Memory};
use crate::program::Program;
use crate::report::{Config, Result};
use crate::wave::Wave;
use mir::target::Target;

/// A dispatch whose memory is mapped.
pub struct Prepared<'a> {
    object: &'a CodeObject,
    kernel: &'a Kernel,
    dispatch: &'a Dispatch,
    config: &'a Config,
    setup: Setup,
    launch: Launch,
    program: Program,
    scratch_base: u64,
}

impl<'a> Prepared<'a> {
    /// Maps what `dispatch` needs into `memory`, where the addresses depend on what is mapped already, and on nothing else.
    ///
    /// Errors: those of a dispatch that does not fit the kernel.
    pub fn new(
        object: &'a CodeObject,
        memory: &mut Memory,
        dispatch: &'a Dispatch,
        config: &'a Config,
        target: &Target,
    ) -> Result<Self> {
        let kernel = object
            .kernel(&dispatch.kernel)
            .ok_or_else(|| bad(format!("no kernel {} in the object", dispatch.kernel)))?;
        let target = &for_kernel(target, kernel);
        memory.unmapped = config.unmapped;
        let setup = prepare(object, kernel, memory, dispatch, target.wave())?;
        let scratch_base = setup.scratch_base(memory);
        let launch = launch(kernel, target, &setup, scratch_base);
        let program = Program::new(memory.bytes(setup.image).to_vec(), *target);
        Ok(Self { object, kernel, dispatch, config, setup, launch, program, scratch_base })
    }

    fn run(&self) -> Run<'_> {
        Run {
            kernel: self.kernel,
            dispatch: self.dispatch,
            cfg: self.config,
            setup: &self.setup,
            launch: &self.launch,
            program: &self.program,
            scratch_base: self.scratch_base,
        }
    }

    /// Ids of the work-groups in the order in which they run.
    pub fn groups(&self) -> impl Iterator<Item = [u32; 3]> + use<> {
        let [nx, ny, nz] = self.setup.shape.groups;
        (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])))
    }

    /// Work-items of work-group `id` in each direction: fewer at the end of a grid that is no multiple.
    pub fn size(&self, id: [u32; 3]) -> [u32; 3] {
        let d = self.dispatch;
        std::array::from_fn(|k| d.group[k].min(d.grid[k].saturating_sub(id[k].saturating_mul(d.group[k]))))
    }

    /// Number of waves of work-group `id`.
    pub fn waves(&self, id: [u32; 3]) -> u32 {
        self.size(id).iter().product::<u32>().div_ceil(self.launch.target.wave_size())
    }

    /// The waves of work-group `id` and what they share, as they start. Scratch becomes undefined.
    pub fn start(&self, memory: &mut Memory, id: [u32; 3]) -> (Vec<Wave>, Group) {
        for slot in &self.setup.scratch {
            memory.set_undefined(*slot);
        }
        let run = self.run();
        Workspace::new(&run).into_started(&run, id)
    }

    /// What all waves share.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// How the dispatch runs.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// What is dispatched.
    pub fn dispatch(&self) -> &'a Dispatch {
        self.dispatch
    }

    /// The kernel.
    pub fn kernel(&self) -> &'a Kernel {
        self.kernel
    }

    /// The code of the image.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The loaded code object.
    pub fn image(&self) -> BufferId {
        self.setup.image
    }

    /// The kernarg segment.
    pub fn kernarg(&self) -> BufferId {
        self.setup.kernarg
    }

    /// The dispatch packet.
    pub fn packet(&self) -> BufferId {
        self.setup.packet
    }

    /// The queue.
    pub fn queue(&self) -> BufferId {
        self.setup.queue
    }

    /// Bytes of LDS of a work-group, dynamic ones included.
    pub fn lds_bytes(&self) -> u32 {
        self.setup.lds_bytes
    }

    /// The address of the symbol `name`, of its entry in the table of addresses with `got`.
    pub fn symbol(&self, name: &str, got: bool) -> Option<u64> {
        let offset = self.object.symbol(name)?;
        let offset = if got { self.object.got_entry(offset)? } else { offset };
        Some(self.launch.image_base.wrapping_add(offset))
    }
}
