//! Whether each lane of structured code goes from block to block as the thread graph says. Allocation relies on it, so it is wrong even where it does no
//! harm. Cost: a look at the successors of a block for each lane that runs another; a search only among blocks that do nothing.

use super::Code;
use super::fault::Cause;
use super::prepare::BlockCode;
use sim::wave::MAX_LANES;

/// Where each lane of the wave is by the thread graph.
pub(super) struct Lanes {
    /// The block that it ran last; [`NOWHERE`] before the first.
    last: [u32; MAX_LANES],
    /// Those that entered the function.
    entered: u64,
}

const NOWHERE: u32 = u32::MAX;

impl Lanes {
    /// `lanes` enter a function.
    pub fn entering(lanes: u64) -> Self {
        Self { last: [NOWHERE; MAX_LANES], entered: lanes }
    }

    /// The lanes of `exec` run block `at`, which each must have reached along the thread graph.
    pub fn arrive(&mut self, code: &Code<'_>, at: u32, exec: u64) -> Result<(), Cause> {
        for lane in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let last = self.last[lane];
            if !leads(code, last, at) {
                return Err(Cause::Astray { lane, from: (last != NOWHERE).then_some(last), to: Some(at) });
            }
            self.last[lane] = at;
        }
        Ok(())
    }

    /// The function ends in block `at`: everybody who entered must have come there, or need not, as nothing is left to do.
    pub fn end(&self, code: &Code<'_>, at: u32) -> Result<(), Cause> {
        let idle = |at: u32| code.blocks.get(at as usize).is_some_and(BlockCode::has_empty_body);
        let ended = |last: u32| last == at || idle(at) && leads(code, last, at);
        match (0..MAX_LANES).find(|&l| self.entered >> l & 1 != 0 && !ended(self.last[l])) {
            Some(lane) => {
                let from = (self.last[lane] != NOWHERE).then_some(self.last[lane]);
                Err(Cause::Astray { lane, from, to: None })
            }
            None => Ok(()),
        }
    }
}

/// Whether the thread graph leads from block `last` to `at`, if need be through blocks that do nothing: EXEC need not be right there.
fn leads(code: &Code<'_>, last: u32, at: u32) -> bool {
    let Some(from) = code.blocks.get(last as usize) else { return at == code.entry };
    if from.lane_succs.contains(&at) {
        return true;
    }
    let (mut work, mut seen) = (from.lane_succs.to_vec(), Vec::new());
    while let Some(block) = work.pop() {
        let Some(data) = code.blocks.get(block as usize).filter(|b| b.has_empty_body()) else { continue };
        if data.lane_succs.contains(&at) {
            return true;
        }
        if !seen.contains(&block) {
            seen.push(block);
            work.extend_from_slice(&data.lane_succs);
        }
    }
    false
}
