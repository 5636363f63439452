//! Lanes of shaders: those that are killed, those that are set, those that help.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::listing;

#[test]
fn killed_shaders_export_to_nowhere_and_end() {
    let text = "
define amdgpu_ps float @ps(float %x) {
  %c = fcmp olt float %x, 0.0
  call void @llvm.amdgcn.kill(i1 %c)
  ret float %x
}
declare void @llvm.amdgcn.kill(i1)
";
    for cpu in ["gfx600", "gfx900"] {
        let code = listing(text, "amdgcn--", cpu, "ps");
        let export = code.find("exp null off, off, off, off done vm").expect("an export");
        assert!(code[export..].contains("s_endpgm"), "{code}");
    }
}

#[test]
fn killed_shaders_have_no_valid_pixels() {
    let text = "
define amdgpu_ps float @result(i32 inreg %n, float %x) {
  %c = icmp eq i32 %n, 1
  call void @llvm.amdgcn.kill(i1 %c)
  ret float %x
}
define amdgpu_ps void @goes_on(i32 inreg %n, float %x, ptr addrspace(1) inreg %p) {
  %c = fcmp olt float %x, 1.0
  call void @llvm.amdgcn.kill(i1 %c)
  %more = icmp eq i32 %n, 7
  br i1 %more, label %a, label %b
a:
  store float %x, ptr addrspace(1) %p
  br label %b
b:
  ret void
}
declare void @llvm.amdgcn.kill(i1)
";
    for (cpu, name) in
        [("gfx600", "result"), ("gfx900", "result"), ("gfx600", "goes_on"), ("gfx900", "goes_on")]
    {
        let code = listing(text, "amdgcn--", cpu, name);
        let before = code.split("exp null off, off, off, off done vm").next().unwrap_or_default();
        let last = before.lines().rev().find(|line| !line.trim().is_empty() && !line.trim().starts_with(';'));
        assert!(last.is_some_and(|line| line.contains("s_mov_b64 exec, 0")), "{code}");
    }
}

#[test]
fn lanes_are_set_where_a_block_begins() {
    let text = "
define amdgpu_ps float @f(i32 inreg %n, float %x) {
  %c = icmp ugt i32 %n, 32
  br i1 %c, label %b, label %a
a:
  call void asm sideeffect \"s_nop 1\", \"\"()
  br label %b
b:
  %y = fadd float %x, 1.0
  call void @llvm.amdgcn.init.exec.from.input(i32 %n, i32 8)
  ret float %y
}
declare void @llvm.amdgcn.init.exec.from.input(i32, i32)
";
    for cpu in ["gfx600", "gfx900"] {
        let code = listing(text, "amdgcn--", cpu, "f");
        let places =
            ["s_nop 1", "s_bfm_b64 exec", "s_cmov_b64 exec, -1", "v_add_f32"].map(|part| code.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{code}");
    }
}

/// Only the lanes that are there vote: helper lanes are not started for it.
#[test]
fn quad_votes_need_no_helper_lanes() {
    let text = "
define amdgpu_ps float @ps(float %x, float %y) {
  %c = fcmp olt float %x, 0.0
  %v = call i1 @llvm.amdgcn.wqm.vote(i1 %c)
  %r = select i1 %v, float %x, float %y
  ret float %r
}
declare i1 @llvm.amdgcn.wqm.vote(i1)
";
    for cpu in ["gfx600", "gfx900"] {
        let code = listing(text, "amdgcn--", cpu, "ps");
        assert!(code.contains("s_wqm_b64") && !code.contains("s_wqm_b64 exec"), "{code}");
    }
}
