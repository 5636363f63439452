//! Private memory by buffers and by scratch instructions: arrays, objects of variable size, arguments on the stack, spills, calls.

use super::{Case, ITEMS, check, random_bytes, report};
use std::fmt::Write as _;

/// Functions that the kernels call.
const HEAD: &str = "\
declare ptr addrspace(5) @llvm.stacksave.p5()
declare void @llvm.stackrestore.p5(ptr addrspace(5))

; Pointers to the caller's objects, an array of its own with variable indices.
define internal i32 @reverse(ptr addrspace(5) %p, i32 %n) noinline {
  %a = alloca [8 x i32], align 4, addrspace(5)
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %j, %fill ]
  %k = sub i32 7, %i
  %from = getelementptr i32, ptr addrspace(5) %p, i32 %k
  %v = load i32, ptr addrspace(5) %from
  %to = getelementptr [8 x i32], ptr addrspace(5) %a, i32 0, i32 %i
  store i32 %v, ptr addrspace(5) %to
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 8
  br i1 %more, label %fill, label %end
end:
  %m = and i32 %n, 7
  %q = getelementptr [8 x i32], ptr addrspace(5) %a, i32 0, i32 %m
  %r = load i32, ptr addrspace(5) %q
  ret i32 %r
}

; The last arguments are on the stack.
define internal i32 @many([36 x i32] %a, i32 %last) noinline {
  %x = extractvalue [36 x i32] %a, 35
  %y = extractvalue [36 x i32] %a, 31
  %z = mul i32 %y, 3
  %s = add i32 %x, %z
  %r = xor i32 %s, %last
  ret i32 %r
}

; Calls itself, with an object whose size its argument says.
define internal i32 @deep(i32 %n, i32 %x) noinline {
  %d = alloca i32, i32 %n, align 4, addrspace(5)
  %at = sub i32 %n, 1
  %p = getelementptr i32, ptr addrspace(5) %d, i32 %at
  store volatile i32 %x, ptr addrspace(5) %p
  %stop = icmp eq i32 %n, 1
  br i1 %stop, label %end, label %more
more:
  %y = add i32 %x, %n
  %r = call i32 @deep(i32 %at, i32 %y)
  %v = load volatile i32, ptr addrspace(5) %p
  %s = add i32 %r, %v
  ret i32 %s
end:
  ret i32 %x
}

";

fn dwords(input: &[u8]) -> Vec<u32> {
    input.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()
}

/// A kernel whose lane has eight dwords of input from `%row` on, and leaves `%r`.
fn case(name: &str, code: &str, result: impl Fn(&[u32]) -> u32) -> Case {
    let body = format!(
        "%start = mul i32 %id, 8\n%row = getelementptr i32, ptr addrspace(1) %in, i32 %start\n\
         %w = load i32, ptr addrspace(1) %row\n{code}\
         %to = getelementptr i32, ptr addrspace(1) %out, i32 %id\nstore i32 %r, ptr addrspace(1) %to\n"
    );
    let input = random_bytes(ITEMS * 32, name.len() as u64);
    let expected = dwords(&input).chunks(8).flat_map(|row| result(row).to_le_bytes()).collect();
    Case { name: name.to_owned(), body, before: vec![0; ITEMS * 4], input, expected }
}

fn cases() -> Vec<Case> {
    // Larger than what is a vector.
    let copy = "%all = load <8 x i32>, ptr addrspace(1) %row, align 4\n%a = alloca [20 x i32], align 4, addrspace(5)\n\
                store <8 x i32> %all, ptr addrspace(5) %a, align 4\n";
    let mut cases = vec![
        case(
            "array",
            &format!(
                "{copy}%m = and i32 %w, 7\n%p = getelementptr i32, ptr addrspace(5) %a, i32 %m\n%r = load i32, ptr addrspace(5) %p\n"
            ),
            |row| row[row[0] as usize & 7],
        ),
        // What the index alone gives is no address: it would be below the object.
        case(
            "negative_index",
            &format!(
                "{copy}%m = and i32 %w, 3\n%n = sub i32 %m, 4\n%p = getelementptr i32, ptr addrspace(5) %a, i32 %n\n\
                 %q = getelementptr i32, ptr addrspace(5) %p, i32 5\n%r = load i32, ptr addrspace(5) %q\n"
            ),
            |row| row[(row[0] as usize & 3) + 1],
        ),
        case(
            "far_object",
            &{
                format!(
                    "%big = alloca [3000 x i32], align 4, addrspace(5)\n{copy}%z = getelementptr [3000 x i32], ptr addrspace(5) %big, i32 0, i32 2999\n\
                 store volatile i32 %w, ptr addrspace(5) %z\n%y = getelementptr [3000 x i32], ptr addrspace(5) %big, i32 0, i32 0\n\
                 store volatile i32 7, ptr addrspace(5) %y\n%u = load volatile i32, ptr addrspace(5) %z\n\
                 %m = and i32 %u, 7\n%p = getelementptr i32, ptr addrspace(5) %a, i32 %m\n%v = load volatile i32, ptr addrspace(5) %p\n%r = add i32 %u, %v\n"
                )
            },
            |row| row[0].wrapping_add(row[row[0] as usize & 7]),
        ),
        case("call", &format!("{copy}%r = call i32 @reverse(ptr addrspace(5) %a, i32 %w)\n"), |row| {
            row[7 - (row[0] as usize & 7)]
        }),
        case(
            "variable_size",
            "%n = add i32 %wg, 9\n%s = call ptr addrspace(5) @llvm.stacksave.p5()\n%d = alloca i32, i32 %n, align 4, addrspace(5)\n\
             %p = getelementptr i32, ptr addrspace(5) %d, i32 8\nstore volatile i32 %w, ptr addrspace(5) %p\n\
             %v = load volatile i32, ptr addrspace(5) %p\ncall void @llvm.stackrestore.p5(ptr addrspace(5) %s)\n%r = add i32 %v, 1\n",
            |row| row[0].wrapping_add(1),
        ),
        case("recursion", "%r = call i32 @deep(i32 6, i32 %w)\n", |row| {
            let values: Vec<u32> = [0, 6, 11, 15, 18, 20].iter().map(|n| row[0].wrapping_add(*n)).collect();
            values.iter().fold(0u32, |sum, x| sum.wrapping_add(*x))
        }),
        case(
            "generic_pointer",
            &format!(
                "{copy}%g = addrspacecast ptr addrspace(5) %a to ptr\n%m = and i32 %w, 7\n%p = getelementptr i32, ptr %g, i32 %m\n\
                 store volatile i32 77, ptr %p\n%q = getelementptr i32, ptr addrspace(5) %a, i32 %m\n%r = load volatile i32, ptr addrspace(5) %q\n"
            ),
            |_| 77,
        ),
        case(
            "wide",
            &format!(
                "{copy}%h = getelementptr i8, ptr addrspace(5) %a, i32 4\n%v = load volatile <4 x i32>, ptr addrspace(5) %h, align 4\n\
                 %t = load volatile <3 x i32>, ptr addrspace(5) %a, align 4\n%x = extractelement <4 x i32> %v, i32 3\n\
                 %y = extractelement <3 x i32> %t, i32 2\n%r = sub i32 %x, %y\n"
            ),
            |row| row[4].wrapping_sub(row[2]),
        ),
    ];
    let mut many = String::new();
    for n in 0..36 {
        let before = if n == 0 { "poison".to_owned() } else { format!("%m{}", n - 1) };
        let _ = write!(
            many,
            "%x{n} = add i32 %w, {n}\n%m{n} = insertvalue [36 x i32] {before}, i32 %x{n}, {n}\n"
        );
    }
    many.push_str("%r = call i32 @many([36 x i32] %m35, i32 %w)\n");
    cases.push(case("arguments_on_the_stack", &many, |row| {
        let at = |n: u32| row[0].wrapping_add(n);
        at(35).wrapping_add(at(31).wrapping_mul(3)) ^ row[0]
    }));
    cases
}

/// Arrays that are vectors in registers.
fn small_arrays() -> Vec<Case> {
    let array = |ty: &str, code: &str| {
        format!(
            "%all = load <8 x i32>, ptr addrspace(1) %row, align 4\n%a = alloca {ty}, align 4, addrspace(5)\n\
             store <8 x i32> %all, ptr addrspace(5) %a, align 4\n%m = and i32 %w, 7\n%k = lshr i32 %w, 3\n%n = and i32 %k, 7\n{code}"
        )
    };
    let at = |row: &[u32], shift: u32, mask: u32| (row[0] >> shift & mask) as usize;
    vec![
        case(
            "small_array",
            &array(
                "[8 x i32]",
                "%p = getelementptr i32, ptr addrspace(5) %a, i32 %m\n%r = load i32, ptr addrspace(5) %p\n",
            ),
            move |row| row[at(row, 0, 7)],
        ),
        case(
            "small_array_written",
            &array(
                "[8 x i32]",
                "%p = getelementptr i32, ptr addrspace(5) %a, i32 %m\nstore i32 77, ptr addrspace(5) %p\n\
                 %o = sub i32 %n, 8\n%g = getelementptr i32, ptr addrspace(5) %a, i32 %o\n\
                 %h = getelementptr i32, ptr addrspace(5) %g, i32 8\n%x = load float, ptr addrspace(5) %h\n\
                 %i = bitcast float %x to i32\n%q = getelementptr i32, ptr addrspace(5) %a, i32 5\n\
                 %y = load i32, ptr addrspace(5) %q\n%r = sub i32 %i, %y\n",
            ),
            move |row| {
                let mut array = row.to_vec();
                array[at(row, 0, 7)] = 77;
                array[at(row, 3, 7)].wrapping_sub(array[5])
            },
        ),
        case(
            "small_array_of_pairs",
            &array(
                "[4 x i64]",
                "%c = and i32 %m, 3\n%p = getelementptr i64, ptr addrspace(5) %a, i32 %c\n%v = load i64, ptr addrspace(5) %p\n\
                 %d = and i32 %n, 3\n%q = getelementptr i64, ptr addrspace(5) %a, i32 %d\nstore i64 %v, ptr addrspace(5) %q\n\
                 %u = load i64, ptr addrspace(5) %a\n%h = lshr i64 %u, 32\n%l = xor i64 %u, %h\n%r = trunc i64 %l to i32\n",
            ),
            move |row| {
                let from = if at(row, 3, 3) == 0 { at(row, 0, 3) } else { 0 };
                row[2 * from] ^ row[2 * from + 1]
            },
        ),
        case(
            "small_array_of_rows",
            &array(
                "[2 x [4 x i32]]",
                "%i = and i32 %w, 1\n%i64 = zext i32 %i to i64\n%j = and i32 %n, 3\n%j16 = trunc i32 %j to i16\n\
                 %p = getelementptr [2 x [4 x i32]], ptr addrspace(5) %a, i64 0, i64 %i64, i16 %j16\n\
                 %r = load i32, ptr addrspace(5) %p\n",
            ),
            move |row| row[4 * at(row, 0, 1) + at(row, 3, 3)],
        ),
    ]
}

/// Vectors in an array of which lanes take different ones.
fn vectors() -> Vec<Case> {
    let code = "%all = load <8 x i32>, ptr addrspace(1) %row, align 4\n%a = alloca [4 x <8 x i32>], align 32, addrspace(5)\n\
        %k = and i32 %w, 3\n%p = getelementptr [4 x <8 x i32>], ptr addrspace(5) %a, i32 0, i32 %k\n\
        store volatile <8 x i32> %all, ptr addrspace(5) %p, align 32\n%h = getelementptr i8, ptr addrspace(5) %p, i32 16\n\
        %v = load volatile <4 x i32>, ptr addrspace(5) %h, align 16\n%t = load volatile <3 x i32>, ptr addrspace(5) %p, align 16\n\
        %b = getelementptr i8, ptr addrspace(5) %p, i32 8\n%d = load volatile i64, ptr addrspace(5) %b, align 8\n\
        %g = getelementptr i8, ptr addrspace(5) %p, i32 20\n%l = load volatile <2 x i32>, ptr addrspace(5) %g, align 4\n\
        %x = extractelement <4 x i32> %v, i32 3\n%y = extractelement <3 x i32> %t, i32 2\n%e = lshr i64 %d, 32\n%z = trunc i64 %e to i32\n\
        %l1 = extractelement <2 x i32> %l, i32 1\n%s0 = sub i32 %x, %y\n%s1 = xor i32 %s0, %z\n%r = add i32 %s1, %l1\n";
    vec![case("vectors", code, |row| (row[7].wrapping_sub(row[2]) ^ row[3]).wrapping_add(row[6]))]
}

/// A function that keeps more values than it has registers for, in a kernel and called.
fn spills() -> (String, Vec<Case>) {
    let code = |count: u32| {
        let mut code = String::new();
        for n in 0..count {
            let _ = writeln!(code, "%x{n} = load volatile i32, ptr addrspace(1) %row");
        }
        for n in 0..count {
            let before = if n == 0 { "0".to_owned() } else { format!("%s{}", n - 1) };
            let _ = write!(code, "%t{n} = mul i32 %x{n}, {}\n%s{n} = xor i32 %t{n}, {before}\n", 2 * n + 3);
        }
        code
    };
    let result =
        |count: u32| move |row: &[u32]| (0..count).fold(0u32, |sum, n| sum ^ row[0].wrapping_mul(2 * n + 3));
    let head = format!(
        "define internal i32 @busy(ptr addrspace(1) %row) noinline \"amdgpu-num-vgpr\"=\"24\" {{\n{}ret i32 %s39\n}}\n",
        code(40)
    );
    let called = case("called_spills", "%r = call i32 @busy(ptr addrspace(1) %row)\n", result(40));
    // More values than there are VGPRs.
    let kernel = case("spills", &format!("{}%r = add i32 %s299, 0\n", code(300)), result(300));
    (head, vec![called, kernel])
}

#[test]
fn both_ways_reach_scratch() {
    let mut findings = Vec::new();
    let cases = cases();
    let (head, spills) = spills();
    for features in [&[][..], &["+enable-flat-scratch"]] {
        for level in [0, 2] {
            findings.extend(check(HEAD, &cases, "gfx900", level, features));
            findings.extend(check(&head, &spills, "gfx900", level, features));
        }
    }
    report(&findings, cases.len() + spills.len());
}

/// Elements of 8 and 16 bytes: the header of V2 tells the simulator, as it would a runtime; GFX9 needs nobody to know.
#[test]
fn elements_of_all_sizes() {
    let mut findings = Vec::new();
    let mut all = vectors();
    all.extend(cases().into_iter().filter(|case| case.name != "generic_pointer"));
    for element in
        ["+max-private-element-size-4", "+max-private-element-size-8", "+max-private-element-size-16"]
    {
        for level in [0, 2] {
            for cpu in ["gfx700", "gfx803", "gfx900"] {
                findings.extend(check(HEAD, &all, cpu, level, &["-code-object-v3", element]));
            }
            findings.extend(check(HEAD, &all, "gfx900", level, &[element]));
        }
    }
    report(&findings, all.len());
}

#[test]
fn small_arrays_are_vectors() {
    let mut findings = Vec::new();
    let cases = small_arrays();
    for cpu in ["gfx600", "gfx803", "gfx900", "gfx1010", "gfx1030"] {
        for level in [0, 1, 2] {
            findings.extend(check(HEAD, &cases, cpu, level, &[]));
        }
    }
    findings.extend(check(HEAD, &cases, "gfx1030", 2, &["+wavefrontsize64"]));
    report(&findings, cases.len());
}
