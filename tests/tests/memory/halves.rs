//! Loads into one half of a register, stores from one, and what is around them in memory's order.

use super::{Case, ITEMS, check, random_bytes, report};

/// Bytes of a lane's window.
const WINDOW: usize = 16;

/// Where the window is.
const SPACES: [(&str, &str); 4] = [("global", "1"), ("local", "3"), ("private", "5"), ("generic", "0")];

fn word(window: &[u8], at: usize) -> u64 {
    u64::from(window[at]) | u64::from(window[at + 1]) << 8
}

/// A program that leaves `%r`, an i64, and what that is. `$` stands for the pointer to the window's byte that follows.
type Form = (&'static str, &'static str, fn(&[u8]) -> u64);

/// `%w` is the window's last dword, in a register.
#[rustfmt::skip]
const FORMS: &[Form] = &[
    ("low_then_high", "%l = load i16, $2\n%h = load i16, $6\n%a = insertelement <2 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    ("high_then_low", "%h = load i16, $6\n%l = load i16, $2\n%a = insertelement <2 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    ("halves", "%l = load half, $2\n%h = load half, $6\n%a = insertelement <2 x half> poison, half %l, i32 0\n\
      %b = insertelement <2 x half> %a, half %h, i32 1\n%c = bitcast <2 x half> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    ("keeps_low", "%l = load i16, $2\n%v = bitcast i32 %w to <2 x i16>\n%b = insertelement <2 x i16> %v, i16 %l, i32 1\n\
      %c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 12) | word(m, 2) << 16),
    ("keeps_high", "%v = bitcast i32 %w to <2 x i16>\n%l = load i16, $2\n%b = insertelement <2 x i16> %v, i16 %l, i32 0\n\
      %c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 14) << 16 | word(m, 2)),
    ("byte", "%l = load i8, $3\n%x = zext i8 %l to i16\n%v = bitcast i32 %w to <2 x i16>\n%b = insertelement <2 x i16> %v, i16 %x, i32 1\n\
      %c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 12) | u64::from(m[3]) << 16),
    ("signed_byte", "%v = bitcast i32 %w to <2 x i16>\n%l = load i8, $3\n%x = sext i8 %l to i16\n%b = insertelement <2 x i16> %v, i16 %x, i32 0\n\
      %c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 14) << 16 | u64::from(m[3] as i8 as u16)),
    ("disjunction", "%l = load i16, $2\n%h = load i16, $6\n%x = zext i16 %l to i32\n%y = zext i16 %h to i32\n%z = shl i32 %y, 16\n\
      %c = or i32 %x, %z\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    ("signed_disjunction", "%m = and i32 %w, 65535\n%h = load i8, $5\n%y = sext i8 %h to i32\n%z = shl i32 %y, 16\n\
      %c = or i32 %z, %m\n%r = zext i32 %c to i64\n",
     |m| word(m, 12) | u64::from(m[5] as i8 as u16) << 16),
    ("masked_high", "%m = and i32 %w, -65536\n%l = load i16, $2\n%x = zext i16 %l to i32\n%c = or i32 %x, %m\n%r = zext i32 %c to i64\n",
     |m| word(m, 14) << 16 | word(m, 2)),
    ("constant", "%l = load i16, $2\n%h = load i16, $4\n%a = insertelement <4 x i16> <i16 poison, i16 -3, i16 77, i16 poison>, i16 %l, i32 0\n\
      %b = insertelement <4 x i16> %a, i16 %h, i32 3\n%r = bitcast <4 x i16> %b to i64\n",
     |m| word(m, 2) | 0xfffd << 16 | 77 << 32 | word(m, 4) << 48),
    ("four", "%k = load i16, $0\n%l = load i16, $2\n%n = load i16, $10\n%h = load i16, $6\n%a = insertelement <4 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <4 x i16> %a, i16 %h, i32 3\n%c = insertelement <4 x i16> %b, i16 %k, i32 1\n\
      %d = insertelement <4 x i16> %c, i16 %n, i32 2\n%r = bitcast <4 x i16> %d to i64\n",
     |m| word(m, 2) | word(m, 0) << 16 | word(m, 10) << 32 | word(m, 6) << 48),
    ("used_twice", "%l = load i16, $2\n%h = load i16, $6\n%a = insertelement <2 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%x = zext i32 %c to i64\n%y = zext i16 %h to i64\n\
      %z = shl i64 %y, 40\n%r = or i64 %x, %z\n",
     |m| word(m, 2) | word(m, 6) << 16 | word(m, 6) << 40),
    ("volatile", "%l = load volatile i16, $2\n%h = load volatile i16, $6\n%a = insertelement <2 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    // What is stored in between must not be seen.
    ("before_a_store", "%l = load i16, $2\n%h = load i16, $6\nstore i16 9, $6\nstore i16 8, $2\n%a = insertelement <2 x i16> poison, i16 %l, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| word(m, 2) | word(m, 6) << 16),
    ("low_is_late", "%h = load i16, $6\n%l = load i16, $2\n%x = mul i16 %l, 3\n%a = insertelement <2 x i16> poison, i16 %x, i32 0\n\
      %b = insertelement <2 x i16> %a, i16 %h, i32 1\n%c = bitcast <2 x i16> %b to i32\n%r = zext i32 %c to i64\n",
     |m| ((word(m, 2) * 3) & 0xffff) | word(m, 6) << 16),
    ("store_high", "%s = lshr i32 %w, 16\n%t = trunc i32 %s to i16\nstore i16 %t, $4\n%u = trunc i32 %s to i8\nstore i8 %u, $6\n\
      %x = load i32, ptr addrspace(@) %p4, align 4\n%r = zext i32 %x to i64\n",
     |m| word(m, 14) | u64::from(m[14]) << 16 | u64::from(m[7]) << 24),
    // Neighbours, which one load may bring, and what is made of them.
    ("bytes", "%a = load i8, $4\n%b = load i8, $5\n%c = load i8, $6\n%d = load i8, $7\n%e = sext i8 %a to i32\n%f = sext i8 %b to i32\n\
      %g = zext i8 %c to i32\n%h = sext i8 %d to i32\n%i = mul i32 %e, %f\n%j = mul i32 %g, %h\n%k = sub i32 %i, %j\n%l = mul i32 %k, %f\n\
      %r = sext i32 %l to i64\n",
     |m| {
         let [e, f, h] = [m[4], m[5], m[7]].map(|byte| i64::from(byte as i8));
         ((e * f - i64::from(m[6]) * h) * f) as u64
     }),
    ("bytes_at_any_place", "%c = load i8, $3\n%a = load i8, $1\n%b = load i8, $2\n%d = load i8, $4\n%e = zext i8 %a to i64\n\
      %f = zext i8 %b to i64\n%g = sext i8 %c to i64\n%h = zext i8 %d to i64\n%i = shl i64 %e, 32\n%j = mul i64 %f, %g\n%k = add i64 %i, %j\n\
      %r = sub i64 %k, %h\n",
     |m| {
         let product = i64::from(m[2]) * i64::from(m[3] as i8);
         (u64::from(m[1]) << 32).wrapping_add_signed(product).wrapping_sub(u64::from(m[4]))
     }),
    ("bytes_of_a_word", "%a = load i8, $8\n%b = load i8, $9\n%c = load i8, $10\n%d = load i8, $11\n%e = zext i8 %a to i32\n\
      %f = zext i8 %b to i32\n%g = zext i8 %c to i32\n%h = zext i8 %d to i32\n%i = shl i32 %f, 8\n%j = shl i32 %g, 16\n%k = shl i32 %h, 24\n\
      %l = or i32 %e, %i\n%n = or i32 %j, %k\n%o = or i32 %l, %n\n%x = zext i32 %o to i64\n%q = shl i32 %e, 24\n%s = shl i32 %f, 16\n\
      %t = shl i32 %g, 8\n%u = or i32 %q, %s\n%v = or i32 %t, %h\n%y = or i32 %u, %v\n%z = zext i32 %y to i64\n%aa = shl i64 %z, 32\n\
      %r = or i64 %x, %aa\n",
     |m| word(m, 8) | word(m, 10) << 16 | u64::from(u32::from_be_bytes([m[8], m[9], m[10], m[11]])) << 32),
    ("bytes_and_a_half", "%a = load i8, $4\n%h = load i16, $6\n%b = load i8, $5\n%c = sext i16 %h to i32\n%d = sext i8 %b to i32\n\
      %e = zext i8 %a to i32\n%f = mul i32 %c, %d\n%g = add i32 %f, %e\n%r = sext i32 %g to i64\n",
     |m| (i64::from(word(m, 6) as i16) * i64::from(m[5] as i8) + i64::from(m[4])) as u64),
    ("two_halves", "%a = load i16, $4\n%b = load i16, $6\n%c = sext i16 %a to i64\n%d = zext i16 %b to i64\n%e = mul i64 %c, %d\n\
      %f = trunc i16 %b to i8\n%g = sext i8 %f to i64\n%r = add i64 %e, %g\n",
     |m| (i64::from(word(m, 4) as i16) * word(m, 6) as i64 + i64::from(m[6] as i8)) as u64),
    ("two_halves_at_any_place", "%a = load i16, $5, align 1\n%b = load i16, $7, align 1\n%c = zext i16 %a to i32\n%d = sext i16 %b to i32\n\
      %e = ashr i32 %d, 3\n%f = add i32 %c, %e\n%r = sext i32 %f to i64\n",
     |m| (word(m, 5) as i64 + i64::from(word(m, 7) as i16 >> 3)) as u64),
    ("two_bytes", "%a = load i8, $10\n%b = load i8, $11\n%c = uitofp i8 %a to float\n%d = sitofp i8 %b to float\n%e = fmul float %c, %d\n\
      %r = fptosi float %e to i64\n",
     |m| (i64::from(m[10]) * i64::from(m[11] as i8)) as u64),
    ("bytes_around_a_store", "%a = load i8, $4\n%b = load i8, $5\nstore i8 9, $6\n%c = load i8, $6\n%d = load i8, $7\nstore i8 7, $5\n\
      %e = load i8, $5\n%f = zext i8 %a to i64\n%g = zext i8 %b to i64\n%h = zext i8 %c to i64\n%i = zext i8 %d to i64\n%j = zext i8 %e to i64\n\
      %k = shl i64 %g, 8\n%l = shl i64 %h, 16\n%n = shl i64 %i, 24\n%o = shl i64 %j, 32\n%q = or i64 %f, %k\n%s = or i64 %l, %n\n\
      %t = or i64 %q, %s\n%r = or i64 %t, %o\n",
     |m| word(m, 4) | 9 << 16 | u64::from(m[7]) << 24 | 7 << 32),
];

/// The kernel of `form` in `space`.
fn case((name, code, result): &Form, (space_name, space): (&str, &str)) -> Case {
    let place = match space {
        "1" => "%p = getelementptr i8, ptr addrspace(1) %in, i32 %window\n".to_owned(),
        "3" => "%lw = mul i32 %lid, 16\n%p = getelementptr i8, ptr addrspace(3) @lds, i32 %lw\n".to_owned(),
        "5" => "%p = alloca [16 x i8], align 16, addrspace(5)\n".to_owned(),
        _ => {
            "%pp = alloca [16 x i8], align 16, addrspace(5)\n%p = addrspacecast ptr addrspace(5) %pp to ptr\n"
                .to_owned()
        }
    };
    let mut body = format!(
        "%window = mul i32 %id, {WINDOW}\n%from = getelementptr i8, ptr addrspace(1) %in, i32 %window\n{place}\
         %all = load <4 x i32>, ptr addrspace(1) %from\n"
    );
    if space != "1" {
        body.push_str(&format!("store <4 x i32> %all, ptr addrspace({space}) %p\n"));
    }
    for at in 0..12 {
        body.push_str(&format!("%p{at} = getelementptr i8, ptr addrspace({space}) %p, i32 {at}\n"));
    }
    body.push_str("%w = extractelement <4 x i32> %all, i32 3\n");
    body.push_str(&code.replace('$', "ptr addrspace(@) %p").replace('@', space));
    body.push_str(
        "%to = getelementptr i64, ptr addrspace(1) %out, i32 %id\nstore i64 %r, ptr addrspace(1) %to\n",
    );
    let input = random_bytes(ITEMS * WINDOW, name.len() as u64);
    let expected = input.chunks(WINDOW).flat_map(|window| result(window).to_le_bytes()).collect();
    Case { name: format!("{name}_{space_name}"), body, before: vec![0; ITEMS * 8], input, expected }
}

const LDS: &str = "@lds = internal addrspace(3) global [2048 x i8] poison, align 16\n";

/// Processors with features, and whether loads keep the other half.
const SETTINGS: &[(&str, &[&str], bool)] = &[
    ("gfx900", &[], true),
    ("gfx900", &["+enable-flat-scratch"], true),
    ("gfx906", &[], false),
    ("gfx906", &["+sramecc"], false),
    ("gfx906", &["-sramecc"], true),
    ("gfx803", &[], false),
];

#[test]
fn halves_are_loaded_and_stored() {
    let cases: Vec<Case> = FORMS.iter().flat_map(|form| SPACES.map(|space| case(form, space))).collect();
    let mut findings = Vec::new();
    // The simulator runs gfx906 with SRAM ECC, whatever the object says.
    for &(cpu, attributes, _) in SETTINGS.iter().filter(|setting| setting.1 != ["-sramecc"]) {
        for level in [0, 2] {
            findings.extend(check(LDS, &cases, cpu, level, attributes));
        }
    }
    report(&findings, cases.len());
}

/// They are chosen where SRAM ECC is off, in every address space, and nowhere else.
#[test]
fn sram_ecc_decides() {
    let wanted = ["low_then_high", "high_then_low", "keeps_low", "byte", "disjunction", "masked_high"];
    for &(cpu, attributes, keeps) in SETTINGS {
        for space in SPACES {
            for form in FORMS.iter().filter(|form| wanted.contains(&form.0)) {
                let options = gcnc::CompileOptions {
                    cpu: cpu.to_owned(),
                    attributes: attributes.iter().map(ToString::to_string).collect(),
                    // Private objects stay in memory.
                    opt_level: 0,
                    ..Default::default()
                };
                let text = super::module(LDS, &[case(form, space)]);
                let output = gcnc::compile(text.as_bytes(), "halves", &options).expect("compiles");
                let text = String::from_utf8_lossy(&output.bytes);
                let loads = |line: &str| line.contains("load") || line.contains("read");
                let chosen = text.lines().any(|line| loads(line) && line.contains("_d16"));
                assert_eq!(chosen, keeps, "{cpu} {attributes:?} {} {}:\n{text}", form.0, space.0);
            }
        }
    }
}
