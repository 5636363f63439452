//! Data: bytes, addresses, kernel descriptors.

use super::Body;
use super::kernels::Kernels;
use mir::abi::descriptor::DESCRIPTOR_BYTES;
use std::fmt::Write;

/// Bytes in a line.
const LINE: usize = 16;

impl Body<'_, '_> {
    pub(super) fn write_data(&mut self, kernels: &Kernels) {
        let section = self.section();
        // Where a line must end.
        let mut stops: Vec<u64> = section.symbols.iter().map(|(offset, _)| *offset).collect();
        stops.extend(section.relocations.iter().map(|relocation| relocation.offset));
        stops.extend(kernels.descriptors_of(self.index));
        stops.push(section.size);
        stops.sort_unstable();
        stops.dedup();
        let mut at = 0;
        loop {
            self.write_symbols(at);
            if at >= section.size {
                return;
            }
            if let Some(text) = kernels.descriptor_at(self.index, at) {
                self.out.push_str(text);
                self.write_inner_symbols(at, at + DESCRIPTOR_BYTES as u64);
                at += DESCRIPTOR_BYTES as u64;
                continue;
            }
            let next = stops[stops.partition_point(|stop| *stop <= at)];
            match section.relocations_in(at, at + 1) {
                [] => {}
                [relocation] => {
                    let width = crate::object::reloc::width_bytes(relocation.kind);
                    let field = &section.data[at as usize..at as usize + width];
                    // Another relocation inside of the field is asked for by name, too.
                    let alone = section.relocations_in(at, at + width as u64).len() == 1;
                    if let Some((width, text)) =
                        alone.then(|| self.data_expression(relocation, field)).flatten()
                    {
                        let _ = writeln!(self.out, "\t{text}");
                        self.write_inner_symbols(at, at + width as u64);
                        at += width as u64;
                        continue;
                    }
                    self.write_reloc(relocation);
                }
                several => several.iter().for_each(|relocation| self.write_reloc(relocation)),
            }
            match section.data.get(at as usize..next as usize) {
                Some(bytes) => write_bytes(&mut self.out, bytes),
                None => self.out.push_str(&format!("\t.zero {}\n", next - at)),
            }
            at = next;
        }
    }
}

/// Bytes in lines; lines of zeros are merged.
pub(super) fn write_bytes(out: &mut String, bytes: &[u8]) {
    let mut zeros = 0;
    for line in bytes.chunks(LINE) {
        if line.iter().all(|byte| *byte == 0) {
            zeros += line.len();
            continue;
        }
        write_zeros(out, &mut zeros);
        out.push_str("\t.byte ");
        for (i, byte) in line.iter().enumerate() {
            let _ = write!(out, "{}{byte}", if i == 0 { "" } else { "," });
        }
        out.push('\n');
    }
    write_zeros(out, &mut zeros);
}

fn write_zeros(out: &mut String, zeros: &mut usize) {
    if *zeros > 0 {
        let _ = writeln!(out, "\t.zero {}", std::mem::take(zeros));
    }
}
