//! Values of all lanes of the wave that pass through block parameters. Each kernel runs on the simulator, and its results are computed here, lane by lane.

use gcnc_tests::gpu::{ITEMS, run_words as run};

const HEADER: &str = "
target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.set.inactive.i32(i32, i32)
declare i64 @llvm.amdgcn.set.inactive.i64(i64, i64)
declare i32 @llvm.amdgcn.strict.wwm.i32(i32)
declare i64 @llvm.amdgcn.strict.wwm.i64(i64)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
";

/// That `text` leaves `expected` at both levels. Lanes that are not asked leave 0.
fn check(text: &str, input: &[u32], expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..ITEMS).map(expected).collect();
    for cpu in ["gfx600", "gfx803", "gfx900"] {
        for level in [0, 2] {
            assert_eq!(run(&format!("{HEADER}{text}"), cpu, level, input), expected, "{cpu} -O{level}");
        }
    }
}

/// Two values trade places in a loop, of which lanes that are not in it read theirs afterwards.
#[test]
fn values_of_all_lanes_go_around_a_loop() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %n = load i32, ptr addrspace(1) %in
  %odd = and i32 %id, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %pre, label %end
pre:
  %init = call i32 @llvm.amdgcn.set.inactive.i32(i32 %id, i32 1000)
  br label %loop
loop:
  %i = phi i32 [0, %pre], [%i2, %loop]
  %a = phi i32 [%init, %pre], [%b, %loop]
  %b = phi i32 [7, %pre], [%a2, %loop]
  %si = call i32 @llvm.amdgcn.set.inactive.i32(i32 %i, i32 300)
  %a2 = add i32 %a, %si
  %i2 = add i32 %i, 1
  %l = icmp ult i32 %i2, %n
  br i1 %l, label %loop, label %done
done:
  %x = call i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 5)
  %y = call i32 @llvm.amdgcn.readlane.i32(i32 %b, i32 4)
  %s = add i32 %x, %y
  %s3 = add i32 %s, %a
  %r = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %s3)
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %r, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
";
    for turns in [1, 2, 9] {
        let values = |lane: u32| {
            let active = lane.is_multiple_of(2);
            let (mut a, mut b) = (if active { lane } else { 1000 }, 7u32);
            for i in 0..turns - 1 {
                let step = if active { i } else { 300 };
                (a, b) = (b, a + step);
            }
            (a, b)
        };
        check(text, &[turns], |lane| match lane.is_multiple_of(2) {
            true => values(5).0 + values(4).1 + values(lane).0,
            false => 0,
        });
    }
}

/// A uniform branch chooses between two values of 64 bits.
#[test]
fn values_of_all_lanes_come_from_either_side_of_a_uniform_branch() {
    let text = "
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %wide = zext i32 %id to i64
  %n = load i32, ptr addrspace(1) %in
  %n1 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %n)
  %low = icmp ult i32 %id, 20
  br i1 %low, label %some, label %end
some:
  %u = icmp eq i32 %n1, 1
  br i1 %u, label %one, label %two
one:
  %x = call i64 @llvm.amdgcn.set.inactive.i64(i64 %wide, i64 4294967298)
  br label %join
two:
  %y = call i64 @llvm.amdgcn.set.inactive.i64(i64 3, i64 55834574848)
  %y1 = add i64 %y, 4
  br label %join
join:
  %p = phi i64 [%x, %one], [%y1, %two]
  %h = lshr i64 %p, 32
  %t = trunc i64 %h to i32
  %v = call i32 @llvm.amdgcn.readlane.i32(i32 %t, i32 63)
  %w = zext i32 %v to i64
  %z = add i64 %p, %w
  %r = call i64 @llvm.amdgcn.strict.wwm.i64(i64 %z)
  %r32 = trunc i64 %r to i32
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %r32, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
";
    check(text, &[1], |lane| if lane < 20 { lane + 1 } else { 0 });
    check(text, &[2], |lane| if lane < 20 { 7 + 13 } else { 0 });
}

/// Loads of each turn that live together, more than the registers that are left.
const TOGETHER: u32 = 40;

/// Values of all lanes go around a loop whose ordinary values are spilled, in which `call` may be called.
fn under_pressure(call: bool, attributes: &str) -> String {
    let lines = |line: &dyn Fn(u32) -> String| (0..TOGETHER).map(line).collect::<String>();
    let loads = lines(&|j| {
        format!(
            "  %p{j} = getelementptr i32, ptr addrspace(1) %mine, i32 {}\n  %l{j} = load volatile i32, ptr addrspace(1) %p{j}\n",
            j + 1
        )
    });
    let sum = |of: &dyn Fn(u32) -> u32, to: &str, from: &str| {
        lines(&|j| {
            let before = if j == 0 { from.to_owned() } else { format!("%{to}{}", j - 1) };
            format!("  %{to}m{j} = mul i32 {before}, 3\n  %{to}{j} = add i32 %{to}m{j}, %l{}\n", of(j))
        })
    };
    let (forth, back) = (
        sum(&|j| j, "forth", "%acc"),
        sum(&|j| TOGETHER - 1 - j, "back", &format!("%forth{}", TOGETHER - 1)),
    );
    let last = format!("%back{}", TOGETHER - 1);
    let acc = match call {
        true => format!("  %acc2 = call i32 @f(i32 {last}, i32 %id)\n"),
        false => format!("  %acc2 = add i32 {last}, 0\n"),
    };
    format!(
        "
define internal i32 @f(i32 %x, i32 %y) noinline {{
  %m = mul i32 %x, %y
  %s = call i32 @llvm.amdgcn.set.inactive.i32(i32 %m, i32 17)
  %l = call i32 @llvm.amdgcn.readlane.i32(i32 %s, i32 7)
  %t = add i32 %s, %l
  %w = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %t)
  call void asm sideeffect \"\", \"~{{v0}},~{{v1}},~{{v2}},~{{v3}},~{{v4}},~{{v5}},~{{v6}},~{{v7}},~{{v31}}\"()
  %r = xor i32 %w, %x
  ret i32 %r
}}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %n0 = load i32, ptr addrspace(1) %in
  %n = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %n0)
  %mine = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %odd = and i32 %id, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %pre, label %end
pre:
  %id3 = mul i32 %id, 3
  %id7 = mul i32 %id, 7
  %a0 = call i32 @llvm.amdgcn.set.inactive.i32(i32 %id3, i32 500)
  %b0 = call i32 @llvm.amdgcn.set.inactive.i32(i32 %id7, i32 900)
  br label %loop
loop:
  %i = phi i32 [0, %pre], [%i2, %loop]
  %acc = phi i32 [0, %pre], [%acc2, %loop]
  %a = phi i32 [%a0, %pre], [%a2, %loop]
  %b = phi i32 [%b0, %pre], [%a, %loop]
  %step = call i32 @llvm.amdgcn.set.inactive.i32(i32 %i, i32 50)
  %a2 = add i32 %b, %step
{loads}{forth}{back}{acc}  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, %n
  br i1 %more, label %loop, label %done
done:
  %x = call i32 @llvm.amdgcn.readlane.i32(i32 %a, i32 5)
  %y = call i32 @llvm.amdgcn.readlane.i32(i32 %b, i32 4)
  %ax = mul i32 %a, %x
  %axb = add i32 %ax, %b
  %sum = add i32 %axb, %y
  %r = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %sum)
  %o = xor i32 %r, %acc2
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %o, ptr addrspace(1) %q
  br label %end
end:
  ret void
}}
attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"64,64\" {attributes} }}
"
    )
}

/// Spills of ordinary values are made with the lanes of their block, and leave values of all lanes alone; calls leave them alone, too.
#[test]
fn values_of_all_lanes_outlive_spills_and_calls() {
    for (call, attributes) in
        [(false, "\"amdgpu-num-vgpr\"=\"24\""), (true, "\"amdgpu-num-vgpr\"=\"56\""), (true, "")]
    {
        let text = under_pressure(call, attributes);
        for turns in [1, 4] {
            let words: Vec<u32> =
                (0..1 + TOGETHER + ITEMS).map(|w| (w * w).wrapping_mul(0x9e37_79b9)).collect();
            let input: Vec<u32> = [&[turns], &words[1..]].concat();
            let values = |lane: u32| {
                let active = lane.is_multiple_of(2);
                let (mut a, mut b) = if active { (lane * 3, lane * 7) } else { (500, 900) };
                for i in 0..turns - 1 {
                    (a, b) = (b + if active { i } else { 50 }, a);
                }
                (a, b)
            };
            let sum = |lane: u32| {
                let loaded = |j: u32| input[(1 + j + lane) as usize];
                (0..turns).fold(0u32, |acc, _| {
                    let add = |acc: u32, j| acc.wrapping_mul(3).wrapping_add(loaded(j));
                    let acc = (0..TOGETHER).chain((0..TOGETHER).rev()).fold(acc, add);
                    // Lane 7 is not there.
                    if call { acc.wrapping_mul(lane).wrapping_add(17) ^ acc } else { acc }
                })
            };
            check(&text, &input, |lane| match lane.is_multiple_of(2) {
                true => {
                    let (a, b) = values(lane);
                    let whole = a.wrapping_mul(values(5).0).wrapping_add(b).wrapping_add(values(4).1);
                    whole ^ sum(lane)
                }
                false => 0,
            });
        }
    }
}

/// More values of all lanes than there are registers for: `count` made in one block, used in two orders in a later one, in front of which ordinary
/// values are in the way, too.
fn too_many(count: u32, ty: &str, attributes: &str, call: bool) -> String {
    let lines = |line: &dyn Fn(u32) -> String| (0..count).map(line).collect::<String>();
    let made = lines(&|j| {
        let (own, other) = (j + 1, 100 + 3 * j);
        format!(
            "  %m{j} = mul {ty} %id.t, {own}\n  %s{j} = call {ty} @llvm.amdgcn.set.inactive.{ty}({ty} %m{j}, {ty} {other})\n"
        )
    });
    let fold = |to: &str, from: &str, of: &dyn Fn(u32) -> u32| {
        lines(&|j| {
            let before = if j == 0 { from.to_owned() } else { format!("%{to}{}", j - 1) };
            format!("  %{to}m{j} = mul {ty} {before}, 5\n  %{to}{j} = add {ty} %{to}m{j}, %s{}\n", of(j))
        })
    };
    let forth = fold("f", "0", &|j| j);
    let back = fold("b", &format!("%f{}", count - 1), &|j| count - 1 - j);
    let last = format!("%b{}", count - 1);
    let [widen, wide, narrow, low] = match ty {
        "i64" => [
            "  %id.t = zext i32 %id to i64\n",
            "  %xw = zext i32 %x to i64\n",
            "  %rh = lshr i64 %r, 32\n  %rx = xor i64 %r, %rh\n  %rt = trunc i64 %rx to i32\n",
            &format!("  %low = trunc i64 {last} to i32\n"),
        ],
        _ => [
            "  %id.t = add i32 %id, 0\n",
            "  %xw = add i32 %x, 0\n",
            "  %rt = add i32 %r, 0\n",
            &format!("  %low = add i32 {last}, 0\n"),
        ],
    };
    let called = if call { "  %g = call i32 @f(i32 %e7, i32 %id)\n" } else { "  %g = add i32 %e7, 0\n" };
    let ordinary: String = (0..8)
        .map(|j| {
            let before = if j == 0 { "0".to_owned() } else { format!("%e{}", j - 1) };
            format!(
                "  %q{j} = getelementptr i32, ptr addrspace(1) %in, i32 {}\n  %o{j} = load volatile i32, ptr addrspace(1) %q{j}\n  %e{j} = add i32 {before}, %o{j}\n",
                j + 1
            )
        })
        .collect();
    format!(
        "
define internal i32 @f(i32 %x, i32 %y) noinline {{
  %s = call i32 @llvm.amdgcn.set.inactive.i32(i32 %x, i32 17)
  %l = call i32 @llvm.amdgcn.readlane.i32(i32 %s, i32 7)
  %t = add i32 %s, %l
  %w = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %t)
  call void asm sideeffect \"\", \"~{{v0}},~{{v1}},~{{v2}},~{{v3}},~{{v4}},~{{v5}},~{{v6}},~{{v7}}\"()
  ret i32 %w
}}
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
{widen}  %n0 = load i32, ptr addrspace(1) %in
  %n = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %n0)
  %odd = and i32 %id, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %pre, label %end
pre:
{made}  br label %loop
loop:
  %i = phi i32 [0, %pre], [%i2, %loop]
  %acc = phi i32 [0, %pre], [%acc2, %loop]
{ordinary}{called}  %acc2 = add i32 %acc, %g
  %i2 = add i32 %i, 1
  %more = icmp ult i32 %i2, %n
  br i1 %more, label %loop, label %done
done:
{forth}{back}{low}  %x = call i32 @llvm.amdgcn.readlane.i32(i32 %low, i32 5)
{wide}  %z = add {ty} {last}, %xw
  %r = call {ty} @llvm.amdgcn.strict.wwm.{ty}({ty} %z)
{narrow}  %o = xor i32 %rt, %acc2
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %o, ptr addrspace(1) %q
  br label %end
end:
  ret void
}}
attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"64,64\" {attributes} }}
"
    )
}

/// Values of all lanes are spilled in all lanes, and come back so.
#[test]
fn values_of_all_lanes_are_spilled() {
    let settings = [
        (40, "i32", "\"amdgpu-num-vgpr\"=\"24\"", false),
        (60, "i32", "\"amdgpu-num-vgpr\"=\"48\"", true),
        (24, "i64", "\"amdgpu-num-vgpr\"=\"24\"", false),
        (270, "i32", "", false),
    ];
    for (count, ty, attributes, call) in settings {
        let text = too_many(count, ty, attributes, call);
        for turns in [1u32, 3] {
            let input: Vec<u32> =
                (0..1 + ITEMS).map(|w| if w == 0 { turns } else { w.wrapping_mul(0x9e37_79b9) }).collect();
            let folded = |lane: u32| {
                let value = |j: u32| {
                    let lane = u64::from(lane);
                    if lane % 2 == 0 { lane * u64::from(j + 1) } else { u64::from(100 + 3 * j) }
                };
                (0..count)
                    .chain((0..count).rev())
                    .fold(0u64, |acc, j| acc.wrapping_mul(5).wrapping_add(value(j)))
            };
            let sum: u32 = input[1..9].iter().fold(0, |sum, &x| sum.wrapping_add(x));
            check(&text, &input, |lane| {
                if lane % 2 == 1 {
                    return 0;
                }
                let own = folded(lane).wrapping_add(folded(5) & 0xffff_ffff);
                let own = if ty == "i64" { own as u32 ^ (own >> 32) as u32 } else { own as u32 };
                // Lane 7 is not there.
                let turn = if call { sum.wrapping_add(17) } else { sum };
                own ^ turn.wrapping_mul(turns)
            });
        }
    }
}
