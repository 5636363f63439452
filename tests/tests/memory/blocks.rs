//! `memcpy`, `memmove`, `memset` of constant and variable size between address spaces.

use super::{Case, GROUP, ITEMS, check, has_flat, processors, random_bytes, report};
use std::fmt::Write as _;

/// Bytes of a lane's window.
const WINDOW: usize = 256;

const SIZES: [usize; 15] = [0, 1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 64, 100, 129, 200];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Space {
    Global,
    Constant,
    Local,
    Private,
    Generic,
    Buffer,
}

impl Space {
    fn ptr(self) -> &'static str {
        match self {
            Self::Global => "ptr addrspace(1)",
            Self::Constant => "ptr addrspace(4)",
            Self::Local => "ptr addrspace(3)",
            Self::Private => "ptr addrspace(5)",
            Self::Generic => "ptr",
            Self::Buffer => "ptr addrspace(7)",
        }
    }

    fn letters(self) -> &'static str {
        match self {
            Self::Global => "p1",
            Self::Constant => "p4",
            Self::Local => "p3",
            Self::Private => "p5",
            Self::Generic => "p0",
            Self::Buffer => "p7",
        }
    }
}

/// Definitions of `%NAME`, a window in `space`.
fn window(space: Space, name: &str, global: &str, body: &mut String) {
    let ty = space.ptr();
    let _ = match space {
        Space::Global => writeln!(body, "%{name} = getelementptr i8, ptr addrspace(1) {global}, i32 0"),
        Space::Constant => {
            writeln!(body, "%{name} = addrspacecast ptr addrspace(1) {global} to {ty}")
        }
        Space::Local => writeln!(
            body,
            "%{name}.w = mul i32 %lid, {WINDOW}\n%{name} = getelementptr i8, ptr addrspace(3) @lds, i32 %{name}.w"
        ),
        Space::Private => writeln!(body, "%{name} = alloca [{WINDOW} x i8], align 16, addrspace(5)"),
        Space::Generic => writeln!(
            body,
            "%{name}.w = mul i32 %lid, {WINDOW}\n%{name}.l = getelementptr i8, ptr addrspace(3) @lds, i32 %{name}.w\n\
             %{name}.p = alloca [{WINDOW} x i8], align 16, addrspace(5)\n%{name}.fl = addrspacecast ptr addrspace(3) %{name}.l to ptr\n\
             %{name}.fp = addrspacecast ptr addrspace(5) %{name}.p to ptr\n%{name}.b = and i32 %lid, 1\n\
             %{name}.c = icmp eq i32 %{name}.b, 0\n%{name} = select i1 %{name}.c, ptr %{name}.fl, ptr %{name}.fp"
        ),
        // The whole of the argument is one buffer; 0x27000 is a format that plain accesses pass over.
        Space::Buffer => writeln!(
            body,
            "%{name}.r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) {}, i16 0, i64 {}, i32 159744)\n\
             %{name}.a = addrspacecast ptr addrspace(8) %{name}.r to {ty}\n%{name} = getelementptr i8, {ty} %{name}.a, i32 %gw",
            if global == "%go" { "%out" } else { "%in" },
            ITEMS * WINDOW
        ),
    };
}

/// Copies the whole window by dwords.
fn fill(label: &str, before: &str, to: (Space, &str), from: (Space, &str), body: &mut String) {
    let (tt, ft) = (to.0.ptr(), from.0.ptr());
    let _ = write!(
        body,
        "br label %{label}\n{label}:\n%{label}.i = phi i32 [ 0, %{before} ], [ %{label}.n, %{label} ]\n\
         %{label}.f = getelementptr i32, {ft} {}, i32 %{label}.i\n%{label}.v = load i32, {ft} %{label}.f\n\
         %{label}.t = getelementptr i32, {tt} {}, i32 %{label}.i\nstore i32 %{label}.v, {tt} %{label}.t\n\
         %{label}.n = add i32 %{label}.i, 1\n%{label}.c = icmp ult i32 %{label}.n, {}\n\
         br i1 %{label}.c, label %{label}, label %{label}.end\n{label}.end:\n",
        from.1,
        to.1,
        WINDOW / 4
    );
}

struct Copy {
    op: &'static str,
    to: Space,
    from: Space,
    size: usize,
    variable: bool,
    align: usize,
    volatile: bool,
}

/// Copies from offset 32 of the source's window to offset 16 of the destination's, or within one window.
fn copy(c: &Copy) -> Case {
    let Copy { op, to, from, size, variable, align, volatile } = *c;
    let same = to == from && to != Space::Global;
    let mut body = format!(
        "%gw = mul i32 %id, {WINDOW}\n%go = getelementptr i8, ptr addrspace(1) %out, i32 %gw\n\
         %gi = getelementptr i8, ptr addrspace(1) %in, i32 %gw\n"
    );
    window(from, "src", "%gi", &mut body);
    if !same {
        window(to, "dst", "%go", &mut body);
    }
    let dst = if same { "%src" } else { "%dst" };
    let mut last = "entry";
    if !matches!(from, Space::Global | Space::Constant) {
        fill("fs", last, (from, "%src"), (Space::Global, "%gi"), &mut body);
        last = "fs.end";
    }
    if !same {
        fill("fd", last, (to, dst), (Space::Global, "%gi"), &mut body);
        last = "fd.end";
    }
    let bits = if to == Space::Global || to == Space::Generic { 64 } else { 32 };
    let len = if variable {
        // Different in each lane: from `size` down to 7 less.
        let _ = write!(
            body,
            "%cut = and i32 %lid, 7\n%len32 = sub i32 {size}, %cut\n%len = zext i32 %len32 to i64\n{}",
            if bits == 64 { "%lent = add i64 %len, 0\n" } else { "%lent = trunc i64 %len to i32\n" }
        );
        "%lent".to_owned()
    } else {
        size.to_string()
    };
    let (at_to, at_from) = if op == "memmove" && size % 2 == 1 { (32, 16) } else { (16, 32) };
    let (tt, ft) = (to.ptr(), from.ptr());
    let suffix = if op == "memset" { String::new() } else { format!(".{}", from.letters()) };
    let _ = writeln!(body, "%d = getelementptr i8, {tt} {dst}, i32 {}", at_to + align % 16);
    if op == "memset" {
        let _ = writeln!(body, "%bv = load i8, ptr addrspace(1) %gi");
    } else {
        let _ = writeln!(body, "%s = getelementptr i8, {ft} %src, i32 {}", at_from + align % 16);
    }
    let source = if op == "memset" { "i8 %bv".to_owned() } else { format!("{ft} align {align} %s") };
    let _ = writeln!(
        body,
        "call void @llvm.{op}.{}{suffix}.i{bits}({tt} align {align} %d, {source}, i{bits} {len}, i1 {volatile})",
        to.letters()
    );
    if to != Space::Global {
        fill("end", last, (Space::Global, "%go"), (to, dst), &mut body);
    }
    let input = random_bytes(ITEMS * WINDOW, size as u64 + 77);
    let mut expected = vec![0; input.len()];
    for item in 0..ITEMS {
        let len = if variable { size - ((item % GROUP) & 7) } else { size };
        let own = &input[item * WINDOW..(item + 1) * WINDOW];
        let mut window = own.to_vec();
        let (t, f) = (at_to + align % 16, at_from + align % 16);
        if op == "memset" {
            window[t..t + len].fill(own[0]);
        } else {
            window[t..t + len].copy_from_slice(&own[f..f + len]);
        }
        expected[item * WINDOW..(item + 1) * WINDOW].copy_from_slice(&window);
    }
    let how = if variable { "n" } else { "c" };
    let name = format!("{}_{to:?}_{from:?}_{size}{how}{align}", op.replace('.', "_"));
    Case { name, body, before: vec![0; input.len()], input, expected }
}

fn cases(generic: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let spaces = [Space::Global, Space::Local, Space::Private, Space::Generic, Space::Buffer];
    let mut turn = 0;
    for op in ["memcpy", "memmove", "memset", "memcpy.inline"] {
        for to in spaces {
            for from in spaces.into_iter().chain([Space::Constant]) {
                if !generic && [to, from].contains(&Space::Generic) {
                    continue;
                }
                // Both in LDS would share the window, and copies may not overlap; `memset` has no source.
                let one = [Space::Local, Space::Generic];
                if (op != "memmove"
                    && op != "memset"
                    && (to == from && to != Space::Global || one.contains(&to) && one.contains(&from)))
                    || op == "memmove" && to != from && one.contains(&to) && one.contains(&from)
                    || op == "memset" && from != Space::Global
                {
                    continue;
                }
                // Some sizes of each pair, all of them in the end.
                for _ in 0..2 {
                    turn += 1;
                    let size = SIZES[(turn * 4) % SIZES.len()];
                    let align = [1, 4, 16, 2][turn % 4];
                    let volatile = turn % 7 == 0;
                    if op != "memcpy.inline" && size >= 7 && turn % 2 == 0 {
                        cases.push(copy(&Copy { op, to, from, size, variable: true, align, volatile }));
                    } else {
                        cases.push(copy(&Copy { op, to, from, size, variable: false, align, volatile }));
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn copies_and_fills() {
    let head = format!(
        "@lds = internal addrspace(3) global [{} x i8] poison, align 16\n\
         declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)\n",
        GROUP * WINDOW
    );
    let mut findings = Vec::new();
    let mut count = 0;
    for cpu in processors() {
        let cases = cases(has_flat(&cpu));
        for level in if cpu == "gfx803" { &[0, 2][..] } else { &[2] } {
            count += cases.len();
            findings.extend(check(&head, &cases, &cpu, *level, &[]));
        }
    }
    report(&findings, count);
}
