//! Stack objects that come and go: random programs over arrays in scratch, whose lifetimes start and end anywhere.
//!
//! A program is a graph of blocks, mostly irreducible, that each lane walks its own way. Blocks start, end, fill, copy and read objects;
//! what may be read is known at run time alone (two sets of objects, started and filled), so that no read is of undefined contents
//! whatever way led there, and every object holds what would be noticed in another's place.

use super::{Case, ITEMS, check, random_bytes, report};
use std::fmt::Write as _;

/// Called with the address of an object, so that it is known outside.
const HEAD: &str = "\
declare void @llvm.lifetime.start.p5(ptr addrspace(5))
declare void @llvm.lifetime.end.p5(ptr addrspace(5))
declare void @llvm.memcpy.p5.p5.i32(ptr addrspace(5), ptr addrspace(5), i32, i1)

define internal i32 @look(ptr addrspace(5) %p, i32 %i) noinline {
  %q = getelementptr i32, ptr addrspace(5) %p, i32 %i
  %v = load i32, ptr addrspace(5) %q
  ret i32 %v
}

";

/// Objects of a program.
const OBJECTS: u32 = 6;

/// Blocks of a program.
const BLOCKS: u32 = 9;

/// Blocks that a lane runs.
const STEPS: u32 = 24;

#[derive(Clone, Copy)]
enum Step {
    Start(u32),
    End(u32),
    Fill(u32, u32),
    /// From, to.
    Copy(u32, u32),
    Read(u32),
    /// By a call.
    Look(u32),
}

struct Program {
    /// Dwords of each object, a power of two.
    sizes: Vec<u32>,
    /// Whether markers say when an object lives; others always do.
    marked: Vec<bool>,
    /// Steps and successors.
    blocks: Vec<(Vec<Step>, Vec<u32>)>,
}

impl Program {
    fn random(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = move |n: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as u32 % n
        };
        let sizes = (0..OBJECTS).map(|_| 4 << below(3)).collect();
        let marked = (0..OBJECTS).map(|_| below(4) != 0).collect();
        let blocks = (0..BLOCKS)
            .map(|_| {
                let mut steps = Vec::new();
                for _ in 0..2 + below(3) {
                    let k = below(OBJECTS);
                    match below(6) {
                        // All of an object's life.
                        0 | 1 => {
                            steps.extend([Step::Start(k), Step::Fill(k, below(1 << 20)), Step::Read(k)]);
                            steps.push(Step::End(k));
                        }
                        2 => steps.extend([Step::Start(k), Step::Fill(k, below(1 << 20))]),
                        3 => steps.extend([Step::Copy(k, below(OBJECTS)), Step::Read(k)]),
                        4 => steps.extend([Step::Read(k), Step::End(k)]),
                        _ => steps.push(if below(3) == 0 { Step::Look(k) } else { Step::Read(k) }),
                    }
                }
                (steps, (0..1 + below(3)).map(|_| below(BLOCKS)).collect())
            })
            .collect();
        Self { sizes, marked, blocks }
    }

    /// What a lane that starts with `x` ends with.
    fn run(&self, mut x: u32) -> u32 {
        let mut objects: Vec<Vec<u32>> = self.sizes.iter().map(|&size| vec![0; size as usize]).collect();
        let (mut started, mut filled) = (0u32, 0u32);
        for (k, marked) in self.marked.iter().enumerate() {
            started |= u32::from(!marked) << k;
        }
        let mut block = 0;
        for _ in 0..STEPS {
            let (steps, successors) = &self.blocks[block as usize];
            for &step in steps {
                match step {
                    Step::Start(k) | Step::End(k) if self.marked[k as usize] => {
                        started = started & !(1 << k) | u32::from(matches!(step, Step::Start(_))) << k;
                        filled &= !(1 << k);
                    }
                    Step::Fill(k, c) if started >> k & 1 != 0 => {
                        let size = self.sizes[k as usize];
                        for i in 0..size {
                            let at = (x.wrapping_add(i) & (size - 1)) as usize;
                            objects[k as usize][at] = x.wrapping_mul(17).wrapping_add(c + i);
                        }
                        filled |= 1 << k;
                    }
                    Step::Copy(k, to) if k != to && filled >> k & started >> to & 1 != 0 => {
                        let count = self.sizes[k as usize].min(self.sizes[to as usize]) as usize;
                        if count == self.sizes[to as usize] as usize {
                            let from = objects[k as usize][..count].to_vec();
                            objects[to as usize][..count].copy_from_slice(&from);
                            filled |= 1 << to;
                        }
                    }
                    Step::Read(k) | Step::Look(k) if filled >> k & 1 != 0 => {
                        let at = (x >> 3 & (self.sizes[k as usize] - 1)) as usize;
                        x = x.wrapping_mul(31).wrapping_add(objects[k as usize][at]);
                    }
                    _ => {}
                }
            }
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            block = successors[((x >> 24) % successors.len() as u32) as usize];
        }
        x
    }

    /// The code of a kernel that leaves `%r`, of `%w`.
    fn code(&self) -> String {
        let mut code = String::new();
        let _ = writeln!(
            code,
            "%x = alloca i32, addrspace(5)\n%started = alloca i32, addrspace(5)\n%filled = alloca i32, addrspace(5)\n%fuel = alloca i32, addrspace(5)"
        );
        let mut always = 0u32;
        for (k, (&size, &marked)) in self.sizes.iter().zip(&self.marked).enumerate() {
            let _ = writeln!(code, "%o{k} = alloca [{size} x i32], align 4, addrspace(5)");
            always |= u32::from(!marked) << k;
        }
        let _ = writeln!(
            code,
            "store i32 %w, ptr addrspace(5) %x\nstore i32 {always}, ptr addrspace(5) %started\nstore i32 0, ptr addrspace(5) %filled\n\
             store i32 {STEPS}, ptr addrspace(5) %fuel\nbr label %b0"
        );
        let mut writer = Writer { code, next: 0 };
        for (at, (steps, successors)) in self.blocks.iter().enumerate() {
            let _ = writeln!(writer.code, "b{at}:");
            for &step in steps {
                self.write_step(&mut writer, step);
            }
            let n = writer.fresh();
            let _ = writeln!(
                writer.code,
                "%a{n} = load i32, ptr addrspace(5) %x\n%m{n} = mul i32 %a{n}, {}\n%s{n} = add i32 %m{n}, {}\nstore i32 %s{n}, ptr addrspace(5) %x\n\
                 %f{n} = load i32, ptr addrspace(5) %fuel\n%g{n} = sub i32 %f{n}, 1\nstore i32 %g{n}, ptr addrspace(5) %fuel\n\
                 %d{n} = icmp eq i32 %g{n}, 0\nbr i1 %d{n}, label %done, label %n{n}\nn{n}:\n%h{n} = lshr i32 %s{n}, 24\n\
                 %c{n} = urem i32 %h{n}, {}\nswitch i32 %c{n}, label %b{} [",
                1_664_525,
                1_013_904_223,
                successors.len(),
                successors[0]
            );
            for (case, to) in successors.iter().enumerate().skip(1) {
                let _ = writeln!(writer.code, "i32 {case}, label %b{to}");
            }
            writer.code.push_str("]\n");
        }
        writer.code.push_str("done:\n%r = load i32, ptr addrspace(5) %x\n");
        writer.code
    }

    fn write_step(&self, writer: &mut Writer, step: Step) {
        let sizes = &self.sizes;
        match step {
            Step::Start(k) | Step::End(k) => {
                if self.marked[k as usize] {
                    let start = matches!(step, Step::Start(_));
                    let name = if start { "start" } else { "end" };
                    let _ =
                        writeln!(writer.code, "call void @llvm.lifetime.{name}.p5(ptr addrspace(5) %o{k})");
                    writer.set("started", k, start);
                    writer.set("filled", k, false);
                }
            }
            Step::Fill(k, c) => {
                let join = writer.only_if(&[("started", k)]);
                let n = writer.fresh();
                let _ = writeln!(
                    writer.code,
                    "%a{n} = load i32, ptr addrspace(5) %x\n%m{n} = mul i32 %a{n}, 17\n%v{n} = add i32 %m{n}, {c}"
                );
                for i in 0..sizes[k as usize] {
                    let _ = writeln!(
                        writer.code,
                        "%i{n}.{i} = add i32 %a{n}, {i}\n%j{n}.{i} = and i32 %i{n}.{i}, {}\n\
                         %p{n}.{i} = getelementptr i32, ptr addrspace(5) %o{k}, i32 %j{n}.{i}\n%w{n}.{i} = add i32 %v{n}, {i}\n\
                         store i32 %w{n}.{i}, ptr addrspace(5) %p{n}.{i}",
                        sizes[k as usize] - 1
                    );
                }
                writer.set("filled", k, true);
                writer.end(join);
            }
            Step::Copy(k, to) => {
                if k != to && sizes[k as usize] >= sizes[to as usize] {
                    let join = writer.only_if(&[("filled", k), ("started", to)]);
                    let _ = writeln!(
                        writer.code,
                        "call void @llvm.memcpy.p5.p5.i32(ptr addrspace(5) align 4 %o{to}, ptr addrspace(5) align 4 %o{k}, i32 {}, i1 false)",
                        4 * sizes[to as usize]
                    );
                    writer.set("filled", to, true);
                    writer.end(join);
                }
            }
            Step::Read(k) | Step::Look(k) => {
                let join = writer.only_if(&[("filled", k)]);
                let n = writer.fresh();
                let _ = writeln!(
                    writer.code,
                    "%a{n} = load i32, ptr addrspace(5) %x\n%h{n} = lshr i32 %a{n}, 3\n%j{n} = and i32 %h{n}, {}",
                    sizes[k as usize] - 1
                );
                let read = match step {
                    Step::Look(_) => format!("%v{n} = call i32 @look(ptr addrspace(5) %o{k}, i32 %j{n})"),
                    _ => format!(
                        "%p{n} = getelementptr i32, ptr addrspace(5) %o{k}, i32 %j{n}\n%v{n} = load i32, ptr addrspace(5) %p{n}"
                    ),
                };
                let _ = writeln!(
                    writer.code,
                    "{read}\n%m{n} = mul i32 %a{n}, 31\n%s{n} = add i32 %m{n}, %v{n}\nstore i32 %s{n}, ptr addrspace(5) %x"
                );
                writer.end(join);
            }
        }
    }
}

struct Writer {
    code: String,
    next: u32,
}

impl Writer {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Adds object `k` to a set of objects, or takes it out.
    fn set(&mut self, set: &str, k: u32, member: bool) {
        let n = self.fresh();
        let change = if member {
            format!("or i32 %t{n}, {}", 1 << k)
        } else {
            format!("and i32 %t{n}, {}", !(1i32 << k))
        };
        let _ = writeln!(
            self.code,
            "%t{n} = load i32, ptr addrspace(5) %{set}\n%u{n} = {change}\nstore i32 %u{n}, ptr addrspace(5) %{set}"
        );
    }

    /// Starts code for lanes in which these sets have these objects; the number of its end.
    fn only_if(&mut self, members: &[(&str, u32)]) -> u32 {
        let n = self.fresh();
        let mut all = "-1".to_owned();
        for (i, (set, k)) in members.iter().enumerate() {
            let _ = writeln!(
                self.code,
                "%t{n}.{i} = load i32, ptr addrspace(5) %{set}\n%u{n}.{i} = lshr i32 %t{n}.{i}, {k}\n%z{n}.{i} = and i32 %u{n}.{i}, {all}"
            );
            all = format!("%z{n}.{i}");
        }
        let _ = writeln!(
            self.code,
            "%y{n} = and i32 {all}, 1\n%k{n} = icmp ne i32 %y{n}, 0\nbr i1 %k{n}, label %yes{n}, label %end{n}\nyes{n}:"
        );
        n
    }

    fn end(&mut self, number: u32) {
        let _ = writeln!(self.code, "br label %end{number}\nend{number}:");
    }
}

fn case(seed: u64) -> Case {
    let program = Program::random(seed);
    let body = format!(
        "%from = getelementptr i32, ptr addrspace(1) %in, i32 %id\n%w = load i32, ptr addrspace(1) %from\n{}\
         %to = getelementptr i32, ptr addrspace(1) %out, i32 %id\nstore i32 %r, ptr addrspace(1) %to\n",
        program.code()
    );
    let input = random_bytes(ITEMS * 4, seed);
    let lanes = input.as_chunks::<4>().0.iter();
    let expected = lanes.flat_map(|&w| program.run(u32::from_le_bytes(w)).to_le_bytes()).collect();
    Case { name: format!("program{seed}"), body, before: vec![0; ITEMS * 4], input, expected }
}

/// Random programs; `GCNC_RANDOM` is their number.
#[test]
fn objects_of_random_lifetimes_keep_their_contents() {
    let count = std::env::var("GCNC_RANDOM").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let mut findings = Vec::new();
    for seed in 1..=count {
        let cases = [case(seed)];
        for level in [0, 1, 3] {
            findings.extend(check(HEAD, &cases, if seed % 2 == 0 { "gfx900" } else { "gfx600" }, level, &[]));
        }
    }
    report(&findings, count as usize * 3);
}
