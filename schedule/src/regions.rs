//! The graph of a region before allocation: what its instructions' virtual registers and memory say.

use crate::code::{Access, Code, Role};
use crate::graph::{Graph, MemoryOrder, Unit};
use crate::latency;
use crate::live::LiveOut;
use crate::pressure::Profile;
use crate::units::Run;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use mir::isa::Unit as ExecutingUnit;
use mir::machine::{Block, BlockData, Function, Reg, RegFile, VReg, VRegFlags};
use mir::target::Target;

/// Goes over regions, the last one of a block first. Its memory is used again for the next one.
pub(crate) struct Regions<'a> {
    pub code: &'a Code,
    pub target: &'a Target,
    becomes: SecondaryMap<VReg, PackedOption<VReg>>,
    pub profile: Profile,
    pub graph: Graph,
    memory: MemoryOrder,
}

impl<'a> Regions<'a> {
    /// For regions of `f`, which `code` was read from.
    pub fn new(f: &Function, code: &'a Code, target: &'a Target) -> Self {
        Self {
            code,
            target,
            becomes: parameters(f),
            profile: Profile::new(f),
            graph: Graph::default(),
            memory: MemoryOrder::default(),
        }
    }

    /// Starts at the end of the body of `block`, whose first instruction is `first` of the code.
    pub fn enter(&mut self, f: &Function, block: Block, live: &LiveOut, first: u32) {
        let data = &f.blocks[block];
        self.profile.enter_block(live.dwords(block), live.near(block));
        for k in (data.tail_start..data.insts.len() as u32).rev() {
            self.profile.step(f, self.code.accesses(first + k));
        }
    }

    /// Walks over a region backwards, and makes its graph. Whether a unit would wait for a result in the code's order.
    pub fn graph(&mut self, f: &Function, data: &BlockData, first: u32, runs: &[Run]) -> bool {
        self.graph.clear();
        for run in runs {
            let insts = &data.insts[run.start as usize..run.end as usize];
            let issue = insts.iter().map(|inst| latency::issue(inst, self.target)).sum();
            let late = (run.start..run.end).any(|k| self.code.inst(first + k).effects.late);
            let unordered = late && insts.iter().any(|inst| inst.facts().unit == ExecutingUnit::Smem);
            self.graph.add(Unit {
                start: run.start,
                end: run.end,
                issue,
                late,
                unordered,
                ..Unit::default()
            });
        }
        self.profile.region(f, self.code, first, self.graph.units());
        self.edges(f, data, first, runs);
        self.graph.finish()
    }

    fn edges(&mut self, f: &Function, data: &BlockData, first: u32, runs: &[Run]) {
        let Self { code, target, profile, graph, memory, becomes, .. } = self;
        memory.clear();
        for (u, run) in runs.iter().enumerate() {
            mir::interrupt::checkpoint();
            let u = u as u32;
            for k in run.start..run.end {
                let inst = &data.insts[k as usize];
                for &Access { reg, role } in code.accesses(first + k) {
                    if role == Role::Def {
                        if let Some(param) = becomes[reg].expand()
                            && inst.facts().memory.is_none()
                        {
                            // Where the old value of a variable of a loop ends in front of the new one, both share a register. What is
                            // loaded for the next iteration is early instead: a move costs less than the wait.
                            profile.all_uses(param, |user| {
                                if user >= u {
                                    return;
                                }
                                graph.order(user, u);
                                // A tuple with the old value in it is in its register, too, until it is read.
                                let copy = &data.insts[runs[user as usize].start as usize];
                                for (_, tuple) in
                                    copy.regs().filter(|(is_def, _)| copy.op.is_copy() && *is_def)
                                {
                                    let Reg::Virtual(tuple) = tuple.reg else { continue };
                                    profile.all_uses(tuple, |reader| {
                                        if reader < u {
                                            graph.order(reader, u);
                                        }
                                    });
                                }
                            });
                        }
                        let unit = inst.facts().unit;
                        let scalar = f.vregs[reg].file == RegFile::Sgpr && unit == ExecutingUnit::Valu;
                        // Waits for masks are filled behind allocation: what came between would take VCC from them.
                        let mask = scalar && f.vregs[reg].flags.contains(VRegFlags::LANE_MASK);
                        let cycles =
                            if mask { latency::issue(inst, target) } else { latency::result(inst, target) };
                        profile.all_uses(reg, |user| {
                            let hazard = match scalar {
                                true => latency::scalar_hazard(
                                    &data.insts[runs[user as usize].start as usize],
                                    target,
                                ),
                                false => 0,
                            };
                            graph.data(u, user, cycles.max(hazard));
                        });
                        if mask {
                            graph.gives_mask(u);
                        }
                    } else if role == Role::Tied {
                        // Where the old value ends, others have read it before it is overwritten, or a copy would be needed.
                        profile.ended_uses(reg, |user| {
                            if user < u {
                                graph.order(user, u);
                            }
                        });
                    }
                }
                memory.access(u, &code.inst(first + k).effects, graph);
            }
        }
    }
}

/// For each register that is an argument of an edge, or a part of one, a parameter that it becomes.
fn parameters(f: &Function) -> SecondaryMap<VReg, PackedOption<VReg>> {
    let mut becomes: SecondaryMap<VReg, PackedOption<VReg>> = SecondaryMap::new();
    for &block in &f.layout {
        let data = &f.blocks[block];
        for (edges, of_wave) in [(&data.thread_succs, false), (&data.wave_succs, true)] {
            for edge in edges {
                let target = &f.blocks[edge.block];
                let params = if of_wave { &target.sparams } else { &target.vparams };
                for (&arg, &param) in edge.args.iter().zip(params) {
                    becomes[arg] = param.into();
                }
            }
        }
    }
    // What a tuple is put together from shares its register.
    for &block in &f.layout {
        for inst in f.blocks[block].insts.iter().rev().filter(|inst| inst.op.is_copy()) {
            let virtuals = |defs: bool| {
                inst.regs().filter_map(move |(is_def, operand)| match operand.reg {
                    Reg::Virtual(reg) if is_def == defs => Some(reg),
                    _ => None,
                })
            };
            let Some(param) = virtuals(true).find_map(|reg| becomes[reg].expand()) else { continue };
            for part in virtuals(false) {
                if becomes[part].is_none() {
                    becomes[part] = param.into();
                }
            }
        }
    }
    becomes
}
