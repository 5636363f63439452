//! Inputs of any size.

use std::fmt::Write as _;

/// A module whose kernel `k` stores sums of its argument, different for each `seed`.
pub fn module(seed: u32, insts: u32) -> String {
    let mut text = String::from("target triple = \"amdgcn-amd-amdhsa\"\n");
    let _ = writeln!(text, "define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {{");
    let _ = writeln!(text, "  %t = call i32 @llvm.amdgcn.workitem.id.x()\n  %v0 = add i32 %t, %n");
    for i in 1..insts {
        let before = i - 1;
        match (i.wrapping_mul(7) + seed) % 4 {
            0 => writeln!(text, "  %v{i} = mul i32 %v{before}, {}", seed.wrapping_mul(i) | 1),
            1 => writeln!(text, "  %v{i} = xor i32 %v{before}, %n"),
            2 => writeln!(text, "  %v{i} = add i32 %v{before}, %v{}", i / 2),
            _ => writeln!(
                text,
                "  %g{i} = getelementptr i32, ptr addrspace(1) %p, i32 %v{before}\n  \
                 %v{i} = load volatile i32, ptr addrspace(1) %g{i}"
            ),
        }
        .unwrap();
    }
    let last = insts - 1;
    let _ = writeln!(text, "  store i32 %v{last}, ptr addrspace(1) %p\n  ret void\n}}");
    text + "declare i32 @llvm.amdgcn.workitem.id.x()\n"
}
