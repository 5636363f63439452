//! The scratch resource where neither runtime nor driver puts it into registers, and where inline assembly takes those that it is in: the
//! prolog builds or copies it.
//!
//! Sources: `mir::abi::shader`; the order of steps is that of llc 22.

use mir::abi::call::SCRATCH_RESOURCE;
use mir::abi::shader::{CHAIN_RESOURCE, SCRATCH_SYMBOLS, ScratchSource, resource_tail, scratch_source};
use mir::ir::{AddrSpace, MemAccess, Module, SymbolRef};
use mir::isa::Opcode;
use mir::machine::{EntryValue, Function, Inst, MemRef, Operand, PReg, RelocKind};
use mir::target::Target;
use mir::{Diagnostic, Result};

/// The bit of a resource's dword 3 that tells strides of 64 lanes from those of 32. Source: RDNA ISA manual, "Buffer Resource Descriptor", INDEX_STRIDE.
const INDEX_STRIDE_64_BIT: i64 = 21;

/// Puts the code that builds or copies the resource in front of everything else, where the function needs one.
///
/// Errors: the module does not declare the symbols that stand for it (`Defect`); a malformed attribute.
pub fn build_resource(f: &mut Function, module: &Module, target: &Target) -> Result<()> {
    let layout = f.entry.layout;
    if !(layout.builds_scratch || layout.resource.is_some())
        || !f.entry.contains(EntryValue::PrivateSegmentBuffer)
    {
        return Ok(());
    }
    let resource = f.entry.scratch_resource();
    let reg = |n: u16, dwords| Operand::preg(resource.plus(n), dwords);
    let tail = resource_tail(target);
    let constants = [2u16, 3].map(|n| {
        let value = Operand::Imm(i64::from(tail[usize::from(n) - 2] as i32));
        Inst::new(Opcode::S_MOV_B32, [reg(n, 1), value])
    });
    let constant_access = |bytes| MemRef::new(MemAccess::plain(AddrSpace::CONSTANT, 2), bytes);
    let mut code = Vec::new();
    match scratch_source(f.call_conv, target) {
        source @ (ScratchSource::Given | ScratchSource::Chain) => {
            let place = if source == ScratchSource::Chain { CHAIN_RESOURCE } else { SCRATCH_RESOURCE };
            if place == resource {
                return Ok(());
            }
            let pairs = [0u16, 2].map(|n| {
                let given = Operand::preg(place.plus(n), 2);
                Inst::new(Opcode::S_MOV_B64, [reg(n, 2), given])
            });
            code.extend(pairs);
        }
        ScratchSource::Symbols => {
            for (n, name) in (0..).zip(SCRATCH_SYMBOLS) {
                // They are the last that the driver declared.
                let global = module.globals.iter().rev().find(|(_, global)| global.name == name);
                let (global, _) =
                    global.ok_or_else(|| Diagnostic::defect(format!("{name} is not declared")))?;
                let symbol = f.symbols.push(SymbolRef::Global(global));
                let value = Operand::Symbol { symbol, addend: 0, kind: RelocKind::Abs32Lo };
                code.push(Inst::new(Opcode::S_MOV_B32, [reg(n, 1), value]));
            }
            code.extend(constants);
        }
        ScratchSource::BufferPointer { indirect } => {
            let pointer = Operand::preg(PReg::sgpr(0), 2);
            code.push(if indirect {
                let load = Inst::new(Opcode::S_LOAD_DWORDX2, [reg(0, 2), pointer, Operand::Imm(0)]);
                load.with_mem(constant_access(8))
            } else {
                Inst::new(Opcode::S_MOV_B64, [reg(0, 2), pointer])
            });
            code.extend(constants);
        }
        ScratchSource::GlobalTable { low, offset_bytes } => {
            // A load that may be replayed must not overwrite its address, which is therefore behind the resource.
            let address = resource.plus(4);
            let high = git_high(f, module)?;
            match high {
                None => code.push(Inst::new(Opcode::S_GETPC_B64, [Operand::preg(address, 2)])),
                Some(high) => {
                    let dst = Operand::preg(address.plus(1), 1);
                    code.push(Inst::new(Opcode::S_MOV_B32, [dst, Operand::Imm(i64::from(high as i32))]));
                }
            }
            code.push(Inst::new(Opcode::S_MOV_B32, [Operand::preg(address, 1), Operand::preg(low, 1)]));
            let place = Operand::Imm(i64::from(offset_bytes));
            let load = Inst::new(Opcode::S_LOAD_DWORDX4, [reg(0, 4), Operand::preg(address, 2), place]);
            code.push(load.with_mem(constant_access(16)));
            if target.wave_size() == 32 {
                // The driver has set the distance between lanes for 64 of them.
                code.push(Inst::new(Opcode::S_BITSET0_B32, [reg(3, 1), Operand::Imm(INDEX_STRIDE_64_BIT)]));
            }
        }
    }
    if let Some(&entry) = f.layout.first() {
        f.blocks[entry].insts.splice(0..0, code);
    }
    Ok(())
}

/// High half of the global table's address where an attribute tells it.
fn git_high(f: &Function, module: &Module) -> Result<Option<u32>> {
    let text = module.functions.get(f.source).and_then(|source| source.attribute("amdgpu-git-ptr-high"));
    let Some(text) = text else { return Ok(None) };
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    let high = number.map_err(|_| {
        Diagnostic::malformed(format!("attribute \"amdgpu-git-ptr-high\" is not a number: \"{text}\""))
    })?;
    Ok((high != u32::MAX).then_some(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use mir::ir::{CallConv, Func};
    use mir::machine::EntryLayout;
    use mir::target::Os;

    /// Words of the prolog of a shader that has `arguments` SGPRs of arguments and scratch.
    fn words(name: &str, os: Os, convention: CallConv, arguments: u16) -> Vec<u32> {
        let processor = Target::processor_by_name(name).expect("a processor of the table");
        let target = Target { os, ..Target::new(processor) };
        let mut f = Function::new("s", convention, Func::new(0));
        f.entry.layout = EntryLayout {
            arguments_end: arguments,
            wave_offset: mir::abi::shader::fixed_wave_offset(convention, &target),
            builds_scratch: true,
            resource: None,
        };
        f.entry.request(EntryValue::PrivateSegmentBuffer, None);
        f.entry.request(EntryValue::ScratchWaveOffset, None);
        f.resources.scratch_bytes = 4;
        let block = f.add_block();
        crate::frame::insert_prolog(&mut f, &target).expect("all values are there");
        build_resource(&mut f, &Module::default(), &target).expect("a source without symbols");
        let mut words = Vec::new();
        for inst in &f.blocks[block].insts {
            mir::isa::encode(inst, &target, &mut words).expect("encodes");
        }
        words
    }

    #[test]
    fn mesa_passes_a_pointer() {
        // s_load_dwordx2 s[4:5], s[0:1], 0x0; s_mov_b32 s6, -1; s_mov_b32 s7, 0xe80000; s_add_u32 s4, s4, s3; s_addc_u32 s5, s5, 0
        let words = words("gfx803", Os::Mesa3d, CallConv::AmdgpuPs, 3);
        assert_eq!(words, [0xc0060100, 0, 0xbe8600c1, 0xbe8700ff, 0xe80000, 0x80040304, 0x82058005]);
    }

    #[test]
    fn pal_has_a_table() {
        // s_getpc_b64 s[16:17]; s_mov_b32 s16, s8; s_load_dwordx4 s[12:15], s[16:17], 0x0; s_add_u32 s12, s12, s5; s_addc_u32 s13, s13, 0
        let words = words("gfx900", Os::AmdPal, CallConv::AmdgpuGs, 1);
        assert_eq!(words, [0xbe901c00, 0xbe900008, 0xc00a0308, 0, 0x800c050c, 0x820d800d]);
    }

    /// The table is for waves of 64 lanes.
    #[test]
    fn pal_has_another_distance_in_narrow_waves() {
        // s_getpc_b64 s[8:9]; s_mov_b32 s8, s0; s_load_dwordx4 s[4:7], s[8:9], 0x10; s_bitset0_b32 s7, 21; s_add_u32 s4, s4, s1; s_addc_u32 s5, s5, 0
        let words = words("gfx1030", Os::AmdPal, CallConv::AmdgpuCs, 1);
        assert_eq!(
            words,
            [0xbe881f00, 0xbe880300, 0xf4080104, 0xfa000010, 0xbe871b95, 0x80040104, 0x82058005]
        );
    }
}
