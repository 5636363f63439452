//! Mutations behind the memory model, as far as they show in what memory holds: caches are the strict
//! simulator's affair.

use super::Kind;
use super::places::*;
use super::{linearise, select};
use mir::isa::{Format, OpFlags};
use mir::machine::{Function, Inst, Operand, RegFile};

/// All kinds.
pub const KINDS: &[Kind] = &[
    kind("offset", "an access beside the place meant", offset),
    kind("address", "an access to the address of another", address),
    kind("data", "another value is stored", data),
    kind("store left out", "memory is not written", drop_store),
    kind("atomic operation", "another read-modify-write operation", select::atomic),
    kind("constant", "another constant", select::constant),
    kind("EXEC not narrowed", "lanes that went the other way run as well", linearise::drop_narrowing),
    kind("EXEC not restored", "lanes stay away", linearise::drop_restore),
];

const fn kind(name: &'static str, breaks: &'static str, mutate: super::Mutate) -> Kind {
    Kind { name, step: "memory-model", breaks, mutate }
}

fn offset(f: &mut Function, pick: &mut Pick) {
    // Flat accesses have an offset only on GFX9.
    let fits = |inst: &Inst| {
        let format = inst.op.info().format;
        inst.mem.is_some() && format.is_memory() && format != Format::Flat
    };
    let Some(site) = pick.among(sites(f, fits)) else { return };
    let inst = at(f, site);
    if let (Format::Smem, Some(Operand::Imm(offset))) = (inst.op.info().format, inst.operands.get_mut(2)) {
        *offset ^= 4;
    } else {
        inst.mods.offset ^= 4;
    }
}

/// Operands of memory instructions of this name in the instruction's row.
fn memory_operands(f: &Function, names: &[&str]) -> Vec<(Site, usize)> {
    operands(f, |inst, n| {
        let row = inst.op.info().operands.get(n);
        inst.mem.is_some()
            && n >= inst.defs_end()
            && row.is_some_and(|desc| names.contains(&desc.name))
            && whole(f, &inst.operands[n]).is_some_and(|v| f.vregs[v].file == RegFile::Vgpr)
    })
}

fn replace(f: &mut Function, pick: &mut Pick, names: &[&str]) {
    let Some((site, n, other)) = pick.among(replaceable(f, memory_operands(f, names))) else { return };
    at(f, site).operands[n] = other;
}

fn address(f: &mut Function, pick: &mut Pick) {
    replace(f, pick, &["vaddr", "addr"]);
}

fn data(f: &mut Function, pick: &mut Pick) {
    replace(f, pick, &["vdata", "data0"]);
}

fn drop_store(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst| inst.mem.is_some() && inst.op.info().flags.contains(OpFlags::STORE);
    let Some(site) = pick.among(sites(f, fits)) else { return };
    remove(f, site);
}
