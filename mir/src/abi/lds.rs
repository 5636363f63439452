//! Places of LDS and GDS variables.
//!
//! A kernel has its variables from offset 0 on (behind what `"amdgpu-lds-size"` reserves), largest alignment first, dynamic LDS at the end. A function
//! that is called does not know its kernel: variables that such functions use are *shared*, at the same places in all kernels that
//! call anything, in front of the kernels' own. Dynamic LDS that they use starts behind the largest of these kernels' static LDS, so
//! that it is at the same place in all of them, too. A variable whose address is in the contents of another variable is shared as well, by
//! all kernels, since any may read the address there, and the address is a number.
//!
//! Variables that are another object's ([`is_linked`]) have no place here: their addresses are symbols.
//!
//! Invariant: an address that a function has as a number holds in every kernel that reaches it. Cost: linear in the code, plus sorting.
//!
//! Source for `"amdgpu-lds-size"` and `"amdgpu-gds-size"`: LLVM's AMDGPUMachineFunction.

use crate::ir::{
    AddrSpace, Const, Func, Function, Global, GlobalData, InstKind, Linkage, Module, SymbolRef, Value,
    ValueDef,
};
use crate::machine::LdsLayout;
use crate::target::Os;
use rustc_hash::FxHashSet;

/// Whether the linker places `global`, as a symbol of the section `SHN_AMDGPU_LDS`: variables with external linkage that this module only
/// declares, on systems other than amdhsa and amdpal. What it defines belongs to each kernel.
/// Source: AMDGPU usage guide, "Symbols"; systems and kinds as llc 22 has them.
pub fn is_linked(global: &GlobalData, os: Os) -> bool {
    global.space == AddrSpace::LOCAL
        && global.linkage == Linkage::External
        && (global.init.is_none() || global.size_bytes == 0)
        && matches!(os, Os::Mesa3d | Os::Unknown)
}

/// Whether the linker has no choice where it puts `global`: a work-group's LDS ends where the second place with its alignment would be.
pub fn is_at_start(global: &GlobalData, os: Os) -> bool {
    is_linked(global, os) && global.align_log2 >= MAX_LDS_LOG2
}

/// Bytes of LDS that any work-group can have, at most. Source: ISA manuals, "Local Data Share" (32 KiB on GFX6, else 64 KiB).
const MAX_LDS_LOG2: u8 = 16;

/// What a function says about LDS.
#[derive(Default)]
struct Uses {
    /// Variables, each once, in the order of the module.
    fixed: Vec<Global>,
    /// Variables of size 0: dynamic LDS.
    dynamic: Vec<Global>,
    /// Variables in GDS.
    region: Vec<Global>,
    /// Whether it calls anything.
    calls: bool,
}

/// Fills `module.lds` for all functions that have a body, and the addresses in the contents of variables.
pub fn lay_out(module: &mut Module, os: Os) {
    let defined: Vec<Func> =
        module.functions.keys().filter(|&f| !module.functions[f].is_declaration()).collect();
    if !module.globals.values().any(|g| matches!(g.space, AddrSpace::LOCAL | AddrSpace::REGION)) {
        return;
    }
    let uses: Vec<(Func, Uses)> =
        defined.iter().map(|&f| (f, Uses::of(module, &module.functions[f], os))).collect();
    let is_callee = |f: Func| module.functions[f].call_conv.is_callable();
    let mut common = Uses::default();
    for (_, uses) in uses.iter().filter(|(f, _)| is_callee(*f)) {
        common.extend(uses);
    }
    let stored = Uses::in_contents(module, os);
    let is_stored = !stored.is_empty();
    common.extend(&stored);
    common.sort(module);
    let shares = |uses: &Uses| uses.calls || is_stored;
    let callers = || uses.iter().filter(|(f, uses)| !is_callee(*f) && shares(uses));
    let reserved = callers().map(|(f, _)| reserved(&module.functions[*f])).fold((0, 0), max_of);
    let mut shared = LdsLayout { size_bytes: reserved.0, gds_bytes: reserved.1, ..LdsLayout::default() };
    place(module, &common.fixed, &mut shared.size_bytes, &mut shared.globals);
    place(module, &common.region, &mut shared.gds_bytes, &mut shared.globals);
    let known: FxHashSet<Global> = common.fixed.iter().chain(&common.region).copied().collect();
    let own = |uses: &Uses, layout: &mut LdsLayout| {
        let mine = |list: &[Global]| list.iter().copied().filter(|g| !known.contains(g)).collect::<Vec<_>>();
        place(module, &mine(&uses.fixed), &mut layout.size_bytes, &mut layout.globals);
        place(module, &mine(&uses.region), &mut layout.gds_bytes, &mut layout.globals);
    };
    let static_size = |uses: &Uses| {
        let mut layout = shared.clone();
        own(uses, &mut layout);
        layout.size_bytes
    };
    let behind =
        if common.dynamic.is_empty() { 0 } else { callers().map(|(_, u)| static_size(u)).max().unwrap_or(0) };
    let mut layouts = Vec::with_capacity(uses.len());
    for (func, uses) in &uses {
        let mut layout = if is_callee(*func) || shares(uses) {
            let mut layout = shared.clone();
            if !is_callee(*func) {
                own(uses, &mut layout);
            }
            layout.size_bytes = layout.size_bytes.max(behind);
            place_dynamic(module, &common.dynamic, &mut layout);
            layout
        } else {
            static_layout(module, &module.functions[*func], uses)
        };
        let mut mine = uses.dynamic.clone();
        mine.retain(|g| !common.dynamic.contains(g) || !shares(uses) && !is_callee(*func));
        place_dynamic(module, &mine, &mut layout);
        layouts.push((*func, layout));
    }
    if is_stored {
        let mut layout = shared;
        layout.size_bytes = layout.size_bytes.max(behind);
        place_dynamic(module, &common.dynamic, &mut layout);
        fill_contents(module, &layout);
    }
    module.lds.extend(layouts);
}

/// Bytes up to which the contents of a variable are written for an address in them.
const MAX_CONTENTS: u64 = 1 << 32;

/// Writes the addresses of variables in LDS and GDS into the contents of others.
fn fill_contents(module: &mut Module, shared: &LdsLayout) {
    for variable in module.globals.values_mut() {
        let size = variable.size_bytes.min(MAX_CONTENTS);
        let Some(init) = variable.init.as_mut() else { continue };
        let bytes = &mut init.bytes;
        init.relocations.retain(|relocation| {
            let SymbolRef::Global(global) = relocation.symbol else { return true };
            if relocation.is_relative {
                // How far LDS is from memory is for the writer to refuse.
                return true;
            }
            let Some(&(_, at)) = shared.globals.iter().find(|(known, _)| *known == global) else {
                return true;
            };
            let address = i64::from(at).wrapping_add(relocation.addend).to_le_bytes();
            let width = usize::from(relocation.width_bytes).min(address.len());
            let end = relocation.offset_bytes.saturating_add(width as u64);
            // What lies outside is for the writer to refuse.
            if end > size {
                return true;
            }
            // Zeros at the end need not be there.
            bytes.resize(bytes.len().max(end as usize), 0);
            bytes[end as usize - width..end as usize].copy_from_slice(&address[..width]);
            false
        });
    }
}

/// The layout of a function of a module for which nothing is laid out.
pub fn layout_alone(module: &Module, function: &Function, os: Os) -> LdsLayout {
    let uses = Uses::of(module, function, os);
    let mut layout = static_layout(module, function, &uses);
    place_dynamic(module, &uses.dynamic, &mut layout);
    layout
}

fn static_layout(module: &Module, function: &Function, uses: &Uses) -> LdsLayout {
    let (size_bytes, gds_bytes) = reserved(function);
    let mut layout = LdsLayout { size_bytes, gds_bytes, ..LdsLayout::default() };
    place(module, &uses.fixed, &mut layout.size_bytes, &mut layout.globals);
    place(module, &uses.region, &mut layout.gds_bytes, &mut layout.globals);
    layout
}

/// Bytes of LDS and GDS that attributes reserve at the start.
fn reserved(function: &Function) -> (u32, u32) {
    let number = |key: &str| {
        let text = function.attribute(key).and_then(|text| text.split(',').next());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    (number("amdgpu-lds-size"), number("amdgpu-gds-size"))
}

fn max_of(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    (a.0.max(b.0), a.1.max(b.1))
}

/// Places `list` from `end` on, which moves behind it. Sizes saturate, so that what does not fit is seen by whoever checks the limit.
fn place(module: &Module, list: &[Global], end: &mut u32, places: &mut Vec<(Global, u32)>) {
    for &global in list {
        let variable = &module.globals[global];
        let at = u64::from(*end).next_multiple_of(1 << variable.align_log2.min(16));
        places.push((global, at.min(u64::from(u32::MAX)) as u32));
        *end = at.saturating_add(variable.size_bytes).min(u64::from(u32::MAX)) as u32;
    }
}

/// All dynamic variables are the same memory, behind the static ones.
fn place_dynamic(module: &Module, list: &[Global], layout: &mut LdsLayout) {
    let Some(align) = list.iter().map(|&g| module.globals[g].align_log2).max() else { return };
    let at =
        u64::from(layout.size_bytes).next_multiple_of(1 << align.min(16)).min(u64::from(u32::MAX)) as u32;
    layout.size_bytes = at;
    layout.dynamic = true;
    layout.globals.extend(list.iter().map(|&g| (g, at)));
}

impl Uses {
    fn of(module: &Module, function: &Function, os: Os) -> Self {
        let mut uses = Self::default();
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let mut work: Vec<Value> = Vec::new();
        let leads_on = |value: Value| {
            matches!(function.values[value].def, ValueDef::Const(Const::Symbol(..) | Const::Elements(_)))
        };
        // Few functions have such constants, and few of them.
        let mut candidates = function.values.keys().filter(|&value| leads_on(value));
        let first = candidates.next();
        let numbers = first.map(|first| first..=candidates.next_back().unwrap_or(first));
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                let kind = &function.insts[inst].kind;
                uses.calls |= matches!(kind, InstKind::Call { .. });
                let Some(numbers) = &numbers else { continue };
                kind.for_each_value(|value| {
                    if numbers.contains(&value) && leads_on(value) && seen.insert(value) {
                        work.push(value);
                    }
                });
            }
        }
        while let Some(value) = work.pop() {
            match &function.values[value].def {
                ValueDef::Const(Const::Elements(members)) => {
                    work.extend(members.iter().copied().filter(|&member| seen.insert(member)));
                }
                ValueDef::Const(Const::Symbol(SymbolRef::Global(global), _)) => uses.add(module, *global, os),
                _ => {}
            }
        }
        uses.sort(module);
        uses
    }

    /// Variables whose addresses are in the contents of others.
    fn in_contents(module: &Module, os: Os) -> Self {
        let mut uses = Self::default();
        for init in module.globals.values().filter_map(|global| global.init.as_ref()) {
            for relocation in &init.relocations {
                if let SymbolRef::Global(global) = relocation.symbol {
                    uses.add(module, global, os);
                }
            }
        }
        uses
    }

    fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.dynamic.is_empty() && self.region.is_empty()
    }

    fn extend(&mut self, other: &Self) {
        self.fixed.extend(&other.fixed);
        self.dynamic.extend(&other.dynamic);
        self.region.extend(&other.region);
    }

    fn add(&mut self, module: &Module, global: Global, os: Os) {
        let variable = &module.globals[global];
        if is_linked(variable, os) {
            return;
        }
        match (variable.space, variable.size_bytes) {
            (AddrSpace::LOCAL, 0) => self.dynamic.push(global),
            (AddrSpace::LOCAL, _) => self.fixed.push(global),
            (AddrSpace::REGION, _) => self.region.push(global),
            _ => {}
        }
    }

    fn sort(&mut self, module: &Module) {
        for list in [&mut self.fixed, &mut self.dynamic, &mut self.region] {
            list.sort_by_key(|&g| (std::cmp::Reverse(module.globals[g].align_log2), g));
            list.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_other_objects_have_no_place() {
        let mut module = module();
        lay_out(&mut module, Os::Mesa3d);
        let dynamic = module.globals.iter().find(|(_, g)| g.name == "dynamic").map(|(id, _)| id);
        let dynamic = dynamic.expect("the variable");
        let places = |layout: &LdsLayout| layout.globals.iter().any(|&(global, _)| global == dynamic);
        assert!(!module.lds.is_empty() && module.lds.values().all(|layout| !places(layout)));
        assert!(module.lds.values().all(|layout| !layout.dynamic));
        assert!(!is_linked(&module.globals[dynamic], Os::AmdHsa));
    }

    /// Three variables and a dynamic one, used by two functions, a kernel that calls one of them, and one that calls nothing.
    fn module() -> Module {
        let text = "\
global @small internal addrspace(3) size 4 align 4
global @large internal addrspace(3) size 100 align 16
global @own internal addrspace(3) size 8 align 8
global @dynamic external addrspace(3) size 0 align 32
define device void @f(v0: i32) {
block0:
  store ptr addrspace(3) @large, i32 1 addrspace(3) align 4
  store ptr addrspace(3) @dynamic, i32 1 addrspace(3) align 4
  ret
}
define kernel void @calls() {
block0:
  store ptr addrspace(3) @own, i32 1 addrspace(3) align 4
  store ptr addrspace(3) @small, i32 1 addrspace(3) align 4
  call @f(i32 1)
  ret
}
define kernel void @alone() {
block0:
  store ptr addrspace(3) @small, i32 1 addrspace(3) align 4
  store ptr addrspace(3) @dynamic, i32 1 addrspace(3) align 4
  ret
}
";
        let mut module = crate::ir::parse_module(text, "test").unwrap_or_else(|e| panic!("{e}"));
        lay_out(&mut module, Os::AmdHsa);
        module
    }

    fn places(module: &Module, function: u32) -> (Vec<(u32, u32)>, u32, bool) {
        let layout = &module.lds[&Func::from_u32(function)];
        let mut places: Vec<_> = layout.globals.iter().map(|&(g, at)| (g.as_u32(), at)).collect();
        places.sort_unstable();
        (places, layout.size_bytes, layout.dynamic)
    }

    #[test]
    fn shared_variables_have_one_place() {
        let module = module();
        // Of the function: @large at 0, and @dynamic behind what the calling kernel has.
        assert_eq!(places(&module, 0), (vec![(1, 0), (3, 128)], 128, true));
        assert_eq!(places(&module, 1), (vec![(0, 112), (1, 0), (2, 104), (3, 128)], 128, true));
        // Who calls nothing has only what it uses.
        assert_eq!(places(&module, 2), (vec![(0, 0), (3, 32)], 32, true));
    }

    #[test]
    fn attributes_reserve_the_start() {
        let mut module = module();
        let alone = Func::from_u32(2);
        module.functions[alone].attributes.insert("amdgpu-lds-size".into(), "64,64".into());
        module.lds.clear();
        lay_out(&mut module, Os::AmdHsa);
        assert_eq!(places(&module, 2), (vec![(0, 64), (3, 96)], 96, true));
    }
}
