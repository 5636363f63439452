//! What the checks notice: from good objects one wait, one NOP, one barrier or one cache invalidation is left out at a time. What a
//! run then gives is a report, a wrong result, or neither; the share of the first two is printed and has a floor for each kind.
//!
//! Some of what is left out was not needed, and is counted apart: waits that find nothing to wait for whenever they are executed (LLVM waits at
//! every fence for all counters), and NOPs before a DPP instruction whose old destination, not its permuted source, was just written,
//! and NOPs between two stores.

use mir::isa::Opcode;
use mir::target::{Features, Target};
use sim::program::{MemKind, Op, Src};
use sim::{Arg, Checks, CodeObject, Config, Dispatch, Memory};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@shared = internal addrspace(3) global [256 x float] poison
@last = internal addrspace(3) global i32 poison

define amdgpu_kernel void @chain(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, i32 %k) #0 {
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %w
  %x = load i32, ptr addrspace(1) %p
  %m = and i32 %x, 127
  %q = getelementptr i32, ptr addrspace(1) %b, i32 %m
  %y = load i32, ptr addrspace(1) %q
  %n = and i32 %y, 127
  %r = getelementptr i32, ptr addrspace(1) %a, i32 %n
  %z = load i32, ptr addrspace(1) %r
  %u = getelementptr i32, ptr addrspace(1) %b, i32 %k
  %v = load i32, ptr addrspace(1) %u
  %s = add i32 %z, %v
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %w
  store i32 %s, ptr addrspace(1) %o
  ret void
}

define amdgpu_kernel void @tree(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, i32 %k) #0 {
entry:
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %a, i32 %w
  %x = load float, ptr addrspace(1) %p
  %l = getelementptr [256 x float], ptr addrspace(3) @shared, i32 0, i32 %w
  store float %x, ptr addrspace(3) %l
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %loop
loop:
  %h = phi i32 [ 128, %entry ], [ %h2, %next ]
  %c = icmp ult i32 %w, %h
  br i1 %c, label %add, label %next
add:
  %j = add i32 %w, %h
  %lj = getelementptr [256 x float], ptr addrspace(3) @shared, i32 0, i32 %j
  %y = load float, ptr addrspace(3) %lj
  %z = load float, ptr addrspace(3) %l
  %s = fadd float %y, %z
  store float %s, ptr addrspace(3) %l
  br label %next
next:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %h2 = lshr i32 %h, 1
  %e = icmp ne i32 %h2, 0
  br i1 %e, label %loop, label %done
done:
  %r = load float, ptr addrspace(3) @shared
  %o = getelementptr float, ptr addrspace(1) %out, i32 %w
  store float %r, ptr addrspace(1) %o
  ret void
}

define amdgpu_kernel void @last_group(ptr addrspace(1) %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %b, i32 %k) #0 {
entry:
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %ga = getelementptr i32, ptr addrspace(1) %a, i32 %g
  %x = load i32, ptr addrspace(1) %ga
  %first = icmp eq i32 %w, 0
  br i1 %first, label %publish, label %meet
publish:
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %g
  store i32 %x, ptr addrspace(1) %po
  %t = atomicrmw add ptr addrspace(1) %b, i32 1 syncscope("agent") acq_rel
  store i32 %t, ptr addrspace(3) @last
  br label %meet
meet:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %n = load i32, ptr addrspace(3) @last
  %e = icmp eq i32 %n, 3
  br i1 %e, label %sum, label %done
sum:
  %i = and i32 %w, 3
  %pi = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %v = load i32, ptr addrspace(1) %pi
  %d = mul i32 %v, 3
  %j = add i32 %w, 8
  %pj = getelementptr i32, ptr addrspace(1) %out, i32 %j
  store i32 %d, ptr addrspace(1) %pj
  br label %done
done:
  ret void
}

define amdgpu_kernel void @exchange(ptr addrspace(1) %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %b, i32 %k) #0 {
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %w
  %x = load i32, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %b, i32 %w
  store i32 %x, ptr addrspace(1) %q
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %j = sub i32 255, %w
  %r = getelementptr i32, ptr addrspace(1) %b, i32 %j
  %y = load i32, ptr addrspace(1) %r
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %w
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define amdgpu_kernel void @message(ptr addrspace(1) %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %b, i32 %k) #0 {
entry:
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %j = add i32 %w, 256
  %pj = getelementptr i32, ptr addrspace(1) %out, i32 %j
  %sender = icmp eq i32 %g, 0
  br i1 %sender, label %send, label %receive
send:
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %w
  %x = load i32, ptr addrspace(1) %pa
  store i32 %x, ptr addrspace(1) %pj
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %first = icmp eq i32 %w, 0
  br i1 %first, label %flag, label %done
flag:
  store atomic i32 1, ptr addrspace(1) %b syncscope("agent") release, align 4
  br label %done
receive:
  %f = load atomic i32, ptr addrspace(1) %b syncscope("agent") acquire, align 4
  %sent = icmp eq i32 %f, 1
  br i1 %sent, label %take, label %done
take:
  %y = load i32, ptr addrspace(1) %pj
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %w
  store i32 %y, ptr addrspace(1) %po
  br label %done
done:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" "denormal-fp-math-f32"="ieee,ieee" }
"#;

/// For processors with DPP.
const HAZARDS: &str = r#"
define amdgpu_kernel void @hazards(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, i32 %k) #0 {
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %a, i32 %w
  %x = load float, ptr addrspace(1) %p
  %q = getelementptr float, ptr addrspace(1) %b, i32 %w
  %y = load float, ptr addrspace(1) %q
  %d = fdiv float %x, %y
  %xi = bitcast float %x to i32
  %f = call i32 @llvm.amdgcn.readfirstlane(i32 %xi)
  %l = and i32 %f, 63
  %r = call i32 @llvm.amdgcn.readlane(i32 %xi, i32 %l)
  %m = mul i32 %xi, 7
  %t = call i32 @llvm.amdgcn.update.dpp.i32(i32 %r, i32 %m, i32 273, i32 15, i32 15, i1 false)
  %di = bitcast float %d to i32
  %s = add i32 %t, %di
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %w
  store i32 %s, ptr addrspace(1) %o
  ret void
}
"#;

/// Kernels with the number of work-groups.
const KERNELS: [(&str, u32); 6] =
    [("chain", 1), ("tree", 1), ("last_group", 4), ("exchange", 1), ("message", 2), ("hazards", 1)];

fn compile(target: &Target, level: u8, dpp: bool) -> Option<CodeObject> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (cpu, lanes) = (target.processor.name, target.wave_size());
    let object = folder.join(format!("breaking-{cpu}-{lanes}-{level}.o"));
    let source = folder.join("breaking.ll");
    std::fs::write(&source, format!("{IR}{}", if dpp { HAZARDS } else { "" })).ok()?;
    let mut llc = Command::new("llc-22");
    llc.args(["-march=amdgcn", "-filetype=obj"]).arg(format!("-mcpu={cpu}")).arg(format!("-O{level}"));
    if target.limits().wave_sizes.len() > 1 {
        llc.arg(format!("-mattr=+wavefrontsize{lanes}"));
    }
    let out = llc.arg(&source).arg("-o").arg(&object).output().ok()?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bytes = std::fs::read(object).ok()?;
    Some(CodeObject::load(&bytes).unwrap_or_else(|r| panic!("{r}")))
}

fn run(
    object: &CodeObject,
    (name, groups): (&str, u32),
    seed: u64,
    skip: Option<u64>,
) -> Result<(Vec<u32>, u64), String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 2048]);
    let random = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..256).flat_map(|_| (rng.f32() * 100.0).to_le_bytes()).collect::<Vec<u8>>()
    };
    let a = memory.add_buffer("a", random(1));
    let b = memory
        .add_buffer("b", if matches!(name, "last_group" | "message") { vec![0; 1024] } else { random(2) });
    let d = Dispatch {
        kernel: name.to_owned(),
        grid: [256 * groups, 1, 1],
        group: [256, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Buffer(a), Arg::Buffer(b), Arg::Value(vec![5, 0, 0, 0])],
        ..Dispatch::default()
    };
    let checks = Checks::parse("all,race-global,xnack").expect("names of checks");
    let config = Config { checks, seed, skip, budget: 1_000_000, ..Config::default() };
    let stats = sim::run(object, &mut memory, &d, &config).map_err(|r| r.to_string())?;
    Ok((memory.read_u32s(out), stats.missed_waits))
}

/// Whether nothing asks for a NOP before `next`, a DPP instruction: what the two instructions before wrote is at most its old destination. Source:
/// Vega ISA, "manually inserted wait states": the VGPR read through DPP.
fn nop_for_old_destination(before: &[Op], next: &Op) -> bool {
    let Some(Src::V(source)) = next.srcs.first().map(|s| s.src).filter(|_| next.dpp.is_some()) else {
        return false;
    };
    let last = &before[before.len().saturating_sub(2)..];
    let writes =
        |op: &Op, n: u16| op.vdst.is_some_and(|(first, len)| (first..first + u16::from(len)).contains(&n));
    let old = next.vdst.map_or(u16::MAX, |(n, _)| n);
    !last.iter().any(|op| writes(op, source)) && last.iter().any(|op| writes(op, old))
}

/// Whether nothing asks for a NOP between two stores: LLVM starts a clause at each store (page-fault replay), but where no instruction of a clause writes a register,
/// all of it can be issued again.
fn nop_between_stores(before: &[Op], next: &Op) -> bool {
    let store = |op: &Op| op.mem.is_some_and(|m| m.kind == MemKind::Store) && op.writes.is_empty();
    before.last().is_some_and(store) && store(next)
}

/// What is left out, by kind: (offset in the image, kind, known to be needless).
fn candidates(object: &CodeObject, entry: u64, target: &Target) -> Vec<(u64, &'static str, bool)> {
    let image = object.image_at(0).unwrap_or_else(|r| panic!("{r}"));
    let words: Vec<u32> = image.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect();
    let mut at = entry;
    let mut places = Vec::new();
    while let Ok((inst, size)) = sim::decode::decode(&words[(at / 4) as usize..], target) {
        if inst.op == Opcode::S_ENDPGM {
            break;
        }
        places.push((at, inst.op));
        at += u64::from(size);
    }
    let ops: Vec<Op> = places
        .iter()
        .map(|&(at, _)| {
            let (inst, size) =
                sim::decode::decode(&words[(at / 4) as usize..], target).expect("decoded above");
            Op::new(inst, size, target)
        })
        .collect();
    let mut found = Vec::new();
    for (k, &(at, op)) in places.iter().enumerate() {
        match op {
            Opcode::S_WAITCNT => found.push((at, "s_waitcnt", false)),
            Opcode::S_WAITCNT_VSCNT => found.push((at, "s_waitcnt_vscnt", false)),
            Opcode::S_WAITCNT_DEPCTR => found.push((at, "s_waitcnt_depctr", false)),
            Opcode::BUFFER_GL0_INV => found.push((at, "buffer_gl0_inv", false)),
            Opcode::BUFFER_GL1_INV => found.push((at, "buffer_gl1_inv", false)),
            // GFX10 has no wait states; without page-fault replay what NOPs there are align loops.
            Opcode::S_NOP
                if !target.has(Features::XNACK_SUPPORTED) && target.has(Features::WORKGROUP_PROCESSORS) => {}
            Opcode::S_NOP => {
                let needless = ops.get(k + 1).is_some_and(|next| {
                    nop_for_old_destination(&ops[..k], next) || nop_between_stores(&ops[..k], next)
                });
                found.push((at, "s_nop", needless));
            }
            Opcode::S_BARRIER => found.push((at, "s_barrier", false)),
            Opcode::BUFFER_WBINVL1 | Opcode::BUFFER_WBINVL1_VOL => found.push((at, "buffer_wbinvl1", false)),
            _ => {}
        }
    }
    found
}

#[test]
fn what_is_left_out_is_noticed() {
    let mut counts = BTreeMap::<&str, [u32; 4]>::new();
    let with_two_sizes = [("gfx1010", 32, 2), ("gfx1010", 64, 2), ("gfx1030", 32, 2), ("gfx1030", 64, 2)];
    let with_one = [("gfx900", 2), ("gfx900", 0), ("gfx803", 2), ("gfx700", 2), ("gfx600", 2)];
    let with_one = with_one.into_iter().map(|(cpu, level)| (cpu, 64, level));
    for (cpu, lanes, level) in with_one.chain(with_two_sizes) {
        let mut target = Target::new(Target::processor_by_name(cpu).expect("in the table"));
        target.features.set(Features::WAVEFRONTSIZE32, lanes == 32);
        let dpp = target.has(Features::DPP);
        let Some(object) = compile(&target, level, dpp) else {
            eprintln!("skipped: llc-22 is needed");
            return;
        };
        for &kernel in &KERNELS[..if dpp { 6 } else { 5 }] {
            let good: Vec<_> = (0..3)
                .map(|seed| {
                    run(&object, kernel, seed, None).unwrap_or_else(|r| panic!("{cpu} -O{level}: {r}"))
                })
                .collect();
            assert!(good.windows(2).all(|w| w[0].0 == w[1].0), "{kernel:?} does not depend on the seed");
            let entry = object.kernel(kernel.0).expect("compiled").entry;
            for (at, kind, needless) in candidates(&object, entry, &target) {
                // The waves of `tree` exchange by LDS alone, which fences need not know.
                let needless = needless || kind == "buffer_gl0_inv" && kernel.0 == "tree";
                let count = counts.entry(kind).or_default();
                let results: Vec<_> = (0..3).map(|seed| run(&object, kernel, seed, Some(at))).collect();
                let class = if results.iter().any(Result::is_err) {
                    0
                } else if results.iter().flatten().any(|r| r.0 != good[0].0) {
                    1
                } else if needless
                    || kind.starts_with("s_waitcnt") && results.iter().flatten().all(|r| r.1 == 0)
                {
                    3
                } else {
                    if std::env::var_os("SHOW_UNNOTICED").is_some() {
                        eprintln!(
                            "{cpu}:{lanes} -O{level} {} +0x{:x}: {kind} unnoticed",
                            kernel.0,
                            at - entry
                        );
                    }
                    2
                };
                count[class] += 1;
            }
        }
    }
    for (kind, [reported, wrong, neither, needless]) in &counts {
        let total = reported + wrong + neither + needless;
        println!(
            "{kind}: {total} left out, {reported} reported, {wrong} with wrong results, {neither} unnoticed, {needless} not needed"
        );
    }
    for (kind, [reported, _, neither, needless]) in counts {
        assert!(reported > 0 && neither == 0, "{kind}: {reported} reported, {neither} unnoticed");
        assert!(needless * 2 <= reported, "{kind}: {needless} not needed");
    }
}
