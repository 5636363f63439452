//! What a run leaves behind: memory, LDS as each barrier saw it, and who wrote every byte.
//!
//! Two stages are compared by these. Beside each byte stands its last *writer*: work-group, wave, lane and instruction, packed into a word, so that a
//! difference can be traced to the instruction that made it. LDS is kept as the bytes that changed between barriers.
//!
//! Cost: eight bytes a byte of memory, a store to them a byte stored; a pass over LDS at each barrier.

use sim::exec::Group;
use sim::memory::{Bus, Cache, Order, RegionKind};
use sim::report::Result;
use sim::{BufferId, Memory, Prepared};
use std::cell::Cell;

/// Who wrote a byte last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Writer(u64);

impl Writer {
    /// Lanes from 64 on stand for none in particular.
    pub(crate) fn new(group: u32, wave: u32, lane: u32, site: u32) -> Self {
        let high = u64::from(group & 0xf_ffff) << 11 | u64::from(wave & 15) << 7 | u64::from(lane.min(127));
        Self(1 << 63 | high << 32 | u64::from(site))
    }

    /// Whether the run wrote it at all.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Number of the work-group in the order of the dispatch.
    pub fn group(self) -> u32 {
        (self.0 >> 43) as u32 & 0xf_ffff
    }

    /// Wave of the work-group.
    pub fn wave(self) -> u32 {
        (self.0 >> 39) as u32 & 15
    }

    /// Lane of the wave; `None` where no lane in particular wrote.
    pub fn lane(self) -> Option<u32> {
        let lane = (self.0 >> 32) as u32 & 127;
        (lane < 64).then_some(lane)
    }

    /// Number of the instruction in its program.
    pub fn site(self) -> u32 {
        self.0 as u32
    }
}

/// What is executed now; whoever executes keeps it up to date.
#[derive(Debug, Default)]
pub struct Site {
    /// Wave of the work-group.
    pub wave: Cell<u32>,
    /// Number of the instruction in its program.
    pub site: Cell<u32>,
}

/// Memory of which the writers are kept.
#[derive(Debug)]
struct Shadow {
    name: String,
    id: BufferId,
    writers: Vec<Cell<Writer>>,
}

/// The writers of all bytes that are compared.
#[derive(Debug)]
pub struct Trace {
    /// By address.
    shadows: Vec<Shadow>,
    lds: Vec<Cell<Writer>>,
}

impl Trace {
    /// Nothing is written yet. Compared are the buffers, and the image where code may write to it.
    pub fn new(memory: &Memory, prepared: &Prepared<'_>) -> Self {
        let image = prepared.image();
        let image = memory.is_writable(image).then(|| (image, "variables of the module".to_owned()));
        let buffers = memory.buffers().map(|(id, name)| (id, name.to_owned()));
        let mut shadows: Vec<Shadow> = buffers
            .chain(image)
            .map(|(id, name)| Shadow { name, id, writers: vec![Cell::default(); memory.bytes(id).len()] })
            .collect();
        shadows.sort_by_key(|s| s.id.address());
        Self { shadows, lds: Vec::new() }
    }

    /// A work-group with `bytes` of LDS starts.
    pub fn start_group(&mut self, bytes: usize) {
        self.lds.clear();
        self.lds.resize(bytes, Cell::default());
    }

    /// `bytes` bytes at `address` of memory were written.
    pub fn stored(&self, address: u64, bytes: usize, writer: Writer) {
        let after = self.shadows.partition_point(|s| s.id.address() <= address);
        let Some(shadow) = after.checked_sub(1).and_then(|i| self.shadows.get(i)) else { return };
        let at = (address - shadow.id.address()) as usize;
        shadow.writers.iter().skip(at).take(bytes).for_each(|slot| slot.set(writer));
    }

    /// The same of LDS.
    pub fn lds_stored(&self, offset: u32, bytes: usize, writer: Writer) {
        self.lds.iter().skip(offset as usize).take(bytes).for_each(|slot| slot.set(writer));
    }
}

/// Memory that tells a [`Trace`] of all stores.
pub struct Recorder<'a> {
    memory: &'a mut Memory,
    trace: &'a Trace,
    site: &'a Site,
    group: u32,
    lane: u32,
}

impl<'a> Recorder<'a> {
    /// For the work-group with this number.
    pub fn new(memory: &'a mut Memory, trace: &'a Trace, site: &'a Site, group: u32) -> Self {
        Self { memory, trace, site, group, lane: u32::MAX }
    }

    fn writer(&self) -> Writer {
        Writer::new(self.group, self.site.wave.get(), self.lane, self.site.site.get())
    }
}

impl Bus for Recorder<'_> {
    fn cache(&mut self, cache: Cache) -> Cache {
        self.memory.cache(cache)
    }

    fn order(&mut self) -> Option<&mut dyn Order> {
        None
    }

    fn lane(&mut self, lane: usize) {
        self.lane = lane as u32;
    }

    fn lds_stored(&mut self, offset: u32, bytes: u32) {
        self.trace.lds_stored(offset, bytes as usize, self.writer());
    }

    fn load(&mut self, address: u64, out: &mut [u8], undef: &mut [u8]) -> Result<()> {
        self.memory.load(address, out, undef)
    }

    fn store(&mut self, address: u64, bytes: &[u8], undef: &[u8]) -> Result<()> {
        self.memory.store(address, bytes, undef)?;
        self.trace.stored(address, bytes.len(), self.writer());
        Ok(())
    }

    fn kind_at(&mut self, address: u64) -> Option<RegionKind> {
        self.memory.kind_at(address)
    }
}

/// A byte of LDS that is not what it was at the barrier before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Offset.
    pub offset: u32,
    /// What it is now.
    pub value: u8,
    /// Its undefined bits.
    pub undef: u8,
    /// Who wrote it.
    pub writer: Writer,
}

/// LDS of a work-group over time.
#[derive(Clone, Debug)]
pub struct LdsHistory {
    group: u32,
    waves: u32,
    /// At the start: value and undefined bits.
    pub(crate) initial: (Vec<u8>, Vec<u8>),
    last: (Vec<u8>, Vec<u8>),
    /// What changed up to each barrier, and up to the end.
    pub(crate) steps: Vec<Vec<Change>>,
}

impl LdsHistory {
    /// Of the work-group with this number and so many waves.
    pub fn new(group: u32, waves: u32) -> Self {
        Self { group, waves, initial: Default::default(), last: Default::default(), steps: Vec::new() }
    }

    /// Number of the work-group.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// Its waves.
    pub fn waves(&self) -> u32 {
        self.waves
    }

    /// LDS as it is at the start.
    pub fn start(&mut self, group: &Group) {
        self.initial = (group.lds.clone(), group.lds_undef.clone());
        self.last = self.initial.clone();
    }

    /// All waves are at a barrier or have ended.
    pub fn note(&mut self, group: &Group, trace: &Trace) {
        self.note_bytes(&group.lds, &group.lds_undef, trace);
    }

    /// The same with LDS as bytes and their undefined bits.
    pub fn note_bytes(&mut self, lds: &[u8], undef: &[u8], trace: &Trace) {
        let mut changes = Vec::new();
        let (last, last_undef) = &mut self.last;
        for (k, (&value, &undef)) in lds.iter().zip(undef).enumerate() {
            let (Some(old), Some(old_undef)) = (last.get_mut(k), last_undef.get_mut(k)) else { break };
            if (*old, *old_undef) != (value, undef) {
                let writer = trace.lds.get(k).map(Cell::get).unwrap_or_default();
                changes.push(Change { offset: k as u32, value, undef, writer });
                (*old, *old_undef) = (value, undef);
            }
        }
        self.steps.push(changes);
    }
}

/// A buffer at the end.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The buffer's name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// For each bit, whether it is undefined.
    pub undef: Vec<u8>,
    /// Who wrote each byte.
    pub(crate) writers: Vec<Writer>,
}

/// Most calls inside of each other. The limit is one for all stages: code that exceeds it where the stage before did not is wrong.
pub(crate) const MAX_CALLS: usize = 256;

/// Why a run did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopKind {
    /// The interpreter does not know what was to be executed: nothing can be said.
    Unsupported,
    /// The instruction budget was used up.
    Fuel,
    /// The program does something that it must not do.
    Fault,
}

/// A run that did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Why.
    pub kind: StopKind,
    /// In words.
    pub message: String,
    /// Work-group.
    pub group: [u32; 3],
    /// Wave of the work-group.
    pub wave: u32,
    /// Where.
    pub place: crate::machine::Description,
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Buffers, by address.
    pub contents: Vec<Contents>,
    /// LDS of each work-group that has run.
    pub lds: Vec<LdsHistory>,
    /// Where the run stopped before its end.
    pub stop: Option<Stop>,
    /// Instructions executed by all waves; an instruction of IR counts once for the lanes that execute it together.
    pub instructions: u64,
    /// Operations were executed whose results may differ in the last places.
    pub approximate: bool,
}

impl Outcome {
    /// Reads what `memory` holds.
    pub fn new(
        memory: &Memory,
        trace: Trace,
        lds: Vec<LdsHistory>,
        stop: Option<Stop>,
        instructions: u64,
    ) -> Self {
        let contents = trace.shadows.into_iter().map(|shadow| Contents {
            bytes: memory.bytes(shadow.id).to_vec(),
            undef: memory.undefined_bits(shadow.id).to_vec(),
            writers: shadow.writers.into_iter().map(Cell::into_inner).collect(),
            name: shadow.name,
        });
        Self { contents: contents.collect(), lds, stop, instructions, approximate: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_packed_and_found_again() {
        let w = Writer::new(70_000, 15, 63, 0xdead_beef);
        assert_eq!((w.group(), w.wave(), w.lane(), w.site()), (70_000, 15, Some(63), 0xdead_beef));
        assert_eq!(Writer::new(0, 0, u32::MAX, 0).lane(), None);
        assert!(Writer::new(0, 0, 0, 0).is_some() && !Writer::default().is_some());
    }
}
