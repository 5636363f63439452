//! Intact files of every kind that a reader of gcnc's reads, to be damaged.

use emit::bundle::{Part, compressed, offload_binary, plain, text};
use gcnc::{CompileOptions, FileType};

/// Calls, variables, branches, LDS, metadata of arguments.
const MODULE: &str = include_str!("module.ll");
const ASSEMBLY: &str = include_str!("directives.s");
const LINES: &str = include_str!("lines.s");
const YAML: &str = include_str!("metadata.yaml");
const AMDIL: &str = include_str!("amdil.txt");
const DISPATCH: &str = r#"{"kernel": "k", "grid": [64, 1, 1], "group": [64, 1, 1], "dynamic_lds": 16, "offset": [0, 0, 0],
 "unmapped": "fault", "args": [{"buffer": 256, "fill": "zero"}, {"buffer": 64, "fill": "iota32"}, {"u32": 7}, {"f16": 1.5},
 {"bytes": "00ff"}, {"local": 64}, {"null": true}, {"i64": -3}, {"f32": [1.0, 2.0]}]}"#;

/// Inline assembly: code alone.
const FRAGMENT: &str = "s_mov_b32 s0, 1\n1: s_sub_u32 s0, s0, 1\n.rept 2\n s_nop 0\n.endr\nv_mov_b32 v1, 0x12345\ns_cbranch_scc0 1b\n\
    s_add_u32 s0, s0, there@rel32@lo+4\n.uleb128 b-a, 0\n.byte 0\na: .fill 128\nb:\nimage_load v[0:3], v[4:5], s[0:7] dmask:0xf unorm\n\
    .macro m x\n v_add_f32 v\\x, v1, v2\n.endm\n m 3\n.if b-a > 3\n s_waitcnt vmcnt(0) & lgkmcnt(1)\n.endif\n";

type Result<T> = std::result::Result<T, String>;

/// Triple, processor and version of code objects.
const TARGETS: [(&str, &str, Option<u8>); 9] = [
    ("amdgcn-amd-amdhsa", "gfx803", Some(2)),
    ("amdgcn-amd-amdhsa", "gfx701", Some(3)),
    ("amdgcn-amd-amdhsa", "gfx906", Some(5)),
    ("amdgcn-amd-amdhsa", "gfx900", Some(6)),
    ("amdgcn-mesa-mesa3d", "gfx803", None),
    ("amdgcn--amdpal", "gfx900", None),
    ("amdgcn--", "gfx600", None),
    ("amdgcn-amd-amdhsa", "gfx1030", Some(5)),
    ("amdgcn--amdpal", "gfx1010", None),
];

fn compiled(source: &str, target: (&str, &str, Option<u8>), file_type: FileType) -> Result<Vec<u8>> {
    let (triple, cpu, code_object_version) = target;
    let options = CompileOptions {
        triple: triple.into(),
        cpu: cpu.into(),
        code_object_version,
        file_type,
        ..CompileOptions::default()
    };
    let output = gcnc::compile(source.as_bytes(), "module.ll", &options);
    output.map(|output| output.bytes).map_err(|errors| format!("{triple} {cpu}: {}", errors[0]))
}

fn assembled(text: &str) -> Result<Vec<u8>> {
    let processor = mir::target::Target::processor_by_name("gfx900").ok_or("gfx900 is not known")?;
    emit::assemble(text, &mir::target::Target::new(processor)).map_err(|errors| format!("{}", errors[0]))
}

/// Objects of every system and version, a linked one, and one with line tables.
///
/// # Errors
/// What the compiler or the linker says.
pub fn objects() -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::new();
    for target in TARGETS {
        out.push(compiled(MODULE, target, FileType::Obj)?);
    }
    let whole = MODULE
        .replace("declare void @other()", "define void @other() { ret void }")
        .replace("@extern = external addrspace(1) global i32", "@extern = addrspace(1) global i32 1");
    out.push(compiled(&whole, TARGETS[2], FileType::Hsaco)?);
    out.push(assembled(LINES)?);
    Ok(out)
}

/// The assembly of these, and what compilers do not write.
///
/// # Errors
/// What the compiler says.
pub fn assembly() -> Result<Vec<Vec<u8>>> {
    let mut out = vec![ASSEMBLY.into(), LINES.into()];
    for target in TARGETS {
        out.push(compiled(MODULE, target, FileType::Asm)?);
    }
    let object = compiled(MODULE, TARGETS[3], FileType::Obj)?;
    out.push(emit::disassemble(&object).map_err(|error| error.to_string())?.into_bytes());
    Ok(out)
}

/// Inline assembly, and files, of which it takes parts alone.
///
/// # Errors
/// What the compiler says.
pub fn fragments() -> Result<Vec<Vec<u8>>> {
    Ok([vec![FRAGMENT.into()], assembly()?].concat())
}

/// Metadata as MessagePack, as YAML and of AMDIL.
///
/// # Errors
/// Never, unless the files here are wrong.
pub fn notes() -> Result<[Vec<Vec<u8>>; 3]> {
    let document = mir::abi::Document::from_yaml(YAML).map_err(|error| error.to_string())?;
    let packed = document.to_msgpack().map_err(|error| error.to_string())?;
    Ok([vec![packed], vec![YAML.into()], vec![AMDIL.into()]])
}

/// Bundles of every form.
///
/// # Errors
/// What their writers say.
pub fn bundles() -> Result<Vec<Vec<u8>>> {
    let parts = parts()?;
    let plain = plain::write(&parts, 8).map_err(|error| error.to_string())?;
    let mut out = vec![plain.clone()];
    for method in [compressed::Method::Zlib, compressed::Method::Zstd] {
        for version in 1..=3 {
            let packed = compressed::compress(&plain, method, version);
            out.push(packed.map_err(|error| error.to_string())?);
        }
    }
    out.push(offload_binary::write(&offload_binary::OffloadBinary {
        image_kind: 1,
        offload_kind: 4,
        flags: 0,
        strings: vec![("triple".into(), "amdgcn-amd-amdhsa".into()), ("arch".into(), "gfx900".into())],
        image: parts[1].contents.clone(),
    }));
    let packed = out[4].clone();
    out.push(archive(&[("a.o/", &plain), ("b.o/", &packed), ("c.o/", &parts[2].contents)]));
    Ok(out)
}

/// Bundles as text.
///
/// # Errors
/// What the compiler says.
pub fn text_bundles() -> Result<Vec<Vec<u8>>> {
    let parts = parts()?;
    Ok(vec![text::write(&parts[..1], "#"), text::write(&parts, "#")])
}

fn parts() -> Result<Vec<Part<'static>>> {
    let objects = objects()?;
    let part =
        |target: &'static str, contents: Vec<u8>| Part { target: target.into(), contents: contents.into() };
    Ok(vec![
        part("host-x86_64-unknown-linux-unknown-", Vec::new()),
        part("hip-amdgcn-amd-amdhsa--gfx900", objects[3].clone()),
        part("hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", objects[2].clone()),
    ])
}

/// Objects, and archives of them.
///
/// # Errors
/// What the compiler says.
pub fn linker_inputs() -> Result<Vec<Vec<u8>>> {
    let mut out = objects()?;
    let bundles = bundles()?;
    out.push(archive(&[
        ("a.o/", &out[3]),
        ("b.o/", b"odd"),
        ("//", b"a-name-of-more-than-15.o/\n"),
        ("/0", &out[3]),
    ]));
    out.push(archive(&[("a.o/", &out[2]), ("a.bundle/", &bundles[0])]));
    Ok(out)
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, member) in members {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, member.len());
        out.extend(header.as_bytes());
        out.extend(*member);
        out.extend(std::iter::repeat_n(b'\n', member.len() % 2));
    }
    out
}

/// Descriptions of dispatches.
pub fn dispatches() -> Vec<Vec<u8>> {
    let others = [
        r#"{"kernel": "other", "grid": [1, 2, 3], "group": [1, 1, 1]}"#,
        r#"{"kernel": "k", "grid": [8, 1, 1], "group": [8, 1, 1],
            "args": [{"image": "image2d:3x2:rg:u16", "fill": "iota32"}, {"image": "image1d_buffer:70:r:f32", "out": "x"}, {"sampler": "linear:clamp"}]}"#,
    ];
    [DISPATCH].into_iter().chain(others).map(|text| text.as_bytes().to_vec()).collect()
}

/// Programs before selection and behind it, as the tests of passes have them.
pub fn programs() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../filetests/legalize/call.gcn"),
        include_str!("../../filetests/legalize/tail-call-under-a-branch.gcn"),
        include_str!("../../filetests/insert-prolog/function-that-calls.gcn"),
        include_str!("../../filetests/linearise/loop-with-a-divergent-exit.gcn"),
        include_str!("../../filetests/linearise/whole-wave.gcn"),
    ];
    let programs = files.map(|file| {
        let input = file.split("\n; expect").next().unwrap_or_default();
        let lines = input.lines().filter(|line| !line.starts_with(';'));
        lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
    });
    programs.to_vec()
}
