//! Tests over small modules in text form: each construct by the IR's own text, each refusal by its words.

use crate::{Context, parse, read, read_module};
use mir::ErrorKind;
use mir::ir::{
    CallConv, Function, Initializer, InstFlags, MemFlags, Module, ParamFlags, SymbolRef, parse_module,
    verify_module,
};

fn module(text: &str) -> Module {
    let module = read_module(text.as_bytes(), "test.ll").unwrap();
    verify_module(&module).unwrap();
    let printed = module.to_string();
    assert_eq!(parse_module(&printed, "again").unwrap().to_string(), printed);
    module
}

/// The lines of the instructions of function `name`, labels included.
fn body(text: &str, name: &str) -> Vec<String> {
    let module = module(text);
    let function = find(&module, name);
    let printed = function.display(&module).to_string();
    let lines = printed.lines().map(str::trim).skip_while(|line| !line.ends_with('{')).skip(1);
    let code = lines.take_while(|line| *line != "}" && !line.starts_with("constants "));
    code.filter(|line| !line.starts_with("tables ")).map(str::to_owned).collect()
}

fn find<'m>(module: &'m Module, name: &str) -> &'m Function {
    module.functions.values().find(|function| function.name == name).unwrap()
}

#[test]
fn markers_of_lifetimes_stay_and_hints_go() {
    let text = "
declare void @llvm.lifetime.start.p5(ptr addrspace(5))
declare void @llvm.lifetime.end.p5(ptr addrspace(5))
declare void @llvm.assume(i1)
define amdgpu_kernel void @k(i1 %c) {
  %a = alloca [4 x i32], align 4, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %a)
  call void @llvm.assume(i1 %c)
  call void @llvm.lifetime.end.p5(ptr addrspace(5) %a)
  ret void
}";
    let expected = [
        "block0:",
        "v1: ptr addrspace(5) = alloca 16 align 4",
        "intrinsic lifetime.start(v1)",
        "intrinsic lifetime.end(v1)",
        "ret",
    ];
    assert_eq!(body(text, "k"), expected);
}

#[test]
fn phis_become_block_parameters_and_geps_byte_offsets() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(1) noalias readonly align 16 %out, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %exit, label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr inbounds [4 x { float, i64 }], ptr addrspace(1) %out, i32 %i, i32 2, i32 1
  %v = load volatile i64, ptr addrspace(1) %p, align 8, !nontemporal !0
  %q = getelementptr [8 x [8 x i16]], ptr addrspace(1) %out, i64 0, i64 %v, i32 %n
  %j = add nuw i32 %i, 1
  %d = icmp ult i32 %j, %n
  br i1 %d, label %loop, label %exit
exit:
  ret void
}
!0 = !{i32 1}";
    let expected = [
        "block0:",
        "v2: i1 = icmp eq v1, i32 0",
        "br v2, block2, block1(i32 0)",
        "block1(v3: i32):",
        "v4: ptr addrspace(1) = ptradd inbounds v0, v3 * 64 + 40",
        "v5: i64 = load v4 addrspace(1) align 8 volatile nontemporal",
        "v10: ptr addrspace(1) = ptradd v0, v5 * 16 + 0",
        "v6: ptr addrspace(1) = ptradd v10, v1 * 2 + 0",
        "v7: i32 = add nuw v3, i32 1",
        "v8: i1 = icmp ult v7, v1",
        "br v8, block1(v7), block2",
        "block2:",
        "ret",
    ];
    assert_eq!(body(text, "k"), expected);
    let module = module(text);
    let kernel = find(&module, "k");
    assert_eq!(kernel.call_conv, CallConv::Kernel);
    assert_eq!(kernel.params[0].flags, ParamFlags::NOALIAS | ParamFlags::READONLY);
    assert_eq!((kernel.params[0].align_log2, kernel.params[1].name.as_str()), (4, "n"));
}

#[test]
fn constant_expressions_become_symbols_or_instructions_in_the_predecessor() {
    let text = "
@lds = internal addrspace(3) global [16 x i32] poison, align 4
define ptr @f(i1 %c) {
entry:
  store i32 1, ptr addrspace(3) getelementptr ([16 x i32], ptr addrspace(3) @lds, i32 0, i32 3), align 4
  br i1 %c, label %then, label %join
then:
  br label %join
join:
  %p = phi ptr [ null, %entry ], [ addrspacecast (ptr addrspace(3) @lds to ptr), %then ]
  ret ptr %p
}";
    let expected = [
        "block0:",
        "store ptr addrspace(3) @lds offset 12, i32 1 addrspace(3) align 4",
        "br v0, block1, block2(ptr zero)",
        "block1:",
        "v6: ptr = addrspacecast ptr addrspace(3) @lds",
        "jump block2(v6)",
        "block2(v1: ptr):",
        "ret v1",
    ];
    assert_eq!(body(text, "f"), expected);
}

#[test]
fn atomics_keep_scope_ordering_and_flags() {
    let text = r#"
define void @f(ptr addrspace(1) %p, i32 %x) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 %x syncscope("agent-one-as") acq_rel, align 4
  %b = cmpxchg weak ptr addrspace(1) %p, i32 %a, i32 %x syncscope("workgroup") release acquire, align 4
  %c = extractvalue { i32, i1 } %b, 0
  fence syncscope("wavefront") acquire
  store atomic i32 %c, ptr addrspace(1) %p monotonic, align 4
  ret void
}"#;
    let expected = [
        "block0:",
        "v2: i32 = atomicrmw add v0, v1 addrspace(1) align 4 one_as acq_rel agent",
        "v3: { i32, i1 } = cmpxchg weak v0, v2, v1 addrspace(1) align 4 acq_rel workgroup",
        "v4: i32 = extractvalue v3 [0]",
        "fence acquire wavefront",
        "store v0, v4 addrspace(1) align 4 monotonic system",
        "ret",
    ];
    assert_eq!(body(text, "f"), expected);
}

#[test]
fn calls_intrinsics_and_assembly() {
    let text = r#"
declare float @llvm.fma.f32(float, float, float)
declare void @llvm.assume(i1)
declare void @llvm.memcpy.p1.p4.i64(ptr addrspace(1), ptr addrspace(4), i64, i1)
declare float @llvm.experimental.constrained.fadd.f32(float, float, metadata, metadata)
declare float @ext(float)
define float @f(float %x, ptr addrspace(1) %d, ptr addrspace(4) %s, i1 %c) strictfp {
  call void @llvm.assume(i1 %c)
  %a = call nnan contract float @llvm.fma.f32(float %x, float 0x7FF4000000000000, float 1.0), !fpmath !0
  call void @llvm.memcpy.p1.p4.i64(ptr addrspace(1) align 16 %d, ptr addrspace(4) align 4 %s, i64 64, i1 false)
  %b = call float @llvm.experimental.constrained.fadd.f32(float %a, float %x, metadata !"round.tonearest", metadata !"fpexcept.strict")
  %e = call float @ext(float %b)
  %g = call i32 asm sideeffect "v_mov_b32 $0, $1", "=v,v"(float %e)
  ret float %e
}
!0 = !{float 2.5}"#;
    let expected = [
        "block0:",
        "v4: float = intrinsic nnan contract fma(v0, float 0x7fa00000, float 0x3f800000) !fpmath 640",
        "intrinsic memcpy(v1, v2, i64 64, i1 0) !align 4 2",
        "v5: float = fadd strict v4, v0",
        "v6: float = call @ext(v5) !site device [_]",
        "v7: i32 = asm \"v_mov_b32 $0, $1\" \"=v,v\" sideeffect(v6) !site device [_]",
        "ret v6",
    ];
    assert_eq!(body(text, "f"), expected);
}

#[test]
fn vectors_switches_and_wide_constants() {
    let text = "
define <4 x i16> @f(<2 x i16> %v, i8 %k, i128 %w) {
  switch i8 %k, label %d [ i8 -1, label %a
                           i8 3, label %a ]
a:
  br label %d
d:
  %r = phi i128 [ -2, %0 ], [ 18446744073709551616, %a ]
  %x = add i128 %w, %r
  %s = shufflevector <2 x i16> %v, <2 x i16> <i16 7, i16 poison>, <4 x i32> <i32 0, i32 3, i32 poison, i32 1>
  %t = insertelement <4 x i16> %s, i16 5, i8 %k
  ret <4 x i16> %t
}";
    let expected = [
        "block0:",
        "switch v1, block2(i128 wide(0xfffffffffffffffe, 0xffffffffffffffff)) [255: block1, 3: block1]",
        "block1:",
        "jump block2(i128 wide(0x0, 0x1))",
        "block2(v3: i128):",
        "v4: i128 = add v2, v3",
        "v5: <4 x i16> = shufflevector v0, <2 x i16> (i16 7, i16 poison) [0, 3, _, 1]",
        "v6: <4 x i16> = insertelement v5, i16 5, v1",
        "ret v6",
    ];
    assert_eq!(body(text, "f"), expected);
}

#[test]
fn initialisers_are_bytes_and_addresses() {
    let text = "
@a = addrspace(1) constant { i8, i32, [3 x i16], float } { i8 1, i32 -2, [3 x i16] [i16 1, i16 2, i16 3], float 1.0 }
@b = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) null, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @a, i64 6)]
@c = addrspace(1) global <10 x i1> <i1 1, i1 0, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 1>
@d = addrspace(1) global ptr addrspace(5) addrspacecast (ptr null to ptr addrspace(5))
@e = external addrspace(3) global [0 x i32], align 16
@f = alias i8, getelementptr (i8, ptr addrspace(1) @a, i64 4)
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @b to ptr)], section \"llvm.metadata\"";
    let module = module(text);
    let global = |index: u32| &module.globals[mir::ir::Global::from_u32(index)];
    let bytes = |index| global(index).init.as_ref().map(|init| init.bytes.as_slice());
    let a = [1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0x80, 0x3f];
    assert_eq!((bytes(0), global(0).size_bytes), (Some(&a[..]), 20));
    let Some(Initializer { bytes: zero, relocations }) = &global(1).init else { panic!("no initialiser") };
    assert_eq!((zero.len(), relocations.len()), (0, 1));
    assert_eq!((relocations[0].offset_bytes, relocations[0].width_bytes, relocations[0].addend), (8, 8, 6));
    assert_eq!(bytes(2), Some(&[5, 2][..]));
    assert_eq!(bytes(3), Some(&[0xff; 4][..]));
    assert_eq!((global(4).init.is_none(), global(4).size_bytes, global(4).align_log2), (true, 0, 4));
    assert_eq!((module.aliases[0].name.as_str(), module.aliases[0].offset), ("f", 4));
    assert_eq!(module.used, [SymbolRef::Global(mir::ir::Global::from_u32(1))]);
}

#[test]
fn distances_and_other_types_are_initialisers() {
    let text = "
%opaque = type opaque
define hidden void @f() {
  ret void
}
@v = constant { i64, [2 x i32] } { i64 5, [2 x i32] [
  i32 trunc (i64 sub (i64 ptrtoint (ptr @f to i64), i64 ptrtoint (ptr getelementptr ({ i64, [2 x i32] }, ptr @v, i32 0, i32 1, i32 0) to i64)) to i32),
  i32 trunc (i64 sub (i64 ptrtoint (ptr dso_local_equivalent @f to i64), i64 ptrtoint (ptr @v to i64)) to i32)] }
@n = constant i32 sub (i32 ptrtoint (ptr getelementptr (i8, ptr @v, i32 12) to i32), i32 ptrtoint (ptr @v to i32))
@b = constant <2 x float> bitcast (<1 x i64> <i64 1311768467463790320> to <2 x float>)
@c = constant ptr no_cfi @f
@o = external global %opaque
@note = private constant [2 x i8] c\"x\\00\", section \"llvm.metadata\"
@llvm.tools = appending global [1 x ptr] [ptr @note], section \"llvm.metadata\"
declare ptr @llvm.ptr.annotation.p0.p0(ptr, ptr, ptr, i32, ptr)
define ptr @annotated(ptr %p) {
  %q = call ptr @llvm.ptr.annotation.p0.p0(ptr %p, ptr @note, ptr @note, i32 1, ptr null)
  ret ptr %q
}";
    let module = module(text);
    let named = |name: &str| module.globals.values().find(|global| global.name == name);
    let contents = |name: &str| named(name).and_then(|global| global.init.clone()).expect("contents");
    let relocations = contents("v").relocations;
    let places: Vec<_> = relocations.iter().map(|r| (r.offset_bytes, r.addend, r.is_relative)).collect();
    assert_eq!(places, [(8, 0, true), (12, 12, true)]);
    assert_eq!(contents("n").bytes, [12]);
    assert_eq!(contents("b").bytes, 0x1234_5678_9abc_def0_u64.to_le_bytes());
    assert!(
        matches!(contents("c").relocations[..], [r] if !r.is_relative && matches!(r.symbol, SymbolRef::Func(_)))
    );
    assert_eq!(named("o").map(|global| global.size_bytes), Some(0));
    // Annotations name it, and it is in no object.
    assert!(named("note").is_some_and(|global| global.init.is_none()));
    assert!(named("llvm.tools").is_none());
    assert!(!find(&module, "annotated").is_declaration());
    let far = read(b"@a = external global i8\n@b = external global i8\n@c = constant i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @b to i64))", "far.ll");
    let errors = far.unwrap().errors;
    assert!(errors[0].to_string().starts_with("unsupported initialiser i64 sub"), "{}", errors[0]);
}

#[test]
fn atomic_accesses_may_be_elsewhere() {
    let text = "
define void @f(ptr %p) {
  %a = atomicrmw add ptr %p, i64 1 monotonic, !noalias.addrspace !0
  %b = atomicrmw add ptr %p, i64 1 monotonic, !noalias.addrspace !1
  ret void
}
!0 = !{i32 2, i32 3, i32 5, i32 6}
!1 = !{i32 3, i32 5}";
    let found = body(text, "f").into_iter().filter(|line| line.contains("not_private")).count();
    assert_eq!((found, body(text, "f")[1].contains("not_private")), (1, true));
}

#[test]
fn fences_may_be_about_one_kind_of_memory() {
    let text = "
define void @f() {
  fence syncscope(\"workgroup\") release, !mmra !0
  fence acquire, !mmra !3
  fence acquire, !mmra !4
  fence seq_cst, !mmra !2
  ret void
}
!0 = !{!\"amdgpu-synchronize-as\", !\"local\"}
!1 = !{!\"amdgpu-synchronize-as\", !\"global\"}
!2 = !{!\"foo\", !\"bar\"}
!3 = !{!1, !2}
!4 = !{!0, !1}";
    let expected = [
        "fence release workgroup addrspace(3)",
        "fence acquire system addrspace(1)",
        "fence acquire system",
        "fence seq_cst system",
        "ret",
    ];
    assert_eq!(body(text, "f")[1..], expected);
}

#[test]
fn what_other_languages_say_is_left_out() {
    let text = "
declare void @llvm.donothing()
declare i1 @llvm.type.test(ptr, metadata)
declare ptr @llvm.load.relative.i32(ptr, i32)
declare i32 @pers(...)
define void @g(i32 %x) {
  ret void
}
define ptr @f(ptr %p, i32 %i) personality ptr @pers {
  call void dso_local_equivalent @g(i32 %i) [ \"deopt\"(i32 %i) ]
  invoke void @llvm.donothing() to label %a unwind label %b
a:
  %t = call i1 @llvm.type.test(ptr %p, metadata !\"type\")
  %l = call ptr @llvm.load.relative.i32(ptr %p, i32 %i)
  ret ptr %l
b:
  %r = landingpad { ptr, i32 } cleanup
  unreachable
}";
    let expected = [
        "block0:",
        "call @g(v1) !site device [_]",
        "jump block1",
        "block1:",
        "v2: i1 = intrinsic type.test(v0)",
        "v5: ptr = ptradd v0, v1 * 1 + 0",
        "v6: i32 = load v5 addrspace(0) align 4",
        "v3: ptr = ptradd v0, v6 * 1 + 0",
        "ret v3",
    ];
    assert_eq!(body(text, "f")[..expected.len()], expected);
    let changing = "define void @h(ptr %p) {\n  call void %p() [ \"kcfi\"(i32 1) ]\n  ret void\n}";
    let errors = read(changing.as_bytes(), "kcfi.ll").unwrap().errors;
    assert!(errors[0].to_string().contains("unsupported operand bundle \"kcfi\""), "{}", errors[0]);
}

#[test]
fn kernels_and_modules_keep_their_metadata() {
    let text = r#"
target triple = "amdgcn-amd-amdhsa"
define spir_kernel void @k(ptr addrspace(1) %p) "amdgpu-waves-per-eu"="2,4" !kernel_arg_addr_space !0 !kernel_arg_access_qual !1 !kernel_arg_type !2 !kernel_arg_base_type !2 !kernel_arg_type_qual !3 !kernel_arg_name !4 !reqd_work_group_size !5 !vec_type_hint !6 {
  %v = load i32, ptr addrspace(1) %p, align 4, !invariant.load !7
  ret void
}
!llvm.module.flags = !{!8}
!opencl.ocl.version = !{!9}
!llvm.ident = !{!10}
!0 = !{i32 1}
!1 = !{!"none"}
!2 = !{!"int*"}
!3 = !{!"const"}
!4 = !{!"p"}
!5 = !{i32 64, i32 2, i32 1}
!6 = !{<4 x float> undef, i32 0}
!7 = !{}
!8 = !{i32 1, !"amdhsa_code_object_version", i32 400}
!9 = !{i32 2, i32 0}
!10 = !{!"me"}"#;
    let module = module(text);
    let kernel = find(&module, "k");
    assert!(kernel.is_kernel());
    let arg = &kernel.kernel.args[0];
    assert_eq!((arg.name.as_str(), arg.addr_space, arg.access.as_str()), ("p", 1, "none"));
    assert_eq!((arg.ty.as_str(), arg.base_ty.as_str(), arg.qualifiers.as_str()), ("int*", "int*", "const"));
    assert_eq!(kernel.kernel.reqd_work_group_size, Some([64, 2, 1]));
    assert_eq!(kernel.kernel.vec_type_hint.as_deref(), Some("float4"));
    assert_eq!(kernel.attribute("amdgpu-waves-per-eu"), Some("2,4"));
    assert_eq!((module.code_object_version_flag, module.opencl_version), (Some(400), Some([2, 0])));
    assert_eq!(module.idents, ["me"]);
    let load = kernel.blocks[kernel.entry()].insts[0];
    let mir::ir::InstKind::Load { mem, .. } = &kernel.insts[load].kind else { panic!("not a load") };
    assert_eq!(mem.flags, MemFlags::INVARIANT);
}

/// Operands that would be poison if they were NaNs make an extreme one of numbers.
#[test]
fn extremes_of_numbers_have_no_nans() {
    let text = r#"
define float @f(float %x, float %y) {
  %a = call float @llvm.maximumnum.f32(float nofpclass(nan inf) %x, float nofpclass(nan) %y)
  %b = call float @llvm.maximumnum.f32(float nofpclass(nan) %a, float nofpclass(snan) %y)
  %c = call float @llvm.fabs.f32(float nofpclass(nan) %b)
  %d = call float @llvm.maximumnum.f32(float nofpclass(nan) %c, float 0.0)
  %e = call float @llvm.maximumnum.f32(float nofpclass(nan) %d, float 0x7FF8000000000000)
  %v = insertelement <2 x float> poison, float %e, i64 0
  %w = call <2 x float> @llvm.maximumnum.v2f32(<2 x float> nofpclass(nan) %v, <2 x float> <float 1.0, float 0xFFF0000000000000>)
  %z = extractelement <2 x float> %w, i64 0
  ret float %z
}
declare float @llvm.maximumnum.f32(float, float)
declare <2 x float> @llvm.maximumnum.v2f32(<2 x float>, <2 x float>)
declare float @llvm.fabs.f32(float)"#;
    let module = module(text);
    let f = find(&module, "f");
    let flags = f.blocks[f.entry()].insts.iter().map(|&inst| f.insts[inst].flags.contains(InstFlags::NNAN));
    assert_eq!(flags.collect::<Vec<_>>(), [true, false, false, true, false, false, true, false, false]);
}

#[test]
fn source_positions_survive() {
    let text = r#"
define void @f(ptr %p) !dbg !2 {
  store i32 0, ptr %p, align 4, !dbg !4
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_OpenCL, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.cl", directory: "/src")
!2 = distinct !DISubprogram(name: "f", file: !1, line: 7, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !DILocation(line: 9, column: 4, scope: !2)
!5 = !DISubroutineType(types: !6)
!6 = !{}"#;
    let module = module(text);
    let function = find(&module, "f");
    let store = function.blocks[function.entry()].insts[0];
    let location = function.source_location(&module, store).unwrap();
    assert_eq!((location.file.as_str(), location.line, location.column), ("/src/a.cl", 9, 4));
    assert_eq!(function.loc.line, 7);
}

#[test]
fn one_bad_function_does_not_hide_the_others() {
    let text = "
declare i32 @pers(...)
define void @good() {
  ret void
}
define void @bad1() personality ptr @pers {
  invoke void @good() to label %a unwind label %b
a:
  ret void
b:
  %l = cleanuppad within none []
  cleanupret from %l unwind to caller
}
define <vscale x 2 x i32> @bad2(<vscale x 2 x i32> %v) {
  ret <vscale x 2 x i32> %v
}
define void @bad3(ptr %p) {
  fence syncscope(\"moon\") acquire
  ret void
}";
    let reading = read(text.as_bytes(), "test.ll").unwrap();
    let errors: Vec<String> = reading.errors.iter().map(|error| error.to_string()).collect();
    let expected = [
        "in function bad2: unsupported type <vscale x 2 x i32>",
        "in function bad1: unsupported type token",
        "in function bad3: unknown synchronisation scope, at fence syncscope(\"moon\") acquire",
    ];
    assert_eq!(errors.len(), expected.len());
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(!find(&reading.module, "good").is_declaration());
    assert!(reading.errors.iter().all(|error| error.kind == ErrorKind::Unsupported));
}

#[test]
fn malformed_input_is_refused_with_a_position() {
    let refused = |bytes: &[u8]| {
        let error = read(bytes, "bad.ll").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed);
        let location = error.location.unwrap();
        assert_eq!(location.file, "bad.ll");
        (error.message, location.line, location.column)
    };
    assert_eq!(refused(b"").0, "the input is empty");
    assert_eq!(refused(b" \n").0, "the input is empty");
    assert_eq!(
        refused(b"define void @f() {\n  %x = add i32 1,\n}\n"),
        ("expected value token".to_owned(), 3, 1)
    );
    assert_eq!(refused(b"  nonsense"), ("expected top-level entity".to_owned(), 1, 3));
    assert!(refused(b"\x7fELF\0\0").0.starts_with("neither bitcode nor text"));
    let x86 = b"target triple = \"x86_64-pc-linux-gnu\"\ndefine void @f() {\n  ret void\n}\n";
    assert_eq!(refused(x86).0, "target triple \"x86_64-pc-linux-gnu\" is not amdgcn");
    let use_before = b"define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret i32 %b\n}\n";
    assert!(refused(use_before).0.starts_with("invalid IR: Instruction does not dominate all uses"));
}

#[test]
fn truncated_bitcode_is_refused() {
    let context = Context::create();
    let text = b"define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n";
    let buffer = parse(&context, text, "good.ll").unwrap().write_bitcode_to_memory();
    let bytes = buffer.as_slice();
    assert_eq!(read_module(bytes, "good.bc").unwrap().functions.len(), 1);
    for len in [4, 8, 40, bytes.len() / 2, bytes.len() - 8] {
        let error = read(&bytes[..len], "short.bc").unwrap_err();
        assert_eq!((error.kind, error.location.is_some()), (ErrorKind::Malformed, true), "{len} bytes");
    }
}

#[test]
fn types_are_laid_out_as_llvm_does() {
    // Allocation sizes as LLVM computes them for the target's data layout, in text: a variable's size.
    let cases = [
        ("i1", 1, 0),
        ("i24", 4, 2),
        ("i48", 8, 3),
        ("<3 x float>", 16, 4),
        ("<8 x i1>", 1, 0),
        ("{ i8, <3 x i16>, i8 }", 24, 3),
        ("<{ i8, i64 }>", 9, 0),
        ("[3 x { i64, i8 }]", 48, 3),
        ("ptr addrspace(5)", 4, 2),
        ("{ i8, i128 }", 24, 3),
        ("i256", 32, 3),
    ];
    let text: String = cases
        .iter()
        .map(|(ty, ..)| format!("@\"{ty}\" = addrspace(1) global {ty} zeroinitializer\n"))
        .collect();
    for (global, (ty, size, align)) in module(&text).globals.values().zip(cases) {
        assert_eq!((global.size_bytes, global.align_log2), (size, align), "{ty}");
    }
}

#[test]
fn indirect_branches_switch_over_block_numbers() {
    let text = "@table = internal constant [2 x ptr] [ptr blockaddress(@f, %two), ptr blockaddress(@f, %one)]
        define void @f(ptr addrspace(1) %p, i64 %i) {
          %q = getelementptr ptr, ptr @table, i64 %i
          %a = load ptr, ptr %q
          indirectbr ptr %a, [label %one, label %two, label %one]
        one:
          store ptr blockaddress(@f, %two), ptr addrspace(1) %p
          ret void
        two:
          ret void
        }";
    let module = module(text);
    // Blocks are numbered from 1: the entry, one, two.
    let table = module.globals.values().next().unwrap();
    let bytes = &table.init.as_ref().unwrap().bytes;
    assert_eq!((bytes[0], bytes[8]), (3, 2));
    let f = module.functions.values().next().unwrap();
    let text = f.display(&module).to_string();
    assert!(text.contains("inttoptr 3") || text.contains("inttoptr i64 3"), "{text}");
    assert!(text.contains("switch"), "{text}");
}

/// Where stack objects are is said by the data layout; producers of LLVM 5 have them in the generic space.
#[test]
fn stack_objects_are_where_the_data_layout_says() {
    let text = "
target triple = \"amdgcn-amd-amdhsa\"
define amdgpu_kernel void @k() {
  %a = alloca [4 x i32], align 8
  store i32 1, ptr %a
  ret void
}
";
    let old = "target datalayout = \"e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-i64:64-n32:64\"";
    let lines = body(&format!("{old}\n{text}"), "k");
    assert!(lines[1].contains("alloca 16 align 8") && lines[1].contains("ptr addrspace(5)"), "{lines:?}");
    assert!(lines[2].contains("addrspacecast") && lines[3].contains("store"), "{lines:?}");
    // Text without a layout has that of LLVM 22.
    for layout in [String::new(), "target datalayout = \"A5\"".to_owned(), old.replace("-n32", "-A5-n32")] {
        let text = format!("{layout}\n{text}");
        let error = read_module(text.as_bytes(), "test.ll").unwrap_err();
        assert!(error.message.contains("must be in addrspace(5)"), "{error}");
    }
    let error =
        read_module(text.replace("store i32 1, ptr %a", "store i32 %a, ptr %a").as_bytes(), "test.ll");
    assert!(error.is_err());
}
