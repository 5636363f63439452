//! Buffer accesses between memory and LDS, without VGPRs.
//!
//! A formatted transfer (`buffer_load_format_x lds`) converts its one component by the resource. Lane l's dword is in LDS at M0[15:0] + offset + 4 × l. Source: Vega ISA, "MUBUF: LDS".

use super::super::{Exec, Group, unsupported};
use super::format::Format;
use super::{Place, write_extended};
use crate::program::{Mem, MemKind, Op};
use crate::report::Result;
use crate::strict::races::Path;
use crate::strict::waits::EventKind;
use crate::wave::{MAX_LANES, Wave};
use mir::isa::OpFlags;
use mir::target::Counter;

impl Exec<'_> {
    /// One transfer.
    pub(super) fn dma(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        let m0 = self.defined_m0(w)? & 0xffff;
        let format = match op.info.flags.contains(OpFlags::FORMATTED) {
            true => Some(self.resource_format(w, op)?),
            false => None,
        };
        let bytes = format.map_or(mem.bytes, Format::bytes);
        let (places, resource) = self.buffer_places(w, op, bytes)?;
        let format = format.map(|f| (f, resource.word3 & 7));
        let to_lds = op.info.flags.contains(OpFlags::LOAD);
        self.path = Path::Vmem;
        self.announce(w, op, mem.kind);
        self.record_lanes(w.exec(), &places, bytes);
        let result = self.transfer(w, g, op, mem, &places, m0, (to_lds, format));
        self.path = Path::Ds;
        result?;
        debug_assert!(mem.kind != MemKind::None);
        w.waits.issue(Counter::Vm, EventKind::Vmem, &[]);
        Ok(())
    }

    fn transfer(
        &mut self,
        w: &Wave,
        g: &mut Group,
        op: &Op,
        mem: Mem,
        places: &[Place; MAX_LANES],
        m0: u32,
        (to_lds, format): (bool, Option<(Format, u32)>),
    ) -> Result<()> {
        let exec = w.exec();
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let lane = |r: Box<crate::report::Report>| r.at_lane(l);
            let lds = Place::Lds(m0.wrapping_add(op.inst.mods.offset as u32).wrapping_add(4 * l as u32));
            let (from, to) = if to_lds { (places[l], lds) } else { (lds, places[l]) };
            let bytes = format.map_or(mem.bytes, |(f, _)| f.bytes()) as usize;
            let mut data = self.load_place(w, g, from, bytes).map_err(lane)?;
            if let Some((format, select)) = format {
                let elements = match from {
                    Place::Nowhere => [(0, 0); 4],
                    _ => format.load(&data.bytes, &data.undef).ok_or_else(|| unsupported(op))?,
                };
                let (x, u) = match select {
                    1 => (format.one(), 0),
                    s @ 4..=7 => elements[s as usize - 4],
                    _ => (0, 0),
                };
                data.set_word(0, x, u);
            } else if to_lds {
                write_extended(&mut data, mem);
            }
            self.store_place(w, g, to, &data, 4).map_err(lane)?;
        }
        Ok(())
    }
}
