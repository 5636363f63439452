//! Loads, stores, stack objects, copies of memory; address spaces.
//!
//! Global memory is behind the bus; LDS is an array of the work-group; each lane has scratch of its own, a byte array that grows with its stack. A generic
//! address goes where its high dword says. Lanes access memory one after the other in ascending order.
//!
//! Bits of a byte above the last bit of a type are stored as defined zeros, as LLVM does though it need not.

use super::exec::{Cx, Step, Stop};
use super::group::Group;
use super::host::{Cause, Launch, Space, Store};
use super::layout::{self, ones, scalar_words, word_mask};
use super::regs::{MAX_LANES, lanes};
use mir::ir::{AddrSpace, Function, InstKind, Scalar, Type, TypeTable, Value};
use smallvec::SmallVec;

/// Largest scratch of a lane in bytes.
const MAX_SCRATCH: usize = 1 << 24;

/// Scratch of one lane. What is not written is undefined.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    undef: Vec<u8>,
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Global(u64),
    Local(u64),
    Private(u32),
}

/// Bytes of an access: most have a few.
pub type Bytes = SmallVec<[u8; 32]>;

impl Scratch {
    /// Where the stack starts: not at zero, so that null pointers are noticed.
    pub const BASE: u32 = 256;

    fn range(&self, at: u32, len: usize) -> Result<std::ops::Range<usize>, Cause> {
        let start = at.wrapping_sub(Self::BASE) as usize;
        let end = start.saturating_add(len);
        if at < Self::BASE || end > self.bytes.len() {
            return Err(Cause::Bounds(format!(
                "an access of {len} bytes at {at:#x} of scratch, which is no object"
            )));
        }
        Ok(start..end)
    }

    /// Makes room up to the stack pointer `end`.
    pub fn grow(&mut self, end: u32) -> Result<(), Cause> {
        let len = end.saturating_sub(Self::BASE) as usize;
        if len > MAX_SCRATCH {
            return Err(Cause::Bounds("the stack is full".to_owned()));
        }
        if len > self.bytes.len() {
            self.bytes.resize(len, 0);
            self.undef.resize(len, 0xff);
        }
        Ok(())
    }

    /// Stores on the stack, which grows where it must.
    pub fn store(&mut self, at: u32, bytes: &[u8], undef: &[u8]) -> Result<(), Cause> {
        self.grow(at.saturating_add(bytes.len() as u32))?;
        let range = self.range(at, bytes.len())?;
        self.bytes[range.clone()].copy_from_slice(bytes);
        self.undef[range].copy_from_slice(undef);
        Ok(())
    }

    fn load(&self, at: u32, bytes: &mut [u8], undef: &mut [u8]) -> Result<(), Cause> {
        let range = self.range(at, bytes.len())?;
        bytes.copy_from_slice(&self.bytes[range.clone()]);
        undef.copy_from_slice(&self.undef[range]);
        Ok(())
    }

    /// Forgets the contents of `len` bytes at `at`, which are an object's.
    fn undefine(&mut self, at: u32, len: usize) -> Result<(), Cause> {
        let range = self.range(at, len)?;
        self.undef[range].fill(0xff);
        Ok(())
    }

    /// Forgets what is at the stack pointer `sp` and above.
    pub fn forget(&mut self, sp: u32) {
        let len = sp.saturating_sub(Self::BASE) as usize;
        self.bytes.truncate(len);
        self.undef.truncate(len);
    }
}

/// The high half of addresses in 32-bit constant memory, moved up. Source: AMDGPU usage guide, `"amdgpu-32bit-address-high-bits"`.
pub fn constant_high(f: &Function) -> u64 {
    let text = f.attribute("amdgpu-32bit-address-high-bits").unwrap_or("0").trim();
    let number = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
    number.unwrap_or(0) << 32
}

/// Where an address of `space` leads.
pub fn place(launch: &Launch, f: &Function, space: AddrSpace, address: u64) -> Result<Place, Cause> {
    let high = (address >> 32) as u32;
    Ok(match space {
        AddrSpace::LOCAL => Place::Local(address),
        AddrSpace::PRIVATE => Place::Private(address as u32),
        AddrSpace::FLAT if high == launch.shared_aperture => Place::Local(address & 0xffff_ffff),
        AddrSpace::FLAT if high == launch.private_aperture => Place::Private(address as u32),
        AddrSpace::CONSTANT_32BIT => Place::Global(constant_high(f) | address),
        AddrSpace::REGION
        | AddrSpace::BUFFER_FAT_POINTER
        | AddrSpace::BUFFER_RESOURCE
        | AddrSpace::BUFFER_STRIDED_POINTER => {
            return Err(Cause::Unsupported(format!("an access to address space {}", space.0)));
        }
        _ => Place::Global(address),
    })
}

/// Loads bytes for a lane with this scratch.
pub fn load(
    group: &mut Group<'_>,
    scratch: &Scratch,
    place: Place,
    bytes: &mut [u8],
    undef: &mut [u8],
) -> Result<(), Cause> {
    match place {
        Place::Global(address) => group.bus.load(address, bytes, undef).map_err(Cause::Memory),
        Place::Private(at) => scratch.load(at, bytes, undef),
        Place::Local(at) => {
            let range = local_range(group.lds.len(), at, bytes.len())?;
            bytes.copy_from_slice(&group.lds[range.clone()]);
            undef.copy_from_slice(&group.lds_undef[range]);
            Ok(())
        }
    }
}

fn local_range(size: usize, at: u64, len: usize) -> Result<std::ops::Range<usize>, Cause> {
    match usize::try_from(at).ok().and_then(|at| Some(at..at.checked_add(len)?)) {
        Some(range) if range.end <= size => Ok(range),
        _ => {
            Err(Cause::Bounds(format!("an access of {len} bytes at {at:#x} of LDS, which has {size} bytes")))
        }
    }
}

/// 64 bits of `bytes` from `bit` on; zero behind the end.
fn bits_at(bytes: &[u8], bit: usize) -> u64 {
    let mut word = [0u8; 16];
    let from = bytes.get(bit / 8..).unwrap_or_default();
    let count = from.len().min(9);
    word[..count].copy_from_slice(&from[..count]);
    (u128::from_le_bytes(word) >> (bit % 8)) as u64
}

/// Takes a value of type `ty` from memory: `sink` gets number, value and undefined bits of each word.
pub fn unpack(
    types: &TypeTable,
    ty: Type,
    bytes: &[u8],
    undef: &[u8],
    mut sink: impl FnMut(usize, u64, u64),
) {
    for piece in layout::pieces(types, ty) {
        let Some(scalar) = piece.ty.scalar() else { continue };
        for i in 0..piece.ty.lanes() as usize {
            for w in 0..scalar_words(scalar) {
                let bit = piece.offset as usize * 8 + i * scalar.bits() as usize + 64 * w;
                let width = word_mask(scalar.bits(), w);
                let word = piece.word + i * scalar_words(scalar) + w;
                sink(word, bits_at(bytes, bit) & width, bits_at(undef, bit) & width);
            }
        }
    }
}

/// Puts a value of type `ty` into memory: `source` gives value and undefined bits of each word. Padding is left undefined.
pub fn pack(
    types: &TypeTable,
    ty: Type,
    bytes: &mut [u8],
    undef: &mut [u8],
    mut source: impl FnMut(usize) -> (u64, u64),
) {
    undef.fill(0xff);
    let mut put = |bit: usize, width: u64, (value, unknown): (u64, u64)| {
        let (first, shift) = (bit / 8, bit % 8);
        let (value, unknown) = (u128::from(value) << shift, u128::from(unknown) << shift);
        let field = u128::from(width) << shift;
        for k in 0..9 {
            let byte = |x: u128| (x >> (8 * k)) as u8;
            let (true, Some(b), Some(u)) =
                (byte(field) != 0, bytes.get_mut(first + k), undef.get_mut(first + k))
            else {
                continue;
            };
            *b = *b & !byte(field) | byte(value);
            *u = *u & !byte(field) | byte(unknown);
        }
    };
    for piece in layout::pieces(types, ty) {
        let Some(scalar) = piece.ty.scalar() else { continue };
        let (bits, lanes) = (scalar.bits() as usize, piece.ty.lanes() as usize);
        for i in 0..lanes {
            for w in 0..scalar_words(scalar) {
                let bit = piece.offset as usize * 8 + i * bits + 64 * w;
                put(bit, word_mask(scalar.bits(), w), source(piece.word + i * scalar_words(scalar) + w));
            }
        }
        let end = piece.offset as usize * 8 + lanes * bits;
        if !end.is_multiple_of(8) {
            put(end, ones(8 - end as u32 % 8), (0, 0));
        }
    }
}

impl Cx<'_, '_> {
    /// Where the address at `slot` leads in `lane`.
    pub fn place(&self, space: AddrSpace, slot: usize, lane: usize) -> Step<Place> {
        let address = self.defined(slot, lane, "an address")?;
        self.place_of(space, address, lane)
    }

    /// Where an address leads.
    pub fn place_of(&self, space: AddrSpace, address: u64, lane: usize) -> Step<Place> {
        place(self.group.launch, self.f, space, address).map_err(|cause| Stop::in_lane(cause, lane))
    }

    /// Loads bytes.
    pub fn load_bytes(&mut self, place: Place, lane: usize, bytes: &mut [u8], undef: &mut [u8]) -> Step<()> {
        load(self.group, &self.wave.scratch[lane], place, bytes, undef)
            .map_err(|cause| Stop::in_lane(cause, lane))
    }

    /// Stores bytes and tells the host.
    pub fn store_bytes(&mut self, place: Place, lane: usize, bytes: &[u8], undef: &[u8]) -> Step<()> {
        let (space, address) = match place {
            Place::Global(address) => (Space::Global, address),
            Place::Local(at) => (Space::Local, at),
            Place::Private(at) => (Space::Private, u64::from(at)),
        };
        let site = self.site(Some(lane));
        self.group.host.store(&Store { site, space, address, bytes, undef });
        let stop = |cause| Stop::in_lane(cause, lane);
        match place {
            Place::Global(address) => {
                self.group.bus.lane(lane);
                self.group.bus.store(address, bytes, undef).map_err(|report| stop(Cause::Memory(report)))
            }
            Place::Private(at) => {
                let scratch = &mut self.wave.scratch[lane];
                scratch.range(at, bytes.len()).map_err(stop)?;
                scratch.store(at, bytes, undef).map_err(stop)
            }
            Place::Local(at) => {
                let range = local_range(self.group.lds.len(), at, bytes.len()).map_err(stop)?;
                self.group.lds[range.clone()].copy_from_slice(bytes);
                self.group.lds_undef[range].copy_from_slice(undef);
                Ok(())
            }
        }
    }

    /// A load.
    pub fn load(&mut self, ptr: Value, space: AddrSpace, ty: Type, dst: usize) -> Step<()> {
        if super::buffer::is_fat(space) {
            return self.load_fat(ptr, ty, dst);
        }
        let slot = self.slot(ptr);
        for l in lanes(self.mask) {
            let place = self.place(space, slot, l)?;
            self.load_value(place, l, ty, dst)?;
        }
        Ok(())
    }

    /// Loads a value of one lane.
    pub fn load_value(&mut self, place: Place, lane: usize, ty: Type, dst: usize) -> Step<()> {
        let types = &self.module.types;
        let len = types.store_bytes(ty) as usize;
        if let (Type::Scalar(scalar), ..=8) = (ty, len) {
            let (mut bytes, mut undef) = ([0; 8], [0; 8]);
            self.load_bytes(place, lane, &mut bytes[..len], &mut undef[..len])?;
            let width = ones(scalar.bits());
            let (value, undef) = (u64::from_le_bytes(bytes) & width, u64::from_le_bytes(undef) & width);
            self.regs.write_lane(dst, lane, value, undef);
            return Ok(());
        }
        let (mut bytes, mut undef) = (Bytes::from_elem(0, len), Bytes::from_elem(0, len));
        self.load_bytes(place, lane, &mut bytes, &mut undef)?;
        let regs = &mut *self.regs;
        unpack(types, ty, &bytes, &undef, |word, value, undef| {
            regs.write_lane(dst + word, lane, value, undef)
        });
        Ok(())
    }

    /// A store.
    pub fn store(&mut self, ptr: Value, space: AddrSpace, value: Value) -> Step<()> {
        if super::buffer::is_fat(space) {
            return self.store_fat(ptr, value);
        }
        let (slot, ty, from) = (self.slot(ptr), self.ty(value), self.slot(value));
        for l in lanes(self.mask) {
            let place = self.place(space, slot, l)?;
            self.store_value(place, l, ty, from)?;
        }
        Ok(())
    }

    /// Stores a value of one lane.
    pub fn store_value(&mut self, place: Place, lane: usize, ty: Type, from: usize) -> Step<()> {
        let types = &self.module.types;
        let len = types.store_bytes(ty) as usize;
        if let (Type::Scalar(_), ..=8) = (ty, len) {
            let bytes = self.regs.v[from][lane].to_le_bytes();
            let undef = self.regs.undef(from, lane).to_le_bytes();
            return self.store_bytes(place, lane, &bytes[..len], &undef[..len]);
        }
        let (mut bytes, mut undef) = (Bytes::from_elem(0, len), Bytes::from_elem(0, len));
        if matches!(ty, Type::Aggregate(_)) {
            // Padding keeps what memory holds.
            return self.store_members(place, lane, ty, from);
        }
        pack(types, ty, &mut bytes, &mut undef, |word| {
            (self.regs.v[from + word][lane], self.regs.undef(from + word, lane))
        });
        self.store_bytes(place, lane, &bytes, &undef)
    }

    fn store_members(&mut self, place: Place, lane: usize, ty: Type, from: usize) -> Step<()> {
        for piece in layout::pieces(&self.module.types, ty) {
            let at = match place {
                Place::Global(address) => Place::Global(address.wrapping_add(piece.offset)),
                Place::Local(at) => Place::Local(at.wrapping_add(piece.offset)),
                Place::Private(at) => Place::Private(at.wrapping_add(piece.offset as u32)),
            };
            self.store_value(at, lane, piece.ty, from + piece.word)?;
        }
        Ok(())
    }

    /// A stack object in each lane.
    pub fn alloca(
        &mut self,
        size: u64,
        count: Option<Value>,
        align_log2: u8,
        ty: Type,
        dst: usize,
    ) -> Step<()> {
        let high = match ty.addr_space() {
            Some(AddrSpace::FLAT) => u64::from(self.group.launch.private_aperture) << 32,
            _ => 0,
        };
        let count = count.map(|v| self.slot(v));
        for l in lanes(self.mask) {
            let count = match count {
                Some(slot) => self.defined(slot, l, "the size of a stack object")?,
                None => 1,
            };
            let at = self.wave.sp[l].next_multiple_of(1 << align_log2.min(16));
            let end =
                u64::from(at).saturating_add(size.saturating_mul(count)).min(u64::from(u32::MAX)) as u32;
            self.wave.scratch[l].grow(end).map_err(|cause| Stop::in_lane(cause, l))?;
            self.wave.sp[l] = end;
            self.regs.write_lane(dst, l, high | u64::from(at), 0);
        }
        Ok(())
    }

    /// `lifetime.start` and `lifetime.end`: what the object at `ptr` holds is undefined from here on. What uses it behind its lifetime
    /// finds nothing but undefined bits.
    pub fn forget_object(&mut self, ptr: Value) -> Step<()> {
        let object = self.f.stack_object(ptr).map(|inst| &self.f.insts[inst].kind);
        let Some(&InstKind::Alloca { size_bytes, count, .. }) = object else { return Ok(()) };
        let Some(count) = count.map_or(Some(1), |count| self.f.as_int(count)) else { return Ok(()) };
        let (len, slot) = (size_bytes.saturating_mul(count) as usize, self.slot(ptr));
        for l in lanes(self.mask) {
            let at = self.defined(slot, l, "the address of a stack object")? as u32;
            self.wave.scratch[l].undefine(at, len).map_err(|cause| Stop::in_lane(cause, l))?;
        }
        Ok(())
    }

    /// The stack pointers of the lanes are what `slot` holds; what was above is gone.
    pub fn restore_stack(&mut self, slot: usize) -> Step<()> {
        for l in lanes(self.mask) {
            let sp = self.defined(slot, l, "the stack pointer")? as u32;
            if sp > self.wave.sp[l] || sp < Scratch::BASE {
                let cause = Cause::Bounds(format!("the stack pointer is restored to {sp:#x}"));
                return Err(Stop::in_lane(cause, l));
            }
            self.wave.sp[l] = sp;
            self.wave.scratch[l].forget(sp);
        }
        Ok(())
    }

    /// The stack pointers of the lanes.
    pub fn save_stack(&mut self, dst: usize, width: u64) {
        let sp: [u64; MAX_LANES] = std::array::from_fn(|l| u64::from(self.wave.sp[l]) & width);
        self.regs.write(dst, self.mask, &sp);
    }

    /// `memcpy` and `memmove`: all is read before any is written.
    pub fn copy_memory(&mut self, args: &[Value]) -> Step<()> {
        let (to, from) = (self.value(args, 0)?, self.value(args, 1)?);
        let count = self.arg(args, 2)?;
        for l in lanes(self.mask) {
            let len = self.defined(count, l, "the size of a copy")?;
            if len == 0 {
                continue;
            }
            let (mut bytes, mut undef) = (sized(len, l)?, sized(len, l)?);
            let source = self.place(space_of(self.ty(from)), self.slot(from), l)?;
            self.load_bytes(source, l, &mut bytes, &mut undef)?;
            let target = self.place(space_of(self.ty(to)), self.slot(to), l)?;
            self.store_bytes(target, l, &bytes, &undef)?;
        }
        Ok(())
    }

    /// `memset` with a value of any width, `count` of them.
    pub fn fill_memory(&mut self, args: &[Value]) -> Step<()> {
        let (to, value) = (self.value(args, 0)?, self.value(args, 1)?);
        let (count, from) = (self.arg(args, 2)?, self.slot(value));
        let types = &self.module.types;
        let each = types.alloc_bytes(self.ty(value)) as usize;
        for l in lanes(self.mask) {
            let count = self.defined(count, l, "the size of a fill")?;
            if count == 0 {
                continue;
            }
            let (mut one, mut unknown) = (Bytes::from_elem(0, each), Bytes::from_elem(0, each));
            pack(types, self.ty(value), &mut one, &mut unknown, |word| {
                (self.regs.v[from + word][l], self.regs.undef(from + word, l))
            });
            let len = count.saturating_mul(each as u64);
            let (mut bytes, mut undef) = (sized(len, l)?, sized(len, l)?);
            for (b, u) in bytes.chunks_exact_mut(each).zip(undef.chunks_exact_mut(each)) {
                b.copy_from_slice(&one);
                u.copy_from_slice(&unknown);
            }
            let target = self.place(space_of(self.ty(to)), self.slot(to), l)?;
            self.store_bytes(target, l, &bytes, &undef)?;
        }
        Ok(())
    }
}

/// The address space of a pointer.
pub fn space_of(ty: Type) -> AddrSpace {
    match ty.scalar() {
        Some(Scalar::Ptr(space)) => space,
        _ => AddrSpace::FLAT,
    }
}

fn sized(len: u64, lane: usize) -> Step<Vec<u8>> {
    match usize::try_from(len) {
        Ok(len) if len <= 1 << 26 => Ok(vec![0; len]),
        _ => Err(Stop::in_lane(Cause::Bounds(format!("a copy of {len} bytes")), lane)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_memory_and_back() {
        let mut types = TypeTable::default();
        let ty = types.struct_of(&[Type::Vector(Scalar::Int(3), 5), Type::int(70), Type::F16], false);
        let len = types.store_bytes(ty) as usize;
        let (mut bytes, mut undef) = (vec![0; len], vec![0; len]);
        let words: Vec<(u64, u64)> =
            vec![(1, 0), (2, 0), (7, 0), (4, 4), (5, 0), (u64::MAX, 0), (33, 2), (0x3c00, 0)];
        pack(&types, ty, &mut bytes, &mut undef, |w| words[w]);
        // Three bits an element: 1, 2, 7, 4, 5.
        assert_eq!(bytes[..2], [0b1101_0001, 0b0101_1001]);
        assert_eq!(undef[..3], [0, 0b1000, 0xff]);
        let mut back = vec![(0, 0); words.len()];
        unpack(&types, ty, &bytes, &undef, |w, value, undef| back[w] = (value, undef));
        assert_eq!(back, words);
    }

    #[test]
    fn scratch_is_forgotten_above_the_stack_pointer() {
        let mut scratch = Scratch::default();
        scratch.store(300, &[1, 2], &[0, 0]).unwrap();
        let (mut b, mut u) = ([0; 2], [0; 2]);
        scratch.load(300, &mut b, &mut u).unwrap();
        assert_eq!((b, u), ([1, 2], [0, 0]));
        scratch.forget(300);
        assert!(scratch.load(300, &mut b, &mut u).is_err());
        scratch.grow(302).unwrap();
        scratch.load(300, &mut b, &mut u).unwrap();
        assert_eq!(u, [0xff, 0xff]);
        assert!(scratch.load(Scratch::BASE - 1, &mut b, &mut u).is_err());
    }
}
