//! Which values are live at the borders of blocks.
//!
//! Idea: SSA values are walked one at a time, backwards from each use to the definition ("liveness by use"), appending the
//! value to the lists of the blocks passed. Every list comes out sorted by value, and the cost is the sum of the live
//! ranges, measured in blocks, however many blocks and values there are. No dense bit sets.
//!
//! Source: B. Boissinot et al., "Computing Liveness Sets for SSA-Form Programs", 2011.

use super::Graph;
use crate::machine::{Function, Reg, RegFile, VReg};
use cranelift_entity::EntityRef;

/// Live-in and live-out values of every block, ascending.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    live_in: Vec<Vec<u32>>,
    live_out: Vec<Vec<u32>>,
    stack: Vec<u32>,
}

impl Liveness {
    /// No values yet, over a graph with `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { live_in: vec![Vec::new(); nodes], live_out: vec![Vec::new(); nodes], stack: Vec::new() }
    }

    /// Adds `value`, which must be higher than all before. It is defined in `def` (as a parameter or by an instruction),
    /// read from outside by the blocks `used_in` (uses in `def` itself after the definition do not matter and may be
    /// listed), and read at the very end, by edges, of the blocks `used_at_end`.
    pub fn add_value(
        &mut self,
        graph: &impl Graph,
        value: u32,
        def: u32,
        used_in: impl IntoIterator<Item = u32>,
        used_at_end: impl IntoIterator<Item = u32>,
    ) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.extend(used_in.into_iter().filter(|&b| b != def));
        for block in used_at_end {
            mark(&mut self.live_out, block, value);
            if block != def {
                stack.push(block);
            }
        }
        while let Some(block) = stack.pop() {
            if !mark(&mut self.live_in, block, value) {
                continue;
            }
            for &pred in graph.preds(block) {
                mark(&mut self.live_out, pred, value);
                if pred != def {
                    stack.push(pred);
                }
            }
        }
        self.stack = stack;
    }

    /// Values live at the start of `block`, its own parameters not included.
    pub fn live_in(&self, block: u32) -> &[u32] {
        &self.live_in[block as usize]
    }

    /// Values live at the end of `block`, those that its edges read included.
    pub fn live_out(&self, block: u32) -> &[u32] {
        &self.live_out[block as usize]
    }

    /// Liveness of the virtual registers of one file over `graph`: the thread graph for VGPRs, the wave graph (before
    /// structuring the thread graph) for SGPRs. Whole-wave VGPRs are counted with the SGPRs. Values are [`VReg`] numbers.
    pub fn of_machine(f: &Function, graph: &impl Graph, file: RegFile) -> Self {
        let wanted =
            |reg: VReg| f.vregs.get(reg).is_some_and(|data| data.wave_level() == (file == RegFile::Sgpr));
        let structured = f.is_linear();
        let mut def = vec![u32::MAX; f.vregs.len()];
        // (register, block, at the end) in block order; grouped by register below.
        let mut uses: Vec<(VReg, u32, bool)> = Vec::new();
        let entry = f.layout.first().map_or(0, |b| b.as_u32());
        for (_, _, reg) in f.entry.registers() {
            if let Some(reg) = reg {
                def[reg.index()] = entry;
            }
        }
        for &block in &f.layout {
            let data = &f.blocks[block];
            let b = block.as_u32();
            for &param in data.vparams.iter().chain(&data.sparams) {
                def[param.index()] = b;
            }
            for inst in &data.insts {
                for (is_def, reg) in inst.regs() {
                    let Reg::Virtual(reg) = reg.reg else { continue };
                    if is_def {
                        def[reg.index()] = b;
                    } else {
                        uses.push((reg, b, false));
                    }
                }
            }
            if let crate::machine::Terminator::Divergent(mask) = data.term {
                uses.push((mask, b, true));
            }
            let wave_args = data.wave_succs.iter().flat_map(|e| &e.args);
            let early_args = data.thread_sargs.iter().flatten().filter(|_| !structured);
            for &arg in data.thread_succs.iter().flat_map(|e| &e.args).chain(wave_args).chain(early_args) {
                uses.push((arg, b, true));
            }
        }
        uses.retain(|u| wanted(u.0));
        uses.sort_by_key(|u| u.0);
        let mut this = Self::new(f.blocks.len());
        for group in uses.chunk_by(|a, b| a.0 == b.0) {
            let reg = group[0].0;
            let def = def[reg.index()];
            let inside = group.iter().filter(|u| !u.2).map(|u| u.1);
            let at_end = group.iter().filter(|u| u.2).map(|u| u.1);
            this.add_value(graph, reg.as_u32(), def, inside, at_end);
        }
        this
    }
}

/// Appends `value` unless it is there already (it would be the last).
fn mark(lists: &mut [Vec<u32>], block: u32, value: u32) -> bool {
    let list = &mut lists[block as usize];
    let fresh = list.last() != Some(&value);
    if fresh {
        list.push(value);
    }
    fresh
}

#[cfg(test)]
mod tests {
    use super::super::Csr;
    use super::super::graph::testing::{Random, graph, random};
    use super::*;

    #[test]
    fn loop_carried_value() {
        // 0 → 1 ⇄ 2, 1 → 3. Value 4: defined in 0, used in 2. Value 6: defined in 2, read by the edge 2 → 1.
        let g = graph(4, &[(0, 1), (1, 2), (2, 1), (1, 3)]);
        let mut live = Liveness::new(4);
        live.add_value(&g, 4, 0, [2], []);
        live.add_value(&g, 6, 2, [2], [2]);
        assert_eq!([0, 1, 2, 3].map(|b| live.live_in(b)), [&[][..], &[4], &[4], &[]]);
        assert_eq!([0, 1, 2, 3].map(|b| live.live_out(b)), [&[4][..], &[4], &[4, 6], &[]]);
    }

    /// Live-in by definition: some path from the start of the block meets a use before the definition.
    fn reaches_use(g: &Csr, from: u32, def: u32, uses: &[u32]) -> bool {
        let mut seen = vec![false; g.num_nodes()];
        let mut stack = vec![from];
        while let Some(b) = stack.pop() {
            if b == def || std::mem::replace(&mut seen[b as usize], true) {
                continue;
            }
            if uses.contains(&b) {
                return true;
            }
            stack.extend_from_slice(g.succs(b));
        }
        false
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut rng = Random(13);
        for _ in 0..500 {
            let n = 2 + rng.below(10);
            let g = random(&mut rng, n);
            let mut live = Liveness::new(n as usize);
            let values: Vec<(u32, Vec<u32>)> =
                (0..6).map(|_| (rng.below(n), (0..rng.below(4)).map(|_| rng.below(n)).collect())).collect();
            for (v, (def, uses)) in values.iter().enumerate() {
                live.add_value(&g, v as u32, *def, uses.iter().copied(), []);
            }
            for b in 0..n {
                let expected: Vec<u32> = (0..6)
                    .filter(|&v| reaches_use(&g, b, values[v].0, &values[v].1))
                    .map(|v| v as u32)
                    .collect();
                assert_eq!(live.live_in(b), expected);
                let expected: Vec<u32> = (0..6)
                    .filter(|&v| g.succs(b).iter().any(|&s| reaches_use(&g, s, values[v].0, &values[v].1)))
                    .map(|v| v as u32)
                    .collect();
                assert_eq!(live.live_out(b), expected);
            }
        }
    }
}
