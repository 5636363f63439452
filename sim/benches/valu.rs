//! Lane-instructions a second of a kernel that is bound by vector arithmetic, all checks on: with all lanes active, with half of them, and
//! with many work-groups over the cores.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mir::abi::KernelDescriptor;
use mir::isa::{Opcode, encode};
use mir::machine::{Inst, Operand, PReg};
use mir::target::Target;
use sim::{CodeObject, Config, Dispatch, Memory};
use std::hint::black_box;
use std::time::Duration;

const ROUNDS: i64 = 500;

fn v(n: u16) -> Operand {
    Operand::preg(PReg::vgpr(n), 1)
}

fn s(n: u16) -> Operand {
    Operand::preg(PReg::sgpr(n), 1)
}

/// A loop of what hashes and filters are made of; every instruction reads what others wrote.
fn code(target: &Target) -> Vec<u32> {
    use Opcode::*;
    let vcc = || Operand::preg(PReg::VCC_LO, 2);
    let imm = Operand::Imm;
    let mut body = Vec::new();
    for k in 1..8u16 {
        body.push(Inst::new(V_MOV_B32, [v(k), imm(i64::from(k) * 0x0123_4567)]));
    }
    body.push(Inst::new(S_MOVK_I32, [s(20), imm(ROUNDS)]));
    let start = body.len();
    for k in 1..7u16 {
        let (a, b, c) = (v(k), v(k + 1), v(k % 5 + 1));
        body.push(Inst::new(V_ADD_U32, [a, b, c]));
        body.push(Inst::new(V_XOR_B32, [c, a, b]));
        body.push(Inst::new(V_ALIGNBIT_B32, [b, c, c, imm(7)]));
        body.push(Inst::new(V_AND_OR_B32, [a, b, c, a]));
        body.push(Inst::new(V_LSHL_ADD_U32, [c, a, imm(3), b]));
        body.push(Inst::new(V_ADD3_U32, [a, a, b, c]));
        body.push(Inst::new(V_CMP_LT_U32, [vcc(), a, b]));
        body.push(Inst::new(V_CNDMASK_B32, [b, a, c, vcc()]));
        body.push(Inst::new(V_MUL_LO_U32, [c, a, b]));
        body.push(Inst::new(V_CVT_F32_U32, [a, c]));
        body.push(Inst::new(V_FMA_F32, [b, a, a, c]));
        body.push(Inst::new(V_ADD_F32, [c, a, b]));
    }
    body.push(Inst::new(S_SUB_U32, [s(20), s(20), imm(1)]));
    body.push(Inst::new(S_CMP_LG_U32, [s(20), imm(0)]));
    let mut words = Vec::new();
    let mut loop_start = 0;
    for (n, inst) in body.iter().enumerate() {
        if n == start {
            loop_start = words.len() as i64;
        }
        encode(inst, target, &mut words).expect("the target has these instructions");
    }
    let distance = loop_start - words.len() as i64 - 1;
    for inst in [Inst::new(S_CBRANCH_SCC1, [imm(distance)]), Inst::new(S_ENDPGM, [imm(0)])] {
        encode(&inst, target, &mut words).expect("the target has these instructions");
    }
    words
}

fn speed(criterion: &mut Criterion) {
    let processor = Target::processor_by_name("gfx900").expect("in the table");
    let target = Target::new(processor);
    let descriptor = KernelDescriptor {
        vgpr_blocks: 3,
        sgpr_blocks: 4,
        ieee_mode: 1,
        float_denorm_mode_32: 3,
        ..Default::default()
    };
    let object = CodeObject::from_code(processor, "k", &code(&target), descriptor);
    let mut group = criterion.benchmark_group("valu");
    for (name, items, groups, threads) in [("full", 64, 1, 1), ("half", 32, 1, 1), ("groups", 64, 64, 0)] {
        let d = Dispatch {
            kernel: "k".into(),
            grid: [items * groups, 1, 1],
            group: [items, 1, 1],
            ..Dispatch::default()
        };
        let cfg = Config { threads, ..Config::default() };
        let lanes = sim::run(&object, &mut Memory::new(), &d, &cfg).expect("runs").lane_instructions;
        group.throughput(Throughput::Elements(lanes));
        group.bench_function(name, |b| b.iter(|| black_box(sim::run(&object, &mut Memory::new(), &d, &cfg))));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = speed
}
criterion_main!(benches);
