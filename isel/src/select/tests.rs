//! Small legal functions and the code that must come of them; every result also passes the machine verifier.

use super::select;
use mir::CodegenOptions as Options;
use mir::analysis::Uniformity;
use mir::ir::{
    AddrSpace, BinaryOp, Block, BlockCall, CallConv, CastOp, Const, Func, Function, GlobalData, InstFlags,
    InstKind, IntPredicate, Intrinsic, Linkage, MemAccess, MemFlags, Module, SymbolRef, Type, Value,
    Visibility,
};
use mir::isa::Opcode;
use mir::machine::{self, ModFlags, Operand, Terminator};
use mir::target::Target;

const GLOBAL_PTR: Type = Type::ptr(AddrSpace::GLOBAL);

/// Builds kernels.
struct Build {
    module: Module,
    f: Function,
    block: Block,
}

impl Build {
    fn new() -> Self {
        let mut f = Function::new("k", CallConv::Kernel, Type::Void);
        let block = f.add_block();
        Self { module: Module::default(), f, block }
    }

    fn push(&mut self, kind: InstKind, ty: Type) -> Value {
        self.f.append(self.block, kind, ty).expect("an instruction with a result")
    }

    fn effect(&mut self, kind: InstKind) {
        self.f.append(self.block, kind, Type::Void);
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let ty = self.f.ty(a);
        self.push(InstKind::Binary { op, args: [a, b] }, ty)
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, ty: Type, args: &[Value]) -> Value {
        self.push(InstKind::Intrinsic { intrinsic, args: args.iter().copied().collect() }, ty)
    }

    fn id(&mut self) -> Value {
        self.intrinsic(Intrinsic::WorkitemIdX, Type::I32, &[])
    }

    fn int(&mut self, value: i64) -> Value {
        self.f.int(Type::I32, value as u64)
    }

    /// Loads a kernel argument at a byte offset.
    fn argument(&mut self, ty: Type, offset: i64) -> Value {
        let space = Type::ptr(AddrSpace::CONSTANT);
        let base = self.intrinsic(Intrinsic::KernargSegmentPtr, space, &[]);
        let ptr = self.push(InstKind::PtrAdd { base, index: None, scale: 0, offset }, space);
        let mem = MemAccess { flags: MemFlags::INVARIANT, ..MemAccess::plain(AddrSpace::CONSTANT, 2) };
        self.push(InstKind::Load { ptr, mem }, ty)
    }

    fn index(&mut self, base: Value, index: Value, scale: i64, offset: i64) -> Value {
        let ty = self.f.ty(base);
        self.push(InstKind::PtrAdd { base, index: Some(index), scale, offset }, ty)
    }

    fn load(&mut self, ptr: Value, ty: Type) -> Value {
        let space = self.f.ty(ptr).addr_space().expect("a pointer");
        self.push(InstKind::Load { ptr, mem: MemAccess::plain(space, 2) }, ty)
    }

    fn store(&mut self, ptr: Value, value: Value) {
        let space = self.f.ty(ptr).addr_space().expect("a pointer");
        self.effect(InstKind::Store { ptr, value, mem: MemAccess::plain(space, 2) });
    }

    /// Selects and verifies.
    fn select(self, processor: &str) -> machine::Function {
        self.select_for(Target::new(Target::processor_by_name(processor).expect("a known processor")))
    }

    /// The same for what no processor is yet.
    fn select_for(self, target: Target) -> machine::Function {
        let mut module = self.module;
        let func = module.functions.push(self.f);
        let code = try_select(&module, func, &target).expect("legal input");
        if let Err(error) = machine::verify(&code) {
            panic!("{error}\n{code}");
        }
        code
    }

    /// Stores `value` at the first argument, ends, selects.
    fn finish(mut self, value: Value) -> machine::Function {
        let out = self.argument(GLOBAL_PTR, 0);
        let id = self.id();
        let ptr = self.index(out, id, 4, 0);
        self.store(ptr, value);
        self.effect(InstKind::Ret { value: None });
        self.select("gfx900")
    }
}

fn try_select(module: &Module, func: Func, target: &Target) -> mir::Result<machine::Function> {
    let uniformity = Uniformity::compute(&module.functions[func], target);
    select(module, func, &uniformity, target, &Options::default())
}

fn opcodes(code: &machine::Function) -> Vec<Opcode> {
    code.layout.iter().flat_map(|&b| code.blocks[b].insts.iter().map(|i| i.op)).collect()
}

fn find(code: &machine::Function, op: Opcode) -> &machine::Inst {
    let all = code.layout.iter().flat_map(|&b| &code.blocks[b].insts);
    all.into_iter().find(|i| i.op == op).unwrap_or_else(|| panic!("no {op:?} in\n{code}"))
}

#[test]
fn unused_code_is_not_emitted_and_uniform_code_is_scalar() {
    let mut b = Build::new();
    let (x, y) = (b.argument(Type::I32, 8), b.argument(Type::I32, 12));
    let dead = b.binary(BinaryOp::Mul, x, y);
    b.binary(BinaryOp::Add, dead, x);
    let sum = b.binary(BinaryOp::Add, x, y);
    let code = b.finish(sum);
    let ops = opcodes(&code);
    assert!(ops.contains(&Opcode::S_ADD_U32) && !ops.contains(&Opcode::S_MUL_I32), "{code}");
}

#[test]
fn global_access_takes_scalar_base_and_known_offset() {
    let mut b = Build::new();
    let out = b.argument(GLOBAL_PTR, 0);
    let id = b.id();
    let ptr = b.index(out, id, 4, 64);
    let value = b.load(ptr, Type::I32);
    b.store(ptr, value);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    let load = find(&code, Opcode::GLOBAL_LOAD_DWORD);
    // The work-item id is small, so the scaled index cannot wrap.
    assert!(load.operands[2].as_reg().is_some(), "{code}");
    assert!(load.mem.is_some());
}

#[test]
fn constant_offsets_reach_the_instruction() {
    let mut b = Build::new();
    let out = b.argument(GLOBAL_PTR, 0);
    let id = b.id();
    let ptr = b.index(out, id, 4, 0);
    let near = b.push(InstKind::PtrAdd { base: ptr, index: None, scale: 0, offset: -8 }, GLOBAL_PTR);
    let far = b.push(InstKind::PtrAdd { base: ptr, index: None, scale: 0, offset: 1 << 20 }, GLOBAL_PTR);
    let value = b.load(near, Type::I32);
    b.store(far, value);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    assert_eq!(find(&code, Opcode::GLOBAL_LOAD_DWORD).mods.offset, -8);
    assert_eq!(find(&code, Opcode::GLOBAL_STORE_DWORD).mods.offset, 0);
}

#[test]
fn three_operand_forms_fold_single_uses() {
    let mut b = Build::new();
    let id = b.id();
    let (three, x) = (b.int(3), b.argument(Type::I32, 8));
    let shifted = b.binary(BinaryOp::Shl, id, three);
    let sum = b.binary(BinaryOp::Add, shifted, x);
    let code = b.finish(sum);
    find(&code, Opcode::V_LSHL_ADD_U32);
    assert!(!opcodes(&code).contains(&Opcode::V_ADD_U32));
}

#[test]
fn bitwise_choice_becomes_bfi() {
    let mut b = Build::new();
    let id = b.id();
    let out = b.argument(GLOBAL_PTR, 0);
    let p = b.index(out, id, 4, 0);
    let (m, x) = (b.load(p, Type::I32), b.load(p, Type::I32));
    let difference = b.binary(BinaryOp::Xor, x, id);
    let masked = b.binary(BinaryOp::And, m, difference);
    let choice = b.binary(BinaryOp::Xor, masked, id);
    let code = b.finish(choice);
    let bfi = find(&code, Opcode::V_BFI_B32).clone();
    let loads: Vec<_> = code.layout.iter().flat_map(|&b| &code.blocks[b].insts).collect();
    let loaded: Vec<Operand> =
        loads.iter().filter(|i| i.op == Opcode::GLOBAL_LOAD_DWORD).map(|i| i.operands[0]).collect();
    // mask, value where set, value where clear
    assert_eq!(bfi.operands[1..3], [loaded[0], loaded[1]], "{code}");
}

#[test]
fn one_scalar_register_a_vector_instruction() {
    let mut b = Build::new();
    let id = b.id();
    let (x, y) = (b.argument(Type::I32, 8), b.argument(Type::I32, 12));
    let zero = b.int(0);
    let cond = b.push(InstKind::Icmp { predicate: IntPredicate::Eq, args: [id, zero] }, Type::I1);
    let chosen = b.push(InstKind::Select { cond, if_true: x, if_false: y }, Type::I32);
    let code = b.finish(chosen);
    let select = find(&code, Opcode::V_CNDMASK_B32);
    // The mask is the one SGPR.
    let scalar = |o: &Operand| match o.as_reg().map(|r| r.reg) {
        Some(machine::Reg::Virtual(v)) => code.vregs[v].file == machine::RegFile::Sgpr,
        _ => false,
    };
    assert_eq!(select.operands.iter().filter(|o| scalar(o)).count(), 1, "{code}");
}

#[test]
fn branches_by_uniformity() {
    for divergent in [false, true] {
        let mut b = Build::new();
        let x = if divergent { b.id() } else { b.argument(Type::I32, 8) };
        let zero = b.int(0);
        let cond = b.push(InstKind::Icmp { predicate: IntPredicate::Eq, args: [x, zero] }, Type::I1);
        let out = b.argument(GLOBAL_PTR, 0);
        let (then, end) = (b.f.add_block(), b.f.add_block());
        b.effect(InstKind::Branch { cond, if_true: BlockCall::to(then), if_false: BlockCall::to(end) });
        b.block = then;
        b.store(out, x);
        b.effect(InstKind::Jump { target: BlockCall::to(end) });
        b.block = end;
        b.effect(InstKind::Ret { value: None });
        let code = b.select("gfx900");
        let entry = &code.blocks[code.layout[0]];
        match entry.term {
            Terminator::Divergent(_) => assert!(divergent),
            Terminator::Uniform(_) => {
                assert!(!divergent);
                assert_eq!(entry.insts.last().map(|i| i.op), Some(Opcode::S_CMP_EQ_U32));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lds_variables_are_placed_by_alignment_and_limited() {
    let variable = |size_bytes, align_log2| GlobalData {
        name: String::new(),
        linkage: Linkage::Internal,
        visibility: Visibility::Default,
        space: AddrSpace::LOCAL,
        size_bytes,
        align_log2,
        is_constant: false,
        section: String::new(),
        init: None,
    };
    let build = |large: u64| {
        let mut b = Build::new();
        let local = Type::ptr(AddrSpace::LOCAL);
        let small = b.module.globals.push(variable(6, 1));
        let big = b.module.globals.push(variable(large, 4));
        let places = [small, big].map(|g| b.f.constant(local, Const::Symbol(SymbolRef::Global(g), 0)));
        let id = b.id();
        let at = b.index(places[0], id, 4, 0);
        let value = b.load(places[1], Type::I32);
        b.store(at, value);
        b.effect(InstKind::Ret { value: None });
        b
    };
    let code = build(32).select("gfx900");
    assert_eq!(code.lds.globals.iter().map(|g| g.1).collect::<Vec<_>>(), [0, 32]);
    assert_eq!(code.lds.size_bytes, 38);
    assert_eq!(find(&code, Opcode::DS_WRITE_B32).mods.offset, 32);
    let Build { mut module, f, .. } = build(70_000);
    let func = module.functions.push(f);
    let target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
    let error = try_select(&module, func, &target).expect_err("too much local memory");
    assert_eq!(error.kind, mir::ErrorKind::Limit);
    assert!(error.to_string().contains("70006 bytes"), "{error}");
}

#[test]
fn value_of_the_last_iteration_is_kept_for_each_lane() {
    let mut b = Build::new();
    let (out, n, id) = (b.argument(GLOBAL_PTR, 0), b.argument(Type::I32, 8), b.id());
    let (head, exit) = (b.f.add_block(), b.f.add_block());
    let i = b.f.add_block_param(head, Type::I32);
    let (zero, one) = (b.int(0), b.int(1));
    let jump = |value| BlockCall { block: head, args: [value].into_iter().collect() };
    b.effect(InstKind::Jump { target: jump(zero) });
    b.block = head;
    let next = b.binary(BinaryOp::Add, i, one);
    let product = b.binary(BinaryOp::Mul, next, n);
    let cond = b.push(InstKind::Icmp { predicate: IntPredicate::Ult, args: [next, id] }, Type::I1);
    b.effect(InstKind::Branch { cond, if_true: jump(next), if_false: BlockCall::to(exit) });
    b.block = exit;
    b.store(out, product);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    // The uniform product is copied to a VGPR inside the loop, and the store reads the copy.
    let body = &code.blocks[code.layout[1]];
    assert_eq!(body.loop_depth, 1);
    let copy = body.insts.iter().find(|i| i.op == Opcode::V_MOV_B32).expect("a copy in the loop");
    assert_eq!(find(&code, Opcode::GLOBAL_STORE_DWORD).operands[1], copy.operands[0], "{code}");
}

#[test]
fn wide_product_and_sum_are_one_instruction() {
    let mut b = Build::new();
    let id = b.id();
    let out = b.argument(GLOBAL_PTR, 0);
    let addend = b.argument(Type::I64, 8);
    let wide = b.push(InstKind::Cast { op: CastOp::ZExt, arg: id }, Type::I64);
    let product = b.binary(BinaryOp::Mul, wide, wide);
    let sum = b.binary(BinaryOp::Add, product, addend);
    b.store(out, sum);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    find(&code, Opcode::V_MAD_U64_U32);
    assert!(!opcodes(&code).contains(&Opcode::V_ADD_CO_U32), "{code}");
}

#[test]
fn high_half_of_a_product_is_one_instruction() {
    let mut b = Build::new();
    let id = b.id();
    let out = b.argument(GLOBAL_PTR, 0);
    let wide = b.push(InstKind::Cast { op: CastOp::ZExt, arg: id }, Type::I64);
    let product = b.binary(BinaryOp::Mul, wide, wide);
    let places = b.f.int(Type::I64, 32);
    let high = b.binary(BinaryOp::LShr, product, places);
    let high = b.push(InstKind::Cast { op: CastOp::Trunc, arg: high }, Type::I32);
    b.store(out, high);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    find(&code, Opcode::V_MUL_HI_U32);
    assert!(!opcodes(&code).contains(&Opcode::V_MAD_U64_U32), "{code}");
}

#[test]
fn contraction_needs_permission() {
    for (flags, fused) in [(InstFlags::CONTRACT, true), (InstFlags::empty(), false)] {
        let mut b = Build::new();
        let out = b.argument(GLOBAL_PTR, 0);
        let id = b.id();
        let ptr = b.index(out, id, 4, 0);
        let x = b.load(ptr, Type::F32);
        let mut float = |op, args| {
            let inst = b.f.make_inst(InstKind::Binary { op, args }, Type::F32, flags);
            b.f.blocks[b.block].insts.push(inst);
            b.f.insts[inst].result.expect("a result")
        };
        let product = float(BinaryOp::FMul, [x, x]);
        let sum = float(BinaryOp::FAdd, [product, x]);
        let code = b.finish(sum);
        assert_eq!(opcodes(&code).contains(&Opcode::V_FMA_F32), fused, "{code}");
    }
}

#[test]
fn atomics_return_only_what_is_used() {
    for used in [false, true] {
        let mut b = Build::new();
        let out = b.argument(GLOBAL_PTR, 0);
        let id = b.id();
        let ptr = b.index(out, id, 4, 0);
        let mem =
            MemAccess { ordering: mir::ir::Ordering::Monotonic, ..MemAccess::plain(AddrSpace::GLOBAL, 2) };
        let old = b.push(InstKind::AtomicRmw { op: mir::ir::AtomicOp::Add, ptr, value: id, mem }, Type::I32);
        let stored = if used { old } else { id };
        let code = b.finish(stored);
        let op = if used { Opcode::GLOBAL_ATOMIC_ADD_RTN } else { Opcode::GLOBAL_ATOMIC_ADD };
        assert_eq!(find(&code, op).mods.flags.contains(ModFlags::GLC), used);
    }
}

/// A kernel that reads element `index` of a vector of eight divergent dwords and writes it back one behind.
fn indexed(divergent: bool) -> machine::Function {
    let mut b = Build::new();
    let argument = b.argument(Type::I32, 8);
    let id = b.id();
    let ty = Type::Vector(mir::ir::Scalar::Int(32), 8);
    let mut vector = b.f.constant(ty, Const::Poison);
    for i in 0..8 {
        let at = b.int(i);
        let element = b.binary(BinaryOp::Mul, id, argument);
        vector = b.push(InstKind::InsertElement { vector, element, index: at }, ty);
    }
    let index = if divergent { id } else { argument };
    let element = b.push(InstKind::ExtractElement { vector, index }, Type::I32);
    let changed = b.push(InstKind::InsertElement { vector, element, index }, ty);
    let three = b.int(3);
    let fixed = b.push(InstKind::ExtractElement { vector: changed, index: three }, Type::I32);
    b.finish(fixed)
}

#[test]
fn uniform_indices_move_and_divergent_ones_choose() {
    let code = indexed(false);
    let read = find(&code, Opcode::INDEXED_READ);
    assert!(matches!(read.operands[1], Operand::Reg(r) if r.dwords == 8));
    let write = find(&code, Opcode::INDEXED_WRITE);
    assert_eq!(write.operands.len(), 4, "the old tuple is tied to the new one");
    assert!(!opcodes(&code).contains(&Opcode::V_CNDMASK_B32));
    let code = indexed(true);
    let chosen = opcodes(&code).iter().filter(|&&op| op == Opcode::V_CNDMASK_B32).count();
    assert_eq!(chosen, 7 + 8);
    assert!(!opcodes(&code).contains(&Opcode::INDEXED_READ));
}

#[test]
fn wide_product_with_a_constant_is_one_instruction() {
    let mut b = Build::new();
    let id = b.id();
    let out = b.argument(GLOBAL_PTR, 0);
    let wide = b.push(InstKind::Cast { op: CastOp::ZExt, arg: id }, Type::I64);
    let constant = b.f.int(Type::I64, 0xfe51_63ab);
    let product = b.binary(BinaryOp::Mul, wide, constant);
    b.store(out, product);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    find(&code, Opcode::V_MAD_U64_U32);
    assert!(!opcodes(&code).contains(&Opcode::V_MUL_LO_U32), "{code}");
}

#[test]
fn added_condition_is_the_carry() {
    for (op, cast, want) in [
        (BinaryOp::Add, CastOp::ZExt, Opcode::V_ADDC_CO_U32),
        (BinaryOp::Sub, CastOp::SExt, Opcode::V_ADDC_CO_U32),
        (BinaryOp::Add, CastOp::SExt, Opcode::V_SUBBREV_CO_U32),
        (BinaryOp::Sub, CastOp::ZExt, Opcode::V_SUBBREV_CO_U32),
    ] {
        let mut b = Build::new();
        let (id, x) = (b.id(), b.argument(Type::I32, 8));
        let less = b.push(InstKind::Icmp { predicate: IntPredicate::Ult, args: [id, x] }, Type::I1);
        let flag = b.push(InstKind::Cast { op: cast, arg: less }, Type::I32);
        let sum = b.binary(op, x, flag);
        let code = b.finish(sum);
        find(&code, want);
        assert!(!opcodes(&code).contains(&Opcode::V_CNDMASK_B32), "{code}");
    }
}

#[test]
fn two_added_conditions_are_carries() {
    let mut b = Build::new();
    let (id, x, y) = (b.id(), b.argument(Type::I32, 8), b.argument(Type::I32, 12));
    let flags = [x, y].map(|bound| {
        let less = b.push(InstKind::Icmp { predicate: IntPredicate::Ult, args: [id, bound] }, Type::I1);
        b.push(InstKind::Cast { op: CastOp::ZExt, arg: less }, Type::I32)
    });
    let both = b.binary(BinaryOp::Add, flags[0], flags[1]);
    let sum = b.binary(BinaryOp::Add, id, both);
    let code = b.finish(sum);
    let carries = opcodes(&code).iter().filter(|&&op| op == Opcode::V_ADDC_CO_U32).count();
    assert_eq!(carries, 2, "{code}");
    assert!(!opcodes(&code).contains(&Opcode::V_ADD3_U32), "{code}");
}

#[test]
fn constant_halves_need_no_addition() {
    let mut b = Build::new();
    let id = b.id();
    let out = b.argument(GLOBAL_PTR, 0);
    let start = b.argument(Type::I64, 8);
    let pair = Type::Vector(mir::ir::Scalar::Int(32), 2);
    let (zero, one) = (b.int(0), b.int(1));
    let none = b.f.constant(pair, Const::Poison);
    let low = b.push(InstKind::InsertElement { vector: none, element: zero, index: zero }, pair);
    let both = b.push(InstKind::InsertElement { vector: low, element: id, index: one }, pair);
    let shifted = b.push(InstKind::Cast { op: CastOp::BitCast, arg: both }, Type::I64);
    let sum = b.binary(BinaryOp::Add, shifted, start);
    b.store(out, sum);
    b.effect(InstKind::Ret { value: None });
    let code = b.select("gfx900");
    find(&code, Opcode::V_ADD_U32);
    assert!(!opcodes(&code).contains(&Opcode::V_ADDC_CO_U32), "{code}");
}

#[test]
fn dwords_of_lds_behind_one_base_come_together() {
    for (barrier, want) in [(false, 1), (true, 0)] {
        let mut b = Build::new();
        let start = b.id();
        let base = b.push(InstKind::Cast { op: CastOp::IntToPtr, arg: start }, Type::ptr(AddrSpace::LOCAL));
        let at = |b: &mut Build, offset| {
            let kind = InstKind::PtrAdd { base, index: None, scale: 0, offset };
            let ptr = b.push(kind, Type::ptr(AddrSpace::LOCAL));
            b.load(ptr, Type::I32)
        };
        let x = at(&mut b, 1024);
        if barrier {
            b.effect(InstKind::Intrinsic { intrinsic: Intrinsic::SBarrier, args: Default::default() });
        }
        let y = at(&mut b, 1092);
        let sum = b.binary(BinaryOp::Add, x, y);
        let code = b.finish(sum);
        let pairs = opcodes(&code).iter().filter(|&&op| op == Opcode::DS_READ2_B32).count();
        assert_eq!(pairs, want, "{code}");
        if !barrier {
            let read = find(&code, Opcode::DS_READ2_B32);
            assert_eq!(i32::from(read.mods.offset1) - read.mods.offset, 17);
        }
    }
}

/// Masks of a wave of 32 lanes are single SGPRs; as integers of the program they have zeros above.
#[test]
fn masks_of_32_lanes() {
    let mut b = Build::new();
    let (id, limit) = (b.id(), b.argument(Type::I32, 8));
    let low = b.push(InstKind::Icmp { predicate: IntPredicate::Ult, args: [id, limit] }, Type::I1);
    let seven = b.int(7);
    let other = b.push(InstKind::Icmp { predicate: IntPredicate::Ugt, args: [id, seven] }, Type::I1);
    let both = b.binary(BinaryOp::And, low, other);
    let mask = b.intrinsic(Intrinsic::Ballot, Type::I64, &[both]);
    let lanes = b.intrinsic(Intrinsic::InverseBallot, Type::I1, &[mask]);
    let zero = b.int(0);
    let chosen = b.push(InstKind::Select { cond: lanes, if_true: seven, if_false: zero }, Type::I32);
    let below = b.intrinsic(Intrinsic::MbcntHi, Type::I32, &[chosen, chosen]);
    let high = b.push(InstKind::Cast { op: CastOp::Trunc, arg: mask }, Type::I32);
    let sum = b.binary(BinaryOp::Add, below, high);
    let out = b.argument(GLOBAL_PTR, 0);
    let ptr = b.index(out, id, 4, 0);
    b.store(ptr, sum);
    b.effect(InstKind::Ret { value: None });
    let mut target = Target::new(Target::processor_by_name("gfx900").expect("a known processor"));
    target.features |= mir::target::Features::WAVEFRONTSIZE32;
    let code = b.select_for(target);
    let ops = opcodes(&code);
    assert!(ops.contains(&Opcode::S_AND_B32) && !ops.contains(&Opcode::S_AND_B64), "{code}");
    assert!(!ops.contains(&Opcode::V_MBCNT_HI_U32_B32), "{code}");
    let masks = code.vregs.values().filter(|v| v.flags.contains(machine::VRegFlags::LANE_MASK));
    assert!(masks.clone().count() > 2 && masks.clone().all(|v| v.dwords == 1), "{code}");
}
