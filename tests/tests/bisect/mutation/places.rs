//! Where mutations fit, and with what they replace things.

use mir::analysis::{Csr, Dominators, Order};
use mir::isa::Opcode;
use mir::machine::{Block, BlockData, Function, Inst, Operand, PReg, Reg, VReg, VRegFlags};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Chooses one of the places where a mutation fits, and counts them. The places of all functions of a module
/// are in one row.
#[derive(Debug)]
pub struct Pick {
    wanted: usize,
    /// Places seen so far.
    pub seen: usize,
}

impl Pick {
    /// The place with this number.
    pub fn nth(wanted: usize) -> Self {
        Self { wanted, seen: 0 }
    }

    /// No place: they are counted.
    pub fn none() -> Self {
        Self::nth(usize::MAX)
    }

    /// The wanted one, if it is among these.
    pub fn among<T>(&mut self, mut places: Vec<T>) -> Option<T> {
        let k = self.wanted.checked_sub(self.seen);
        self.seen += places.len();
        k.filter(|&k| k < places.len()).map(|k| places.swap_remove(k))
    }
}

/// A place in front of an instruction.
pub type Site = (Block, usize);

/// The instructions for which `fits` holds.
pub fn sites(f: &Function, fits: impl Fn(&Inst) -> bool) -> Vec<Site> {
    sites_in(f, |block, k| fits(&block.insts[k]))
}

/// The same for instructions by their place in a block.
pub fn sites_in(f: &Function, fits: impl Fn(&BlockData, usize) -> bool) -> Vec<Site> {
    let all = f.layout.iter().flat_map(|&b| (0..f.blocks[b].insts.len()).map(move |k| (b, k)));
    all.filter(|&(b, k)| fits(&f.blocks[b], k)).collect()
}

/// The operands for which `fits` holds: instruction and number.
pub fn operands(f: &Function, fits: impl Fn(&Inst, usize) -> bool) -> Vec<(Site, usize)> {
    let all = sites(f, |_| true).into_iter().flat_map(|(b, k)| {
        let inst = &f.blocks[b].insts[k];
        (0..inst.operands.len()).map(move |n| ((b, k), n))
    });
    all.filter(|&((b, k), n)| fits(&f.blocks[b].insts[k], n)).collect()
}

/// The blocks for which `fits` holds.
pub fn blocks(f: &Function, fits: impl Fn(&BlockData) -> bool) -> Vec<Block> {
    f.layout.iter().copied().filter(|&b| fits(&f.blocks[b])).collect()
}

/// The instruction at `site`.
pub fn at(f: &mut Function, (block, k): Site) -> &mut Inst {
    &mut f.blocks[block].insts[k]
}

/// Takes an instruction out of its block.
pub fn remove(f: &mut Function, (block, k): Site) -> Inst {
    let data = &mut f.blocks[block];
    data.head_len -= u32::from((k as u32) < data.head_len);
    data.tail_start -= u32::from((k as u32) < data.tail_start);
    data.insts.remove(k)
}

/// Puts an instruction in front of another; at a border, into the body.
pub fn insert(f: &mut Function, (block, k): Site, inst: Inst) {
    let data = &mut f.blocks[block];
    data.head_len += u32::from((k as u32) < data.head_len);
    data.tail_start += u32::from(k as u32 <= data.tail_start);
    data.insts.insert(k, inst);
}

/// Whether the operand is EXEC.
pub fn is_exec(operand: &Operand) -> bool {
    operand.as_reg().is_some_and(|reg| reg.reg == Reg::Physical(PReg::EXEC_LO))
}

/// EXEC as an operand.
pub fn exec() -> Operand {
    Operand::preg(PReg::EXEC_LO, 2)
}

/// The opcode whose name is that of `op` with `from` replaced by `to`.
pub fn renamed(op: Opcode, from: &str, to: &str) -> Option<Opcode> {
    static NAMES: OnceLock<FxHashMap<String, Opcode>> = OnceLock::new();
    let names = NAMES.get_or_init(|| Opcode::ALL.iter().map(|&op| (format!("{op:?}"), op)).collect());
    let name = format!("{op:?}");
    name.contains(from).then(|| names.get(&name.replacen(from, to, 1)).copied()).flatten()
}

/// The first of `pairs` that renames `op`.
pub fn renamed_by(op: Opcode, pairs: &[(&str, &str)]) -> Option<Opcode> {
    pairs.iter().find_map(|(from, to)| renamed(op, from, to))
}

/// Another small constant.
pub fn other_constant(value: i64) -> i64 {
    match value {
        64 => 63,
        -16..64 => value ^ 1,
        _ => value ^ 2,
    }
}

/// Where values of a function in SSA form may be used.
pub struct Values {
    defs: FxHashMap<VReg, (Block, usize)>,
    thread: Dominators,
    wave: Option<Dominators>,
}

impl Values {
    /// Of a function that is not allocated.
    pub fn new(f: &Function) -> Self {
        let mut defs = FxHashMap::default();
        for (_, _, reg) in f.entry.registers() {
            defs.extend(reg.map(|reg| (reg, (f.layout[0], 0))));
        }
        for &block in &f.layout {
            let data = &f.blocks[block];
            defs.extend(data.vparams.iter().chain(&data.sparams).map(|&reg| (reg, (block, 0))));
            for (k, inst) in data.insts.iter().enumerate() {
                for (_, reg) in inst.regs().filter(|(is_def, _)| *is_def) {
                    if let Reg::Virtual(reg) = reg.reg {
                        defs.insert(reg, (block, k + 1));
                    }
                }
            }
        }
        let dominators = |graph: &Csr| Dominators::new(graph, &Order::reverse_post_order(graph));
        let wave = f.is_linear().then(|| dominators(&Csr::wave(f)));
        Self { defs, thread: dominators(&Csr::thread(f)), wave }
    }

    /// Where `reg` is defined: block, and number of the instruction from 1 on; 0 is the block's start.
    pub fn def(&self, reg: VReg) -> Option<(Block, usize)> {
        self.defs.get(&reg).copied()
    }

    /// Whether `reg` may be used in front of an instruction.
    pub fn reaches(&self, f: &Function, reg: VReg, (block, k): Site) -> bool {
        let Some((def, at)) = self.def(reg) else { return false };
        let dominators = match &self.wave {
            Some(wave) if f.vregs[reg].wave_level() => wave,
            _ => &self.thread,
        };
        if def == block { at <= k } else { dominators.dominates(def.as_u32(), block.as_u32()) }
    }

    /// A value that could be used in the place of `reg`: the one defined last, in this block if possible.
    pub fn another(&self, f: &Function, reg: VReg, site: Site) -> Option<VReg> {
        let data = f.vregs[reg];
        let mask = |flags: VRegFlags| flags.contains(VRegFlags::LANE_MASK);
        let alike = |other: VReg| {
            let d = f.vregs[other];
            (d.file, d.dwords, mask(d.flags)) == (data.file, data.dwords, mask(data.flags))
        };
        let others = f.vregs.keys().filter(|&v| v != reg && alike(v) && self.reaches(f, v, site));
        others.max_by_key(|v| self.def(*v).map(|(block, at)| (block == site.0, at)))
    }
}

/// The whole virtual register that an operand is.
pub fn whole(f: &Function, operand: &Operand) -> Option<VReg> {
    let reg = operand.as_reg()?;
    match reg.reg {
        Reg::Virtual(v) if reg.sub == 0 && f.vregs.get(v)?.dwords == reg.dwords => Some(v),
        _ => None,
    }
}

/// The operands that could be another value of their kind, each with that value.
pub fn replaceable(f: &Function, places: Vec<(Site, usize)>) -> Vec<(Site, usize, Operand)> {
    let values = Values::new(f);
    let other = |(site, n): (Site, usize)| {
        let reg = whole(f, &f.blocks[site.0].insts[site.1].operands[n])?;
        let other = values.another(f, reg, site)?;
        Some((site, n, Operand::vreg(other, f.vregs[other].dwords)))
    };
    places.into_iter().filter_map(other).collect()
}

/// Number of the first operand that is only read.
pub fn first_source(inst: &Inst) -> usize {
    inst.defs_end()
}
