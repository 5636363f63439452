//! Small kernels in assembly and what their loops cost.

use mir::target::{Features, Processor, Target};
use sim::{Arg, Checks, CodeObject, Config, Cycles, Dispatch, Memory, Model};

/// A kernel whose loop is measured. What runs in front of the loop, `setup`, finds the address of a buffer of 1 MiB in `s[4:5]`, a
/// resource of it in `s[4:7]`, and the lane's number in the wave, times 4, in `v0`. `s8` and `s9` are the loop's.
#[derive(Clone, Copy, Debug)]
pub struct Loop<'a> {
    /// Processor.
    pub cpu: &'a str,
    /// In front of the loop.
    pub setup: &'a str,
    /// In the loop, `repeat` times.
    pub body: &'a str,
    /// How often the body stands in the loop.
    pub repeat: u32,
    /// Work-items of a work-group.
    pub group: u32,
    /// Work-groups.
    pub groups: u32,
    /// VGPRs.
    pub vgprs: u32,
    /// Bytes of LDS.
    pub lds: u32,
    /// Waves of 64 lanes where the processor has others by default.
    pub wide: bool,
}

/// One wave, one work-group, on Vega.
pub const ONE: Loop<'static> = Loop {
    cpu: "gfx900",
    setup: "",
    body: "",
    repeat: 16,
    group: 64,
    groups: 1,
    vgprs: 24,
    lds: 0,
    wide: false,
};

impl Loop<'_> {
    fn text(&self, iterations: u32) -> String {
        let Self { setup, body, repeat, vgprs, lds, .. } = self;
        format!(
            ".text\n.globl k\n.p2align 8\nk:\n s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_mov_b32 s6, 0x100000\n s_mov_b32 s7, 0x27000\n \
             v_lshlrev_b32 v0, 2, v0\n s_waitcnt lgkmcnt(0)\n{setup}\n s_mov_b32 s8, {iterations}\n.p2align 6\nloop:\n.rept {repeat}\n{body}\n.endr\n \
             s_sub_u32 s8, s8, 1\n s_cmp_lg_u32 s8, 0\n s_cbranch_scc1 loop\n s_endpgm\n\
             .rodata\n.p2align 6\n.amdhsa_kernel k\n .amdhsa_user_sgpr_kernarg_segment_ptr 1\n .amdhsa_next_free_vgpr {vgprs}\n \
             .amdhsa_next_free_sgpr 32\n .amdhsa_group_segment_fixed_size {lds}\n .amdhsa_kernarg_size 8\n.end_amdhsa_kernel\n"
        )
    }

    /// The object of a kernel with so many iterations.
    pub fn object(&self, iterations: u32) -> Vec<u8> {
        let (text, target) = (self.text(iterations), self.target());
        emit::assemble(&text, &target).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    }

    fn target(&self) -> Target {
        let mut target = Target::new(self.processor());
        if self.wide {
            target.features.remove(Features::WAVEFRONTSIZE32);
        }
        target
    }

    fn processor(&self) -> &'static Processor {
        Target::processor_by_name(self.cpu).expect("a processor")
    }

    /// What the model says of so many iterations.
    pub fn run(&self, iterations: u32, model: Model) -> Cycles {
        let object = CodeObject::load(&self.object(iterations)).expect("an object");
        let mut memory = Memory::new();
        let buffer = memory.add_buffer("buffer", vec![0; 1 << 20]);
        let dispatch = Dispatch {
            kernel: "k".to_owned(),
            grid: [self.group * self.groups, 1, 1],
            group: [self.group, 1, 1],
            args: vec![Arg::Buffer(buffer)],
            ..Dispatch::default()
        };
        let checks = Checks::parse("none").expect("a list of checks");
        let config = Config { checks, model: Some(model), ..Config::default() };
        let stats = sim::run_on(&object, &mut memory, &dispatch, &config, &self.target());
        *stats.unwrap_or_else(|report| panic!("{report}\n{self:?}")).model.expect("modelled cycles")
    }

    /// Cycles of an iteration, times 100: what a hundred more cost, so that neither the start nor cold caches count.
    pub fn iteration(&self) -> u64 {
        let cycles = |n| self.run(n, Model::default()).cycles;
        cycles(200) - cycles(100)
    }

    /// Cycles of the body, times 100: what as many more of it cost in an iteration, so that the loop's own cost does not count, nor what
    /// overlaps with it.
    pub fn cycles(&self) -> u64 {
        let twice = Self { repeat: 2 * self.repeat, ..*self };
        twice.iteration().saturating_sub(self.iteration()) / u64::from(self.repeat)
    }
}
