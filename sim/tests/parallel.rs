//! Work-groups that run at the same time leave what they leave one after the other, whether they are independent or talk by atomics.

use mir::abi::KernelDescriptor;
use mir::isa::{Opcode, encode};
use mir::machine::{Inst, ModFlags, Modifiers, Operand, PReg};
use mir::target::Target;
use sim::{Arg, CodeObject, Config, Dispatch, Memory, Stats};

fn v(n: u16) -> Operand {
    Operand::preg(PReg::vgpr(n), 1)
}

fn spair(n: u16) -> Operand {
    Operand::preg(PReg::sgpr(n), 2)
}

/// Each lane stores at `out[4 * group + lane * talk]`: its ticket from a counter where `talk`, else its number.
fn kernel(talk: bool) -> CodeObject {
    use Opcode::*;
    let processor = Target::processor_by_name("gfx900").expect("in the table");
    let target = Target::new(processor);
    let wait = |imm: i64| Inst::new(S_WAITCNT, [Operand::Imm(imm)]);
    let group = Operand::preg(PReg::sgpr(6), 1);
    let s = |n| Operand::preg(PReg::sgpr(n), 1);
    let mut code = vec![
        Inst::new(S_LOAD_DWORDX2, [spair(8), spair(4), Operand::Imm(0)]),
        Inst::new(S_LSHL_B32, [s(12), group, Operand::Imm(8)]),
        Inst::new(V_LSHLREV_B32, [v(1), Operand::Imm(2), v(0)]),
        Inst::new(V_ADD_U32, [v(1), s(12), v(1)]),
        Inst::new(V_MOV_B32, [v(2), Operand::Imm(1)]),
        wait(0xc07f),
        Inst::new(V_MOV_B32, [v(4), Operand::Imm(0)]),
    ];
    if talk {
        let mut ticket = Inst::new(GLOBAL_ATOMIC_ADD_RTN, [v(3), v(4), v(2), spair(8)]);
        ticket.mods = Modifiers { flags: ModFlags::GLC, ..Default::default() };
        code.push(ticket);
        code.push(wait(0x0f70));
    } else {
        code.push(Inst::new(V_ADD_U32, [v(3), s(12), v(0)]));
    }
    let mut store = Inst::new(GLOBAL_STORE_DWORD, [v(1), v(3), spair(8)]);
    store.mods.offset = 64;
    code.push(store);
    code.push(Inst::new(S_ENDPGM, [Operand::Imm(0)]));
    let mut words = Vec::new();
    for inst in &code {
        encode(inst, &target, &mut words).expect("encodes");
    }
    let descriptor = KernelDescriptor {
        vgpr_blocks: 3,
        sgpr_blocks: 4,
        kernarg_size: 8,
        sgpr_kernarg_segment_ptr: 1,
        sgpr_dispatch_ptr: 1,
        sgpr_queue_ptr: 1,
        user_sgpr_count: 6,
        workgroup_id_x: 1,
        ..Default::default()
    };
    CodeObject::from_code(processor, "k", &words, descriptor)
}

fn run(object: &CodeObject, groups: u32, threads: u32) -> (Vec<u32>, Stats) {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 64 + 256 * groups as usize]);
    let d = Dispatch {
        kernel: "k".into(),
        grid: [64 * groups, 1, 1],
        group: [64, 1, 1],
        args: vec![Arg::Buffer(out)],
        ..Dispatch::default()
    };
    let stats = sim::run(object, &mut memory, &d, &Config { threads, ..Config::default() });
    (memory.read_u32s(out), stats.unwrap_or_else(|r| panic!("{r}")))
}

#[test]
fn the_order_of_work_groups_does_not_show() {
    for talk in [false, true] {
        let object = kernel(talk);
        let one = run(&object, 150, 1);
        assert_eq!(run(&object, 150, 0), one);
        for (k, &x) in one.0[16..].iter().enumerate() {
            let (group, lane) = (k as u32 / 64, k as u32 % 64);
            assert_eq!(x, if talk { k as u32 } else { (group << 8) + lane });
        }
    }
}
