//! Casts between address spaces with null in every direction, and which space a generic pointer is in.

use super::{Case, ITEMS, check, has_flat, processors, random_bytes, report};

/// A kernel that stores `%r`, an `i32`, to its place in `out`; `expect` says what for each work-item.
fn case(name: &str, body: &str, expect: impl Fn(u32) -> u32) -> Case {
    let body = format!(
        "{body}%o = getelementptr i32, ptr addrspace(1) %out, i32 %id\nstore i32 %r, ptr addrspace(1) %o\n"
    );
    let expected = (0..ITEMS as u32).flat_map(|item| expect(item).to_le_bytes()).collect();
    let input = random_bytes(ITEMS * 4, 1);
    Case { name: name.into(), body, before: vec![0; ITEMS * 4], input, expected }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (space, variable) in [(3, "@spot"), (5, "%spot")] {
        let spot = if space == 5 { "%spot = alloca i32, addrspace(5)\n" } else { "" };
        // Null of every second lane goes there and back.
        cases.push(case(
            &format!("null_there_and_back_{space}"),
            &format!(
                "{spot}%bit = and i32 %lid, 1\n%no = icmp eq i32 %bit, 0\n\
                 %p = select i1 %no, ptr addrspace({space}) addrspacecast (ptr null to ptr addrspace({space})), ptr addrspace({space}) {variable}\n\
                 %f = addrspacecast ptr addrspace({space}) %p to ptr\n%fi = ptrtoint ptr %f to i64\n%z = icmp eq i64 %fi, 0\n\
                 %b = addrspacecast ptr %f to ptr addrspace({space})\n%same = icmp eq ptr addrspace({space}) %b, %p\n\
                 %zi = zext i1 %z to i32\n%si = select i1 %same, i32 2, i32 0\n%r = or i32 %zi, %si\n"
            ),
            |item| 2 | u32::from(item % 2 == 0),
        ));
        cases.push(case(
            &format!("null_is_all_ones_{space}"),
            &format!(
                "%p = addrspacecast ptr null to ptr addrspace({space})\n%r = ptrtoint ptr addrspace({space}) %p to i32\n"
            ),
            |_| u32::MAX,
        ));
        cases.push(case(
            &format!("uniform_null_{space}"),
            &format!(
                "{spot}%no = icmp eq i32 %wg, 0\n\
                 %p = select i1 %no, ptr addrspace({space}) addrspacecast (ptr null to ptr addrspace({space})), ptr addrspace({space}) {variable}\n\
                 %f = addrspacecast ptr addrspace({space}) %p to ptr\n%z = icmp eq ptr %f, null\n%r = zext i1 %z to i32\n"
            ),
            |item| u32::from(item < 128),
        ));
    }
    let three = "%own = alloca i32, addrspace(5)\n%l = addrspacecast ptr addrspace(3) @spot to ptr\n\
                 %p = addrspacecast ptr addrspace(5) %own to ptr\n%g = addrspacecast ptr addrspace(1) %out to ptr\n\
                 %b0 = and i32 %lid, 1\n%b1 = and i32 %lid, 2\n%c0 = icmp eq i32 %b0, 0\n%c1 = icmp eq i32 %b1, 0\n\
                 %lp = select i1 %c0, ptr %l, ptr %p\n%x = select i1 %c1, ptr %lp, ptr %g\n";
    for (name, lane) in [("shared", 0), ("private", 1)] {
        cases.push(case(
            &format!("is_{name}"),
            &format!("{three}%is = call i1 @llvm.amdgcn.is.{name}(ptr %x)\n%r = zext i1 %is to i32\n"),
            move |item| u32::from(item % 4 == lane),
        ));
    }
    cases.push(case(
        "is_private_uniform",
        "%own = alloca i32, addrspace(5)\n%p = addrspacecast ptr addrspace(5) %own to ptr\n%g = addrspacecast ptr addrspace(1) %out to ptr\n\
         %c = icmp eq i32 %wg, 0\n%x = select i1 %c, ptr %p, ptr %g\n%is = call i1 @llvm.amdgcn.is.private(ptr %x)\n\
         br i1 %is, label %yes, label %no\nyes:\nbr label %no\nno:\n%r = phi i32 [ 0, %entry ], [ 7, %yes ]\n",
        |item| if item < 128 { 7 } else { 0 },
    ));
    // A vector of pointers is cast member by member.
    cases.push(case(
        "vector_of_pointers",
        "%v0 = insertelement <2 x ptr addrspace(3)> poison, ptr addrspace(3) @spot, i32 0\n\
         %v1 = insertelement <2 x ptr addrspace(3)> %v0, ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3)), i32 1\n\
         %f = addrspacecast <2 x ptr addrspace(3)> %v1 to <2 x ptr>\n%back = addrspacecast <2 x ptr> %f to <2 x ptr addrspace(3)>\n\
         %n = icmp eq <2 x ptr> %f, zeroinitializer\n%e = icmp eq <2 x ptr addrspace(3)> %back, %v1\n\
         %n0 = extractelement <2 x i1> %n, i32 0\n%n1 = extractelement <2 x i1> %n, i32 1\n\
         %e0 = extractelement <2 x i1> %e, i32 0\n%e1 = extractelement <2 x i1> %e, i32 1\n\
         %r0 = zext i1 %n0 to i32\n%r1 = select i1 %n1, i32 2, i32 0\n%r2 = select i1 %e0, i32 4, i32 0\n%r3 = select i1 %e1, i32 8, i32 0\n\
         %s0 = or i32 %r0, %r1\n%s1 = or i32 %r2, %r3\n%r = or i32 %s0, %s1\n",
        |_| 14,
    ));
    // Constant memory addressed with 32 bits, the others being an attribute (0 here).
    cases.push(case(
        "constant_32_bits",
        "%i = ptrtoint ptr addrspace(1) %in to i64\n%low = trunc i64 %i to i32\n%p = inttoptr i32 %low to ptr addrspace(6)\n\
         %q = addrspacecast ptr addrspace(6) %p to ptr addrspace(4)\n%qi = ptrtoint ptr addrspace(4) %q to i64\n\
         %want = and i64 %i, 4294967295\n%same = icmp eq i64 %qi, %want\n%r = zext i1 %same to i32\n",
        |_| 1,
    ));
    cases
}

#[test]
fn casts_and_null() {
    let head = "@spot = internal addrspace(3) global i32 poison, align 4\n";
    let mut findings = Vec::new();
    let cases = cases();
    for cpu in processors() {
        if !has_flat(&cpu) {
            continue;
        }
        for level in [0, 2] {
            findings.extend(check(head, &cases, &cpu, level, &[]));
        }
    }
    report(&findings, cases.len());
}
