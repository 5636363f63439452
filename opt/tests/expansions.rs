//! Expansions against plain arithmetic, on edge cases and random numbers, at every width.

#[path = "common/interp.rs"]
mod interp;

use gcnc::legalize;
use interp::Run;
use mir::CodegenOptions as Options;
use mir::ir::legal::verify_legal;
use mir::ir::*;
use mir::target::Target;
use smallvec::SmallVec;

/// A kernel `(out, x, y)` that stores what `body` makes of `x` and `y`.
fn kernel(ty: Type, body: impl FnOnce(&mut Function, Block, Value, Value) -> Value) -> Module {
    kernel_in(ty, |f, entry, x, y| (entry, body(f, entry, x, y)))
}

/// The same with a body of several blocks, which says where its result is.
fn kernel_in(ty: Type, body: impl FnOnce(&mut Function, Block, Value, Value) -> (Block, Value)) -> Module {
    let mut f = Function::new("k", CallConv::Kernel, Type::Void);
    let out = f.add_param(Type::ptr(AddrSpace::GLOBAL), "out");
    let (x, y) = (f.add_param(ty, "x"), f.add_param(ty, "y"));
    let entry = f.add_block();
    let (end, value) = body(&mut f, entry, x, y);
    let mem = MemAccess::plain(AddrSpace::GLOBAL, 0);
    f.append(end, InstKind::Store { ptr: out, value, mem }, Type::Void);
    f.append(end, InstKind::Ret { value: None }, Type::Void);
    let mut module = Module::default();
    module.functions.push(f);
    module
}

fn legal(mut module: Module, cpu: &str, opt_level: u8) -> Function {
    let machine = Target::new(Target::processor_by_name(cpu).unwrap());
    let options = Options { opt_level, ..Options::default() };
    legalize(&mut module, &machine, &options).unwrap();
    let func = module.functions.values().next().unwrap().clone();
    verify_legal(&func, &module.types, &machine).unwrap();
    func
}

/// What the kernel stores for `x` and `y` of `bits` bits, as `result_bytes` bytes.
fn execute(func: &Function, bits: u32, x: u64, y: u64, rcp_error: i32, result_bytes: u64) -> u64 {
    let bytes = bits.div_ceil(8).next_power_of_two() as usize;
    let mut kernarg = vec![0u8; 512];
    kernarg[..8].copy_from_slice(&0x5000u64.to_le_bytes());
    kernarg[8..8 + bytes].copy_from_slice(&x.to_le_bytes()[..bytes]);
    kernarg[8 + bytes..8 + 2 * bytes].copy_from_slice(&y.to_le_bytes()[..bytes]);
    let mut run = Run::new(func, &kernarg);
    run.rcp_error = rcp_error;
    run.execute();
    (0..result_bytes).rev().fold(0, |acc, i| acc << 8 | u64::from(run.stored[&(0x5000 + i)]))
}

fn mask(bits: u32) -> u64 {
    opt::bits::mask64(u64::MAX, bits)
}

/// Edge cases and pseudo-random numbers of all magnitudes.
fn samples(bits: u32) -> Vec<u64> {
    let mut out =
        vec![0, 1, 2, 3, 5, 7, 10, mask(bits), mask(bits) - 1, mask(bits) >> 1, (mask(bits) >> 1) + 1];
    out.extend(
        [0xffff, 0x10000, 0xff_ffff, 0x100_0000, 0xffff_ffff, 0x1_0000_0000].iter().map(|v| v & mask(bits)),
    );
    let mut rng = fastrand::Rng::with_seed(1);
    out.extend((0..23u32).map(|i| rng.u64(..) & mask(bits) >> (i * 7 % bits)));
    out
}

fn signed(x: u64, bits: u32) -> i64 {
    opt::bits::sext64(x, bits)
}

fn binary(ty: Type, op: BinaryOp) -> Module {
    kernel(ty, |f, b, x, y| f.append(b, InstKind::Binary { op, args: [x, y] }, ty).unwrap())
}

fn quotient(op: BinaryOp, x: u64, y: u64, bits: u32) -> Option<u64> {
    let overflow =
        matches!(op, BinaryOp::SDiv | BinaryOp::SRem) && signed(y, bits) == -1 && x == (mask(bits) >> 1) + 1;
    (y != 0 && !overflow).then(|| opt::fold::eval_binary(op, x, y, bits).unwrap())
}

const DIVISIONS: [BinaryOp; 4] = [BinaryOp::UDiv, BinaryOp::SDiv, BinaryOp::URem, BinaryOp::SRem];

#[test]
fn division_by_variables() {
    for bits in [8, 16, 24, 32, 48, 64] {
        for op in DIVISIONS {
            for cpu in ["gfx600", "gfx900"] {
                let func = legal(binary(Type::int(bits), op), cpu, 2);
                for &x in &samples(bits) {
                    for &y in samples(bits).iter().step_by(4) {
                        let Some(expected) = quotient(op, x, y, bits) else { continue };
                        for error in [-1, 0, 1] {
                            let got = execute(&func, bits, x, y, error, u64::from(bits / 8));
                            assert_eq!(got, expected, "{x:#x} {op:?} {y:#x} at i{bits}, rcp {error:+} ulp");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn division_by_constants() {
    for bits in [8, 16, 32, 64] {
        let divisors =
            [1, 2, 3, 5, 6, 7, 10, 12, 25, 28, 100, 127, 641, 1 << 20, 65537, mask(bits), mask(bits) - 6];
        for divisor in divisors.map(|d: u64| d & mask(bits)).into_iter().chain(samples(bits)) {
            if divisor == 0 {
                continue;
            }
            for op in DIVISIONS {
                let ty = Type::int(bits);
                let module = kernel(ty, |f, b, x, _| {
                    let d = f.int(ty, divisor);
                    f.append(b, InstKind::Binary { op, args: [x, d] }, ty).unwrap()
                });
                let func = legal(module, "gfx900", 2);
                for &x in &samples(bits) {
                    let Some(expected) = quotient(op, x, divisor, bits) else { continue };
                    let got = execute(&func, bits, x, 0, 0, u64::from(bits / 8));
                    assert_eq!(got, expected, "{x:#x} {op:?} {divisor:#x} at i{bits}");
                }
            }
        }
    }
}

#[test]
fn arithmetic_shifts_and_comparisons() {
    use BinaryOp::*;
    for bits in [8, 16, 24, 32, 48, 64] {
        let ty = Type::int(bits);
        for op in [Add, Sub, Mul, And, Or, Xor, Shl, LShr, AShr] {
            let func = legal(binary(ty, op), "gfx900", 2);
            for &x in &samples(bits) {
                for &y in &samples(bits) {
                    let shift = matches!(op, Shl | LShr | AShr);
                    let y = if shift { y % u64::from(bits) } else { y };
                    let expected = opt::fold::eval_binary(op, x, y, bits).unwrap();
                    let got = execute(&func, bits, x, y, 0, u64::from(bits / 8));
                    assert_eq!(got, expected, "{x:#x} {op:?} {y:#x} at i{bits}");
                }
            }
        }
        for predicate in [IntPredicate::Slt, IntPredicate::Uge, IntPredicate::Eq] {
            let module = kernel(ty, |f, b, x, y| {
                let c = f.append(b, InstKind::Icmp { predicate, args: [x, y] }, Type::I1).unwrap();
                f.append(b, InstKind::Cast { op: CastOp::ZExt, arg: c }, Type::I8).unwrap()
            });
            let func = legal(module, "gfx701", 2);
            for &x in &samples(bits) {
                for &y in &samples(bits) {
                    let expected = u64::from(opt::fold::eval_icmp(predicate, x, y, bits));
                    assert_eq!(
                        execute(&func, bits, x, y, 0, 1),
                        expected,
                        "{x:#x} {predicate:?} {y:#x} i{bits}"
                    );
                }
            }
        }
    }
}

fn reference(intrinsic: Intrinsic, x: u64, y: u64, bits: u32) -> u64 {
    use Intrinsic::*;
    let (sx, sy) = (i128::from(signed(x, bits)), i128::from(signed(y, bits)));
    let (ux, uy) = (i128::from(x), i128::from(y));
    let (top, bottom) = (i128::from(mask(bits) >> 1), -i128::from(mask(bits) >> 1) - 1);
    let twice = (ux as u128) << bits | ux as u128;
    let amount = (y % u64::from(bits)) as u32;
    let value = match intrinsic {
        SaddSat => (sx + sy).clamp(bottom, top),
        SsubSat => (sx - sy).clamp(bottom, top),
        UaddSat => (ux + uy).min(i128::from(mask(bits))),
        UsubSat => (ux - uy).max(0),
        Smin => sx.min(sy),
        Umax => ux.max(uy),
        Abs => sx.abs(),
        Ctpop => i128::from(x.count_ones()),
        Ctlz => i128::from(x.leading_zeros() - (64 - bits)),
        Cttz => i128::from(x.trailing_zeros().min(bits)),
        Bswap => i128::from(x.swap_bytes() >> (64 - bits)),
        Bitreverse => i128::from(x.reverse_bits() >> (64 - bits)),
        // Rotations.
        Fshl => (twice >> (bits - amount)) as i128,
        Fshr => (twice >> amount) as i128,
        _ => panic!("{intrinsic:?}"),
    };
    value as u64 & mask(bits)
}

#[test]
fn integer_intrinsics() {
    use Intrinsic::*;
    for bits in [8, 16, 32, 64] {
        let ty = Type::int(bits);
        for intrinsic in [
            SaddSat, SsubSat, UaddSat, UsubSat, Smin, Umax, Abs, Ctpop, Ctlz, Cttz, Bswap, Bitreverse, Fshl,
            Fshr,
        ] {
            if intrinsic == Bswap && bits == 8 {
                continue;
            }
            for cpu in ["gfx600", "gfx900"] {
                let module = kernel(ty, |f, b, x, y| {
                    let no = f.int(Type::I1, 0);
                    let args: SmallVec<[Value; 4]> = match intrinsic {
                        Abs | Ctlz | Cttz => [x, no].into_iter().collect(),
                        Ctpop | Bswap | Bitreverse => [x].into_iter().collect(),
                        Fshl | Fshr => [x, x, y].into_iter().collect(),
                        _ => [x, y].into_iter().collect(),
                    };
                    f.append(b, InstKind::Intrinsic { intrinsic, args }, ty).unwrap()
                });
                let func = legal(module, cpu, 2);
                for &x in &samples(bits) {
                    for &y in &samples(bits) {
                        let got = execute(&func, bits, x, y, 0, u64::from(bits / 8));
                        assert_eq!(
                            got,
                            reference(intrinsic, x, y, bits),
                            "{intrinsic:?} {x:#x} {y:#x} i{bits} {cpu}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn conversions_of_long_integers_round_once() {
    for (op, is_signed) in [(CastOp::UiToFp, false), (CastOp::SiToFp, true)] {
        for ty in [Type::F32, Type::F64] {
            let module =
                kernel(Type::I64, |f, b, x, _| f.append(b, InstKind::Cast { op, arg: x }, ty).unwrap());
            let func = legal(module, "gfx900", 2);
            for &x in &samples(64) {
                let bytes = ty.bits().unwrap() / 8;
                let got = execute(&func, 64, x, 0, 0, bytes);
                let expected = match (ty, is_signed) {
                    (Type::F32, false) => u64::from((x as f32).to_bits()),
                    (Type::F32, true) => u64::from((x as i64 as f32).to_bits()),
                    (_, false) => (x as f64).to_bits(),
                    (_, true) => (x as i64 as f64).to_bits(),
                };
                assert_eq!(got, expected, "{op:?} {x:#x}");
            }
        }
    }
    for (op, is_signed) in [(CastOp::FpToUi, false), (CastOp::FpToSi, true)] {
        let module =
            kernel(Type::F64, |f, b, x, _| f.append(b, InstKind::Cast { op, arg: x }, Type::I64).unwrap());
        let func = legal(module, "gfx900", 2);
        for &x in &samples(63) {
            for sign in [1.0, -1.0] {
                let value = x as f64 * 0.75 * sign;
                if sign < 0.0 && !is_signed {
                    continue;
                }
                let got = execute(&func, 64, value.to_bits(), 0, 0, 8);
                let expected = if is_signed { value as i64 as u64 } else { value as u64 };
                assert_eq!(got, expected, "{op:?} {value}");
            }
        }
    }
}

/// A kernel that stores the number of the target that a switch over `x` takes; the default's is 99.
fn switch(ty: Type, cases: &[(u64, u32)], default_happens: bool) -> Module {
    kernel_in(Type::I32, |f, entry, x, _| {
        let x = if ty == Type::I32 {
            x
        } else {
            f.append(entry, InstKind::Cast { op: CastOp::Trunc, arg: x }, ty).unwrap()
        };
        let join = f.add_block();
        let result = f.add_block_param(join, Type::I32);
        let leave = |f: &mut Function, block, number: u32| {
            let number = f.int(Type::I32, u64::from(number));
            let target = BlockCall { block: join, args: std::iter::once(number).collect() };
            f.append(block, InstKind::Jump { target }, Type::Void);
        };
        let mut blocks: Vec<(u32, Block)> = Vec::new();
        let mut table = Vec::new();
        for &(at, number) in cases {
            let known = blocks.iter().find(|b| b.0 == number).map(|b| b.1);
            let block = known.unwrap_or_else(|| {
                let block = f.add_block();
                leave(f, block, number);
                blocks.push((number, block));
                block
            });
            table.push((at, BlockCall::to(block)));
        }
        let default = f.add_block();
        if default_happens {
            leave(f, default, 99);
        } else {
            f.append(default, InstKind::Unreachable, Type::Void);
        }
        let kind = InstKind::Switch { value: x, cases: table.into(), default: BlockCall::to(default) };
        f.append(entry, kind, Type::Void);
        (join, result)
    })
}

#[test]
fn switches_over_runs_sets_and_all_values() {
    let tables: [&[(u64, u32)]; 5] = [
        &[(0, 1), (1, 1), (2, 2), (3, 3), (200, 4), (201, 4), (255, 5)],
        &[(97, 1), (101, 1), (105, 1), (111, 1), (117, 1)],
        &[(0, 1), (1, 2), (2, 3), (3, 4)],
        &[(255, 7)],
        &[],
    ];
    for cases in tables {
        for default_happens in [true, false] {
            for ty in [Type::I8, Type::I16, Type::I32] {
                let func = legal(switch(ty, cases, default_happens), "gfx900", 2);
                for x in 0..=255 {
                    let hit = cases.iter().find(|c| c.0 == x).map(|c| c.1);
                    if hit.is_none() && !default_happens {
                        continue;
                    }
                    let got = execute(&func, 32, x, 0, 0, 4);
                    assert_eq!(got, u64::from(hit.unwrap_or(99)), "{x} of {cases:?}, {ty:?}");
                }
            }
        }
    }
}

#[test]
fn comparisons_of_extended_values_with_constants() {
    use IntPredicate::*;
    for (op, from) in
        [CastOp::ZExt, CastOp::SExt].into_iter().flat_map(|op| [8, 16, 32].map(|from| (op, from)))
    {
        let narrow = Type::int(from);
        for predicate in [Eq, Ne, Ugt, Uge, Ult, Ule, Sgt, Sge, Slt, Sle] {
            for constant in
                [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0xffff_ffff, u64::MAX, u64::MAX - 1]
            {
                let module = kernel(Type::I64, |f, b, x, _| {
                    let x = f.append(b, InstKind::Cast { op: CastOp::Trunc, arg: x }, narrow).unwrap();
                    let wide = f.append(b, InstKind::Cast { op, arg: x }, Type::I64).unwrap();
                    let c = f.int(Type::I64, constant);
                    let cond = f.append(b, InstKind::Icmp { predicate, args: [wide, c] }, Type::I1).unwrap();
                    f.append(b, InstKind::Cast { op: CastOp::ZExt, arg: cond }, Type::I64).unwrap()
                });
                let func = legal(module, "gfx900", 2);
                for x in [0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x8000_0000, 0xffff_ffff] {
                    let x = x & mask(from);
                    let wide = if op == CastOp::SExt { signed(x, from) as u64 } else { x };
                    let expected = opt::fold::eval_icmp(predicate, wide, constant, 64);
                    let got = execute(&func, 64, x, 0, 0, 8);
                    assert_eq!(got, u64::from(expected), "{op:?} i{from} {x:#x} {predicate:?} {constant:#x}");
                }
            }
        }
    }
}
