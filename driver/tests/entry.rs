//! Entry and end of kernels and shaders on all systems, as far as bytes tell: registers, sections, symbols.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{compile, compile_with, instructions};
use gcnc::CompileOptions;
use object::{Object, ObjectSection, ObjectSymbol};

/// The instructions of function `name`, one string each.
fn code(text: &str, triple: &str, cpu: &str, name: &str) -> Vec<String> {
    instructions(&compile(text, triple, cpu).unwrap(), name)
}

const SHADERS: &str = "
define amdgpu_ps float @ps(i32 inreg %s, <2 x float> %persp, <2 x float> %linear, float %z) {
  %e = extractelement <2 x float> %linear, i32 1
  %r = fadd float %e, %z
  ret float %r
}
define amdgpu_vs { i32, float, i32 } @vs(i32 inreg %a, float %x, i32 %d) {
  %r0 = insertvalue { i32, float, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, float, i32 } %r0, float %x, 1
  %r2 = insertvalue { i32, float, i32 } %r1, i32 %d, 2
  ret { i32, float, i32 } %r2
}
define amdgpu_ps float @early(i32 inreg %x, float %f) {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %out, label %loop
out:
  ret float %f
loop:
  call void @llvm.amdgcn.s.sleep(i32 1)
  br label %loop
}
define amdgpu_gs void @gs(i32 inreg %a, i32 %b) {
  %o = alloca i32, addrspace(5)
  store volatile i32 %b, ptr addrspace(5) %o
  ret void
}
declare void @llvm.amdgcn.s.sleep(i32)
";

/// As llc 22: unread inputs have no registers, what is returned stays in registers, and no `s_endpgm`
/// follows.
#[test]
fn shaders_pass_registers() {
    for cpu in ["gfx600", "gfx802", "gfx900"] {
        assert_eq!(code(SHADERS, "amdgcn--", cpu, "ps"), ["v_add_f32_e32 v0, v1, v2"], "{cpu}");
        assert_eq!(code(SHADERS, "amdgcn--", cpu, "vs"), ["v_readfirstlane_b32 s1, v1"], "{cpu}");
        let early = code(SHADERS, "amdgcn--", cpu, "early");
        assert!(!early.iter().any(|line| line.contains("s_endpgm")), "{early:?}");
    }
    // On Mesa a pointer is in s[0:1], so that the first argument is s2.
    let mesa = code(SHADERS, "amdgcn-mesa-mesa3d", "gfx900", "vs");
    assert!(mesa.contains(&"s_mov_b32 s0, s2".to_owned()), "{mesa:?}");
}

#[test]
fn scratch_is_found_on_every_system() {
    let first = |triple: &str, cpu: &str| code(SHADERS, triple, cpu, "gs");
    // Merged shaders have the table in s8 and the wave's offset in s5.
    let pal = first("amdgcn-amd-amdpal", "gfx900");
    assert!(pal.contains(&"s_mov_b32 s16, s8".to_owned()), "{pal:?}");
    assert!(pal.contains(&"s_add_u32 s12, s12, s5".to_owned()), "{pal:?}");
    let mesa = first("amdgcn-mesa-mesa3d", "gfx802");
    assert!(mesa.contains(&"s_load_dwordx2 s[4:5], s[0:1], 0x0".to_owned()), "{mesa:?}");
    let bytes = compile(SHADERS, "amdgcn--", "gfx600").unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let undefined: Vec<_> =
        file.symbols().filter(|s| s.is_undefined()).filter_map(|s| s.name().ok()).collect();
    assert!(
        undefined.contains(&"SCRATCH_RSRC_DWORD0") && undefined.contains(&"SCRATCH_RSRC_DWORD1"),
        "{undefined:?}"
    );
}

/// The platform's driver fills user data registers in the order of its interface: the global table, a table of the shader, ten dwords of the
/// application, the spill table, where the counts of groups are, and the range of GDS; for graphics any order behind the table. The IR has
/// an argument for each, so that the n-th is in the n-th SGPR.
#[test]
fn user_data_are_the_first_registers() {
    for (convention, count) in [("amdgpu_cs", 16), ("amdgpu_ps", 16), ("amdgpu_vs", 16)] {
        let arguments: Vec<String> = (0..count).map(|n| format!("i32 inreg %u{n}")).collect();
        let stores: String =
            (0..count).map(|n| format!("store volatile i32 %u{n}, ptr addrspace(3) null\n")).collect();
        let text = format!("define {convention} void @s({}) {{\n{stores}ret void\n}}", arguments.join(", "));
        let code = code(&text, "amdgcn-amd-amdpal", "gfx900", "s");
        let read: Vec<String> = code
            .iter()
            .filter(|line| line.starts_with("v_mov_b32"))
            .filter_map(|line| line.split(", ").nth(1).filter(|source| source.starts_with('s')))
            .map(str::to_owned)
            .collect();
        let wanted: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
        assert_eq!(read, wanted, "{convention}: {code:?}");
    }
}

/// Arguments on the stack are stored by the resource that the prolog has built, not by what a shader has in s[0:3].
#[test]
fn shaders_pass_arguments_on_the_stack() {
    let text = "
declare i32 @f([40 x i32])
define amdgpu_cs void @k(i32 inreg %a, i32 inreg %b, i32 inreg %c, i32 inreg %d, ptr addrspace(1) %out, i32 %y) {
  %x = insertvalue [40 x i32] zeroinitializer, i32 %y, 38
  %v = call i32 @f([40 x i32] %x)
  store i32 %v, ptr addrspace(1) %out
  ret void
}";
    let lines = code(text, "amdgcn--amdpal", "gfx900", "k");
    let built =
        lines.iter().find_map(|line| line.strip_prefix("s_load_dwordx4 ")?.split_once(", ")).unwrap().0;
    let stores: Vec<_> = lines.iter().filter(|line| line.starts_with("buffer_store_dword ")).collect();
    assert_eq!(stores.len(), 9, "{lines:#?}");
    assert!(stores.iter().all(|line| line.contains(&format!("{built}, s32"))), "{lines:#?}");
}

/// The registers that llc 22 writes for the same shaders, scratch of one dword a lane (llc keeps four bytes
/// more at its start).
#[test]
fn drivers_get_register_values() {
    let bytes = compile(SHADERS, "amdgcn--", "gfx900").unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let config = file.section_by_name(".AMDGPU.config").unwrap();
    let data = config.data().unwrap();
    let words: Vec<u32> = data.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    // The linear input and the third argument, and no more.
    assert_eq!(words[4..10], [0xb02c, 0, 0x286cc, 6, 0x286d0, 6]);
    assert!(words.windows(2).any(|pair| pair == [0x286e8, 0x1000]), "{words:x?}");
    assert!(compile(SHADERS, "amdgcn-amd-amdpal", "gfx900").is_ok_and(|bytes| {
        object::File::parse(&*bytes).is_ok_and(|file| file.section_by_name(".AMDGPU.config").is_none())
    }));
}

const KERNEL: &str = "
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %x) {
  store i32 %x, ptr addrspace(1) %p
  ret void
}
";

#[test]
fn kernel_arguments_follow_the_systems_header() {
    let loads = |triple: &str| -> Vec<String> {
        let code = code(KERNEL, triple, "gfx900", "k");
        code.into_iter().filter(|line| line.starts_with("s_load")).collect()
    };
    // In whichever order.
    let loads_from = |triple: &str, offset: &str| loads(triple).iter().any(|line| line.ends_with(offset));
    assert!(loads_from("amdgcn--", ", s[0:1], 0x24"), "{:?}", loads("amdgcn--"));
    assert!(loads_from("amdgcn-amd-amdhsa", " 0x0"), "{:?}", loads("amdgcn-amd-amdhsa"));
    // Mesa's kernels start with a header of 256 bytes, and their symbol has a type of its own.
    let bytes = compile(KERNEL, "amdgcn-mesa-mesa3d", "gfx900").unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file.section_by_name(".text").unwrap().data().unwrap();
    assert_eq!(text[..4], [1, 0, 0, 0]);
    assert_eq!(text[10..16], [9, 0, 0, 0, 0, 0]);
    assert!(text.len() > 256 && file.symbols().any(|s| s.name() == Ok("k") && s.size() == text.len() as u64));
}

#[test]
fn what_a_system_lacks_is_refused() {
    let dispatch = "declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %v = load i32, ptr addrspace(4) %d
  store i32 %v, ptr addrspace(1) %p
  ret void
}";
    assert!(compile(dispatch, "amdgcn-amd-amdhsa", "gfx700").is_ok());
    assert!(compile(dispatch, "amdgcn-mesa-mesa3d", "gfx700").is_ok());
    let error = compile(dispatch, "amdgcn--", "gfx700").unwrap_err();
    assert!(error.contains("DispatchPtr"), "{error}");
    let error = compile(SHADERS, "amdgcn-amd-amdhsa", "gfx700").unwrap_err();
    assert!(error.contains("amdhsa"), "{error}");
}

/// Nobody writes contents of LDS before the first wave starts; undefined ones need nobody.
#[test]
fn lds_has_no_initial_contents() {
    let kernel = |contents: &str| {
        let text = format!(
            "@l = internal addrspace(3) global [4 x i32] {contents}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %i) {{
  %q = getelementptr i32, ptr addrspace(3) @l, i32 %i
  %v = load i32, ptr addrspace(3) %q
  store i32 %v, ptr addrspace(1) %p
  ret void
}}"
        );
        compile(&text, "amdgcn-amd-amdhsa", "gfx900")
    };
    assert!(kernel("poison").is_ok());
    for contents in ["zeroinitializer", "[i32 0, i32 1, i32 2, i32 3]"] {
        let error = kernel(contents).unwrap_err();
        assert!(error.contains("initializer"), "{error}");
    }
}

#[test]
fn traps_need_a_handler() {
    let text = "declare void @llvm.trap()
define amdgpu_kernel void @t() {
  call void @llvm.trap()
  unreachable
}
define amdgpu_kernel void @u() {
  unreachable
}";
    let code = |cpu: &str, attribute: &str, name: &str, trap: bool| {
        let attributes = vec![attribute.to_owned()];
        let function_attributes =
            if trap { vec![("gcnc-trap-unreachable".into(), "true".into())] } else { Vec::new() };
        let triple = "amdgcn-amd-amdhsa".to_owned();
        let options =
            CompileOptions { triple, cpu: cpu.into(), attributes, function_attributes, ..Default::default() };
        instructions(&compile_with(text, options).unwrap(), name)
    };
    let traps = |lines: &[String]| lines.iter().any(|line| line == "s_trap 2");
    // Before GFX9 the handler wants the queue in s[0:1].
    let old = code("gfx803", "", "t", false);
    assert!(traps(&old), "{old:?}");
    // Up to V4 it comes in registers, later among the hidden arguments.
    for (version, asked) in [(4, 4), (5, 0)] {
        let options = CompileOptions {
            triple: "amdgcn-amd-amdhsa".into(),
            cpu: "gfx803".into(),
            code_object_version: Some(version),
            ..Default::default()
        };
        let object = compile_with(text, options).unwrap();
        let file = object::File::parse(&*object).unwrap();
        let place = file.symbols().find(|symbol| symbol.name() == Ok("t.kd")).unwrap().address() as usize;
        let descriptor = &file.section_by_name(".rodata").unwrap().data().unwrap()[place..];
        assert_eq!(descriptor[56] & 4, asked, "the queue pointer of version {version}");
    }
    assert!(old.iter().any(|line| line.ends_with("0xc8")), "{old:?}");
    assert_eq!(code("gfx900", "", "t", false)[0], "s_trap 2");
    assert!(!traps(&code("gfx900", "-trap-handler", "t", false)));
    assert!(!traps(&code("gfx900", "", "u", false)) && traps(&code("gfx900", "", "u", true)));
}

#[test]
fn functions_get_sections_of_their_own() {
    let options = CompileOptions {
        triple: "amdgcn-amd-amdhsa".into(),
        cpu: "gfx900".into(),
        function_sections: true,
        ..Default::default()
    };
    let bytes = compile_with(KERNEL, options).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    assert!(file.section_by_name(".text.k").is_some_and(|section| section.size() > 0));
}

/// What a function says of replay is what the object says, and two functions must not disagree.
#[test]
fn functions_settle_what_the_command_line_leaves_open() {
    let module = |second: &str| {
        format!(
            "define amdgpu_kernel void @a() #0 {{ ret void }}
define amdgpu_kernel void @b() #1 {{ ret void }}
attributes #0 = {{ \"target-features\"=\"-xnack\" }}
attributes #1 = {{ \"target-features\"=\"{second}\" }}"
        )
    };
    let flags = |text: &str| {
        let bytes = compile(text, "amdgcn-amd-amdhsa", "gfx900")?;
        Ok::<_, String>(u32::from_le_bytes(bytes[48..52].try_into().unwrap()))
    };
    assert_eq!(flags(&module("-xnack")), Ok(0x22c));
    assert_eq!(flags(&module("")), Ok(0x22c));
    assert_eq!(flags(KERNEL), Ok(0x12c));
    let error = flags(&module("+xnack")).unwrap_err();
    assert!(error.contains("xnack") && error.contains('b'), "{error}");
}
