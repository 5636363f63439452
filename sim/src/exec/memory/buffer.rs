//! Buffers: addresses by resource descriptors.
//!
//! Sources: Vega ISA, "Buffer Resource Descriptor" and "Buffer Addressing"; Southern Islands ISA for ADDR64.

use super::super::{Exec, Group, unsupported};
use super::Place;
use crate::program::{MemKind, Op};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::EventKind;
use crate::wave::{MAX_LANES, Wave};
use mir::isa::Opcode;
use mir::machine::ModFlags;
use mir::target::{Counter, Features};

/// Addresses have 48 bits and wrap around.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

/// A buffer resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    base: u64,
    stride: u64,
    swizzle: bool,
    records: u64,
    /// How the range is checked, where the resource says it (GFX10).
    bounds: Option<u32>,
    /// The fourth dword: selection of components, format, swizzle.
    pub word3: u32,
}

impl Exec<'_> {
    fn resource(&self, w: &Wave, op: &Op) -> Result<Resource> {
        let srsrc = op.sgpr("srsrc").ok_or_else(|| unsupported(op))?;
        let low = self.address_scalar(w, srsrc, 2, "the buffer resource")?;
        let high = self.address_scalar(w, srsrc + 2, 2, "the buffer resource")?;
        let word3 = (high >> 32) as u32;
        let mut stride = low >> 48 & 0x3fff;
        let wide_stride = self.launch.target.limits().buffers.wide_stride
            && !self.launch.target.has(Features::WORKGROUP_PROCESSORS);
        if word3 >> 23 & 1 != 0 && wide_stride {
            // With add-TID the data format holds more bits of the stride.
            stride |= u64::from(word3 >> 15 & 15) << 14;
        }
        Ok(Resource {
            base: low & ADDRESS_BITS,
            stride,
            swizzle: low >> 63 & 1 != 0,
            records: high & 0xffff_ffff,
            bounds: self.launch.target.has(Features::WORKGROUP_PROCESSORS).then_some(word3 >> 28 & 3),
            word3,
        })
    }

    /// Where each active lane's access of `bytes` goes.
    pub(super) fn buffer_places(
        &mut self,
        w: &Wave,
        op: &Op,
        bytes: u32,
    ) -> Result<([Place; MAX_LANES], Resource)> {
        let exec = w.exec();
        let resource = self.resource(w, op)?;
        let Resource { base, stride, swizzle, records, word3, .. } = resource;
        let add_tid = word3 >> 23 & 1 != 0;
        let rules = &self.launch.target.limits().buffers;
        let index_stride = 8u64 << (word3 >> 21 & 3);
        if add_tid
            && swizzle
            && index_stride > u64::from(w.size.lanes())
            && self.checks(Checks::SCRATCH_OWNER)
        {
            // Its lanes' memory has gaps, and so it ends in that of the next wave.
            let message = format!("scratch for {index_stride} lanes in a wave of {}", w.size.lanes());
            return Err(Report::new(Kind::ScratchOwner, message));
        }
        let element = if rules.element_size { 2u64 << (word3 >> 19 & 3) } else { 4 };
        let soffset = self.offset_operand(w, op.operand("soffset"), "soffset")? & 0xffff_ffff;
        let (offen, idxen, addr64) =
            (op.flag(ModFlags::OFFEN), op.flag(ModFlags::IDXEN), op.flag(ModFlags::ADDR64));
        let vaddr = op.vgpr("vaddr").map(usize::from);
        let wide_address = addr64 || offen && idxen;
        if let (Some(n), true) = (vaddr, offen || idxen || addr64) {
            self.defined_lanes(w, n, exec)?;
            if wide_address {
                self.defined_lanes(w, n + 1, exec)?;
            }
        }
        let inst_offset = op.inst.mods.offset as u64;
        let mut places = [Place::Nowhere; MAX_LANES];
        for l in (0..MAX_LANES).filter(|l| exec >> l & 1 != 0) {
            let reg = |k: usize| vaddr.map_or(0, |n| u64::from(w.v[(n + k) & 255][l]));
            if addr64 {
                let address = (reg(0) | reg(1) << 32).wrapping_add(base).wrapping_add(soffset + inst_offset);
                // Bases may be negative: addresses have 48 bits.
                places[l] = Place::Memory(address & ADDRESS_BITS);
                continue;
            }
            let index = if idxen { reg(0) } else { 0 } + if add_tid { l as u64 } else { 0 };
            let offset = if offen { reg(usize::from(idxen)) } else { 0 } + inst_offset;
            let in_range = if let Some(select) = resource.bounds {
                // Structured by index and offset, by index alone, none but of an empty buffer, or raw.
                let at = offset + stride * index;
                match select {
                    0 => index < records && (stride == 0 || offset + u64::from(bytes) <= stride),
                    1 => index < records,
                    2 => records != 0,
                    _ if swizzle && stride != 0 => index < records && offset + u64::from(bytes) <= stride,
                    _ => at + u64::from(bytes) <= records.saturating_sub(soffset),
                }
            } else if !swizzle && rules.counts_records(stride, idxen) {
                if idxen || add_tid { index < records } else { offset + u64::from(bytes) <= records * stride }
            } else if stride == 0 || !swizzle {
                let at = offset + stride * index;
                at + u64::from(bytes)
                    <= records.saturating_sub(if rules.checks_soffset { soffset } else { 0 })
            } else {
                index < records && offset < stride
            };
            if !(in_range || resource.bounds.is_none() && swizzle && stride == 0) {
                if self.checks(Checks::BUFFER_RANGE) {
                    let message =
                        format!("buffer access at offset {offset}, index {index} of {records} records");
                    return Err(Report::new(Kind::BufferRange, message).at_lane(l));
                }
                continue;
            }
            if swizzle
                && rules.element_size
                && offset % element + u64::from(bytes) > element
                && self.checks(Checks::MISALIGNED)
            {
                let message = format!("access of {bytes} bytes at 0x{offset:x}, in elements of {element}");
                return Err(Report::new(Kind::Misaligned, message).at_lane(l));
            }
            places[l] = if !swizzle {
                Place::Memory(base.wrapping_add(soffset).wrapping_add(offset + stride * index) & ADDRESS_BITS)
            } else if element == 4 && index_stride == u64::from(w.size.lanes()) {
                let (msb, lsb) = (index / index_stride, index % index_stride);
                let column = base.wrapping_add(soffset).wrapping_add(msb * stride * index_stride + lsb * 4);
                Place::Swizzled { base: column, offset: offset as u32 }
            } else {
                let (imsb, ilsb) = (index / index_stride, index % index_stride);
                let (omsb, olsb) = (offset / element, offset % element);
                let at = (imsb * stride + omsb * element) * index_stride + ilsb * element + olsb;
                Place::Memory(base.wrapping_add(soffset).wrapping_add(at))
            };
        }
        Ok((places, resource))
    }

    /// Invalidates vector caches: the L1, or of the two of GFX10 the one that `op` names. The inner one knows no more than what the
    /// outer one has, so that goes first. Source: AMDGPU usage guide, "Memory Model GFX10-GFX11".
    fn invalidate(&mut self, w: &Wave, op: Opcode) {
        let outer = op == Opcode::BUFFER_GL1_INV;
        let inner = op == Opcode::BUFFER_GL0_INV;
        self.outer_fresh |= !inner;
        self.vector_fresh |= !outer && self.outer_fresh;
        if let Some(order) = self.mem.order() {
            let done = w.waits.done_by_path();
            if !inner {
                order.invalidate_outer(w.index, done);
            }
            if !outer {
                order.invalidate(w.index);
            }
        }
    }

    /// One buffer instruction.
    pub(super) fn buffer(&mut self, w: &mut Wave, g: &mut Group, op: &Op) -> Result<()> {
        let mem = op.mem.ok_or_else(|| unsupported(op))?;
        if mem.kind == MemKind::None {
            self.invalidate(w, op.inst.op);
            w.waits.issue(Counter::Vm, EventKind::Vmem, &[]);
            return Ok(());
        }
        let vdata = op.vgpr("vdata");
        let dst = op.vdst.map(|(n, _)| n);
        let exec = w.exec();
        if exec == 0 {
            self.in_flight(w, op, vdata, dst);
            return Ok(());
        }
        let (places, _) = self.buffer_places(w, op, mem.bytes)?;
        self.check_alignment(&places, mem, exec)?;
        self.access(w, g, op, &places, vdata, dst)?;
        self.in_flight(w, op, vdata, dst);
        Ok(())
    }
}
