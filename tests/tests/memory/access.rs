//! Loads and stores of every type at every alignment in every address space.
//!
//! A lane has a window of memory: a source half and a destination half. The window is copied into the space
//! in question, a value is loaded from one half and stored to the other at the same alignment, then the
//! window is copied to `out`.

use super::{Case, GROUP, GROUPS, ITEMS, check, has_flat, processors, random_bytes, report};
use std::fmt::Write as _;

/// Types with the bits that they have in memory.
const TYPES: &[(&str, usize)] = &[
    ("i1", 1),
    ("i7", 7),
    ("i8", 8),
    ("i16", 16),
    ("i24", 24),
    ("i32", 32),
    ("i48", 48),
    ("i56", 56),
    ("i64", 64),
    ("i65", 65),
    ("i96", 96),
    ("i128", 128),
    ("i256", 256),
    ("half", 16),
    ("bfloat", 16),
    ("float", 32),
    ("double", 64),
    ("ptr addrspace(1)", 64),
    ("ptr addrspace(3)", 32),
    ("<2 x i8>", 16),
    ("<3 x i8>", 24),
    ("<4 x i8>", 32),
    ("<7 x i8>", 56),
    ("<16 x i8>", 128),
    ("<2 x i16>", 32),
    ("<3 x i16>", 48),
    ("<8 x i16>", 128),
    ("<4 x half>", 64),
    ("<3 x bfloat>", 48),
    ("<2 x i32>", 64),
    ("<3 x i32>", 96),
    ("<4 x float>", 128),
    ("<5 x i32>", 160),
    ("<16 x i32>", 512),
    ("<2 x i64>", 128),
    ("<3 x double>", 192),
    ("<2 x ptr addrspace(5)>", 64),
    ("<3 x i1>", 3),
    ("<16 x i1>", 16),
    ("<3 x i24>", 72),
    ("<5 x i7>", 35),
    ("[3 x i16]", 48),
    ("<{ i8, i32, i16 }>", 56),
    ("{ i64, <2 x i32>, [2 x float] }", 192),
];

/// Where the value is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Space {
    Global,
    Constant,
    Local,
    Private,
    /// Generic: LDS, scratch or memory by the lane.
    Mixed,
}

fn name_of(ty: &str) -> String {
    let letter = |c: char| match c {
        '<' => 'V',
        '[' => 'A',
        '{' => 'S',
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    ty.chars().map(letter).collect()
}

/// A loop that copies `bytes` bytes as dwords.
fn copy_loop(
    body: &mut String,
    label: &str,
    before: &str,
    to: (&str, &str),
    from: (&str, &str),
    bytes: usize,
) {
    let (to_ty, to) = to;
    let (from_ty, from) = from;
    let _ = write!(
        body,
        "br label %{label}\n{label}:\n%{label}.i = phi i32 [ 0, %{before} ], [ %{label}.n, %{label} ]\n\
         %{label}.f = getelementptr i32, {from_ty} {from}, i32 %{label}.i\n%{label}.v = load i32, {from_ty} %{label}.f\n\
         %{label}.t = getelementptr i32, {to_ty} {to}, i32 %{label}.i\nstore i32 %{label}.v, {to_ty} %{label}.t\n\
         %{label}.n = add i32 %{label}.i, 1\n%{label}.c = icmp ult i32 %{label}.n, {}\n\
         br i1 %{label}.c, label %{label}, label %{label}.end\n{label}.end:\n",
        bytes / 4
    );
}

fn case(ty: &str, bits: usize, space: Space, align: usize) -> Case {
    let bytes = bits.div_ceil(8);
    let half = bytes.next_multiple_of(16) + 16;
    let window = 2 * half;
    let mut body = format!(
        "%window = mul i32 %id, {window}\n%wo = getelementptr i8, ptr addrspace(1) %out, i32 %window\n\
         %wi = getelementptr i8, ptr addrspace(1) %in, i32 %window\n"
    );
    let global = ("ptr addrspace(1)", "%wo");
    let (place_ty, uniform) = match space {
        Space::Global => (global.0, false),
        Space::Constant => ("ptr addrspace(4)", true),
        Space::Local => ("ptr addrspace(3)", false),
        Space::Private => ("ptr addrspace(5)", false),
        Space::Mixed => ("ptr", false),
    };
    let lds = format!(
        "%lw = mul i32 %lid, {window}\n%local = getelementptr i8, ptr addrspace(3) @lds, i32 %lw\n\
         %private = alloca [{window} x i8], align 32, addrspace(5)\n"
    );
    let mut place = "%wo";
    let mut last = "entry";
    match space {
        Space::Global => {}
        Space::Constant => {
            body.push_str(&format!(
                "%uw = mul i32 %wg, {}\n%uo = getelementptr i8, ptr addrspace(1) %in, i32 %uw\n\
                 %place = addrspacecast ptr addrspace(1) %uo to ptr addrspace(4)\n",
                window * GROUP
            ));
            place = "%place";
        }
        Space::Local => {
            body.push_str(&lds);
            place = "%local";
        }
        Space::Private => {
            body.push_str(&lds);
            place = "%private";
        }
        Space::Mixed => {
            body.push_str(&lds);
            body.push_str(
                "%fl = addrspacecast ptr addrspace(3) %local to ptr\n%fp = addrspacecast ptr addrspace(5) %private to ptr\n\
                 %fg = addrspacecast ptr addrspace(1) %wo to ptr\n%b0 = and i32 %lid, 1\n%b1 = and i32 %lid, 2\n\
                 %c0 = icmp eq i32 %b0, 0\n%c1 = icmp eq i32 %b1, 0\n%pl = select i1 %c0, ptr %fl, ptr %fp\n\
                 %place = select i1 %c1, ptr %pl, ptr %fg\n",
            );
            place = "%place";
        }
    }
    if !uniform {
        copy_loop(&mut body, "fill", last, (place_ty, place), ("ptr addrspace(1)", "%wi"), window);
        last = "fill.end";
    }
    // The destination of constant memory is the lane's window.
    let (to_ty, to) = if uniform { global } else { (place_ty, place) };
    let _ = write!(
        body,
        "%from = getelementptr i8, {place_ty} {place}, i32 {align}\n%value = load {ty}, {place_ty} %from, align {align}\n\
         %to = getelementptr i8, {to_ty} {to}, i32 {}\nstore {ty} %value, {to_ty} %to, align {align}\n",
        half + align
    );
    if !matches!(space, Space::Global | Space::Constant) {
        copy_loop(&mut body, "drain", last, global, (place_ty, place), window);
    }
    let mut input = random_bytes(ITEMS * window, (bits * 64 + align) as u64);
    // Bits above an odd width are clear where a value of the type was stored.
    if !bits.is_multiple_of(8) {
        for item in 0..ITEMS {
            input[item * window + align + bytes - 1] &= (1u8 << (bits % 8)) - 1;
        }
    }
    let mut expected = if uniform { vec![0; input.len()] } else { input.clone() };
    for item in 0..ITEMS {
        let source = if uniform { item / GROUP * GROUP } else { item } * window + align;
        let target = item * window + half + align;
        expected[target..target + bytes].copy_from_slice(&input[source..source + bytes]);
    }
    Case {
        name: format!("{}_{space:?}_{align}", name_of(ty)),
        body,
        before: vec![0; input.len()],
        input,
        expected,
    }
}

fn cases(spaces: &[Space]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &(ty, bits) in TYPES {
        for &space in spaces {
            for align in [1, 2, 4, 8, 16] {
                cases.push(case(ty, bits, space, align));
            }
        }
    }
    cases
}

const LDS: &str = "@lds = internal addrspace(3) global [20480 x i8] poison, align 32\n";

fn matrix(spaces: &[Space]) {
    let mut findings = Vec::new();
    let mut count = 0;
    let cases = cases(spaces);
    for cpu in processors() {
        if spaces.contains(&Space::Mixed) && !has_flat(&cpu) {
            continue;
        }
        for level in if cpu == "gfx900" { &[0, 2][..] } else { &[2] } {
            count += cases.len();
            findings.extend(check(LDS, &cases, &cpu, *level, &[]));
        }
        if cpu == "gfx900" {
            count += cases.len();
            findings.extend(check(LDS, &cases, &cpu, 2, &["-unaligned-access-mode"]));
        }
        if cpu == "gfx900" && spaces.iter().any(|space| matches!(space, Space::Private | Space::Mixed)) {
            for level in [0, 2] {
                count += cases.len();
                findings.extend(check(LDS, &cases, &cpu, level, &["+enable-flat-scratch"]));
            }
        }
    }
    report(&findings, count);
}

#[test]
fn global_and_constant_memory() {
    matrix(&[Space::Global, Space::Constant]);
}

#[test]
fn local_memory() {
    matrix(&[Space::Local]);
}

#[test]
fn private_memory() {
    matrix(&[Space::Private]);
}

#[test]
fn generic_memory() {
    matrix(&[Space::Mixed]);
}

/// Constant offsets around the limits of every encoding, read through one space and written to `out`.
#[test]
fn offsets() {
    const BYTES: usize = 3 << 20;
    const MIDDLE: i64 = 1 << 20;
    let far: Vec<i64> = [
        0, 4, 1016, 1020, 1024, 2044, 4088, 4092, 4095, 4096, 4097, 8188, 8192, 16380, 65532, 65536,
        0xf_fff8, 0xf_fffc, 0x10_0000, 0x10_0004, -4, -8, -4092, -4096, -4097, -8192, -0x10_0000,
    ]
    .into();
    let input = random_bytes(BYTES, 5);
    let mut cases = Vec::new();
    for &offset in &far {
        for (kind, bytes, ty) in [
            ("u", 4, "i32"),
            ("u", 8, "<2 x i32>"),
            ("u", 12, "<3 x i32>"),
            ("d", 4, "i32"),
            ("d", 16, "<4 x i32>"),
            ("d", 1, "i8"),
        ] {
            if kind == "u" && offset % 4 != 0 {
                continue;
            }
            let name = format!("off_{kind}{bytes}_{}", offset.to_string().replace('-', "m"));
            let align = if offset % 4 == 0 { bytes.min(4) } else { 1 };
            let space = if kind == "u" { 4 } else { 1 };
            let index = if kind == "u" { "%wg" } else { "%id" };
            let body = format!(
                "%start = mul i32 {index}, 4\n%wide = sext i32 %start to i64\n%f = addrspacecast ptr addrspace(1) %in to ptr\n\
                 %c = addrspacecast ptr %f to ptr addrspace({space})\n\
                 %middle = getelementptr i8, ptr addrspace({space}) %c, i64 {MIDDLE}\n%lane = getelementptr i8, ptr addrspace({space}) %middle, i64 %wide\n\
                 %from = getelementptr i8, ptr addrspace({space}) %lane, i64 {offset}\n%v = load {ty}, ptr addrspace({space}) %from, align {align}\n\
                 %to = getelementptr [16 x i8], ptr addrspace(1) %out, i32 %id\nstore {ty} %v, ptr addrspace(1) %to\n"
            );
            let mut expected = vec![0; ITEMS * 16];
            for item in 0..ITEMS {
                let index = if kind == "u" { item / GROUP } else { item } as i64;
                let from = (MIDDLE + 4 * index + offset) as usize;
                expected[item * 16..item * 16 + bytes].copy_from_slice(&input[from..from + bytes]);
            }
            cases.push(Case { name, body, input: input.clone(), before: vec![0; ITEMS * 16], expected });
        }
    }
    let mut findings = Vec::new();
    for cpu in processors() {
        findings.extend(check("", &cases, &cpu, 2, &[]));
    }
    report(&findings, cases.len());
}

/// Stack objects far beyond what an immediate offset reaches, and LDS close to its end, with constant and
/// variable offsets.
#[test]
fn large_objects() {
    let mut cases = Vec::new();
    let add = |cases: &mut Vec<Case>, name: &str, body: &str| {
        let input = random_bytes(ITEMS * 4, 9);
        cases.push(Case {
            name: name.into(),
            body: body.into(),
            before: vec![0; input.len()],
            expected: input.clone(),
            input,
        });
    };
    let io = "%gi = getelementptr i32, ptr addrspace(1) %in, i32 %id\n%go = getelementptr i32, ptr addrspace(1) %out, i32 %id\n\
              %v = load i32, ptr addrspace(1) %gi\n";
    for (index, at) in [0i32, 4092, 4096, 8188, 12288, 16380].into_iter().enumerate() {
        // A constant place, and the same place with half of it in a register that differs between lanes.
        add(
            &mut cases,
            &format!("stack_constant_{index}"),
            &format!(
                "%a = alloca [64 x i32], align 4, addrspace(5)\n%b = alloca [16384 x i8], align 16, addrspace(5)\n{io}\
                 %p = getelementptr i8, ptr addrspace(5) %b, i32 {at}\nstore volatile i32 %v, ptr addrspace(5) %p\n\
                 store volatile i32 7, ptr addrspace(5) %a\n\
                 %w = load volatile i32, ptr addrspace(5) %p\nstore i32 %w, ptr addrspace(1) %go\n"
            ),
        );
        add(
            &mut cases,
            &format!("stack_variable_{index}"),
            &format!(
                "%b = alloca [16896 x i8], align 16, addrspace(5)\n{io}%m = and i32 %lid, 127\n%x = mul i32 %m, 4\n\
                 %q = getelementptr i8, ptr addrspace(5) %b, i32 %x\n%p = getelementptr i8, ptr addrspace(5) %q, i32 {at}\n\
                 store volatile i32 %v, ptr addrspace(5) %p\n%n = getelementptr i8, ptr addrspace(5) %p, i32 -4\n\
                 %skip = icmp eq i32 %lid, 0\nbr i1 %skip, label %on, label %touch\ntouch:\nstore volatile i32 0, ptr addrspace(5) %n\nbr label %on\non:\n\
                 %w = load volatile i32, ptr addrspace(5) %p\nstore i32 %w, ptr addrspace(1) %go\n"
            ),
        );
    }
    for (index, at) in [0, 1020, 1024, 4096, 20000, 28000].into_iter().enumerate() {
        // The base alone would be negative: LDS is checked before the offset is added on the first
        // generation.
        add(
            &mut cases,
            &format!("local_negative_{index}"),
            &format!(
                "{io}%x = mul i32 %lid, 4\n%s = sub i32 %x, {at}\n%q = getelementptr i8, ptr addrspace(3) @big, i32 %s\n\
                 %p = getelementptr i8, ptr addrspace(3) %q, i32 {at}\nstore i32 %v, ptr addrspace(3) %p, align 4\n\
                 %w = load i32, ptr addrspace(3) %p, align 4\nstore i32 %w, ptr addrspace(1) %go\n"
            ),
        );
        add(
            &mut cases,
            &format!("local_far_{index}"),
            &format!(
                "{io}%x = mul i32 %lid, 8\n%q = getelementptr i8, ptr addrspace(3) @big, i32 %x\n\
                 %p = getelementptr i8, ptr addrspace(3) %q, i32 {at}\nstore i32 %v, ptr addrspace(3) %p, align 4\n\
                 %r = getelementptr i8, ptr addrspace(3) %p, i32 4\nstore i32 %v, ptr addrspace(3) %r, align 4\n\
                 %w = load i32, ptr addrspace(3) %p, align 4\n%y = load i32, ptr addrspace(3) %r, align 4\n\
                 %z = or i32 %w, %y\nstore i32 %z, ptr addrspace(1) %go\n"
            ),
        );
    }
    let head = "@big = internal addrspace(3) global [30000 x i8] poison, align 16\n";
    let mut findings = Vec::new();
    for cpu in processors() {
        for level in [0, 2] {
            findings.extend(check(head, &cases, &cpu, level, &[]));
        }
    }
    assert_eq!(GROUPS * GROUP, ITEMS);
    report(&findings, cases.len());
}
