//! The address space of a dispatch.
//!
//! Memory is a set of regions with gaps between them, each with its bytes and, for every bit, whether it is *undefined*.
//! Every access names an address and a length that must lie inside one region. Regions are found by binary search with the
//! last hit tried first; an access costs a few nanoseconds.

pub mod order;
mod view;

pub use view::{Delta, History, View, Written};

use crate::printf::Printed;
use crate::report::{Kind, Report, Result, Unmapped};
use crate::strict::races::Paths;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What a load may be answered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cache {
    /// Memory as it is, with no checks.
    #[default]
    Fresh,
    /// Memory past L1: atomics and coherent loads.
    Coherent,
    /// The vector L1 cache, which has been invalidated since the work-group started.
    Invalidated,
    /// The vector L1 cache, which knows stores of its own compute unit alone.
    Vector,
    /// The scalar cache, which knows no vector stores.
    Scalar,
}

/// What the order of memory must be told of. See [`order`].
pub trait Order {
    /// The instruction whose accesses follow.
    fn issue(&mut self, issue: order::Issue);
    /// A wave has waited: `done` of its accesses by each path are proven done.
    fn waited(&mut self, wave: u32, done: Paths);
    /// A wave invalidates what is behind its L1, or the only cache: `done` of its accesses by each path are proven done.
    fn invalidate_outer(&mut self, wave: u32, done: Paths);
    /// A wave invalidates L1.
    fn invalidate(&mut self, wave: u32);
    /// All waves have passed a barrier.
    fn barrier(&mut self);
}

/// Memory as an executor sees it.
pub trait Bus {
    /// What answers the loads that follow; what did so before.
    fn cache(&mut self, _cache: Cache) -> Cache {
        Cache::Fresh
    }
    /// What may be relied on, where that is followed.
    fn order(&mut self) -> Option<&mut dyn Order> {
        None
    }
    /// The lane whose stores follow; 255 for atomic operations of any, where it does not matter which.
    fn lane(&mut self, _lane: usize) {}
    /// So many bytes of LDS at an offset were stored, where [`crate::Config::observe`] asks to be told.
    fn lds_stored(&mut self, _offset: u32, _bytes: u32) {}
    /// Loads `out.len()` bytes with their undefined bits.
    fn load(&mut self, address: u64, out: &mut [u8], undef: &mut [u8]) -> Result<()>;
    /// Stores bytes with their undefined bits.
    fn store(&mut self, address: u64, bytes: &[u8], undef: &[u8]) -> Result<()>;
    /// Which kind of region an address is in.
    fn kind_at(&mut self, address: u64) -> Option<RegionKind>;
}

/// What a region is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// Segments of a code object.
    Code,
    /// A buffer of the application.
    Buffer,
    /// Kernel arguments, dispatch packet and what belongs to them.
    Runtime,
    /// Scratch of one wave slot.
    Scratch(u32),
}

/// A mapped range.
#[derive(Clone, Debug)]
pub struct Region {
    base: u64,
    data: Vec<u8>,
    undef: Vec<u8>,
    kind: RegionKind,
    writable: bool,
    name: String,
}

/// Names a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferId(u64);

impl BufferId {
    /// The address at which the region starts.
    pub fn address(self) -> u64 {
        self.0
    }
}

/// The address space.
#[derive(Clone, Debug)]
pub struct Memory {
    regions: Vec<Region>,
    last: usize,
    next: u64,
    /// How unmapped accesses behave.
    pub unmapped: Unmapped,
    /// Stores to unmapped memory: (address, length, value).
    pub store_log: Vec<(u64, u8, u64)>,
    /// Number of stores to unmapped memory, also those beyond what the log holds.
    pub unmapped_stores: u64,
    /// Running digest of those stores.
    pub store_log_digest: u64,
    /// Where present, unmapped memory holds what is stored there: value and undefined bits of each byte.
    pub remembered: Option<FxHashMap<u64, (u8, u8)>>,
    /// What the last dispatch printed, also where it was stopped.
    pub printed: Printed,
    /// The lane that stores.
    lane: u8,
    /// Who stored a byte of it: the first lane, whether there were others, the set of values.
    writers: FxHashMap<u64, (u8, bool, [u64; 4])>,
    /// Accesses to unmapped memory among and behind the regions, where only a wrong offset leads.
    pub strays: u64,
    /// Other than 0: unmapped memory that nothing was stored to reads as small integers, moderate floats and random dwords of this seed.
    pub pattern_seed: u64,
    /// Unmapped addresses at which nothing is defined before it is stored.
    pub undefined: Range<u64>,
    /// What unmapped memory holds, before something else is stored there, from an address with this lower half on: a table to which a driver gives half a pointer.
    pub table: Option<(u32, Vec<u8>)>,
}

const FIRST_ADDRESS: u64 = 0x7f10_0000_0000;
const GUARD_BYTES: u64 = 0x1_0000;
const STORE_LOG_MAX: usize = 1 << 16;

impl Default for Memory {
    fn default() -> Self {
        Self {
            regions: Vec::new(),
            last: 0,
            next: FIRST_ADDRESS,
            unmapped: Unmapped::Fault,
            store_log: Vec::new(),
            unmapped_stores: 0,
            store_log_digest: FNV_OFFSET,
            remembered: None,
            printed: Printed::default(),
            lane: 0,
            writers: FxHashMap::default(),
            strays: 0,
            pattern_seed: 0,
            undefined: 0..0,
            table: None,
        }
    }
}

/// What undefined memory reads as.
const UNDEFINED_BYTE: u8 = 0xa5;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over `bytes`, from `state`.
pub fn fnv1a(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Digest of a buffer's contents: FNV-1a.
pub fn digest(bytes: &[u8]) -> u64 {
    fnv1a(FNV_OFFSET, bytes)
}

fn hash_byte(address: u64) -> u8 {
    let mut x = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x >> 56) as u8
}

/// Bit of a seed: memory holds no NaN and no infinity, of whichever width it is read.
pub const FINITE: u64 = 1 << 62;

/// Bit of a seed: memory holds nothing that would lead an index astray.
pub const TAME: u64 = 1 << 63;

/// Bit of a seed: no byte of memory is zero.
pub const NONZERO: u64 = 1 << 61;

/// Bit of a seed: aligned pairs of dwords are addresses of unmapped memory, aligned to 256 bytes.
pub const POINTERS: u64 = 1 << 60;

/// What the byte at `address` reads as under a seed: of eight dwords two are small integers, two are floats between -128 and 128, one is a small
/// negative integer, three are random. A seed with the bit [`TAME`] gives zeros and ones.
pub fn pattern_byte(seed: u64, address: u64) -> u8 {
    let mut x = (address & !3).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (x >> 20) as u32;
    let dword = match x >> 61 {
        _ if seed & TAME != 0 => bits & 1,
        0 | 1 => bits & 15,
        2 | 3 => ((bits as i32 >> 20) as f32 / 16.0).to_bits(),
        4 => (bits & 7).wrapping_neg(),
        _ => bits,
    };
    let dword = match seed & POINTERS {
        0 => dword,
        _ if address & 4 == 0 => dword & 0x00ff_ff00,
        _ => 0x2f00 | bits & 15,
    };
    let dword = if seed & (NONZERO | POINTERS) == NONZERO { dword | 0x0101_0101 } else { dword };
    let dword = if seed & FINITE != 0 { dword & !(0x4000_4000 & dword << 1) } else { dword };
    dword.to_le_bytes()[(address & 3) as usize]
}

impl Memory {
    /// An empty address space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps `data` at an address of its own, aligned to 4096 bytes, with unmapped memory around it.
    pub fn map(&mut self, name: &str, kind: RegionKind, data: Vec<u8>, writable: bool) -> BufferId {
        let base = self.next;
        let len = data.len() as u64;
        self.next = (base + len + GUARD_BYTES + 0xfff) & !0xfff;
        let undef = vec![0; data.len()];
        self.regions.push(Region { base, data, undef, kind, writable, name: name.to_owned() });
        BufferId(base)
    }

    /// The address at which the next [`Self::map`] will put its region.
    pub fn next_address(&self) -> u64 {
        self.next
    }

    /// Leaves at least `bytes` unmapped between the last region and the next one.
    pub fn leave_gap(&mut self, bytes: u64) {
        self.next = (self.next + bytes + 0xfff) & !0xfff;
    }

    /// Maps a buffer of the application.
    pub fn add_buffer(&mut self, name: &str, data: Vec<u8>) -> BufferId {
        self.map(name, RegionKind::Buffer, data, true)
    }

    /// Unmaps a region.
    pub fn unmap(&mut self, id: BufferId) {
        self.regions.retain(|r| r.base != id.0);
        self.last = 0;
    }

    fn index_of(&self, id: BufferId) -> Option<usize> {
        self.regions.binary_search_by_key(&id.0, |r| r.base).ok()
    }

    /// The application's buffers and their names, by address.
    pub fn buffers(&self) -> impl Iterator<Item = (BufferId, &str)> {
        self.regions
            .iter()
            .filter(|r| r.kind == RegionKind::Buffer)
            .map(|r| (BufferId(r.base), r.name.as_str()))
    }

    /// Whether a region may be written.
    pub fn is_writable(&self, id: BufferId) -> bool {
        self.index_of(id).is_some_and(|i| self.regions[i].writable)
    }

    /// The contents of a buffer; empty if it is not mapped.
    pub fn bytes(&self, id: BufferId) -> &[u8] {
        self.index_of(id).map_or(&[], |i| &self.regions[i].data)
    }

    /// The contents of a buffer for changing them.
    pub fn bytes_mut(&mut self, id: BufferId) -> &mut [u8] {
        match self.index_of(id) {
            Some(i) => &mut self.regions[i].data,
            None => &mut [],
        }
    }

    /// For each bit of a buffer, whether it is undefined.
    pub fn undefined_bits(&self, id: BufferId) -> &[u8] {
        self.index_of(id).map_or(&[], |i| &self.regions[i].undef)
    }

    /// Makes all of a region undefined.
    pub fn set_undefined(&mut self, id: BufferId) {
        if let Some(i) = self.index_of(id) {
            self.regions[i].undef.fill(0xff);
            self.regions[i].data.fill(UNDEFINED_BYTE);
        }
    }

    /// The `u32`s of a buffer.
    pub fn read_u32s(&self, id: BufferId) -> Vec<u32> {
        self.bytes(id).as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect()
    }

    /// The `f32`s of a buffer.
    pub fn read_f32s(&self, id: BufferId) -> Vec<f32> {
        self.read_u32s(id).into_iter().map(f32::from_bits).collect()
    }

    /// The region that holds all of an access, `hint` tried first.
    #[inline]
    fn find_from(&self, hint: usize, address: u64, len: usize) -> Option<usize> {
        let inside = |r: &Region| {
            address >= r.base && (address - r.base).saturating_add(len as u64) <= r.data.len() as u64
        };
        if self.regions.get(hint).is_some_and(inside) {
            return Some(hint);
        }
        let i = self.regions.partition_point(|r| r.base <= address).checked_sub(1)?;
        inside(&self.regions[i]).then_some(i)
    }

    #[inline]
    fn find(&mut self, address: u64, len: usize) -> Option<usize> {
        let i = self.find_from(self.last, address, len)?;
        self.last = i;
        Some(i)
    }

    fn read_only(&self, region: usize, address: u64, len: usize) -> Box<Report> {
        Report::new(
            Kind::ReadOnly,
            format!(
                "store of {len} bytes at 0x{address:x} to {}, which is read-only",
                self.regions[region].name
            ),
        )
    }

    fn fault(&self, what: &str, address: u64, len: usize) -> Box<Report> {
        let near = self
            .regions
            .iter()
            .min_by_key(|r| {
                let end = r.base + r.data.len() as u64;
                if address < r.base { r.base - address } else { address.saturating_sub(end) }
            })
            .map(|r| {
                format!(
                    "; nearest is {} at 0x{:x}, {} bytes: offset {}",
                    r.name,
                    r.base,
                    r.data.len(),
                    address.wrapping_sub(r.base) as i64
                )
            })
            .unwrap_or_default();
        Report::new(
            Kind::OutOfBounds,
            format!("{what} of {len} bytes at 0x{address:x}, which is not mapped{near}"),
        )
    }

    /// Remembered bytes to which several lanes stored, and the set of the values stored: which one comes last is up to the order of lanes.
    pub fn contested(&self) -> impl Iterator<Item = (u64, &[u64; 4])> {
        self.writers.iter().filter(|(_, w)| w.1).map(|(at, w)| (*at, &w.2))
    }

    /// What the driver's table has at an address, whose upper half is any.
    fn in_table(&self, address: u64) -> Option<u8> {
        let (low, bytes) = self.table.as_ref()?;
        bytes.get((address as u32).checked_sub(*low)? as usize).copied()
    }

    fn note_stray(&mut self, address: u64) {
        let near = (FIRST_ADDRESS..FIRST_ADDRESS + (1 << 39)).contains(&address);
        self.strays += u64::from(near && self.in_table(address).is_none());
    }

    /// Unmapped memory as loads see it.
    fn unmapped_byte(&self, address: u64) -> (u8, u8) {
        match self.remembered.as_ref().and_then(|stored| stored.get(&address)) {
            Some(&byte) => byte,
            None if let Some(byte) = self.in_table(address) => (byte, 0),
            None if self.undefined.contains(&address) => (UNDEFINED_BYTE, 0xff),
            None if self.pattern_seed != 0 => (pattern_byte(self.pattern_seed, address), 0),
            None => (hash_byte(address), 0),
        }
    }

    /// Loads a little-endian `u32` that must be mapped.
    pub fn load_u32(&mut self, address: u64) -> Result<u32> {
        let (mut b, mut u) = ([0; 4], [0; 4]);
        self.load(address, &mut b, &mut u)?;
        Ok(u32::from_le_bytes(b))
    }
}

impl Bus for Memory {
    fn lane(&mut self, lane: usize) {
        self.lane = lane as u8;
    }

    fn kind_at(&mut self, address: u64) -> Option<RegionKind> {
        self.find(address, 1).map(|i| self.regions[i].kind)
    }

    #[inline]
    fn load(&mut self, address: u64, out: &mut [u8], undef: &mut [u8]) -> Result<()> {
        let len = out.len();
        match self.find(address, len) {
            Some(i) => {
                let r = &self.regions[i];
                let at = (address - r.base) as usize;
                out.copy_from_slice(&r.data[at..at + len]);
                undef.copy_from_slice(&r.undef[at..at + len]);
                Ok(())
            }
            None if self.unmapped == Unmapped::Hash => {
                self.note_stray(address);
                for (k, (byte, u)) in out.iter_mut().zip(undef.iter_mut()).enumerate() {
                    let a = address.wrapping_add(k as u64);
                    match self.find(a, 1) {
                        Some(i) => {
                            let r = &self.regions[i];
                            *byte = r.data[(a - r.base) as usize];
                            *u = r.undef[(a - r.base) as usize];
                        }
                        None => (*byte, *u) = self.unmapped_byte(a),
                    }
                }
                Ok(())
            }
            None => Err(self.fault("load", address, len)),
        }
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: &[u8], undef: &[u8]) -> Result<()> {
        let len = bytes.len();
        match self.find(address, len) {
            Some(i) => {
                if !self.regions[i].writable {
                    return Err(self.read_only(i, address, len));
                }
                let r = &mut self.regions[i];
                let at = (address - r.base) as usize;
                r.data[at..at + len].copy_from_slice(bytes);
                r.undef[at..at + len].copy_from_slice(undef);
                Ok(())
            }
            None if self.unmapped == Unmapped::Hash => {
                self.note_stray(address);
                let mut word = [0; 8];
                for (w, b) in word.iter_mut().zip(bytes) {
                    *w = *b;
                }
                if let Some(stored) = &mut self.remembered {
                    for (k, byte) in bytes.iter().zip(undef).enumerate() {
                        let at = address.wrapping_add(k as u64);
                        stored.insert(at, (*byte.0, *byte.1));
                        let (first, several, values) =
                            self.writers.entry(at).or_insert((self.lane, false, [0; 4]));
                        *several |= *first != self.lane;
                        values[usize::from(*byte.0 >> 6)] |= 1 << (*byte.0 & 63);
                    }
                }
                self.unmapped_stores += 1;
                let h = fnv1a(self.store_log_digest, &address.to_le_bytes());
                self.store_log_digest = fnv1a(h, bytes);
                if self.store_log.len() < STORE_LOG_MAX {
                    self.store_log.push((address, len as u8, u64::from_le_bytes(word)));
                }
                Ok(())
            }
            None => Err(self.fault("store", address, len)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_stay_inside_one_region() {
        let mut m = Memory::new();
        let a = m.add_buffer("a", vec![1, 2, 3, 4]);
        let b = m.add_buffer("b", vec![9; 8]);
        let (mut out, mut u) = ([0; 4], [0; 4]);
        m.load(a.address(), &mut out, &mut u).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
        assert_eq!(m.load(a.address() + 1, &mut out, &mut u).unwrap_err().kind, Kind::OutOfBounds);
        assert!(m.load(u64::MAX, &mut out, &mut u).is_err());
        assert!(m.load(0, &mut out, &mut u).is_err());
        m.store(b.address() + 4, &[7; 4], &[0xff; 4]).unwrap();
        assert_eq!(m.bytes(b), [9, 9, 9, 9, 7, 7, 7, 7]);
        assert_eq!(m.undefined_bits(b), [0, 0, 0, 0, 255, 255, 255, 255]);
        m.unmap(a);
        assert!(m.load(a.address(), &mut out, &mut u).is_err());
        assert_eq!(m.bytes(b).len(), 8);
    }

    #[test]
    fn unmapped_memory_is_a_function_of_the_address() {
        let mut m = Memory::new();
        m.unmapped = Unmapped::Hash;
        let (mut x, mut y, mut u) = ([0; 8], [0; 4], [0; 8]);
        m.load(0x1234, &mut x, &mut u).unwrap();
        m.load(0x1238, &mut y, &mut u[..4]).unwrap();
        assert_eq!(x[4..], y);
        m.store(0x1234, &[1], &[0]).unwrap();
        assert_eq!(m.store_log, [(0x1234, 1, 1)]);
    }
}
