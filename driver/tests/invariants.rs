//! Invariants that are broken on purpose behind a pass: the verifier finds each there, and names that pass.

use gcnc::{CompileOptions, FileType, Observer, Pass, compile_observed};
use mir::ir::{self, BinaryOp, InstKind, Module, Type};
use mir::isa::{OpFlags, Opcode};
use mir::machine::{Function, Inst, ModFlags, Operand, PReg, RegFile, Terminator};
use std::sync::Mutex;

/// A divergent loop, LDS, a stack object with a variable index, a call.
const TEXT: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] poison, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @callee(i32 %x) noinline {
  %y = mul i32 %x, 12345
  ret i32 %y
}
define amdgpu_kernel void @k(ptr addrspace(1) %out, i32 %limit) {
  %slots = alloca [8 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %c = icmp ult i32 %l, %limit
  br i1 %c, label %loop, label %end
loop:
  %i = phi i32 [0, %0], [%n, %loop]
  %f = phi float [1.0, %0], [%g, %loop]
  %w = phi i64 [5, %0], [%v, %loop]
  %v = mul i64 %w, 3
  %g = fadd float %f, 2.0
  %n = add i32 %i, 3
  %m = and i32 %n, 7
  %slot = getelementptr i32, ptr addrspace(5) %slots, i32 %m
  store volatile i32 %n, ptr addrspace(5) %slot
  %d = icmp ult i32 %n, %l
  br i1 %d, label %loop, label %end
end:
  %x = phi i32 [7, %0], [%n, %loop]
  %h = phi float [3.0, %0], [%g, %loop]
  %z = call i32 @callee(i32 %x)
  %t = getelementptr i32, ptr addrspace(3) @tile, i32 %l
  store i32 %z, ptr addrspace(3) %t
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %z, ptr addrspace(1) %p
  %q = getelementptr float, ptr addrspace(1) %p, i32 64
  store float %h, ptr addrspace(1) %q
  ret void
}
"#;

/// What is broken. True where the code had a place for it.
enum Break {
    Ir(fn(&mut ir::Function) -> bool),
    Machine(fn(&mut Function) -> bool),
}

/// A broken invariant: what it is, behind which pass, how, and a part of the verifier's message.
struct Case {
    what: &'static str,
    pass: &'static str,
    how: Break,
    message: &'static str,
}

const fn ir(
    what: &'static str,
    pass: &'static str,
    how: fn(&mut ir::Function) -> bool,
    message: &'static str,
) -> Case {
    Case { what, pass, how: Break::Ir(how), message }
}

const fn mc(
    what: &'static str,
    pass: &'static str,
    how: fn(&mut Function) -> bool,
    message: &'static str,
) -> Case {
    Case { what, pass, how: Break::Machine(how), message }
}

/// The first instruction that `wanted` accepts.
fn first<'a>(f: &'a mut Function, wanted: impl Fn(&Inst) -> bool) -> Option<&'a mut Inst> {
    let place = f.layout.iter().find_map(|&b| Some((b, f.blocks[b].insts.iter().position(&wanted)?)))?;
    f.blocks[place.0].insts.get_mut(place.1)
}

/// Puts `inst` into the body of the last block, in front of everything.
fn insert(f: &mut Function, inst: Inst) -> bool {
    let Some(&block) = f.layout.last() else { return false };
    let data = &mut f.blocks[block];
    data.insts.insert(data.head_len as usize, inst);
    data.tail_start += 1;
    true
}

/// The first block with successors on the wave graph.
fn branching(f: &Function) -> Option<mir::machine::Block> {
    f.layout.iter().copied().find(|&b| !f.blocks[b].wave_succs.is_empty())
}

/// The first IR instruction that `wanted` accepts.
fn find(f: &ir::Function, wanted: impl Fn(&InstKind) -> bool) -> Option<ir::Inst> {
    f.layout.iter().flat_map(|&b| &f.blocks[b].insts).copied().find(|&i| wanted(&f.insts[i].kind))
}

fn pseudo(op: Opcode, operands: impl IntoIterator<Item = Operand>) -> Inst {
    Inst::new(op, operands)
}

const CASES: &[Case] = &[
    // IR.
    ir(
        "operands of different types",
        "waterfall",
        |f| {
            let Some(inst) = find(f, |k| matches!(k, InstKind::Binary { .. })) else { return false };
            let other = f.int(Type::I1, 1);
            let InstKind::Binary { args, .. } = &mut f.insts[inst].kind else { return false };
            args[1] = other;
            true
        },
        "i1",
    ),
    ir(
        "a value that nothing defines there",
        "waterfall",
        |f| {
            let Some(add) = find(f, |k| matches!(k, InstKind::Binary { op: BinaryOp::Add, .. })) else {
                return false;
            };
            let result = f.insts[add].result;
            let InstKind::Binary { args, .. } = &mut f.insts[add].kind else { return false };
            let Some(result) = result else { return false };
            args[0] = result;
            true
        },
        "domin",
    ),
    ir(
        "a block that is not in the layout",
        "waterfall",
        |f| {
            let Some(last) = f.layout.pop() else { return false };
            f.blocks[last].insts.len() > 0 && f.layout.len() > 1
        },
        "not in the layout",
    ),
    ir(
        "a branch on a constant",
        "waterfall",
        |f| {
            let yes = f.int(Type::I1, 1);
            let Some(branch) = find(f, |k| matches!(k, InstKind::Branch { .. })) else { return false };
            let InstKind::Branch { cond, .. } = &mut f.insts[branch].kind else { return false };
            *cond = yes;
            true
        },
        "branch on a constant",
    ),
    ir(
        "a division",
        "waterfall",
        |f| {
            let Some(inst) = find(f, |k| matches!(k, InstKind::Binary { op: BinaryOp::Add, .. })) else {
                return false;
            };
            let InstKind::Binary { op, .. } = &mut f.insts[inst].kind else { return false };
            *op = BinaryOp::UDiv;
            true
        },
        "illegal",
    ),
    ir(
        "a parameter that no edge passes",
        "waterfall",
        |f| {
            let Some(branch) = find(f, |k| matches!(k, InstKind::Branch { .. })) else { return false };
            let InstKind::Branch { if_true, if_false, .. } = &mut f.insts[branch].kind else { return false };
            if_true.args.pop().or_else(|| if_false.args.pop()).is_some()
        },
        "argument",
    ),
    // Selected code.
    mc(
        "an operand of the wrong file",
        "select",
        |f| {
            let scalar = f.new_vreg(RegFile::Sgpr, 1);
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            inst.operands[0] = Operand::vreg(scalar, 1);
            true
        },
        "wrong register file",
    ),
    mc(
        "an operand that is too wide",
        "select",
        |f| {
            let wide = f.new_vreg(RegFile::Vgpr, 2);
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            inst.operands[0] = Operand::vreg(wide, 2);
            true
        },
        "dwords wide",
    ),
    mc(
        "a part that the register does not have",
        "select",
        |f| {
            let narrow = f.new_vreg(RegFile::Vgpr, 1);
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            inst.operands[2] = Operand::sub(narrow, 1, 1);
            true
        },
        "has 1 dwords",
    ),
    mc(
        "a register that nothing defines",
        "select",
        |f| {
            let fresh = f.new_vreg(RegFile::Vgpr, 1);
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            inst.operands[2] = Operand::vreg(fresh, 1);
            true
        },
        "never defined",
    ),
    mc(
        "two definitions",
        "select",
        |f| {
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            let again = inst.clone();
            insert(f, again)
        },
        "defined in",
    ),
    mc(
        "a missing operand",
        "select",
        |f| first(f, |i| i.op == Opcode::V_ADD_F32).and_then(|i| i.operands.pop()).is_some(),
        "operands where the row has",
    ),
    mc(
        "a missing argument of an edge",
        "select",
        |f| {
            let edges = f
                .layout
                .clone()
                .into_iter()
                .find(|&b| f.blocks[b].thread_succs.iter().any(|e| !e.args.is_empty()));
            let Some(block) = edges else { return false };
            f.blocks[block].thread_succs.iter_mut().any(|edge| edge.args.pop().is_some())
        },
        "arguments for",
    ),
    mc(
        "a condition that is no lane mask",
        "select",
        |f| {
            let scalar = f.new_vreg(RegFile::Sgpr, 1);
            let of = |f: &Function, b| matches!(f.blocks[b].term, Terminator::Divergent(_));
            let Some(block) = f.layout.iter().copied().find(|&b| of(f, b)) else { return false };
            f.blocks[block].term = Terminator::Divergent(scalar);
            true
        },
        "no lane mask",
    ),
    mc(
        "EXEC written in a body",
        "select",
        |f| insert(f, pseudo(Opcode::S_MOV_B64, [Operand::preg(PReg::EXEC_LO, 2), Operand::Imm(-1)])),
        "EXEC is written in the body",
    ),
    mc(
        "SCC read where nothing wrote it",
        "select",
        |f| {
            let fresh = f.new_vreg(RegFile::Sgpr, 1);
            insert(
                f,
                pseudo(Opcode::S_CSELECT_B32, [Operand::vreg(fresh, 1), Operand::Imm(1), Operand::Imm(0)]),
            )
        },
        "reads SCC",
    ),
    mc(
        "wave edges before linearisation",
        "select",
        |f| {
            let Some(block) = f.layout.iter().copied().find(|&b| !f.blocks[b].thread_succs.is_empty()) else {
                return false;
            };
            f.blocks[block].wave_succs = f.blocks[block].thread_succs.clone();
            true
        },
        "wave edges",
    ),
    // Linear code.
    mc(
        "a divergent branch that is left",
        "linearise",
        |f| {
            let mask = f.new_lane_mask();
            let Some(block) = branching(f) else { return false };
            f.blocks[block].term = Terminator::Divergent(mask);
            true
        },
        "divergent branch after",
    ),
    mc(
        "SGPR arguments on thread edges",
        "linearise",
        |f| {
            let Some(block) = branching(f) else { return false };
            f.blocks[block].thread_sargs.push(Default::default());
            true
        },
        "thread edges",
    ),
    mc(
        "a wave edge that is lost",
        "linearise",
        |f| {
            let Some(block) = branching(f) else { return false };
            f.blocks[block].wave_succs.pop().is_some()
        },
        "successors",
    ),
    mc(
        "a vector instruction in a tail",
        "linearise",
        |f| {
            let fresh = f.new_vreg(RegFile::Vgpr, 1);
            let Some(block) = branching(f) else { return false };
            let inst = pseudo(Opcode::V_MOV_B32, [Operand::vreg(fresh, 1), Operand::Imm(0)]);
            f.blocks[block].insts.push(inst);
            true
        },
        "head or tail",
    ),
    mc(
        "a mark of selection that is left",
        "linearise",
        |f| insert(f, pseudo(Opcode::KILLED, [])),
        "stands here",
    ),
    mc(
        "parts that do not fit",
        "memory-model",
        |f| {
            let Some(&block) = f.layout.first() else { return false };
            f.blocks[block].tail_start = f.blocks[block].insts.len() as u32 + 1;
            true
        },
        "head, body and tail",
    ),
    // Allocated code.
    mc(
        "a virtual register that is left",
        "allocate",
        |f| {
            let fresh = f.new_vreg(RegFile::Vgpr, 1);
            let Some(inst) = first(f, |i| i.op == Opcode::V_ADD_F32) else { return false };
            inst.operands[0] = Operand::vreg(fresh, 1);
            true
        },
        "virtual register after allocation",
    ),
    mc(
        "a parameter that is left",
        "allocate",
        |f| {
            let fresh = f.new_vreg(RegFile::Vgpr, 1);
            let Some(&block) = f.layout.last() else { return false };
            f.blocks[block].vparams.push(fresh);
            true
        },
        "parameters of a block",
    ),
    mc(
        "an argument that is left",
        "allocate",
        |f| {
            let fresh = f.new_vreg(RegFile::Sgpr, 1);
            let Some(block) = branching(f) else { return false };
            f.blocks[block].wave_succs[0].args.push(fresh);
            true
        },
        "arguments of an edge",
    ),
    mc(
        "a branch to the entry",
        "remove-identity-moves",
        |f| {
            let (Some(block), Some(&entry)) = (branching(f), f.layout.first()) else { return false };
            f.blocks[block].wave_succs[0].block = entry;
            true
        },
        "leads to the entry",
    ),
    mc(
        "thread edges that are left",
        "simplify-exec",
        |f| {
            let Some(block) = branching(f) else { return false };
            f.blocks[block].thread_succs = f.blocks[block].wave_succs.clone();
            true
        },
        "thread edges",
    ),
    mc(
        "a region of other lanes",
        "insert-prolog",
        |f| {
            let pair = Operand::preg(PReg::sgpr(0), 2);
            insert(f, pseudo(Opcode::LANES_BEGIN, [pair, Operand::Imm(-1)]))
        },
        "stands here",
    ),
    mc(
        "an instruction with other lanes",
        "insert-prolog",
        |f| {
            let Some(inst) = first(f, |i| !i.op.info().flags.contains(OpFlags::BRANCH)) else { return false };
            inst.mods.flags |= ModFlags::OTHER_LANES;
            true
        },
        "other lanes",
    ),
    mc(
        "a branch instruction too early",
        "insert-waits",
        |f| {
            let Some(&to) = f.layout.last() else { return false };
            insert(f, pseudo(Opcode::S_BRANCH, [Operand::Block(to)]))
        },
        "before terminators",
    ),
    mc(
        "a block that comes twice",
        "insert-nops",
        |f| {
            let Some(&block) = f.layout.last() else { return false };
            f.layout.push(block);
            true
        },
        "twice",
    ),
    mc(
        "a pseudo instruction at the end",
        "lower-branches",
        |f| insert(f, pseudo(Opcode::IMPLICIT_DEF, [Operand::preg(PReg::vgpr(0), 1)])),
        "stands here",
    ),
];

/// Breaks code behind a pass, in the kernel.
struct Breaker<'a> {
    case: &'a Case,
    broken: Mutex<bool>,
}

impl Breaker<'_> {
    fn note(&self, broken: bool) {
        *self.broken.lock().expect("no thread panics") |= broken;
    }
}

impl Observer for Breaker<'_> {
    fn module(&self, pass: &'static Pass, module: &mut Module) {
        if let (Break::Ir(how), true) = (&self.case.how, pass.name == self.case.pass) {
            let kernel = module.functions.values_mut().find(|f| f.name == "k").expect("the kernel");
            self.note(how(kernel));
        }
    }

    fn function(&self, pass: &'static Pass, function: &mut Function) {
        if let (Break::Machine(how), true) =
            (&self.case.how, pass.name == self.case.pass && function.name == "k")
        {
            self.note(how(function));
        }
    }
}

fn module() -> Module {
    let reading = frontend::read(TEXT.as_bytes(), "test.ll").expect("the text is LLVM's");
    assert!(reading.errors.is_empty());
    reading.module
}

#[test]
fn broken_invariants_are_found_behind_the_pass() {
    let options = CompileOptions {
        cpu: "gfx900".into(),
        file_type: FileType::Obj,
        verify: true,
        threads: 1,
        ..Default::default()
    };
    compile_observed(module(), &options, None).expect("the intact code passes");
    assert!(CASES.len() >= 20);
    let mut wrong = Vec::new();
    for case in CASES {
        let breaker = Breaker { case, broken: Mutex::new(false) };
        let result = compile_observed(module(), &options, Some(&breaker));
        let (what, pass) = (case.what, case.pass);
        if !breaker.broken.into_inner().expect("no thread panics") {
            wrong.push(format!("{what}: there is no place for it behind {pass}"));
            continue;
        }
        match result {
            Ok(_) => wrong.push(format!("{what}: not found")),
            Err(errors) => {
                let text = errors[0].to_string();
                if !text.contains(&format!("after {pass}: ")) || !text.contains(case.message) {
                    wrong.push(format!("{what}: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
