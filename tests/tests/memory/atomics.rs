//! Atomic operations of every width and kind: the result of each lane on a cell of its own, and cells that
//! all lanes share.

use super::{Case, GROUP, GROUPS, ITEMS, check, has_flat, processors, random_bytes, report};
use mir::half;
use std::fmt::Write as _;

/// Element types: name, bytes, and how `input` is made of random bits.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Elem {
    Int(u32),
    Half,
    Bfloat,
    Float,
    Double,
    HalfPair,
    Pointer(u32),
}

impl Elem {
    fn name(self) -> String {
        match self {
            Self::Int(bits) => format!("i{bits}"),
            Self::Half => "half".into(),
            Self::Bfloat => "bfloat".into(),
            Self::Float => "float".into(),
            Self::Double => "double".into(),
            Self::HalfPair => "<2 x half>".into(),
            Self::Pointer(bits) => if bits == 32 { "ptr addrspace(3)" } else { "ptr addrspace(1)" }.into(),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Int(bits) | Self::Pointer(bits) => bits as usize / 8,
            Self::Half | Self::Bfloat => 2,
            Self::Float | Self::HalfPair => 4,
            Self::Double => 8,
        }
    }

    fn is_float(self) -> bool {
        !matches!(self, Self::Int(_) | Self::Pointer(_))
    }

    /// Bits of the small whole number `n`, which all formats hold exactly.
    fn number(self, n: i64) -> u64 {
        match self {
            Self::Int(64) | Self::Pointer(64) => n as u64,
            Self::Int(bits) | Self::Pointer(bits) => n as u64 & ((1 << bits) - 1),
            Self::Half => u64::from(half::from_f64(n as f64)),
            Self::Bfloat => u64::from((n as f32).to_bits() >> 16),
            Self::Float => u64::from((n as f32).to_bits()),
            Self::Double => (n as f64).to_bits(),
            Self::HalfPair => {
                u64::from(half::from_f64(n as f64)) | u64::from(half::from_f64((n + 1) as f64)) << 16
            }
        }
    }

    /// The number that [`Self::number`] made.
    fn value(self, bits: u64) -> i64 {
        match self {
            Self::Half => half::to_f64(bits as u16) as i64,
            Self::Bfloat => f32::from_bits((bits as u32) << 16) as i64,
            Self::Float => f32::from_bits(bits as u32) as i64,
            Self::Double => f64::from_bits(bits) as i64,
            _ => bits as i64,
        }
    }
}

const INT_OPS: &[&str] = &[
    "xchg",
    "add",
    "sub",
    "and",
    "nand",
    "or",
    "xor",
    "max",
    "min",
    "umax",
    "umin",
    "uinc_wrap",
    "udec_wrap",
    "usub_cond",
    "usub_sat",
];
const FLOAT_OPS: &[&str] = &["xchg", "fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum"];

/// What `op` stores.
fn apply(elem: Elem, op: &str, old: u64, x: u64) -> u64 {
    if elem == Elem::HalfPair && op != "xchg" {
        let part = |shift: u32| apply(Elem::Half, op, old >> shift & 0xffff, x >> shift & 0xffff) << shift;
        return part(0) | part(16);
    }
    if elem.is_float() && op != "xchg" {
        let (a, b) = (elem.value(old), elem.value(x));
        return elem.number(match op {
            "fadd" => a + b,
            "fsub" => a - b,
            "fmax" | "fmaximum" => a.max(b),
            _ => a.min(b),
        });
    }
    let bits = 8 * elem.bytes() as u32;
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let signed = |v: u64| (v << (64 - bits)) as i64 >> (64 - bits);
    mask & match op {
        "xchg" => x,
        "add" => old.wrapping_add(x),
        "sub" => old.wrapping_sub(x),
        "and" => old & x,
        "nand" => !(old & x),
        "or" => old | x,
        "xor" => old ^ x,
        "max" => {
            if signed(old) > signed(x) {
                old
            } else {
                x
            }
        }
        "min" => {
            if signed(old) < signed(x) {
                old
            } else {
                x
            }
        }
        "umax" => old.max(x),
        "umin" => old.min(x),
        "uinc_wrap" => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        "udec_wrap" => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        "usub_cond" => {
            if old >= x {
                old - x
            } else {
                old
            }
        }
        _ => old.saturating_sub(x),
    }
}

/// Where the cells are.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Space {
    Global,
    Local,
    Private,
    /// Generic, LDS or memory by the lane.
    Mixed,
}

const SPACES: [Space; 4] = [Space::Global, Space::Local, Space::Private, Space::Mixed];

/// Orderings and scopes, one a case in turn.
const ORDERS: [&str; 8] = [
    "monotonic",
    "seq_cst",
    "syncscope(\"agent\") acq_rel",
    "syncscope(\"workgroup\") acquire",
    "syncscope(\"workgroup-one-as\") seq_cst",
    "syncscope(\"wavefront\") release",
    "syncscope(\"agent-one-as\") acquire",
    "syncscope(\"singlethread\") acq_rel",
];

fn bytes_of(values: &[u64], elem: Elem) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..elem.bytes()].to_vec()).collect()
}

/// Bytes of a lane in `out` and `in`: cell or old value, then operand.
const LANE: usize = 32;

/// `%cell` of each lane: eight bytes, of which it uses some in the middle.
fn cell(space: Space) -> (&'static str, String) {
    let global = "%cg = getelementptr i8, ptr addrspace(1) %wo, i32 8\n";
    let local = "%lw = mul i32 %lid, 8\n%cl = getelementptr i8, ptr addrspace(3) @cells, i32 %lw\n";
    match space {
        Space::Global => {
            ("ptr addrspace(1)", format!("{global}%cell = getelementptr i8, ptr addrspace(1) %cg, i32 0\n"))
        }
        Space::Local => {
            ("ptr addrspace(3)", format!("{local}%cell = getelementptr i8, ptr addrspace(3) %cl, i32 0\n"))
        }
        Space::Private => ("ptr addrspace(5)", "%cell = alloca i64, align 8, addrspace(5)\n".into()),
        Space::Mixed => (
            "ptr",
            format!(
                "{global}{local}%fg = addrspacecast ptr addrspace(1) %cg to ptr\n%fl = addrspacecast ptr addrspace(3) %cl to ptr\n\
                 %bit = and i32 %lid, 1\n%is = icmp eq i32 %bit, 0\n%cell = select i1 %is, ptr %fg, ptr %fl\n"
            ),
        ),
    }
}

/// Each lane on its own cell: the old value goes to byte 0 of its place in `out`, the cell afterwards to byte 16.
fn own(elem: Elem, op: &str, space: Space, order: &str, number: usize) -> Case {
    let (ty, size) = (elem.name(), elem.bytes());
    let (ptr, place) = cell(space);
    // Bytes and halves anywhere in the dword.
    let inner = if size < 8 { number % (8 / size) * size } else { 0 };
    let input = inputs(elem, number);
    let mut body = format!(
        "%window = mul i32 %id, {LANE}\n%wo = getelementptr i8, ptr addrspace(1) %out, i32 %window\n\
         %wi = getelementptr i8, ptr addrspace(1) %in, i32 %window\n{place}"
    );
    let _ = write!(
        body,
        "%all = load i64, ptr addrspace(1) %wi\nstore i64 %all, {ptr} %cell\n\
         %xi = getelementptr i8, ptr addrspace(1) %wi, i32 8\n%x = load {ty}, ptr addrspace(1) %xi\n\
         %at = getelementptr i8, {ptr} %cell, i32 {inner}\n"
    );
    if op == "cmpxchg" || op == "cmpxchg weak" {
        // The value compared with is right in every second lane.
        let _ = write!(
            body,
            "%yi = getelementptr i8, ptr addrspace(1) %wi, i32 16\n%y = load {ty}, ptr addrspace(1) %yi\n\
             %pair = {op} {ptr} %at, {ty} %y, {ty} %x {order} monotonic\n%old = extractvalue {{ {ty}, i1 }} %pair, 0\n\
             %ok = extractvalue {{ {ty}, i1 }} %pair, 1\n%okb = zext i1 %ok to i8\n\
             %oko = getelementptr i8, ptr addrspace(1) %wo, i32 24\nstore i8 %okb, ptr addrspace(1) %oko\n"
        );
    } else {
        let _ = writeln!(body, "%old = atomicrmw {op} {ptr} %at, {ty} %x {order}");
    }
    let _ = write!(
        body,
        "store {ty} %old, ptr addrspace(1) %wo\n%after = load i64, {ptr} %cell\n\
         %ao = getelementptr i8, ptr addrspace(1) %wo, i32 16\nstore i64 %after, ptr addrspace(1) %ao\n"
    );
    let mut expected = vec![0; input.len()];
    for item in 0..ITEMS {
        let at = item * LANE;
        let get = |place: usize| {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&input[place..place + size]);
            u64::from_le_bytes(bytes)
        };
        let (old, x) = (get(at + inner), get(at + 8));
        let new = if op.starts_with("cmpxchg") {
            let same = old == get(at + 16);
            expected[at + 24] = u8::from(same);
            if same { x } else { old }
        } else {
            apply(elem, op, old, x)
        };
        expected[at..at + size].copy_from_slice(&old.to_le_bytes()[..size]);
        let mut cell = input[at..at + 8].to_vec();
        cell[inner..inner + size].copy_from_slice(&new.to_le_bytes()[..size]);
        expected[at + 16..at + 24].copy_from_slice(&cell);
        if space == Space::Global || space == Space::Mixed && item % 2 == 0 {
            expected[at + 8..at + 16].copy_from_slice(&cell);
        }
    }
    Case {
        name: format!("own_{}_{}_{space:?}", ty_name(elem), op.replace(' ', "_")),
        body,
        before: vec![0; input.len()],
        input,
        expected,
    }
}

fn ty_name(elem: Elem) -> String {
    elem.name().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Eight bytes of cells, eight of operand, eight of a value to compare with.
fn inputs(elem: Elem, number: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(number as u64 + 1);
    let size = elem.bytes();
    let mut input = random_bytes(ITEMS * LANE, number as u64);
    for item in 0..ITEMS {
        let at = item * LANE;
        let random = |rng: &mut fastrand::Rng| match elem {
            Elem::Int(_) | Elem::Pointer(_) => match rng.u32(0..4) {
                0 => elem.number(rng.i64(-3..4)),
                _ => elem.number(rng.i64(..)),
            },
            _ => elem.number(rng.i64(-60..60)),
        };
        let mut values = Vec::new();
        for k in 0..8 / size {
            let v = random(&mut rng);
            values.push(v);
            input[at + k * size..at + (k + 1) * size].copy_from_slice(&v.to_le_bytes()[..size]);
        }
        let x = random(&mut rng);
        input[at + 8..at + 8 + size].copy_from_slice(&x.to_le_bytes()[..size]);
        let inner = if size < 8 { number % (8 / size) } else { 0 };
        let y = if item % 3 == 0 { random(&mut rng) } else { values[inner] };
        input[at + 16..at + 16 + size].copy_from_slice(&y.to_le_bytes()[..size]);
    }
    input
}

/// All lanes of a group on four cells; only operations of which the end does not depend on the order.
fn shared(elem: Elem, op: &str, space: Space, order: &str, number: usize) -> Option<Case> {
    let ordered = matches!(op, "xchg" | "nand" | "usub_cond" | "usub_sat");
    if ordered || space == Space::Private || matches!(elem, Elem::Pointer(_)) {
        return None;
    }
    let (ty, size) = (elem.name(), elem.bytes());
    let start = elem.number(if elem.is_float() { 3 } else { 0x25 });
    // Small operands: sums of 32 of them are exact in all formats, even bfloat with its 8 bits.
    let operand = |item: usize| match op {
        "uinc_wrap" | "udec_wrap" => elem.number(100),
        "fadd" | "fsub" => elem.number(if elem == Elem::HalfPair { 1 } else { (item / 4 % 2) as i64 * 2 }),
        _ => elem.number((item * 37 % 61) as i64 - if elem.is_float() { 30 } else { 0 }),
    };
    let values: Vec<u64> = (0..ITEMS).map(operand).collect();
    let input = bytes_of(&values, elem);
    // A group's cells are 8 bytes apart; in memory at the start of `out` and 64 bytes on for the second
    // group.
    let (ptr, cells) = match space {
        Space::Global => (
            "ptr addrspace(1)",
            "%gw = mul i32 %wg, 64\n%cells = getelementptr i8, ptr addrspace(1) %out, i32 %gw\n".to_owned(),
        ),
        Space::Local => (
            "ptr addrspace(3)",
            "%cells = getelementptr i8, ptr addrspace(3) @cells, i32 0\n".to_owned(),
        ),
        _ => (
            "ptr",
            "%gw = mul i32 %wg, 64\n%cg = getelementptr i8, ptr addrspace(1) %out, i32 %gw\n%bit = and i32 %lid, 2\n\
             %is = icmp eq i32 %bit, 0\n%fg = addrspacecast ptr addrspace(1) %cg to ptr\n%fl = addrspacecast ptr addrspace(3) @cells to ptr\n\
             %cells = select i1 %is, ptr %fg, ptr %fl\n"
                .to_owned(),
        ),
    };
    let inner = if size < 8 { number % (8 / size) * size } else { 0 };
    let init = format!(
        "%mine = icmp ult i32 %lid, 4\nbr i1 %mine, label %set, label %go\nset:\n%sw = mul i32 %lid, 8\n\
         %sp = getelementptr i8, ptr addrspace(3) @cells, i32 %sw\nstore i64 0, ptr addrspace(3) %sp\n\
         %sq = getelementptr i8, ptr addrspace(3) %sp, i32 {inner}\n%sv = bitcast i{} {} to {}\nstore {} %sv, ptr addrspace(3) %sq\n\
         br label %go\ngo:\nfence syncscope(\"workgroup\") release\ncall void @llvm.amdgcn.s.barrier()\nfence syncscope(\"workgroup\") acquire\n",
        8 * size,
        start,
        ty,
        ty
    );
    let body = format!(
        "{cells}{init}%xi = getelementptr {ty}, ptr addrspace(1) %in, i32 %id\n%x = load {ty}, ptr addrspace(1) %xi\n\
         %which = and i32 %lid, 3\n%cw = mul i32 %which, 8\n%cell = getelementptr i8, {ptr} %cells, i32 %cw\n\
         %at = getelementptr i8, {ptr} %cell, i32 {inner}\n%unused = atomicrmw {op} {ptr} %at, {ty} %x {order}\n\
         fence syncscope(\"workgroup\") release\ncall void @llvm.amdgcn.s.barrier()\nfence syncscope(\"workgroup\") acquire\n\
         br i1 %mine, label %show, label %end\nshow:\n%ow = mul i32 %id, 8\n%op = getelementptr i8, ptr addrspace(1) %out, i32 %ow\n\
         %oq = getelementptr i8, ptr addrspace(1) %op, i32 128\n%lw2 = mul i32 %lid, 8\n%lp2 = getelementptr i8, ptr addrspace(3) @cells, i32 %lw2\n\
         %seen = load i64, ptr addrspace(3) %lp2\nstore i64 %seen, ptr addrspace(1) %oq\nbr label %end\nend:\n"
    );
    let len = 128 + ITEMS * 8;
    let mut before = vec![0; len];
    for group in 0..GROUPS {
        for k in 0..4 {
            let at = group * 64 + k * 8 + inner;
            before[at..at + size].copy_from_slice(&start.to_le_bytes()[..size]);
        }
    }
    let mut expected = before.clone();
    for group in 0..GROUPS {
        for k in 0..4 {
            let mut cell = start;
            for lid in (k..GROUP).step_by(4) {
                cell = apply(elem, op, cell, values[group * GROUP + lid]);
            }
            let in_memory = match space {
                Space::Global => true,
                Space::Local => false,
                _ => k & 2 == 0,
            };
            let at = group * 64 + k * 8 + inner;
            if in_memory {
                expected[at..at + size].copy_from_slice(&cell.to_le_bytes()[..size]);
            }
            let local = if in_memory { start } else { cell };
            let at = 128 + (group * GROUP + k) * 8 + inner;
            expected[at..at + size].copy_from_slice(&local.to_le_bytes()[..size]);
        }
    }
    Some(Case { name: format!("shared_{}_{op}_{space:?}", ty_name(elem)), body, input, before, expected })
}

/// `bitcast i64 5 to double` is no instruction on integers of the same type.
fn fix_bitcast(case: &mut Case) {
    for bits in [8, 16, 32, 64] {
        let from = format!("%sv = bitcast i{bits} ");
        if let Some(at) = case.body.find(&from) {
            let rest = &case.body[at + from.len()..];
            let (number, _) = rest.split_once(' ').unwrap_or((rest, ""));
            let plain = format!("{from}{number} to i{bits}\n");
            case.body = case.body.replace(&plain, &format!("%sv = add i{bits} {number}, 0\n"));
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut number = 0;
    let ints = [8, 16, 32, 64].map(Elem::Int);
    let floats = [Elem::Half, Elem::Bfloat, Elem::Float, Elem::Double, Elem::HalfPair];
    let rows = ints
        .iter()
        .map(|&e| (e, INT_OPS))
        .chain(floats.iter().map(|&e| (e, FLOAT_OPS)))
        .chain([(Elem::Pointer(32), &["xchg"][..]), (Elem::Pointer(64), &["xchg"][..])]);
    for (elem, ops) in rows {
        for op in ops {
            if elem == Elem::HalfPair && *op == "xchg" {
                continue;
            }
            for space in SPACES {
                number += 1;
                let order = ORDERS[number % ORDERS.len()];
                cases.push(own(elem, op, space, order, number));
                // Only orders that other work-items see.
                let wide = [
                    "monotonic",
                    "seq_cst",
                    "syncscope(\"workgroup\") acq_rel",
                    "syncscope(\"agent\") monotonic",
                ];
                cases.extend(shared(elem, op, space, wide[number % 4], number));
            }
        }
    }
    for elem in ints.into_iter().chain([Elem::Pointer(32), Elem::Pointer(64)]) {
        for op in ["cmpxchg", "cmpxchg weak"] {
            for space in SPACES {
                number += 1;
                cases.push(own(elem, op, space, ORDERS[number % ORDERS.len()], number));
            }
        }
    }
    cases.iter_mut().for_each(fix_bitcast);
    cases
}

const HEAD: &str = "@cells = internal addrspace(3) global [1024 x i8] poison, align 8\n";

#[test]
fn read_modify_write_and_exchange() {
    let mut findings = Vec::new();
    let mut count = 0;
    for cpu in processors() {
        let mut cases = cases();
        cases.retain(|case| has_flat(&cpu) || !case.name.ends_with("Mixed"));
        for level in if cpu == "gfx900" { &[0, 2][..] } else { &[2] } {
            count += cases.len();
            findings.extend(check(HEAD, &cases, &cpu, *level, &[]));
        }
    }
    report(&findings, count);
}

/// Atomic loads and stores of every type that has them.
#[test]
fn loads_and_stores() {
    let types: &[(&str, usize)] = &[
        ("i8", 1),
        ("i16", 2),
        ("i32", 4),
        ("i64", 8),
        ("half", 2),
        ("bfloat", 2),
        ("float", 4),
        ("double", 8),
        ("ptr addrspace(1)", 8),
        ("ptr addrspace(3)", 4),
    ];
    let loads = [
        "unordered",
        "monotonic",
        "acquire",
        "seq_cst",
        "syncscope(\"agent\") acquire",
        "syncscope(\"workgroup\") seq_cst",
    ];
    let stores = [
        "unordered",
        "monotonic",
        "release",
        "seq_cst",
        "syncscope(\"agent\") release",
        "syncscope(\"workgroup\") seq_cst",
    ];
    let mut cases = Vec::new();
    for &(ty, size) in types {
        for (k, (load, store)) in loads.iter().zip(stores).enumerate() {
            for space in SPACES {
                let (ptr, place) = cell(space);
                let body = format!(
                    "%window = mul i32 %id, {LANE}\n%wo = getelementptr i8, ptr addrspace(1) %out, i32 %window\n\
                     %wi = getelementptr i8, ptr addrspace(1) %in, i32 %window\n{place}\
                     store i64 0, {ptr} %cell\n%v = load atomic {ty}, ptr addrspace(1) %wi {load}, align {size}\n\
                     store atomic {ty} %v, {ptr} %cell {store}, align {size}\n\
                     %w = load atomic volatile {ty}, {ptr} %cell {load}, align {size}\n\
                     store {ty} %w, ptr addrspace(1) %wo\n"
                );
                let input = random_bytes(ITEMS * LANE, 3);
                let mut expected = vec![0; input.len()];
                for item in 0..ITEMS {
                    let at = item * LANE;
                    expected[at..at + size].copy_from_slice(&input[at..at + size]);
                    if space == Space::Global || space == Space::Mixed && item % 2 == 0 {
                        expected[at + 8..at + 8 + size].copy_from_slice(&input[at..at + size]);
                    }
                }
                let name: String =
                    ty.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
                cases.push(Case {
                    name: format!("atomic_{name}_{k}_{space:?}"),
                    body,
                    before: vec![0; input.len()],
                    input,
                    expected,
                });
            }
        }
    }
    let mut findings = Vec::new();
    let count = cases.len();
    for cpu in processors() {
        if !has_flat(&cpu) {
            cases.sort_by_key(|case| case.name.ends_with("Mixed"));
        }
        let some =
            cases.iter().position(|case| !has_flat(&cpu) && case.name.ends_with("Mixed")).unwrap_or(count);
        findings.extend(check(HEAD, &cases[..some], &cpu, 2, &[]));
    }
    report(&findings, count);
}
