//! Formatted buffer accesses: `buffer_*_format_*` with the resource's format, `tbuffer_*` with the instruction's.
//!
//! 16-bit data (`_d16_`) stand two to a register from GFX9 on and one to a register on GFX8.

use super::super::{Exec, Group, unsupported};
use super::format::Format;
use super::{Data, Place};
use crate::fp::{self, F16, F32, Round};
use crate::program::{MemKind, Op};
use crate::report::Result;
use crate::strict::waits::{EventKind, RegRange};
use crate::wave::{MAX_LANES, Wave};
use mir::isa::{Format as Encoding, OpFlags};
use mir::machine::PReg;
use mir::target::Counter;
use mir::target::Features;

/// How the components of an instruction are held in registers.
#[derive(Clone, Copy)]
struct Layout {
    components: usize,
    d16: bool,
    high: bool,
    packed: bool,
}

impl Layout {
    fn registers(self) -> usize {
        if self.packed { self.components.div_ceil(2) } else { self.components }
    }
}

/// A 32-bit component as 16 bits.
fn narrow(format: Format, x: u32) -> u32 {
    if format.is_integer() { x & 0xffff } else { fp::convert(F32, F16, x.into(), 0, Round::Even) as u32 }
}

pub(super) fn widen(format: Format, x: u32) -> u32 {
    if format.is_integer() { x & 0xffff } else { fp::f16_to_f32(x & 0xffff).to_bits() }
}

impl Exec<'_> {
    fn layout(&self, op: &Op) -> Layout {
        let data = op.inst.facts().data().and_then(|i| op.info.operands.get(i));
        let components = usize::from(data.map_or(1, |desc| desc.dwords(self.launch.target.wave())));
        let high = op.info.flags.contains(OpFlags::D16_HI);
        let d16 = high || op.info.flags.contains(OpFlags::D16);
        let packed = d16 && self.launch.target.has(Features::PACKED_D16);
        Layout { components, d16, high, packed }
    }

    /// One formatted access.
    pub(super) fn typed(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let Some(vdata) = op.vgpr("vdata") else { return Err(unsupported(op)) };
        let layout = self.layout(op);
        let range = RegRange { first: PReg::vgpr(vdata).0, len: layout.registers() as u8 };
        let exec = w.exec();
        if exec != 0 {
            self.typed_access(w, op, mem.kind, vdata, layout)?;
        }
        let loads = if mem.kind == MemKind::Load { vec![range] } else { Vec::new() };
        w.waits.issue_vector(false, op.returns(), &loads);
        if mem.kind == MemKind::Store && self.launch.target.has(Features::STORES_READ_LATE) {
            w.waits.issue(Counter::Exp, EventKind::Export, &[range]);
        }
        Ok(())
    }

    /// The format in a buffer resource.
    pub(super) fn resource_format(&self, w: &Wave, op: &Op) -> Result<Format> {
        let srsrc = op.sgpr("srsrc").ok_or_else(|| unsupported(op))?;
        let word3 = self.address_scalar(w, srsrc + 3, 1, "the buffer resource")? as u32;
        if self.launch.target.has(Features::WORKGROUP_PROCESSORS) {
            return Ok(Format::unified(word3 >> 12 & 0x7f));
        }
        Ok(Format { data: (word3 >> 15 & 15) as u8, number: (word3 >> 12 & 7) as u8 })
    }

    fn typed_access(
        &mut self,
        w: &mut Wave,
        op: &Op,
        kind: MemKind,
        vdata: u16,
        layout: Layout,
    ) -> Result<()> {
        let exec = w.exec();
        // The size of an element is known only with the resource, which is read for addresses of no bytes first.
        let unified = self.launch.target.has(Features::WORKGROUP_PROCESSORS);
        let field = op.inst.mods.dmask;
        let instruction = (op.info.format == Encoding::Mtbuf).then(|| match unified {
            true => Format::unified(field.into()),
            false => Format { data: field & 15, number: field >> 4 & 7 },
        });
        let format = match instruction {
            Some(format) => format,
            None => self.resource_format(w, op)?,
        };
        let (places, resource) = self.buffer_places(w, op, format.bytes())?;
        // Components are selected by the resource, or are themselves.
        let select: [u32; 4] = match instruction {
            Some(_) => [4, 5, 6, 7],
            None => std::array::from_fn(|k| resource.word3 >> (3 * k) & 7),
        };
        self.announce(w, op, kind);
        self.record_lanes(exec, &places, format.bytes());
        let mut no_lds = Group::default();
        let bytes = format.bytes() as usize;
        let mut loaded = vec![[(0u32, 0u32); MAX_LANES]; layout.components];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let lane = |r: Box<crate::report::Report>| r.at_lane(l);
            self.note_lane(l, kind);
            if kind == MemKind::Load {
                let data = self.load_place(w, &mut no_lds, places[l], bytes).map_err(lane)?;
                let elements = match places[l] {
                    Place::Nowhere => [(0, 0); 4],
                    _ => format.load(&data.bytes, &data.undef).ok_or_else(|| unsupported(op))?,
                };
                for (c, out) in loaded.iter_mut().enumerate() {
                    let (x, u) = match select[c] {
                        1 => (format.one(), 0),
                        s @ 4..=7 => elements[s as usize - 4],
                        _ => (0, 0),
                    };
                    out[l] = if layout.d16 { (narrow(format, x), u & 0xffff) } else { (x, u) };
                }
            } else {
                let components = self.components(w, vdata, layout, format, l);
                let (bytes_out, undef) = format.store(&components).ok_or_else(|| unsupported(op))?;
                let data = Data { bytes: bytes_out, undef };
                self.store_place(w, &mut no_lds, places[l], &data, bytes).map_err(lane)?;
            }
        }
        if kind == MemKind::Load {
            write_components(w, vdata, layout, &loaded);
        }
        Ok(())
    }

    /// The components that lane `l` stores; ones that the instruction does not have are 0.
    fn components(&self, w: &Wave, vdata: u16, layout: Layout, format: Format, l: usize) -> [(u32, u32); 4] {
        std::array::from_fn(|c| {
            if c >= layout.components {
                return (0, 0);
            }
            let n = usize::from(vdata) + if layout.packed { c / 2 } else { c };
            let (x, u) = (w.v[n & 255][l], w.undef_at(n, l));
            let shift = if layout.packed && c % 2 == 1 || layout.high { 16 } else { 0 };
            if layout.d16 { (widen(format, x >> shift), u >> shift & 0xffff) } else { (x, u) }
        })
    }
}

fn write_components(w: &mut Wave, vdata: u16, layout: Layout, loaded: &[[(u32, u32); MAX_LANES]]) {
    let exec = w.exec();
    for r in 0..layout.registers() {
        let n = (usize::from(vdata) + r) & 255;
        let (mut v, mut u) = ([0; MAX_LANES], [0; MAX_LANES]);
        for l in 0..MAX_LANES {
            (v[l], u[l]) = if !layout.packed {
                loaded[r][l]
            } else {
                let (old, old_u) = (w.v[n][l], w.undef_at(n, l));
                let (lo, hi) = (loaded[2 * r][l], loaded.get(2 * r + 1).map(|c| c[l]));
                match (layout.high, hi) {
                    (true, _) => (lo.0 << 16 | old & 0xffff, lo.1 << 16 | old_u & 0xffff),
                    (false, Some(hi)) => (lo.0 | hi.0 << 16, lo.1 | hi.1 << 16),
                    (false, None) => (lo.0 | old & 0xffff_0000, lo.1 | old_u & 0xffff_0000),
                }
            };
        }
        w.write_v(n, &v, Some(&u), exec);
    }
}
