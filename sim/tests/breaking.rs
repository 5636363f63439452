//! What the checks notice: from good objects one wait, one NOP, one barrier or one cache invalidation is left out at a time. What a
//! run then gives is a report, a wrong result, or neither; the share of the first two is printed and has a floor for each kind.
//!
//! Some of what is left out was not needed: LLVM waits at every release for all counters, breaks clauses of scalar loads in case of page-fault
//! replay, and counts the old value of a DPP destination as read through the permutation.

use mir::isa::Opcode;
use mir::target::{Features, Target};
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
const KERNELS: [(&str, u32); 5] =
    [("chain", 1), ("tree", 1), ("last_group", 4), ("exchange", 1), ("hazards", 1)];

fn compile(cpu: &str, level: u8, dpp: bool) -> Option<CodeObject> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, object) = (folder.join("breaking.ll"), folder.join(format!("breaking-{cpu}-{level}.o")));
    std::fs::write(&source, format!("{IR}{}", if dpp { HAZARDS } else { "" })).ok()?;
    let mut llc = Command::new("llc-22");
    llc.args(["-march=amdgcn", "-filetype=obj"]).arg(format!("-mcpu={cpu}")).arg(format!("-O{level}"));
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
) -> Result<Vec<u32>, String> {
    let mut memory = Memory::new();
    let out = memory.add_buffer("out", vec![0; 2048]);
    let random = |seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..256).flat_map(|_| (rng.f32() * 100.0).to_le_bytes()).collect::<Vec<u8>>()
    };
    let a = memory.add_buffer("a", random(1));
    let b = memory.add_buffer("b", if name == "last_group" { vec![0; 1024] } else { random(2) });
    let d = Dispatch {
        kernel: name.to_owned(),
        grid: [256 * groups, 1, 1],
        group: [256, 1, 1],
        args: vec![Arg::Buffer(out), Arg::Buffer(a), Arg::Buffer(b), Arg::Value(vec![5, 0, 0, 0])],
        ..Dispatch::default()
    };
    let checks = Checks::parse("all,race-global").expect("names of checks");
    let config = Config { checks, seed, skip, budget: 1_000_000, ..Config::default() };
    sim::run(object, &mut memory, &d, &config).map_err(|r| r.to_string())?;
    Ok(memory.read_u32s(out))
}

/// What is left out, by kind: (offset in the image, kind).
fn candidates(object: &CodeObject, entry: u64, target: &Target) -> Vec<(u64, &'static str)> {
    let image = object.image_at(0).unwrap_or_else(|r| panic!("{r}"));
    let words: Vec<u32> = image.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect();
    let mut at = entry;
    let mut found = Vec::new();
    while let Ok((inst, size)) = sim::decode::decode(&words[(at / 4) as usize..], target) {
        match inst.op {
            Opcode::S_ENDPGM => break,
            Opcode::S_WAITCNT => found.push((at, "s_waitcnt")),
            Opcode::S_NOP => found.push((at, "s_nop")),
            Opcode::S_BARRIER => found.push((at, "s_barrier")),
            Opcode::BUFFER_WBINVL1 | Opcode::BUFFER_WBINVL1_VOL => found.push((at, "buffer_wbinvl1")),
            _ => {}
        }
        at += u64::from(size);
    }
    found
}

#[test]
fn what_is_left_out_is_noticed() {
    let mut counts = BTreeMap::<&str, [u32; 3]>::new();
    for (cpu, level) in [("gfx900", 2), ("gfx900", 0), ("gfx803", 2), ("gfx700", 2), ("gfx600", 2)] {
        let target = Target::new(Target::processor_by_name(cpu).expect("in the table"));
        let dpp = target.has(Features::DPP);
        let Some(object) = compile(cpu, level, dpp) else {
            eprintln!("skipped: llc-22 is needed");
            return;
        };
        for &kernel in &KERNELS[..if dpp { 5 } else { 4 }] {
            let good: Vec<_> = (0..3)
                .map(|seed| {
                    run(&object, kernel, seed, None).unwrap_or_else(|r| panic!("{cpu} -O{level}: {r}"))
                })
                .collect();
            assert!(good.windows(2).all(|w| w[0] == w[1]), "{kernel:?} does not depend on the seed");
            let entry = object.kernel(kernel.0).expect("compiled").entry;
            for (at, kind) in candidates(&object, entry, &target) {
                let count = counts.entry(kind).or_default();
                let results: Vec<_> = (0..3).map(|seed| run(&object, kernel, seed, Some(at))).collect();
                let class = if results.iter().any(Result::is_err) {
                    0
                } else if results.iter().any(|r| r.as_ref() != Ok(&good[0])) {
                    1
                } else {
                    if std::env::var_os("SHOW_UNNOTICED").is_some() {
                        eprintln!("{cpu} -O{level} {} +0x{:x}: {kind} unnoticed", kernel.0, at - entry);
                    }
                    2
                };
                count[class] += 1;
            }
        }
    }
    for (kind, [reported, wrong, neither]) in &counts {
        let total = reported + wrong + neither;
        println!(
            "{kind}: {total} left out, {reported} reported, {wrong} with wrong results, {neither} unnoticed"
        );
    }
    let share = |kind: &str| counts.get(kind).map_or(0, |[r, _, n]| 100 * r / (r + n).max(1));
    for (kind, floor) in [("s_waitcnt", 90), ("s_nop", 40), ("s_barrier", 100), ("buffer_wbinvl1", 100)] {
        assert!(share(kind) >= floor, "{kind}: {} % noticed, {floor} % expected", share(kind));
    }
}
