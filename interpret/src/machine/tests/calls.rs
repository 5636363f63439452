//! Calls: where they lead, and where functions return to.

use super::*;

/// Calls an address; the return address goes to s[30:31].
fn call(f: &mut Function, block: Block, address: i64) {
    let target = f.new_vreg(RegFile::Sgpr, 2);
    f.calls.push(CallSite::default());
    let operands = [Operand::vreg(target, 2), imm(address)];
    f.blocks[block].push(Inst::new(Opcode::S_MOV_B64, operands));
    let operands = [Operand::preg(PReg::sgpr(30), 2), operands[0], imm(f.calls.len() as i64 - 1)];
    f.blocks[block].push(Inst::new(Opcode::CALL, operands));
}

/// A kernel that calls the function at address 1, and that function, which returns as its caller says.
fn caller_and_callee() -> (Kernel, Function, Block) {
    let mut k = Kernel::new();
    let entry = k.block();
    call(&mut k.f, entry, 1);
    k.to(entry, Terminator::EndProgram, &[]);
    let mut f = Function::new("f", CallConv::Device, Func::from_u32(1));
    let (entry, link) = (f.add_block(), f.new_vreg(RegFile::Sgpr, 2));
    f.entry.request(EntryValue::ReturnAddress, Some(link));
    let back = Operand::preg(PReg::sgpr(30), 2);
    f.blocks[entry].push(Inst::new(Opcode::COPY, [back, Operand::vreg(link, 2)]));
    f.blocks[entry].push(Inst::new(Opcode::S_SETPC_B64, [back]));
    f.blocks[entry].term = Terminator::Return;
    (k, f, entry)
}

/// The message of the fault with which a kernel and a function stop.
fn fault(k: &Kernel, f: &Function) -> String {
    let stop = k.run_with(&[f]).0.stop.expect("the run stops");
    assert_eq!(stop.kind, StopKind::Fault, "{}", stop.message);
    stop.message
}

#[test]
fn calls_lead_to_functions_and_back() {
    let (k, mut f, entry) = caller_and_callee();
    assert!(k.run_with(&[&f]).0.stop.is_none());
    f.blocks[entry].insts[0].operands[1] = imm(16);
    assert!(fault(&k, &f).contains("does not return to its caller"));
    f.source = Func::from_u32(2);
    assert!(fault(&k, &f).contains("a call of 0x1, where no function of the module is"));
}

#[test]
fn calls_without_end_are_a_fault() {
    let (k, mut f, entry) = caller_and_callee();
    f.blocks[entry].insts.clear();
    call(&mut f, entry, 1);
    f.blocks[entry].term = Terminator::Unreachable;
    assert!(fault(&k, &f).contains("calls inside of each other"));
}
