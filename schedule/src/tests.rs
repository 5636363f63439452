//! Random blocks, scheduled and checked; orders broken on purpose; time.

use crate::live::Dwords;
use crate::{Options, budget, schedule, schedule_allocated, verify};
use fastrand::Rng;
use mir::machine::{Function, Inst, Reg, VReg, parse_function};
use mir::target::Target;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

const PROCESSORS: [&str; 3] = ["gfx600", "gfx803", "gfx900"];
const CHECKED: Options = Options { verify: true, max_vgprs: None, max_sgprs: None, min_waves: None };

fn target(name: &str) -> Target {
    Target::new(Target::processor_by_name(name).expect("a processor of the table"))
}

fn parse(text: &str) -> Function {
    parse_function(text, "test").unwrap_or_else(|error| panic!("{error:?}"))
}

/// An alias class, or none as in most code.
fn class(random: &mut Rng) -> String {
    let known = random.bool().then(|| random.u8(..9));
    known.map_or_else(String::new, |class| format!(", alias {class}"))
}

/// A function of one block with virtual registers: arithmetic, carries, compares, accesses of all spaces, walls.
fn random_virtual(random: &mut Rng, size: usize) -> String {
    let mut text = String::from("function f, modelled\n  entry %0:s2 = kernarg_segment_ptr in s[0:1]\n");
    text.push_str("  entry %1:v1 = workitem_id_x in v0\nmbb0:\n");
    let (mut vectors, mut scalars, mut next) = (vec![1], Vec::new(), 2);
    let _ = writeln!(text, "  %2:s4 = s_load_dwordx4 %0:s2, 0 [16 bytes, space 4, align 4]");
    let _ = writeln!(text, "  %3:s1 = s_load_dword %0:s2, 16 [4 bytes, space 4, align 4]");
    scalars.push(3);
    next += 2;
    for _ in 0..size {
        let old =
            |random: &mut Rng, list: &[u32]| list[random.usize(list.len().saturating_sub(12)..list.len())];
        let (v, w, s) = (old(random, &vectors), old(random, &vectors), old(random, &scalars));
        let n = next;
        let (vector, used) = match random.u32(..26) {
            0..5 => (true, writeln!(text, "  %{n}:v1 = v_xor_b32 %{v}:v1, %{w}:v1")),
            5 => (true, writeln!(text, "  %{n}:v1 = v_mul_lo_u32 %{v}:v1, %{w}:v1")),
            6 => (false, writeln!(text, "  %{n}:s1 = s_add_u32 %{s}:s1, {}", random.u8(..))),
            7 => {
                let _ = writeln!(text, "  s_cmp_eq_u32 %{s}:s1, 7");
                (false, writeln!(text, "  %{n}:s1 = s_cselect_b32 %{s}:s1, 3"))
            }
            8 => (false, writeln!(text, "  %{n}:s1 = v_readfirstlane_b32 %{v}:v1")),
            9 => {
                let load = "buffer_load_dword";
                let flag = ["", " noclobber", " invariant"][random.usize(..3)];
                let of = "%2:s4, 0 offen";
                (
                    true,
                    writeln!(
                        text,
                        "  %{n}:v1 = {load} %{v}:v1, {of} [4 bytes, space 1, align 4{}]",
                        flag.replace(' ', ", ")
                    ),
                )
            }
            10..13 => (
                true,
                writeln!(
                    text,
                    "  %{n}:v1 = buffer_load_dword %{v}:v1, %2:s4, 0 offen [4 bytes, space 1, align 4{}]",
                    class(random)
                ),
            ),
            13 => {
                let _ = writeln!(
                    text,
                    "  buffer_store_dword %{w}:v1, %{v}:v1, %2:s4, 0 offen [4 bytes, space 1, align 4{}]",
                    class(random)
                );
                continue;
            }
            14..16 => {
                // Mostly behind one register, at places that overlap and places that do not.
                let base = if random.u8(..4) > 0 { 1 } else { v };
                let at = 4 * random.u32(..4);
                (
                    true,
                    writeln!(
                        text,
                        "  %{n}:v1 = ds_read_b32 %{base}:v1 offset:{at} [4 bytes, space 3, align 4]"
                    ),
                )
            }
            16 => {
                let base = if random.u8(..4) > 0 { 1 } else { v };
                let _ = match random.u8(..3) {
                    0 => writeln!(
                        text,
                        "  ds_write2_b32 %{base}:v1, %{w}:v1, %{v}:v1 offset:{} offset1:{} [8 bytes, space 3, align 4]",
                        random.u8(..4),
                        random.u8(..4)
                    ),
                    1 => writeln!(
                        text,
                        "  ds_write_b8 %{base}:v1, %{w}:v1 offset:{} [1 bytes, space 3]",
                        random.u8(..16)
                    ),
                    _ => writeln!(
                        text,
                        "  ds_write_b32 %{base}:v1, %{w}:v1 offset:{} [4 bytes, space 3, align 4]",
                        4 * random.u32(..4)
                    ),
                };
                continue;
            }
            17 => (
                true,
                writeln!(
                    text,
                    "  %{n}:v1 = ds_add_rtn_u32 %{v}:v1, %{w}:v1 [4 bytes, space 3, align 4, monotonic workgroup]"
                ),
            ),
            18 if random.u8(..4) == 0 => {
                let wall = ["s_barrier", "s_waitcnt 0", "s_sleep 1"][random.usize(..3)];
                let _ = writeln!(text, "  {wall}");
                continue;
            }
            22..25 => {
                // The same in global memory, of one class or another.
                let base = if random.u8(..4) > 0 { 1 } else { v };
                let flag = ["", "", ", noclobber"][random.usize(..3)];
                let (at, class) = (random.u8(..16), class(random));
                (
                    true,
                    writeln!(
                        text,
                        "  %{n}:v1 = global_load_dword %{base}:v1, %2.0:s2 offset:{at} [4 bytes, space 1{flag}{class}]"
                    ),
                )
            }
            25 => {
                let base = if random.u8(..4) > 0 { 1 } else { v };
                let (at, class) = (random.u8(..16), class(random));
                let _ = writeln!(
                    text,
                    "  global_store_byte %{base}:v1, %{w}:v1, %2.0:s2 offset:{at} [1 bytes, space 1{class}]"
                );
                continue;
            }
            19 => (true, writeln!(text, "  %{n}:v1 = v_mac_f32 %{v}:v1, %{w}:v1, tied %{v}:v1")),
            _ => (true, writeln!(text, "  %{n}:v1 = v_add_f32 %{v}:v1, %{s}:s1")),
        };
        let _ = used;
        if vector { &mut vectors } else { &mut scalars }.push(n);
        next += 1;
    }
    for v in vectors.iter().rev().take(6) {
        let _ = writeln!(text, "  buffer_store_dword %{v}:v1, off, %2:s4, 0 [4 bytes, space 1, align 4]");
    }
    text.push_str("  wave end\n");
    text
}

/// The same with few physical registers.
fn random_physical(random: &mut Rng, size: usize) -> String {
    let mut text = String::from("function f, framed\nmbb0:\n");
    for _ in 0..size {
        let (v, w, x) = (random.u8(..12), random.u8(..12), random.u8(..12));
        let (s, t) = (8 + random.u8(..6), 8 + random.u8(..6));
        let _ = match random.u32(..18) {
            0..4 => writeln!(text, "  v{v} = v_xor_b32 v{w}, v{x}"),
            4 => writeln!(text, "  s{s} = s_add_u32 s{t}, 5"),
            5 => writeln!(text, "  s{s} = s_addc_u32 s{t}, 0"),
            6 => writeln!(text, "  s{s} = s_cselect_b32 s{t}, 1"),
            7 => writeln!(text, "  vcc = v_cmp_lt_u32 v{v}, v{w}"),
            8 => writeln!(text, "  v{v} = v_cndmask_b32 v{w}, v{x}, vcc"),
            9 => writeln!(text, "  s{s} = v_readfirstlane_b32 v{v}"),
            10..12 => {
                writeln!(text, "  v{v} = buffer_load_dword v{w}, s[4:7], 0 offen [4 bytes, space 1, align 4]")
            }
            12 => {
                writeln!(text, "  buffer_store_dword v{v}, v{w}, s[4:7], 0 offen [4 bytes, space 1, align 4]")
            }
            13 => writeln!(text, "  v{v} = ds_read_b32 v{w} [4 bytes, space 3, align 4]"),
            14 => writeln!(text, "  s{s} = s_load_dword s[0:1], 4 [4 bytes, space 4, align 4]"),
            15 => writeln!(text, "  v{v} = v_mac_f32 v{w}, v{x}"),
            16 if random.u8(..4) == 0 => writeln!(text, "  exec = s_mov_b64 s[2:3]"),
            _ => writeln!(text, "  ds_write_b32 v{v}, v{w} [4 bytes, space 3, align 4]"),
        };
    }
    text.push_str("  wave end\n");
    text
}

/// Both kinds of random code, many sizes: the checker agrees, the verifier too, and something happens.
#[test]
fn random_blocks_stay_the_same_programs() {
    let mut moved = 0;
    for seed in 0..400u64 {
        let mut random = Rng::with_seed(seed);
        let size = 3 + (seed as usize % 20) * 6;
        let target = target(PROCESSORS[seed as usize % 3]);
        let mut f = parse(&random_virtual(&mut random, size));
        mir::machine::verify(&f).expect("the generator makes right code");
        let before = f.clone();
        schedule(&mut f, &target, &CHECKED).unwrap_or_else(|error| panic!("{seed}: {error}"));
        mir::machine::verify(&f).unwrap_or_else(|error| panic!("{seed}: {error}"));
        moved += usize::from(f != before);
        let mut f = parse(&random_physical(&mut random, size));
        let before = f.clone();
        schedule_allocated(&mut f, &target, true).unwrap_or_else(|error| panic!("{seed}: {error}"));
        mir::machine::verify(&f).unwrap_or_else(|error| panic!("{seed}: {error}"));
        moved += usize::from(f != before);
    }
    assert!(moved > 400, "{moved} of 800 functions changed");
}

/// The most dwords that are alive between two instructions of a function of one block, counted pair by pair.
fn alive(f: &Function) -> Dwords {
    let insts = &f.blocks[f.layout[0]].insts;
    let accesses = |inst: &Inst, write: bool| -> Vec<VReg> {
        let regs = inst.regs().filter(|reg| reg.0 == write).filter_map(|(_, reg)| match reg.reg {
            Reg::Virtual(reg) => Some(reg),
            Reg::Physical(_) => None,
        });
        regs.collect()
    };
    let entry = f.entry.registers().into_iter().filter_map(|entry| Some((entry.2?, 0)));
    let results = insts
        .iter()
        .enumerate()
        .flat_map(|(k, inst)| accesses(inst, true).into_iter().map(move |reg| (reg, k + 1)));
    let ranges: Vec<(VReg, Range<usize>)> = entry
        .chain(results)
        .filter_map(|(reg, from)| {
            let last = insts.iter().rposition(|inst| accesses(inst, false).contains(&reg))?;
            Some((reg, from..last + 1))
        })
        .collect();
    let counts = (0..=insts.len()).map(|gap| {
        let mut count = Dwords::default();
        for (reg, _) in ranges.iter().filter(|range| range.1.contains(&gap)) {
            *count.of(f.vregs[*reg].file) += u32::from(f.vregs[*reg].dwords);
        }
        count
    });
    counts.fold(Dwords::default(), Dwords::max)
}

/// No order takes more registers than the budget, or than the order as it was; the counts of one are those of the budget's judge.
#[test]
fn registers_stay_within_the_budget() {
    let mut fuller = 0;
    for seed in 0..150u64 {
        let mut random = Rng::with_seed(seed);
        let target = target(PROCESSORS[seed as usize % 3]);
        let mut f = parse(&random_virtual(&mut random, 10 + seed as usize));
        let before = alive(&f);
        let budget = budget::of(&f, &target, &CHECKED, before).expect("few registers");
        schedule(&mut f, &target, &CHECKED).expect("right code");
        let (after, most) = (alive(&f), budget.max(before));
        assert!(
            after.sgprs <= most.sgprs && after.vgprs <= most.vgprs,
            "{seed}: {before:?} {after:?} {budget:?}"
        );
        fuller += usize::from(after.vgprs > before.vgprs);
    }
    assert!(fuller > 20, "{fuller} of 150 functions take more than they did");
}

/// What takes more registers than there are is put in an order that takes fewer, which is the same program.
#[test]
fn relieved_orders_are_the_same_programs() {
    let mut relieved = 0;
    for seed in 0..300u64 {
        let mut random = Rng::with_seed(seed);
        let target = target(PROCESSORS[seed as usize % 3]);
        let mut f = parse(&random_virtual(&mut random, 20 + seed as usize));
        let before = alive(&f);
        let options = Options { max_vgprs: Some(before.vgprs - 1), ..CHECKED };
        let goal = budget::better(&f, &target, &options, before, budget::VGPR_HOLES);
        assert!(goal.is_some(), "{seed}: {before:?}");
        schedule(&mut f, &target, &options).unwrap_or_else(|error| panic!("{seed}: {error}"));
        mir::machine::verify(&f).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let after = alive(&f);
        if let Some(goal) = goal {
            let most = budget::bounded(&f, &target, &options, before).max(before);
            let within = after.vgprs <= most.vgprs && after.sgprs <= most.sgprs;
            assert!(after.vgprs <= goal.vgprs || within, "{seed}: {before:?} {after:?} {goal:?}");
            relieved += usize::from(after.vgprs <= goal.vgprs);
        }
    }
    assert!(relieved > 50, "{relieved} of 300 functions take fewer registers than they did");
}

/// A function that is called gives up what it would have to save first: of 256 VGPRs callers expect 112 back.
#[test]
fn called_functions_come_down_to_what_they_need_not_save() {
    let target = target("gfx900");
    let better = |text: &str, vgprs| {
        let mut f = parse(text);
        f.max_flat_workgroup_size = 256;
        let goal = budget::better(&f, &target, &CHECKED, Dwords { sgprs: 10, vgprs }, budget::FEW_HOLES);
        goal.map(|goal| goal.vgprs)
    };
    let called = "function f, device, modelled\nmbb0:\n  wave end\n";
    let kernel = "function f, modelled\nmbb0:\n  wave end\n";
    assert_eq!((better(called, 200), better(kernel, 200)), (Some(142), Some(126)));
    // Less than that costs a wave alone.
    assert_eq!(better(called, 120), better(kernel, 120));
}

/// Scalar registers that cost no wave may take the place of vector ones that do.
#[test]
fn scalars_that_cost_nothing_are_free() {
    let target = target("gfx900");
    let mut f = parse("function f, modelled\nmbb0:\n  wave end\n");
    f.max_flat_workgroup_size = 256;
    let better =
        |sgprs, vgprs| budget::better(&f, &target, &CHECKED, Dwords { sgprs, vgprs }, budget::FEW_HOLES);
    // Two waves share 800 SGPRs, of which each has 102 at most; nine have 80 each.
    let goal = better(27, 232).expect("a wave more");
    assert_eq!((goal.sgprs, goal.vgprs), (88, 126));
    let goal = better(27, 30).expect("a wave more");
    assert_eq!((goal.sgprs, goal.vgprs), (66, 28));
    // Those that cost one are given up.
    assert_eq!(better(100, 24).map(|goal| goal.sgprs), Some(88));
}

/// So many masks that are made one behind the other, and then read.
fn masks(count: usize) -> String {
    let mut text = String::from("function f, modelled\n  entry %0:v1 = workitem_id_x in v0\nmbb0:\n");
    for k in 0..count {
        let _ = writeln!(text, "  %{}:s2 = v_cmp_lt_u32 {}, %0:v1", 1 + k, 7 * k);
    }
    let mut sum = 0;
    for k in 0..count {
        let next = 1 + count + k;
        let _ = writeln!(text, "  %{next}:v1 = v_cndmask_b32 %{sum}:v1, {k}, %{}:s2", 1 + k);
        sum = next;
    }
    let _ = writeln!(text, "  ds_write_b32 %0:v1, %{sum}:v1 [4 bytes, space 3, align 4]\n  wave end");
    text
}

/// Masks that are made long before they are read are made where there is room for them: more than there are SGPRs, and as many as would cost a wave.
#[test]
fn masks_wait_for_room() {
    let target = target("gfx900");
    let limits = target.limits();
    for (count, waves) in [(70, 1), (44, limits.max_waves_per_simd)] {
        let mut f = parse(&masks(count));
        assert!(alive(&f).sgprs > 2 * count as u32 - 2);
        schedule(&mut f, &target, &CHECKED).unwrap_or_else(|error| panic!("{error}"));
        mir::machine::verify(&f).unwrap_or_else(|error| panic!("{error}"));
        let after = alive(&f);
        assert!(after.sgprs <= limits.addressable_sgprs - 8, "{after:?}");
        assert!(limits.waves_that_fit(after.sgprs + 8, after.vgprs) >= waves, "{after:?}");
    }
}

/// Whether the neighbours `k` and `k + 1` of `text`'s lines may change places, by what their text says.
fn exchange(f: &Function, k: usize, target: &Target) -> bool {
    let mut f = f.clone();
    let block = f.layout[0];
    let old = f.blocks[block].insts.clone();
    f.blocks[block].insts.swap(k, k + 1);
    let mut order: Vec<u32> = (0..old.len() as u32).collect();
    order.swap(k, k + 1);
    verify::same(&f, block, &old, &order, target).is_ok()
}

/// Neighbours that must stay in order, and some that need not: first, then, whether they may change places.
#[test]
fn broken_orders_are_found() {
    let virtual_header = "function f, modelled\n  entry %0:s2 = kernarg_segment_ptr in s[0:1]\n  entry %1:v1 = workitem_id_x in v0\n  vregs 20\nmbb0:\n  \
        %2:s4 = s_load_dwordx4 %0:s2, 0 [16 bytes, space 4, align 4]\n";
    let load =
        |n: u32, what: &str| format!("%{n}:v1 = buffer_load_dword %1:v1, %2:s4, 0 offen [4 bytes, {what}]");
    let store = |what: &str| format!("buffer_store_dword %1:v1, %1:v1, %2:s4, 0 offen [4 bytes, {what}]");
    let lds = "ds_write_b32 %1:v1, %1:v1 [4 bytes, space 3, align 4]".to_owned();
    let lds_at = |at: u32| format!("ds_write_b32 %1:v1, %1:v1 offset:{at} [4 bytes, space 3, align 4]");
    let xor = |n: u32, m: u32| format!("%{n}:v1 = v_xor_b32 %{m}:v1, %1:v1");
    let cases = [
        (xor(3, 1), xor(4, 3), false),
        (xor(3, 1), xor(4, 1), true),
        (load(3, "space 1"), load(4, "space 1"), true),
        (load(3, "space 1"), store("space 1"), false),
        (store("space 1"), load(3, "space 1"), false),
        (store("space 1"), load(3, "space 1, noclobber"), true),
        (load(3, "space 1, noclobber"), store("space 1"), false),
        (store("space 1"), load(3, "space 1, invariant"), true),
        (store("space 1"), load(3, "space 4"), true),
        (store("space 1"), store("space 1"), false),
        (store("space 1, alias 2"), load(3, "space 1, alias 3"), true),
        (store("space 1, alias 2"), load(3, "space 1, alias 2"), false),
        (store("space 1, alias 1"), store("space 1, alias 7"), true),
        (load(3, "space 1, alias 1"), store("space 1, alias 1"), false),
        (store("space 1"), load(3, "space 1, alias 3"), false),
        (load(3, "space 1, alias 3"), store("space 1"), false),
        (store("space 1, alias 3"), load(3, "space 0"), false),
        (store("space 1, alias 3"), "fence".into(), false),
        (store("space 1, alias 3"), load(3, "space 1, alias 2, volatile"), false),
        // Classes that nothing gives may be anything.
        (store("space 1, alias 8"), load(3, "space 1, alias 2"), false),
        (store("space 1"), lds.clone(), true),
        (store("space 1"), load(3, "space 0"), false),
        (lds.clone(), lds_at(0), false),
        (lds.clone(), lds_at(2), false),
        (lds.clone(), lds_at(4), true),
        (lds_at(4), lds.clone(), true),
        (lds.clone(), "%3:v1 = ds_read_u8 %1:v1 offset:3 [1 bytes, space 3]".into(), false),
        (lds.clone(), "%3:v1 = ds_read_u8 %1:v1 offset:4 [1 bytes, space 3]".into(), true),
        (
            lds.clone(),
            "ds_write2_b32 %1:v1, %1:v1, %1:v1 offset:2 offset1:1 [8 bytes, space 3, align 4]".into(),
            true,
        ),
        (lds.clone(), "ds_write2_b32 %1:v1, %1:v1, %1:v1 offset:2 [8 bytes, space 3, align 4]".into(), false),
        (lds.clone(), "%3:v1 = ds_read_b32 %4:v1 offset:4 [4 bytes, space 3, align 4]".into(), false),
        (
            lds.clone(),
            "%3:v1 = ds_read_b32 %1:v1 offset:4 [4 bytes, space 3, align 4, volatile]".into(),
            false,
        ),
        (lds.clone(), "%3:v1 = ds_read_b32 %1:v1 offset:4 [4 bytes, space 0, align 4]".into(), true),
        (lds_at(4), "fence".into(), false),
        (load(3, "space 1, volatile"), load(4, "space 1"), false),
        (load(3, "space 1, volatile"), load(4, "space 1, volatile"), false),
        (load(3, "space 1, acquire agent"), lds.clone(), false),
        (store("space 1"), "s_waitcnt 0".into(), false),
        (xor(3, 1), "s_waitcnt 0".into(), true),
        (xor(3, 1), "s_barrier".into(), false),
        ("s_cmp_eq_u32 %2.0:s1, 1".into(), "%3:s1 = s_cselect_b32 1, 2".into(), false),
        ("%3:s1 = s_cselect_b32 1, 2".into(), "s_cmp_eq_u32 %2.0:s1, 1".into(), false),
        ("m0 = s_mov_b32 1".into(), "s_sendmsg 0".into(), false),
    ];
    let target = target("gfx900");
    for (first, then, free) in cases {
        let f =
            parse(&format!("{virtual_header}  s_cmp_eq_u32 %2.0:s1, 2\n  {first}\n  {then}\n  wave end\n"));
        assert_eq!(exchange(&f, 2, &target), free, "{first}; {then}");
    }
    let cases = [
        ("v0 = v_mov_b32 1", "v1 = v_mov_b32 v0", false),
        ("v1 = v_mov_b32 v0", "v0 = v_mov_b32 1", false),
        ("v0 = v_mov_b32 1", "v0 = v_mov_b32 2", false),
        ("v0 = v_mov_b32 1", "v1 = v_mov_b32 2", true),
        ("s4 = s_add_u32 s5, s6", "s7 = s_add_u32 s5, s6", false),
        ("vcc = v_cmp_lt_u32 v0, v1", "v2 = v_cndmask_b32 v3, v4, vcc", false),
        ("exec = s_mov_b64 s[2:3]", "v0 = v_mov_b32 1", false),
        ("v[4:7] = buffer_load_dwordx4 v0, s[4:7], 0 offen", "v5 = v_mov_b32 1", false),
        ("v[4:7] = buffer_load_dwordx4 v0, s[4:7], 0 offen", "v8 = v_mov_b32 1", true),
    ];
    for (first, then, free) in cases {
        let f = parse(&format!("function f, framed\nmbb0:\n  {first}\n  {then}\n  wave end\n"));
        assert_eq!(exchange(&f, 0, &target), free, "{first}; {then}");
    }
}

/// Orders that are no permutations, and ones that the block does not have.
#[test]
fn orders_of_other_blocks_are_found() {
    let target = target("gfx900");
    let f = parse(
        "function f, framed\nmbb0:\n  v0 = v_mov_b32 1\n  v1 = v_mov_b32 2\n  v2 = v_mov_b32 3\n  wave end\n",
    );
    let old = f.blocks[f.layout[0]].insts.clone();
    let fails = |order: &[u32]| verify::same(&f, f.layout[0], &old, order, &target).is_err();
    assert!(!fails(&[0, 1, 2]));
    for order in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[1, 0, 2], &[0, 1, 2, 3]] {
        assert!(fails(order), "{order:?}");
    }
}

/// The least time of three.
fn timed(mut run: impl FnMut()) -> Duration {
    let times = (0..3).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Cost grows with the code: blocks of a hundred thousand instructions, and tens of thousands of blocks.
#[test]
fn large_functions_are_quick() {
    let limit = if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_millis(900) };
    let target = target("gfx900");
    let one = parse(&random_virtual(&mut Rng::with_seed(1), 100_000));
    let time = timed(|| schedule(&mut one.clone(), &target, &Options::default()).expect("right code"));
    println!("a block before allocation: {time:?}");
    assert!(time < limit, "{time:?}");
    let options = Options { max_vgprs: Some(12), ..Options::default() };
    let time = timed(|| schedule(&mut one.clone(), &target, &options).expect("right code"));
    println!("a block with too few registers: {time:?}");
    assert!(time < limit, "{time:?}");
    let one = parse(&random_physical(&mut Rng::with_seed(1), 100_000));
    let time = timed(|| schedule_allocated(&mut one.clone(), &target, false).expect("right code"));
    println!("a block behind allocation: {time:?}");
    assert!(time < limit, "{time:?}");
    let mut text = String::from("function f, modelled\n  entry %0:s4 = private_segment_buffer in s[0:3]\n");
    text.push_str("  entry %1:v1 = workitem_id_x in v0\n");
    const BLOCKS: u32 = 20_000;
    for i in 0..BLOCKS {
        let (a, b, c) = (2 + 3 * i, 3 + 3 * i, 4 + 3 * i);
        let _ = writeln!(text, "mbb{i}:");
        let _ =
            writeln!(text, "  %{a}:v1 = buffer_load_dword %1:v1, %0:s4, 0 offen [4 bytes, space 1, align 4]");
        let _ = writeln!(text, "  %{b}:v1 = v_xor_b32 %{a}:v1, %{}:v1", a - 1);
        let _ = writeln!(
            text,
            "  %{c}:v1 = buffer_load_dword %1:v1, %0:s4, 0 offen offset:4 [4 bytes, space 1, align 4]"
        );
        let _ = match i + 1 {
            BLOCKS => writeln!(text, "  wave end"),
            next => writeln!(text, "  wave jump -> mbb{next}   thread -> mbb{next}"),
        };
    }
    let many = parse(&text);
    let time = timed(|| schedule(&mut many.clone(), &target, &Options::default()).expect("right code"));
    println!("blocks: {time:?}");
    assert!(time < limit, "{time:?}");
}
