//! Programs over graphs: what blocks do and what branches ask.
//!
//! The meaning of a program is what [`super::evaluate`] does. All arithmetic wraps; nothing is undefined.

use mir::target::Target;

/// Where control goes behind a block. Places are numbers of blocks; the number behind the last block is the
/// exit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// To one place.
    Jump(u8),
    /// To one of two places.
    Branch {
        /// Whether lanes may disagree.
        divergent: bool,
        /// Where the condition holds, and where it does not.
        to: [u8; 2],
    },
    /// To the place of the selected number, the last place for all higher numbers.
    Switch {
        /// Whether lanes may disagree.
        divergent: bool,
        /// Places; at least two.
        to: Vec<u8>,
    },
    /// The end of the program, apart from the exit.
    Return,
}

impl End {
    /// The places, in order.
    pub fn targets(&self) -> &[u8] {
        match self {
            Self::Jump(to) => std::slice::from_ref(to),
            Self::Branch { to, .. } => to,
            Self::Switch { to, .. } => to,
            Self::Return => &[],
        }
    }

    /// The same with other places.
    pub fn targets_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Jump(to) => std::slice::from_mut(to),
            Self::Branch { to, .. } => to,
            Self::Switch { to, .. } => to,
            Self::Return => &mut [],
        }
    }

    /// With each place replaced by its entry in `new`.
    pub fn renumbered(&self, new: &[u8]) -> Self {
        let mut end = self.clone();
        end.targets_mut().iter_mut().for_each(|to| *to = new[usize::from(*to)]);
        end
    }

    /// With the targets of a branch in the order of their numbers.
    pub fn sorted(mut self) -> Self {
        if let Self::Branch { to, .. } = &mut self {
            to.sort_unstable();
        }
        self
    }

    /// Whether lanes may disagree.
    pub fn is_divergent(&self) -> bool {
        matches!(self, Self::Branch { divergent: true, .. } | Self::Switch { divergent: true, .. })
    }
}

/// The ends of blocks. The entry leads to block 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Graph {
    /// One for each block.
    pub ends: Vec<End>,
}

impl Graph {
    /// The number that stands for the exit.
    pub fn exit(&self) -> u8 {
        self.ends.len() as u8
    }

    /// Which blocks can be reached.
    pub fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.ends.len()];
        let mut todo = vec![0u8];
        while let Some(block) = todo.pop() {
            if block < self.exit() && !std::mem::replace(&mut seen[usize::from(block)], true) {
                todo.extend(self.ends[usize::from(block)].targets());
            }
        }
        seen
    }

    /// The targets of edges that close a cycle in a walk in depth-first order: every cycle has one of them.
    pub fn loop_heads(&self) -> Vec<bool> {
        let mut heads = vec![false; self.ends.len()];
        // 0 is new, 1 open, 2 done.
        let mut state = vec![0u8; self.ends.len()];
        let mut stack = vec![(0usize, 0usize)];
        state[0] = 1;
        while let Some((block, at)) = stack.pop() {
            let Some(&to) = self.ends[block].targets().get(at) else {
                state[block] = 2;
                continue;
            };
            stack.push((block, at + 1));
            let to = usize::from(to);
            match state.get(to) {
                Some(0) => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                Some(1) => heads[to] = true,
                _ => {}
            }
        }
        heads
    }
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Var {
    /// A number that differs between lanes.
    X,
    /// Another one.
    Y,
    /// A number that is the same in all lanes where control flow is.
    U,
    /// What is left of the fuel.
    Fuel,
    /// A truth value that differs between lanes.
    M,
    /// A truth value that is the same in all lanes where control flow is.
    N,
}

impl Var {
    /// All of them in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::X, Self::Y, Self::U, Self::Fuel, Self::M, Self::N];

    /// Whether it is a truth value.
    pub fn is_mask(self) -> bool {
        matches!(self, Self::M | Self::N)
    }
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In SSA values, with a phi where several of them meet.
    Ssa,
    /// The same, with a phi in every block.
    Phis,
    /// In volatile private memory.
    Private,
    /// In volatile LDS.
    Lds,
    /// In volatile global memory.
    Global,
}

impl Home {
    /// Whether it is in memory.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Private | Self::Lds | Self::Global)
    }
}

/// What a number is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable that is a number.
    Var(Var),
    /// The lane's number.
    Lane,
    /// The argument, which is uniform.
    Argument,
}

/// A small number: `source >> shift & mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// What it is taken from.
    pub source: Source,
    /// Bits shifted out, below 32.
    pub shift: u8,
    /// Bits kept.
    pub mask: u32,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cond {
    /// Whether a small number is below a bound.
    Below(Pick, u32),
    /// A truth value.
    Mask(Var),
    /// Its opposite.
    Not(Var),
    /// A truth value that counts as its opposite where a small number is below a bound.
    Xor(Var, Pick, u32),
    /// Always so.
    Const(bool),
}

/// Where a trace is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of the lane's [`TRACES`] dwords of global memory.
    Global(u8),
    /// The lane's dword of LDS.
    Lds,
}

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// `dst = dst * factor + addend`
    Mix {
        /// A number.
        dst: Var,
        /// Odd.
        factor: u32,
        /// Addend.
        addend: u32,
    },
    /// `dst = dst + (src >> shift) ^ addend`
    Fold {
        /// A number.
        dst: Var,
        /// A number.
        src: Var,
        /// Below 32.
        shift: u8,
        /// Xored at the end.
        addend: u32,
    },
    /// `dst = cond`
    Test {
        /// A truth value.
        dst: Var,
        /// Condition.
        cond: Cond,
    },
    /// `dst = mask ? dst + addend : dst ^ addend`
    Select {
        /// A number.
        dst: Var,
        /// A truth value.
        mask: Var,
        /// Operand.
        addend: u32,
    },
    /// `dst = dst * 2 + mask`
    Append {
        /// A number.
        dst: Var,
        /// A truth value.
        mask: Var,
    },
    /// `*place = *place * 5 + src`
    Trace {
        /// Where.
        place: Place,
        /// A number.
        src: Var,
    },
    /// `*place += src` as an atomic operation; what was there is added to `old`.
    Add {
        /// Where.
        place: Place,
        /// A number.
        src: Var,
        /// A number.
        old: Option<Var>,
    },
    /// Adds one to a counter that all lanes share.
    Tally(u8),
    /// `dst = f(dst, mask)`, where `f` is a function that is not inlined and branches on `mask`.
    Call {
        /// A number.
        dst: Var,
        /// A truth value.
        mask: Var,
    },
    /// Calls a function that is not inlined and adds `src` to the lane's trace; `src` becomes what was there.
    CallTrace {
        /// A number.
        src: Var,
    },
    /// `dst = dst * 3 + bits`, where `bits` folds the lanes that are here together and have `cond`.
    Ballot {
        /// A number.
        dst: Var,
        /// Condition.
        cond: Cond,
    },
    /// `dst = dst ^ src of the first lane that is here`
    FirstLane {
        /// A number.
        dst: Var,
        /// A number.
        src: Var,
    },
    /// `dst = dst + (the lane this many further is here ? its src : 0)`, counting around.
    Permute {
        /// A number.
        dst: Var,
        /// A number.
        src: Var,
        /// Lanes further, below 64.
        by: u8,
    },
    /// `dst = dst + src of the lane of the next wave`, counting around, through LDS with barriers; all lanes of the
    /// work-group are here.
    Exchange {
        /// A number.
        dst: Var,
        /// A number.
        src: Var,
    },
    /// Ends the lanes of a pixel shader where the condition holds.
    Kill(Cond),
}

impl Op {
    /// The variable it writes.
    pub fn dst(&self) -> Option<Var> {
        match *self {
            Self::Mix { dst, .. }
            | Self::Fold { dst, .. }
            | Self::Test { dst, .. }
            | Self::Select { dst, .. }
            | Self::Append { dst, .. }
            | Self::Call { dst, .. }
            | Self::Ballot { dst, .. }
            | Self::FirstLane { dst, .. }
            | Self::Permute { dst, .. }
            | Self::Exchange { dst, .. } => Some(dst),
            Self::CallTrace { src } => Some(src),
            Self::Add { old, .. } => old,
            Self::Trace { .. } | Self::Tally(_) | Self::Kill(_) => None,
        }
    }

    /// Whether it matters which lanes are here together.
    pub fn is_convergent(&self) -> bool {
        matches!(
            self,
            Self::Ballot { .. } | Self::FirstLane { .. } | Self::Permute { .. } | Self::Exchange { .. }
        )
    }
}

/// How a block uses fuel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fuel {
    /// Not at all.
    Free,
    /// It takes one unit, in front of operation `at`, and leaves for the exit where that was the last.
    Exit {
        /// Number of an operation, or of operations.
        at: u8,
    },
    /// It takes one unit at its end; where none is left, its branch goes to its target number `to`.
    Drive {
        /// Index of a target.
        to: u8,
    },
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What it does, in order.
    pub ops: Vec<Op>,
    /// Fuel.
    pub fuel: Fuel,
    /// What its branch asks; of no account otherwise.
    pub cond: Cond,
    /// What its switch selects by; of no account otherwise.
    pub pick: Pick,
}

/// A program: a kernel, or a pixel shader where it has [`Op::Kill`].
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Control flow.
    pub graph: Graph,
    /// One for each block of the graph.
    pub blocks: Vec<Block>,
    /// Lanes of the work-group: one wave, or several.
    pub lanes: usize,
    /// The waves that it runs in.
    pub waves: Waves,
    /// Where each variable lives.
    pub homes: [Home; 6],
    /// Fuel at the start, at least 1.
    pub fuel: u32,
    /// Whether lanes have up to three units more.
    pub uneven_fuel: bool,
    /// What [`Var::M`] is at the start.
    pub mask: Cond,
    /// The variables whose last value is stored, by number.
    pub stored: [bool; 6],
}

impl Program {
    /// All operations.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.blocks.iter().flat_map(|block| &block.ops)
    }

    /// Whether it is a pixel shader.
    pub fn is_shader(&self) -> bool {
        self.ops().any(|op| matches!(op, Op::Kill(_)))
    }

    /// Whether it matters which lanes are in a block together.
    pub fn is_convergent(&self) -> bool {
        self.ops().any(Op::is_convergent)
    }

    /// Puts the places where fuel is used back among the operations after some were removed.
    pub fn settle(&mut self) {
        for block in &mut self.blocks {
            if let Fuel::Exit { at } = &mut block.fuel {
                *at = (*at).min(block.ops.len() as u8);
            }
        }
    }

    /// Dwords of all results: those of the lanes, then the shared counters.
    pub fn results(&self) -> usize {
        self.lanes * STRIDE + TALLIES
    }
}

/// What a run starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The argument.
    pub argument: u32,
}

/// What a program must know of the waves that run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waves {
    /// Lanes of a wave.
    pub lanes: usize,
    /// Lanes among which `ds_bpermute_b32` exchanges; 0 where the processor has none.
    pub permuted: usize,
}

impl Waves {
    /// Waves of 64 lanes before GFX10, with exchanges.
    pub const W64: Self = Self { lanes: 64, permuted: 64 };

    /// Those of `target`.
    pub fn of(target: &Target) -> Self {
        let lanes = target.wave_size() as usize;
        Self { lanes, permuted: lanes.min(target.limits().exchanged_lanes as usize) }
    }
}

/// Lanes of the largest wave.
pub const LANES: usize = 64;
/// Traces in global memory that a lane has.
pub const TRACES: usize = 2;
/// Counters that all lanes share.
pub const TALLIES: usize = 2;

/// The results of a lane: dwords.
pub const STRIDE: usize = 16;
/// Index of the number of the block that ended it, plus one.
pub const ENDED: usize = 6;
/// Index of the first trace.
pub const TRACE: usize = 7;
/// Index of the trace in LDS.
pub const LDS_TRACE: usize = 9;
/// Index of the first variable that lives in global memory.
pub const HOMES: usize = 10;
/// What [`Var::X`] and [`Var::Y`] start with: lane times the first number plus the argument, xored with the
/// same shifted right by the second.
pub const START: [(u32, u8); 2] = [(0x9e37_79b1, 5), (0x85eb_ca6b, 11)];
/// What [`Var::U`] starts with is the argument, xored with this.
pub const START_U: u32 = 0x5bd1_e995;
/// The bit of the argument that [`Var::N`] starts with.
pub const START_N: u8 = 7;
