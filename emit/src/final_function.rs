//! Finished functions: nothing is left to decide, only to write. [`finish`] makes them.

use crate::{exec, frame, hazards, indexed, inline_asm, lanes, relax, scratch, waits};
use mir::abi::KernelDescriptor;
use mir::abi::metadata::{KernelMeta, Metadata};
use mir::ir::{Module, SymbolRef};
use mir::isa::Opcode;
use mir::machine::{Condition, Function, Inst, Operand, PReg, Reg, RelocKind, Terminator};
use mir::target::{Os, Target};
use mir::{Diagnostic, Result};

/// A place in the code that the linker fills in: a whole dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeReloc {
    /// Byte offset from the function's start.
    pub offset_bytes: u32,
    /// What is referred to.
    pub symbol: SymbolRef,
    /// Added to the symbol's address.
    pub addend: i32,
    /// How the dword is computed.
    pub kind: RelocKind,
}

/// What a code object says about a kernel besides its code.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// For the command processor; the entry offset is left to relocation.
    pub descriptor: KernelDescriptor,
    /// For the runtime.
    pub metadata: KernelMeta,
}

/// A function with its code.
#[derive(Clone, Debug)]
pub struct FinalFunction {
    /// The machine function at stage *final*: blocks in layout order, ending in branch instructions.
    pub function: Function,
    /// Its encoded instructions.
    pub code: Vec<u8>,
    /// Places in `code` to be relocated, in order.
    pub relocs: Vec<CodeReloc>,
    /// Byte offsets where the source position changes, with the new one (index into the function's `locs`).
    pub positions: Vec<(u32, u32)>,
    /// Present for kernels.
    pub kernel: Option<Kernel>,
}

/// Finishes an allocated function: prolog, waits, hazard NOPs, branches, encoding; counts what it uses.
///
/// Errors name the function: `Defect` where the input is not at stage *allocated*, `Unsupported` or `Limit` where the target
/// cannot hold it.
pub fn finish(function: Function, module: &Module, target: &Target) -> Result<FinalFunction> {
    let name = function.name.clone();
    finish_inner(function, module, target).map_err(|e| e.in_function(&name))
}

fn finish_inner(mut f: Function, module: &Module, target: &Target) -> Result<FinalFunction> {
    check_allocated(&f)?;
    remove_no_ops(&mut f);
    exec::simplify(&mut f, target);
    lanes::expand(&mut f);
    frame::insert_prolog(&mut f, target)?;
    scratch::build_resource(&mut f, module, target)?;
    inline_asm::expand(&mut f, module, target)?;
    waits::insert_waits(&mut f, target);
    indexed::expand(&mut f, target);
    hazards::insert_nops(&mut f, target);
    count_registers(&mut f);
    let code = relax::layout_and_encode(&mut f, target)?;
    let Some(source) = module.functions.get(f.source) else {
        return Err(Diagnostic::defect("the function is not of this module"));
    };
    let kernel = if source.is_kernel() && target.os == Os::AmdHsa {
        let descriptor = KernelDescriptor::for_kernel(&f, source, target)?;
        let metadata = Metadata::new(module, [(&f, source)], target).kernels.pop();
        metadata.map(|metadata| Kernel { descriptor, metadata })
    } else {
        None
    };
    Ok(FinalFunction {
        code: code.words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        relocs: code.relocs,
        positions: code.positions,
        kernel,
        function: f,
    })
}

/// Refuses virtual registers and lane-level control flow.
fn check_allocated(f: &Function) -> Result<()> {
    for &block in &f.layout {
        let data = &f.blocks[block];
        for inst in &data.insts {
            for operand in &inst.operands {
                if let Operand::Reg(reg) = operand
                    && let Reg::Virtual(vreg) = reg.reg
                {
                    return Err(
                        Diagnostic::defect(format!("{vreg} is not allocated")).at(inst.op.info().name)
                    );
                }
            }
        }
        let successors = match data.term {
            Terminator::Divergent(_) => {
                return Err(Diagnostic::defect(format!("divergent branch of {block}")));
            }
            Terminator::Jump => 1,
            Terminator::Uniform(_) => 2,
            Terminator::EndProgram | Terminator::Return | Terminator::Unreachable => 0,
        };
        if data.wave_succs.len() != successors {
            let message = format!("{block} has {} wave successors, not {successors}", data.wave_succs.len());
            return Err(Diagnostic::defect(message));
        }
    }
    Ok(())
}

/// Removes moves of a register to itself.
fn remove_no_ops(f: &mut Function) {
    let is_no_op = |inst: &Inst| {
        let moves =
            matches!(inst.op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64 | Opcode::V_MOV_B32 | Opcode::COPY);
        moves
            && inst.mods == Default::default()
            && matches!(inst.operands[..], [Operand::Reg(dst), Operand::Reg(src)] if dst == src)
    };
    for &block in &f.layout {
        f.blocks[block].insts.retain(|inst| !is_no_op(inst));
    }
}

/// Counts the registers that the code names; the prolog and what allocation added are included.
fn count_registers(f: &mut Function) {
    // LLVM holds kernels alone to what their text names.
    let named = f.asm_sites.iter().map(|site| site.named_sgprs).max().unwrap_or(0);
    let mut sgprs = if f.call_conv.is_callable() { 0 } else { named };
    let mut vgprs = 0;
    let mut vcc = false;
    let mut flat_scratch = f.resources.flat_scratch;
    for &block in &f.layout {
        let hidden = f.asm_sites.iter().flat_map(|site| &site.inside);
        let hidden = hidden.take(if block == f.layout[0] { usize::MAX } else { 0 });
        for inst in f.blocks[block].insts.iter().chain(hidden) {
            inst.for_each_access(|access| {
                let (first, dwords) = (access.first, u32::from(access.dwords));
                if let Some(n) = first.vgpr_index() {
                    vgprs = vgprs.max(u32::from(n) + dwords);
                } else if let Some(n) = first.sgpr_index() {
                    sgprs = sgprs.max(u32::from(n) + dwords);
                }
                vcc |= matches!(first, PReg::VCC_LO | PReg::VCC_HI);
                flat_scratch |= matches!(first, PReg::FLAT_SCRATCH_LO | PReg::FLAT_SCRATCH_HI);
            });
        }
        vcc |= matches!(f.blocks[block].term, Terminator::Uniform(Condition::Vccz | Condition::Vccnz));
    }
    let resources = &mut f.resources;
    (resources.sgprs, resources.vgprs, resources.vcc, resources.flat_scratch) =
        (sgprs, vgprs, vcc, flat_scratch);
}
