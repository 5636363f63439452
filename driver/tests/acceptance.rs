//! What LLVM's back end accepts besides the obvious: constructor tables, names for the nameless, odd
//! immediates, values that a system does not pass. Each test compiles text and looks at the instructions or
//! symbols that come out.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{compile, compile_with, instructions, listing};
use gcnc::CompileOptions;
use object::{Object, ObjectSection, ObjectSymbol};

fn symbols(object: &[u8]) -> Vec<String> {
    let file = object::File::parse(object).unwrap();
    let mut names: Vec<String> = file.symbols().filter_map(|s| s.name().ok().map(str::to_owned)).collect();
    names.sort();
    names
}

#[test]
fn constructors_become_arrays_and_kernels() {
    let text = "
@llvm.global_ctors = appending addrspace(1) global [3 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @late, ptr null }, { i32, ptr, ptr } { i32 1, ptr @early, ptr null }, { i32, ptr, ptr } { i32 1, ptr @late, ptr null }]
@llvm.global_dtors = appending addrspace(1) global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 7, ptr @early, ptr null }]
define internal void @early() {
  ret void
}
define internal void @late() {
  ret void
}
";
    let object = compile(text, "amdgcn-amd-amdhsa", "gfx900").unwrap();
    let file = object::File::parse(&*object).unwrap();
    let size = |name: &str| file.section_by_name(name).map(|section| section.size());
    assert_eq!(
        [size(".init_array"), size(".init_array.1"), size(".fini_array.7"), size(".fini_array")],
        [Some(8), Some(16), Some(8), None]
    );
    let names = symbols(&object);
    for name in ["amdgcn.device.init.kd", "amdgcn.device.fini.kd", "__init_array_start", "__fini_array_end"] {
        assert!(names.iter().any(|known| known == name), "{name} is missing: {names:?}");
    }
    let text =
        format!("{:?}", String::from_utf8_lossy(file.section_by_name(".note").unwrap().data().unwrap()));
    assert!(text.contains(".kind") && text.contains("fini"), "{text}");
    let init = instructions(&object, "amdgcn.device.init");
    assert!(init.iter().any(|line| line.starts_with("s_swappc_b64")), "{init:?}");
    // A module's own kernel stays.
    let own = format!(
        "{}\ndefine amdgpu_kernel void @amdgcn.device.init() {{\n  ret void\n}}\n",
        include_str!("data/constructor.ll")
    );
    let object = compile(&own, "amdgcn-amd-amdhsa", "gfx900").unwrap();
    assert_eq!(instructions(&object, "amdgcn.device.init"), ["s_endpgm"]);
}

#[test]
fn the_nameless_are_numbered_callees_first() {
    let text = "
@0 = internal addrspace(1) global i32 5
@1 = internal addrspace(1) global i32 6
@a = addrspace(1) global ptr addrspace(1) @1
define amdgpu_kernel void @2(ptr addrspace(1) %p) {
  %z = load i32, ptr addrspace(1) @1
  store i32 %z, ptr addrspace(1) %p
  call void @3(i32 %z)
  ret void
}
define void @3(i32 %x) noinline {
  store i32 %x, ptr addrspace(1) @0
  ret void
}
";
    let object = compile(text, "amdgcn-amd-amdhsa", "fiji").unwrap();
    let file = object::File::parse(&*object).unwrap();
    let kind = |name: &str| {
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).expect(name);
        (symbol.kind(), symbol.address())
    };
    use object::SymbolKind::{Data, Text};
    assert_eq!([kind("__unnamed_1").0, kind("__unnamed_3").0], [Text, Text]);
    assert_eq!([kind("__unnamed_2"), kind("__unnamed_4")], [(Data, 0), (Data, 4)]);
    assert!(symbols(&object).contains(&"__unnamed_3.kd".to_owned()));
}

#[test]
fn functions_for_other_processors_are_dropped() {
    let text = "
define void @wide() \"target-features\"=\"+wavefrontsize32\" {
  ret void
}
define void @plain() {
  ret void
}
";
    let names = symbols(&compile(text, "amdgcn--", "gfx906").unwrap());
    assert!(names.contains(&"plain".to_owned()) && !names.contains(&"wide".to_owned()), "{names:?}");
}

#[test]
fn invokes_are_calls() {
    let text = "
declare i32 @personality(...)
define i32 @callee(i32 %x) noinline {
  ret i32 %x
}
define i32 @caller(i32 %x) personality ptr @personality {
  %y = invoke i32 @callee(i32 %x) to label %good unwind label %bad
good:
  %z = add i32 %y, 1
  ret i32 %z
bad:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
";
    let code = listing(text, "amdgcn-amd-amdhsa", "gfx900", "caller");
    assert!(code.contains("s_swappc_b64") && code.contains("v_add_u32_e32 v0, 1, v0"), "{code}");
}

#[test]
fn interpolation_passes_at_all_its_types() {
    let text = "
define amdgpu_ps float @mov(i32 inreg %m0) {
  %x = call float @llvm.amdgcn.interp.mov(i32 2, i32 1, i32 3, i32 %m0)
  ret float %x
}
define amdgpu_ps half @half(float %i, float %j, i32 inreg %m0) {
  %a = call float @llvm.amdgcn.interp.p1.f16(float %i, i32 1, i32 2, i1 true, i32 %m0)
  %b = call half @llvm.amdgcn.interp.p2.f16(float %a, float %j, i32 1, i32 2, i1 true, i32 %m0)
  ret half %b
}
declare float @llvm.amdgcn.interp.mov(i32, i32, i32, i32)
declare float @llvm.amdgcn.interp.p1.f16(float, i32, i32, i1, i32)
declare half @llvm.amdgcn.interp.p2.f16(float, float, i32, i32, i1, i32)
";
    let mov = |code: &str| code.contains("v_interp_mov_f32_e32 v0, p0, attr3.y");
    for cpu in ["gfx810", "gfx803", "gfx900"] {
        let whole = listing(text, "amdgcn--", cpu, "mov");
        assert!(mov(&whole), "{whole}");
        let half = listing(text, "amdgcn--", cpu, "half");
        let first = if cpu == "gfx810" { "v_interp_p1lv_f16" } else { "v_interp_p1ll_f16" };
        let second = if cpu == "gfx900" { "v_interp_p2_legacy_f16" } else { "v_interp_p2_f16" };
        // Both round to zero.
        let order = ["hwreg(HW_REG_MODE, 2, 2), 3", first, second];
        let places: Vec<_> = order.iter().map(|part| half.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{cpu}: {half}");
    }
}

#[test]
fn images_report_failures_behind_four_channels() {
    let text = "
define amdgpu_ps <4 x float> @load(<8 x i32> inreg %r, ptr addrspace(1) inreg %p, i32 %s) {
  %v = call { <4 x float>, i32 } @llvm.amdgcn.image.load.1d.v4f32i32.i32(i32 15, i32 %s, <8 x i32> %r, i32 2, i32 0)
  %x = extractvalue { <4 x float>, i32 } %v, 0
  %e = extractvalue { <4 x float>, i32 } %v, 1
  store i32 %e, ptr addrspace(1) %p
  ret <4 x float> %x
}
define amdgpu_ps <4 x float> @mask(<8 x i32> inreg %r, i32 %s) {
  %v = call <4 x float> @llvm.amdgcn.image.load.1d.v4f32.i32(i32 165, i32 %s, <8 x i32> %r, i32 0, i32 0)
  ret <4 x float> %v
}
declare { <4 x float>, i32 } @llvm.amdgcn.image.load.1d.v4f32i32.i32(i32, i32, <8 x i32>, i32, i32)
declare <4 x float> @llvm.amdgcn.image.load.1d.v4f32.i32(i32, i32, <8 x i32>, i32, i32)
";
    for cpu in ["gfx600", "gfx900"] {
        let code = listing(text, "amdgcn--", cpu, "load");
        assert!(code.contains("dmask:0xf unorm lwe"), "{code}");
        assert!(listing(text, "amdgcn--", cpu, "mask").contains("dmask:0x5"));
    }
}

#[test]
fn ids_that_shaders_lack_are_undefined_or_in_trap_temporaries() {
    let text = "
define amdgpu_cs void @cs(ptr addrspace(1) inreg %p) {
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %z = call i32 @llvm.amdgcn.workgroup.id.z()
  store volatile i32 %x, ptr addrspace(1) %p
  store volatile i32 %y, ptr addrspace(1) %p
  store volatile i32 %z, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
";
    let object = compile(text, "amdgcn-amd-amdpal", "gfx900").unwrap();
    assert!(!instructions(&object, "cs").join("\n").contains("ttmp"));
    let object = compile_with(
        text,
        CompileOptions {
            triple: "amdgcn-amd-amdpal".into(),
            cpu: "gfx900".into(),
            attributes: vec!["+architected-sgprs".into()],
            ..Default::default()
        },
    )
    .unwrap();
    let all = instructions(&object, "cs").join("\n");
    for wanted in ["ttmp9", "s_pack_ll_b32_b16 s3, ttmp7, 0", ", ttmp7, 16"] {
        assert!(all.contains(wanted), "{wanted}: {all}");
    }
}

#[test]
fn kernels_number_themselves_for_their_callees() {
    let text = "
define void @f(ptr addrspace(1) %p) noinline {
  %id = call i32 @llvm.amdgcn.lds.kernel.id()
  store i32 %id, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p) !llvm.amdgcn.lds.kernel.id !0 {
  call void @f(ptr addrspace(1) %p)
  ret void
}
define amdgpu_kernel void @own(ptr addrspace(1) %p) !llvm.amdgcn.lds.kernel.id !0 {
  %id = call i32 @llvm.amdgcn.lds.kernel.id()
  store i32 %id, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.amdgcn.lds.kernel.id()
!0 = !{i32 42}
";
    let of = |name| listing(text, "amdgcn-amd-amdhsa", "gfx900", name);
    assert!(of("f").contains("s15"), "{}", of("f"));
    assert!(of("k").contains("s_mov_b32 s15, 42"), "{}", of("k"));
    assert!(of("own").contains("42"), "{}", of("own"));
}

#[test]
fn constants_of_the_linker_are_relocated() {
    let text = "
define amdgpu_ps float @ps() {
  %x = call i32 @llvm.amdgcn.reloc.constant(metadata !0)
  %f = bitcast i32 %x to float
  ret float %f
}
declare i32 @llvm.amdgcn.reloc.constant(metadata)
!0 = !{!\"doff_0_0_b\"}
";
    let object = compile(text, "amdgcn--", "gfx900").unwrap();
    assert!(symbols(&object).contains(&"doff_0_0_b".to_owned()));
    let file = object::File::parse(&*object).unwrap();
    let count = file.section_by_name(".text").unwrap().relocations().count();
    assert_eq!(count, 1);
}

/// Without queues, and from V5 on, the high half of generic addresses in LDS is a hidden argument.
#[test]
fn apertures_are_hidden_arguments() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(3) %l, ptr addrspace(1) %p) {
  %f = addrspacecast ptr addrspace(3) %l to ptr
  store ptr %f, ptr addrspace(1) %p
  ret void
}
";
    assert!(listing(text, "amdgcn--", "tonga", "k").contains("s[0:1], 0xf8"), "36 + 16 + 196");
    assert!(listing(text, "amdgcn-amd-amdhsa", "fiji", "k").contains(", 0xd4"), "16 + 196");
}

/// A generic argument of a kernel is global memory, unless the program says that it is not.
#[test]
fn generic_arguments_may_be_cast_to_other_spaces() {
    let text = "
define amdgpu_kernel void @k(ptr %p) {
  %l = addrspacecast ptr %p to ptr addrspace(3)
  store volatile i32 7, ptr addrspace(3) %l
  ret void
}
";
    let code = listing(text, "amdgcn-amd-amdhsa", "gfx900", "k");
    assert!(code.contains("s_load_dwordx2") && code.contains("s_cselect_b32"), "{code}");
}

/// Loads, stores and atomics through a resource with an offset; casts, arithmetic, choices, and the pointer
/// itself in memory.
#[test]
fn buffer_pointers_are_resources_with_offsets() {
    let text = "
define float @add(ptr addrspace(7) inreg %buf, float %val) {
  %gep = getelementptr float, ptr addrspace(7) %buf, i32 256
  %old = atomicrmw fadd ptr addrspace(7) %gep, float %val syncscope(\"agent\") seq_cst, align 4
  ret float %old
}
define half @narrow(ptr addrspace(7) inreg %buf, half %val) {
  %old = atomicrmw fmin ptr addrspace(7) %buf, half %val syncscope(\"agent\") seq_cst
  ret half %old
}
define amdgpu_kernel void @copy(ptr addrspace(8) %r, ptr addrspace(1) %p, i32 %i, i1 %c) {
  %a = addrspacecast ptr addrspace(8) %r to ptr addrspace(7)
  %b = getelementptr i16, ptr addrspace(7) %a, i32 %i
  %s = select i1 %c, ptr addrspace(7) %a, ptr addrspace(7) %b
  %v = load <3 x i32>, ptr addrspace(7) %a, align 4
  store <3 x i32> %v, ptr addrspace(7) %s, align 2
  store ptr addrspace(7) %s, ptr addrspace(1) %p, align 32
  ret void
}
";
    for cpu in ["gfx600", "fiji", "gfx900"] {
        let add = listing(text, "amdgcn-amd-amdhsa", cpu, "add");
        assert!(add.contains("buffer_atomic_cmpswap") && add.contains("offset:1024"), "{add}");
        let narrow = listing(text, "amdgcn-amd-amdhsa", cpu, "narrow");
        assert!(narrow.contains("buffer_atomic_cmpswap"), "{narrow}");
        let copy = listing(text, "amdgcn-amd-amdhsa", cpu, "copy");
        assert!(copy.contains("buffer_load_dword") && copy.contains("buffer_store"), "{copy}");
    }
}

/// A generic pointer has two dwords, wherever it came from.
#[test]
fn casts_that_are_not_null_are_generic_pointers() {
    let text = "
define void @f(ptr addrspace(3) %l, ptr addrspace(1) %p) {
  %x = call ptr @llvm.amdgcn.addrspacecast.nonnull.p0.p3(ptr addrspace(3) %l)
  store ptr %x, ptr addrspace(1) %p
  ret void
}
declare ptr @llvm.amdgcn.addrspacecast.nonnull.p0.p3(ptr addrspace(3))
";
    let code = listing(text, "amdgcn-amd-amdhsa", "gfx900", "f");
    assert!(code.contains("global_store_dwordx2") && code.contains("shared_base"), "{code}");
}

/// Objects for HSA have addends of their own, those for other systems have them in the relocated field, which
/// is all that Mesa reads.
#[test]
fn addends_are_where_the_system_looks() {
    let text = "
@g = external addrspace(1) global i32
define amdgpu_ps void @f(i32 %x) {
  store i32 %x, ptr addrspace(1) @g
  ret void
}
define void @h(i32 %x) {
  store i32 %x, ptr addrspace(1) @g
  ret void
}
";
    // Absolute addresses take the offset from a symbol that nobody replaces.
    let near = text.replace("external", "external hidden").replace(
        "%x, ptr addrspace(1) @g",
        "%x, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i32 8)",
    );
    for (text, triple, name, wanted) in [
        (text, "amdgcn--", ".rel.text", [4, 12, 4, 12]),
        (text, "amdgcn-mesa-mesa3d", ".rel.text", [0; 4]),
        (&near, "amdgcn-mesa-mesa3d", ".rel.text", [8; 4]),
        (&text.replace("amdgpu_ps ", ""), "amdgcn-amd-amdhsa", ".rela.text", [4, 12, 4, 12]),
    ] {
        let object = compile(text, triple, "gfx900").unwrap();
        let file = object::File::parse(&*object).unwrap();
        assert!(file.section_by_name(name).is_some(), "{triple}");
        let section = file.section_by_name(".text").unwrap();
        let data = section.data().unwrap();
        let addends: Vec<i64> = section
            .relocations()
            .map(|(at, relocation)| {
                let field = i32::from_le_bytes(data[at as usize..][..4].try_into().unwrap());
                if relocation.has_implicit_addend() { field.into() } else { relocation.addend() }
            })
            .collect();
        assert_eq!(addends, wanted, "{triple}");
    }
}

#[test]
fn reading_flat_scratch_sets_it_up() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %s = call i64 @llvm.read_register.i64(metadata !0)
  store i64 %s, ptr addrspace(1) %out
  ret void
}
declare i64 @llvm.read_register.i64(metadata)
!0 = !{!\"flat_scratch\"}
";
    for cpu in ["bonaire", "fiji", "gfx900"] {
        let code = listing(text, "amdgcn-amd-amdhsa", cpu, "k");
        let set = code.find("flat_scratch_lo,").expect("set up");
        assert!(code[set + 16..].contains(", flat_scratch\n"), "{code}");
    }
}

#[test]
fn stack_objects_are_private() {
    let text = "
declare void @g(ptr)
define void @f() {
  %a = alloca i32
  call void @g(ptr %a)
  ret void
}
";
    let error = compile(text, "amdgcn--", "gfx900").unwrap_err();
    assert!(error.contains("addrspace(5)"), "{error}");
}

/// A killed pixel shader with a result has nothing for those who go on with it.
/// EXEC tells an export what pixels are valid.
#[test]
fn undefined_branches_keep_both_ways() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  br i1 poison, label %a, label %b
a:
  store volatile i32 1, ptr addrspace(1) %p
  ret void
b:
  store volatile i32 2, ptr addrspace(1) %p
  ret void
}
";
    let code = listing(text, "amdgcn-amd-amdhsa", "gfx900", "k");
    assert_eq!(code.matches("store_dword").count(), 2, "{code}");
}

/// `v_ldexp_f32` has no short encoding from GFX8 on, so that its constant needs a register.
#[test]
fn literals_go_where_an_encoding_takes_them() {
    let text = "
define float @f(i32 %e) {
  %r = call float @llvm.ldexp.f32.i32(float 9.0, i32 %e)
  ret float %r
}
declare float @llvm.ldexp.f32.i32(float, i32)
";
    for cpu in ["gfx600", "fiji", "gfx900"] {
        assert!(listing(text, "amdgcn-amd-amdhsa", cpu, "f").contains("v_ldexp_f32"));
    }
}

#[test]
fn aliases_are_as_large_as_functions() {
    let text = "
@other = alias void (), ptr @f
define void @f() {
  ret void
}
";
    let object = compile(text, "amdgcn--", "gfx900").unwrap();
    let file = object::File::parse(&*object).unwrap();
    let size = |name: &str| file.symbols().find(|s| s.name() == Ok(name)).map(|s| s.size());
    assert!(size("f") > Some(0));
    assert_eq!(size("other"), size("f"));
}

#[test]
fn unknown_callees_take_what_can_be_addressed() {
    let text = "
declare void @g()
define amdgpu_kernel void @k() {
  call void @g()
  ret void
}
";
    for cpu in ["gfx600", "gfx700", "gfx802", "gfx900"] {
        assert!(compile(text, "amdgcn-amd-amdhsa", cpu).is_ok(), "{cpu}");
    }
}

/// One entry of the global offset table is read once in a block.
#[test]
fn addresses_are_shared() {
    let text = "
@g = external addrspace(1) global [16 x i32]
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  %a = load i32, ptr addrspace(1) @g
  %b = load i32, ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @g, i64 3)
  %s = add i32 %a, %b
  store i32 %s, ptr addrspace(1) %p
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %q = getelementptr i32, ptr addrspace(1) @g, i32 %i
  store i32 %i, ptr addrspace(1) %q
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
";
    let code = listing(text, "amdgcn-amd-amdhsa", "gfx900", "k");
    assert_eq!(code.matches("s_getpc_b64").count(), 1, "{code}");
}

/// `init.exec` acts from the start of its block on. The prolog builds the scratch resource where inline
/// assembly does not change it; a frame that nothing accesses needs none.
#[test]
fn inline_assembly_has_the_registers_that_it_names() {
    let spills = "
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = alloca [64 x i32], addrspace(5)
  %q = getelementptr i32, ptr addrspace(5) %a, i32 7
  store volatile i32 1, ptr addrspace(5) %q
  call void asm sideeffect \"\", \"~{s4},~{s8},~{s12},~{s16}\"()
  %v = load volatile i32, ptr addrspace(5) %q
  store i32 %v, ptr addrspace(1) %p
  ret void
}
";
    for cpu in ["tahiti", "tonga", "gfx900"] {
        let code = listing(spills, "amdgcn--", cpu, "k");
        assert!(code.contains(", off, s[20:23], ") && !code.contains(", off, s[8:11], "), "{code}");
    }
    let unused = "
define amdgpu_kernel void @k() {
  %a = alloca i32, addrspace(5)
  %n = ptrtoint ptr addrspace(5) %a to i32
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %n)
  call void asm sideeffect \"s_mov_b32 s40, $0\", \"{s0},~{s40}\"(i32 %first)
  ret void
}
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
";
    assert!(listing(unused, "amdgcn-amd-amdhsa", "fiji", "k").contains("s_mov_b32 s40, s0"));
}

/// The frame pointer is set up where code uses it, even if the call that it is for cannot be reached.
#[test]
fn frame_pointers_of_unreachable_calls_are_set_up() {
    let text = "
declare void @g(ptr addrspace(5))
define i32 @f(i32 %x) {
  %a = alloca [4 x i32], addrspace(5)
  store volatile i32 %x, ptr addrspace(5) %a
  br i1 false, label %dead, label %r
dead:
  call void @g(ptr addrspace(5) %a)
  br label %r
r:
  %v = load volatile i32, ptr addrspace(5) %a
  ret i32 %v
}
";
    let options = CompileOptions {
        triple: "amdgcn-amd-amdhsa".into(),
        cpu: "gfx900".into(),
        opt_level: 0,
        ..Default::default()
    };
    let code = instructions(&compile_with(text, options).unwrap(), "f").join("\n");
    let [set, used] = ["s_mov_b32 s33, s32", "s[0:3], s33"].map(|part| code.find(part));
    assert!(!code.contains("s_swappc") && (used.is_none() || set.is_some() && set < used), "{code}");
}

#[test]
fn masks_of_32_lanes_are_the_low_half() {
    let text = r#"
declare i32 @llvm.amdgcn.fcmp.i32.f32(float, float, i32)
declare i32 @llvm.amdgcn.fcmp.i32.f16(half, half, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %out, float %x, half %h) {
  %y = load float, ptr addrspace(1) %out
  %a = call i32 @llvm.amdgcn.fcmp.i32.f32(float %y, float %x, i32 1)
  %b = call i32 @llvm.amdgcn.fcmp.i32.f16(half %h, half 1.0, i32 4)
  %c = xor i32 %a, %b
  store i32 %c, ptr addrspace(1) %out
  ret void
}
"#;
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        // The whole mask is written, and verified to have a register pair.
        assert!(listing(text, "amdgcn-amd-amdhsa", cpu, "k").contains("v_cmp_eq_f32"), "{cpu}");
    }
}

#[test]
fn powers_of_half_know_odd_exponents() {
    let text = r#"
declare half @llvm.powi.f16.i32(half, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %out, half %x, i32 %n) {
  %y = call half @llvm.powi.f16.i32(half %x, i32 %n)
  store half %y, ptr addrspace(1) %out
  ret void
}
"#;
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        assert!(listing(text, "amdgcn-amd-amdhsa", cpu, "k").contains("v_log_f32"), "{cpu}");
    }
}

/// The graphics convention and the other one leave different SGPRs alone: who calls across them saves what his own caller relies on.
#[test]
fn calls_across_conventions_keep_the_callers_registers() {
    let text = "
declare void @c_function()
declare amdgpu_gfx void @gfx_function()
define amdgpu_gfx void @gfx_calls_c() {
  call void @c_function()
  ret void
}
define void @c_calls_gfx() {
  call amdgpu_gfx void @gfx_function()
  ret void
}
define amdgpu_gfx void @gfx_calls_gfx() {
  call amdgpu_gfx void @gfx_function()
  ret void
}
";
    let object = compile(text, "amdgcn--amdpal", "gfx900").unwrap();
    let saved = |name: &str, what: &str| -> Vec<u32> {
        let lines = instructions(&object, name);
        let mut saved: Vec<u32> = lines
            .iter()
            .filter_map(|line| {
                let mut words = line.strip_prefix(what)?.trim().split(", ");
                let word = if what == "v_writelane_b32" { words.nth(1)? } else { words.next()? };
                word.strip_prefix('s')?.parse().ok()
            })
            .collect();
        saved.sort_unstable();
        saved
    };
    let gfx: Vec<u32> = (4..30).chain([33]).chain(72..80).chain(88..96).collect();
    let c: Vec<u32> = (33..40).chain(48..56).collect();
    for (name, wanted) in [("gfx_calls_c", &gfx), ("c_calls_gfx", &c)] {
        assert_eq!(saved(name, "v_writelane_b32"), *wanted, "{name}");
        assert_eq!(saved(name, "v_readlane_b32"), *wanted, "{name}");
    }
    assert!(saved("gfx_calls_gfx", "v_writelane_b32").len() < 8);
}

#[test]
fn whole_wave_values_do_not_pass_through_phis_where_lanes_meet() {
    let text = |divergent: bool| {
        let condition = if divergent { "fcmp olt float %x, 0.0" } else { "icmp ult i32 %n, 7" };
        format!(
            "
declare float @llvm.amdgcn.set.inactive.f32(float, float)
declare float @llvm.amdgcn.strict.wwm.f32(float)
define amdgpu_ps float @sum(float %x, i32 inreg %n) {{
entry:
  %start = call float @llvm.amdgcn.set.inactive.f32(float %x, float 1.0)
  %c = {condition}
  br i1 %c, label %then, label %join
then:
  store volatile i32 %n, ptr addrspace(3) null
  %other = call float @llvm.amdgcn.set.inactive.f32(float %x, float 2.0)
  br label %join
join:
  %acc = phi float [ %start, %entry ], [ %other, %then ]
  %sum = fadd float %acc, 2.0
  %r = call float @llvm.amdgcn.strict.wwm.f32(float %sum)
  ret float %r
}}
"
        )
    };
    assert!(compile(&text(false), "amdgcn--", "gfx900").is_ok());
    let error = compile(&text(true), "amdgcn--", "gfx900").unwrap_err();
    assert!(
        error.contains("in function sum: ") && error.contains("passes through a phi where lanes meet"),
        "{error}"
    );
}

/// GFX6 has no generic addresses: generic pointers are global ones, unless a module makes others.
#[test]
fn generic_pointers_without_generic_addresses_are_global() {
    let access = "
define i32 @access(ptr %p, i64 %v) {
  %old = atomicrmw add ptr %p, i32 7 syncscope(\"agent\") monotonic
  %wide = atomicrmw add ptr %p, i64 %v syncscope(\"agent\") monotonic
  store i64 %wide, ptr %p, align 8
  ret i32 %old
}
";
    let lines = listing(access, "amdgcn-amd-amdhsa", "gfx600", "access");
    for op in ["buffer_atomic_add v", "buffer_atomic_add_x2 v", "buffer_store_dwordx2 v"] {
        assert!(lines.contains(op), "{op}: {lines}");
    }
    assert!(!lines.contains("branch"), "no place is scratch: {lines}");
    assert!(
        lines.lines().filter(|line| line.contains("buffer_")).all(|line| line.contains("addr64")),
        "{lines}"
    );
    let cast = "
define void @cast(ptr addrspace(3) %l, ptr addrspace(1) %p) {
  %generic = addrspacecast ptr addrspace(3) %l to ptr
  store ptr %generic, ptr addrspace(1) %p
  ret void
}
";
    assert!(compile(cast, "amdgcn-amd-amdhsa", "gfx600").is_ok());
    let both = format!("{access}{cast}");
    let error = compile(&both, "amdgcn-amd-amdhsa", "gfx600").unwrap_err();
    assert!(error.contains("in function access: ") && error.contains("where cast makes them"), "{error}");
    assert!(compile(&both, "amdgcn-amd-amdhsa", "gfx700").is_ok());
}

/// An address in LDS that is in memory is a number, and every kernel has the variable there.
#[test]
fn lds_addresses_in_variables_are_numbers() {
    let text = "
@large = internal addrspace(3) global [64 x i32] poison, align 16
@stored = internal addrspace(3) global [4 x i32] poison, align 4
@table = addrspace(1) global [2 x ptr addrspace(3)] [ptr addrspace(3) @stored, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @stored, i32 8)]
define amdgpu_kernel void @reads() {
  %p = load volatile ptr addrspace(3), ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @table, i64 4)
  store i32 1, ptr addrspace(3) %p
  ret void
}
define amdgpu_kernel void @names(i32 %i) {
  %p = getelementptr i32, ptr addrspace(3) @large, i32 %i
  store i32 2, ptr addrspace(3) %p
  store i32 3, ptr addrspace(3) @stored
  ret void
}
";
    let object = compile(text, "amdgcn-amd-amdhsa", "gfx900").unwrap();
    let file = object::File::parse(&*object).unwrap();
    let data = file.section_by_name(".data").unwrap();
    assert_eq!((data.data().unwrap(), data.relocations().count()), (&[0, 0, 0, 0, 8, 0, 0, 0][..], 0));
    // Without the table each kernel would start with what it names.
    let named = instructions(&object, "names").join("\n");
    let size = |name: &str| {
        let rodata = file.section_by_name(".rodata").unwrap().data().unwrap().to_vec();
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        let at = symbol.address() as usize;
        u32::from_le_bytes(rodata[at..at + 4].try_into().unwrap())
    };
    assert_eq!([size("reads.kd"), size("names.kd")], [16, 16 + 256], "{named}");
}
