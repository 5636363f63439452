//! Variables: initial contents of every kind, addresses in them, aliases, and LDS of several variables.

use super::{Case, GROUP, ITEMS, check, processors, random_bytes, report};

const HEAD: &str = "\
@table = internal addrspace(4) constant [4 x i32] [i32 10, i32 -20, i32 30, i32 40], align 4
@bytes = addrspace(4) constant [8 x i8] c\"abc\\00\\FFxyz\", align 1
@wide = internal addrspace(1) constant i128 1339673755198158349044581307228491536, align 16
@odd = internal addrspace(4) constant <{ i8, i48, half, i7 }> <{ i8 1, i48 2, half 0xH3C00, i7 5 }>, align 1
@lanes = internal addrspace(4) constant <3 x i24> <i24 1, i24 -1, i24 3>, align 4
@bits = internal addrspace(4) constant <12 x i1> <i1 1, i1 0, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 1, i1 1, i1 0, i1 1>, align 2
@doubles = internal addrspace(4) constant [2 x double] [double 1.5, double -2.0], align 8
@pointers = internal addrspace(1) constant [2 x ptr addrspace(4)] [ptr addrspace(4) getelementptr (i8, ptr addrspace(4) @table, i64 4), ptr addrspace(4) @bytes], align 8
@hidden = hidden addrspace(1) global i32 77, align 4
@weak = weak addrspace(1) global i32 78, align 4
@protected = protected addrspace(1) global [2 x i32] [i32 79, i32 80], align 4
@plain = addrspace(1) global i32 81, align 4
@zeros = common addrspace(1) global i32 0, align 4
@alias = internal alias i32, getelementptr (i8, ptr addrspace(1) @protected, i64 4)
@section = internal addrspace(1) global i32 82, section \".mine\", align 64
@null3 = internal addrspace(4) constant ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3)), align 4
@a = internal addrspace(3) global [128 x i32] poison, align 4
@b = internal addrspace(3) global [128 x i64] undef, align 16
@c = internal addrspace(3) global [128 x i8] poison, align 1
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @section to ptr)], section \"llvm.metadata\"
";

fn case(name: &str, body: &str, expect: impl Fn(u64) -> u64) -> Case {
    let body = format!(
        "{body}%o = getelementptr i64, ptr addrspace(1) %out, i32 %id\nstore i64 %r, ptr addrspace(1) %o\n"
    );
    let expected = (0..ITEMS as u64).flat_map(|item| expect(item).to_le_bytes()).collect();
    let input = random_bytes(ITEMS * 4, 1);
    Case { name: name.into(), body, before: vec![0; ITEMS * 8], input, expected }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.push(case(
        "table_by_lane",
        "%k = and i32 %id, 3\n%p = getelementptr i32, ptr addrspace(4) @table, i32 %k\n%v = load i32, ptr addrspace(4) %p\n%r = sext i32 %v to i64\n",
        |item| [10i64, -20, 30, 40][item as usize % 4] as u64,
    ));
    cases.push(case(
        "byte_by_lane",
        "%k = and i32 %id, 7\n%p = getelementptr i8, ptr addrspace(4) @bytes, i32 %k\n%v = load i8, ptr addrspace(4) %p\n%r = zext i8 %v to i64\n",
        |item| u64::from(b"abc\0\xffxyz"[item as usize % 8]),
    ));
    cases.push(case(
        "half_of_128_bits",
        "%k = and i32 %id, 1\n%p = getelementptr i64, ptr addrspace(1) @wide, i32 %k\n%r = load i64, ptr addrspace(1) %p\n",
        |item| (1_339_673_755_198_158_349_044_581_307_228_491_536_u128 >> (64 * (item % 2))) as u64,
    ));
    cases.push(case(
        "packed_struct",
        "%b = and i32 %id, 1\n%k = mul i32 %b, 4\n%p = getelementptr i8, ptr addrspace(4) @odd, i32 %k\n%r = load i64, ptr addrspace(4) %p, align 1\n",
        |item| {
            // i48 takes eight bytes even here.
            let bytes = [1u8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x3c, 5];
            let at = 4 * (item as usize % 2);
            u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
        },
    ));
    cases.push(case(
        "odd_lanes",
        "%v = load <3 x i24>, ptr addrspace(4) @lanes\n%k = urem i32 %id, 3\n%e = extractelement <3 x i24> %v, i32 %k\n%r = zext i24 %e to i64\n",
        |item| [1, 0xff_ffff, 3][item as usize % 3],
    ));
    cases.push(case(
        "packed_bits",
        "%v = load <12 x i1>, ptr addrspace(4) @bits\n%i = bitcast <12 x i1> %v to i12\n%r = zext i12 %i to i64\n",
        |_| 0b1011_0000_1101,
    ));
    cases.push(case(
        "double_by_lane",
        "%k = and i32 %id, 1\n%p = getelementptr double, ptr addrspace(4) @doubles, i32 %k\n%d = load double, ptr addrspace(4) %p\n%r = bitcast double %d to i64\n",
        |item| [1.5f64, -2.0][item as usize % 2].to_bits(),
    ));
    cases.push(case(
        "address_in_data",
        "%k = and i32 %id, 1\n%p = getelementptr ptr addrspace(4), ptr addrspace(1) @pointers, i32 %k\n\
         %q = load ptr addrspace(4), ptr addrspace(1) %p\n%v = load i32, ptr addrspace(4) %q, align 1\n%r = zext i32 %v to i64\n",
        |item| [0xffff_ffec, 0x0063_6261][item as usize % 2],
    ));
    for (name, value) in [
        ("hidden", 77),
        ("weak", 78),
        ("protected", 79),
        ("plain", 81),
        ("zeros", 0),
        ("alias", 80),
        ("section", 82),
    ] {
        cases.push(case(
            &format!("read_{name}"),
            &format!("%v = load volatile i32, ptr addrspace(1) @{name}\n%r = zext i32 %v to i64\n"),
            move |_| value,
        ));
    }
    cases.push(case(
        "null_in_data",
        "%v = load ptr addrspace(3), ptr addrspace(4) @null3\n%i = ptrtoint ptr addrspace(3) %v to i32\n%r = zext i32 %i to i64\n",
        |_| 0xffff_ffff,
    ));
    cases.push(case(
        "three_in_lds",
        "%pa = getelementptr i32, ptr addrspace(3) @a, i32 %lid\n%pb = getelementptr i64, ptr addrspace(3) @b, i32 %lid\n\
         %pc = getelementptr i8, ptr addrspace(3) @c, i32 %lid\nstore i32 %id, ptr addrspace(3) %pa\n%wide = zext i32 %id to i64\n\
         %up = shl i64 %wide, 32\nstore i64 %up, ptr addrspace(3) %pb, align 8\n%small = trunc i32 %lid to i8\nstore i8 %small, ptr addrspace(3) %pc\n\
         fence syncscope(\"workgroup\") release\ncall void @llvm.amdgcn.s.barrier()\nfence syncscope(\"workgroup\") acquire\n\
         %other = xor i32 %lid, 127\n%qa = getelementptr i32, ptr addrspace(3) @a, i32 %other\n%qb = getelementptr i64, ptr addrspace(3) @b, i32 %other\n\
         %qc = getelementptr i8, ptr addrspace(3) @c, i32 %other\n%va = load i32, ptr addrspace(3) %qa\n%vb = load i64, ptr addrspace(3) %qb\n\
         %vc = load i8, ptr addrspace(3) %qc\n%xa = zext i32 %va to i64\n%xc = zext i8 %vc to i64\n%hc = shl i64 %xc, 16\n\
         %s = add i64 %vb, %xa\n%r = add i64 %s, %hc\n",
        |item| {
            let lid = item % GROUP as u64;
            let other = lid ^ 127;
            let id = item - lid + other;
            (id << 32) + id + (other << 16)
        },
    ));
    cases
}

#[test]
fn variables_and_their_contents() {
    let mut findings = Vec::new();
    let cases = cases();
    for cpu in processors() {
        for level in [0, 2] {
            findings.extend(check(HEAD, &cases, &cpu, level, &[]));
        }
    }
    report(&findings, cases.len());
}
