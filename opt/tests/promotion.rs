//! Promotion of stack objects: what the code computes stays, and nothing is left on the stack.

#[path = "common/interp.rs"]
mod interp;

use interp::Run;
use mir::CodegenOptions as Options;
use mir::ir::*;
use mir::target::Target;

/// The kernel `(out, x: i64)` with this body, promoted (nothing may be left on the stack) and verified; gives
/// what it stores to `out` as i64 for `x`.
fn run(body: &str, x: u64) -> u64 {
    let text = format!("define kernel void @f(v0: ptr addrspace(1), v1: i64) {{\n{body}}}\n");
    let mut module = parse_module(&text, "test").unwrap();
    let func = module.functions.values().next().unwrap();
    verify(&module, func).unwrap();
    let mut promoted = func.clone();
    assert!(opt::promote::promote(&mut promoted, &module.types));
    verify(&module, &promoted).unwrap();
    let insts = promoted.layout.iter().flat_map(|&b| &promoted.blocks[b].insts);
    let left = |&i: &Inst| matches!(promoted.insts[i].kind, InstKind::Alloca { .. });
    assert!(!insts.clone().any(left), "{}", promoted.display(&module));
    let machine = Target::new(Target::processor_by_name("gfx900").unwrap());
    gcnc::legalize(&mut module, &machine, &Options::default()).unwrap();
    let legal = module.functions.values().next().unwrap();
    verify(&module, legal).unwrap();
    let mut kernarg = vec![0u8; 512];
    kernarg[..8].copy_from_slice(&0x5000u64.to_le_bytes());
    kernarg[8..16].copy_from_slice(&x.to_le_bytes());
    let mut run = Run::new(legal, &kernarg);
    run.execute();
    (0..8).rev().fold(0, |acc, i| acc << 8 | u64::from(run.stored[&(0x5000 + i)]))
}

const X: u64 = 0x1122_3344_5566_7788;

#[test]
fn accesses_of_several_widths_share_bytes() {
    let body = "block0:\n  v2: ptr addrspace(5) = alloca 8 align 8\n  v3: ptr = addrspacecast v2\n  \
        store v2, v1 addrspace(5) align 8\n  v4: ptr = ptradd v3 + 6\n  v5: i16 = load v4 addrspace(0) align 2\n  \
        store v3, v5 addrspace(0) align 2\n  v6: ptr addrspace(5) = ptradd v2 + 3\n  \
        store v6, i8 171 addrspace(5) align 1\n  v7: i64 = load v2 addrspace(5) align 8\n  \
        store v0, v7 addrspace(1) align 8\n  ret\n";
    assert_eq!(run(body, X), 0x1122_3344_ab66_1122);
}

#[test]
fn vectors_and_their_elements() {
    let body = "block0:\n  v2: ptr addrspace(5) = alloca 16 align 16\n  \
        v3: <2 x i64> = insertelement <2 x i64> zero, v1, i32 1\n  store v2, v3 addrspace(5) align 16\n  \
        v4: ptr addrspace(5) = ptradd v2 + 12\n  v5: float = load v4 addrspace(5) align 4\n  \
        store v2, v5 addrspace(5) align 4\n  v6: <4 x i32> = load v2 addrspace(5) align 16\n  \
        v7: i32 = extractelement v6, i32 0\n  v8: i32 = extractelement v6, i32 2\n  v9: i64 = zext v7\n  \
        v10: i64 = zext v8\n  v11: i64 = shl v9, i64 32\n  v12: i64 = or v11, v10\n  \
        store v0, v12 addrspace(1) align 8\n  ret\n";
    assert_eq!(run(body, X), 0x1122_3344_5566_7788);
}

#[test]
fn copies_and_fills() {
    let body = "block0:\n  v2: ptr addrspace(5) = alloca 24 align 8\n  v3: ptr addrspace(5) = alloca 24 align 8\n  \
        intrinsic memset(v2, i8 5, i64 24, i1 0)\n  v4: ptr addrspace(5) = ptradd v2 + 10\n  \
        store v4, i16 258 addrspace(5) align 2\n  \
        intrinsic memcpy(v3, v2, i64 24, i1 0)\n  v5: ptr addrspace(5) = ptradd v3 + 8\n  \
        v6: i64 = load v5 addrspace(5) align 8\n  store v0, v6 addrspace(1) align 8\n  ret\n";
    assert_eq!(run(body, X), 0x0505_0505_0102_0505);
}

#[test]
fn variables_of_a_loop() {
    // for (i = 0; i < 5; i++) { sum += x; x = x << 1; }
    let body = "block0:\n  v2: ptr addrspace(5) = alloca 8 align 8\n  v3: ptr addrspace(5) = alloca 8 align 8\n  \
        v4: ptr addrspace(5) = alloca 4 align 4\n  store v2, v1 addrspace(5) align 8\n  \
        store v3, i64 0 addrspace(5) align 8\n  store v4, i32 0 addrspace(5) align 4\n  jump block1\nblock1:\n  \
        v5: i32 = load v4 addrspace(5) align 4\n  v6: i1 = icmp ult v5, i32 5\n  br v6, block2, block3\nblock2:\n  \
        v7: i64 = load v3 addrspace(5) align 8\n  v8: i64 = load v2 addrspace(5) align 8\n  v9: i64 = add v7, v8\n  \
        store v3, v9 addrspace(5) align 8\n  v10: i64 = shl v8, i64 1\n  store v2, v10 addrspace(5) align 8\n  \
        v11: i32 = load v4 addrspace(5) align 4\n  v12: i32 = add v11, i32 1\n  \
        store v4, v12 addrspace(5) align 4\n  jump block1\nblock3:\n  v13: i64 = load v3 addrspace(5) align 8\n  \
        store v0, v13 addrspace(1) align 8\n  ret\n";
    assert_eq!(run(body, 3), 3 * 31);
}

#[test]
fn objects_whose_address_is_used_stay() {
    let text = "define kernel void @f(v0: ptr addrspace(1), v1: i64) {\nblock0:\n  \
        v2: ptr addrspace(5) = alloca 8 align 8\n  store v2, v1 addrspace(5) align 8\n  \
        store v0, v2 addrspace(1) align 4\n  ret\n}\n";
    let module = parse_module(text, "test").unwrap();
    let mut func = module.functions.values().next().unwrap().clone();
    assert!(!opt::promote::promote(&mut func, &module.types));
}
