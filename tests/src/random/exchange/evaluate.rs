//! What the lanes of a program compute, a statement at a time, and where nothing orders what they do.
//!
//! Each byte of a work-group's memory knows who has accessed it since the last ordering of the work-group. An access *races* with an earlier
//! one of another lane where one of the two writes and no ordering that reaches both lanes stands between them. The evaluation goes on
//! as if there were one, and says in front of which statements they are missing.

use super::*;
use std::collections::BTreeMap;

/// What a statement lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Need {
    /// It can never be right: lanes race inside of it, or it is out of bounds, or reads what nobody wrote.
    pub impossible: bool,
    /// The ordering in front of it, for memory and for LDS.
    pub order: [Option<Scope>; 2],
}

/// What statements lack, by their numbers.
pub type Needs = BTreeMap<u32, Need>;

/// What a program leaves.
pub struct Outcome {
    /// The output.
    pub out: Vec<u8>,
    /// The regions, of all work-groups one after the other; empty for LDS.
    pub regions: Vec<Vec<u8>>,
}

/// How an access meets others.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Read,
    Write,
    /// The same operation, on as many bytes, in any order.
    Update(&'static str, u32),
}

/// An access in the past.
#[derive(Clone, Copy)]
struct Past {
    lane: u32,
    time: u32,
}

/// A byte. Whatever changes it and does not go together with what was before makes that history: who is ordered with the change is ordered with all of it.
#[derive(Clone, Default)]
struct Cell {
    value: u8,
    known: bool,
    /// When what is ordered was forgotten last.
    pruned: u32,
    reads: Vec<Past>,
    /// Changes of one manner.
    changes: Vec<Past>,
    manner: Option<Manner>,
}

/// A work-group.
struct Run<'a> {
    program: &'a Exchange,
    group: u32,
    memory: Vec<Vec<Cell>>,
    /// Variables of each lane.
    vars: Vec<Vec<u128>>,
    rounds: Vec<u32>,
    /// Number of the statement that runs, counting each round of a loop.
    time: u32,
    /// When lanes of a wave, and of the work-group, were ordered last: memory and LDS.
    ordered: [[u32; 2]; 2],
    id: u32,
    needs: Needs,
}

/// Runs all work-groups.
///
/// # Errors
/// What is missing.
pub fn evaluate(program: &Exchange) -> Result<Outcome, Needs> {
    let (slots, stride) = program.slots();
    let used = program.used();
    let items = program.items as usize;
    let mut outcome = Outcome {
        out: vec![0; program.groups as usize * items * stride],
        regions: vec![Vec::new(); program.regions.len()],
    };
    let mut needs = Needs::new();
    for group in 0..program.groups {
        let first = group as usize * items;
        let load = |lane: usize| {
            let of = |(&slot, ty): (&usize, &Ty)| {
                let at = (first + lane) * stride + slot;
                number(&program.input[at..at + ty.bytes()])
            };
            slots.iter().zip(&program.vars).map(of).collect()
        };
        let mut run = Run {
            program,
            group,
            memory: program.regions.iter().map(|region| cells(region, group)).collect(),
            vars: (0..items).map(load).collect(),
            rounds: Vec::new(),
            time: 1,
            ordered: [[0; 2]; 2],
            id: 0,
            needs: std::mem::take(&mut needs),
        };
        run.uniform(&program.body);
        for (lane, vars) in run.vars.iter().enumerate() {
            for (var, ty) in program.vars.iter().enumerate().filter(|&(var, _)| used[var]) {
                let at = (first + lane) * stride + slots[var];
                let bytes = vars[var].to_le_bytes();
                outcome.out[at..at + ty.bytes()].copy_from_slice(&bytes[..ty.bytes()]);
            }
        }
        for (number, region) in program.regions.iter().enumerate().filter(|(_, region)| !region.lds) {
            let bytes = run.memory[number].iter().map(|cell| cell.value);
            debug_assert_eq!(bytes.len(), region.bytes as usize);
            outcome.regions[number].extend(bytes);
        }
        needs = run.needs;
        if needs.values().any(|need| need.impossible) {
            break;
        }
    }
    if needs.is_empty() { Ok(outcome) } else { Err(needs) }
}

fn cells(region: &Region, group: u32) -> Vec<Cell> {
    let size = region.bytes as usize;
    let start = region.start.chunks_exact(size).nth(group as usize);
    let cell = |at: usize| match start {
        Some(start) => Cell { value: start[at], known: true, ..Cell::default() },
        None => Cell::default(),
    };
    (0..size).map(cell).collect()
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte))
}

/// The `i32` that is made of a variable: of 64 bits the low or the high half, of fewer than 32 with or without their sign, of a vector an element.
pub fn word(ty: Ty, value: u128, part: u8) -> u32 {
    match ty {
        Ty::Int(8) if part % 2 == 1 => value as i8 as u32,
        Ty::Int(16) if part % 2 == 1 => value as i16 as u32,
        Ty::Int(64) if part % 2 == 1 => (value >> 32) as u32,
        Ty::Vec(_, lanes) => (value >> (32 * (u32::from(part) % lanes))) as u32,
        _ => value as u32,
    }
}

/// The variable `old` with an `i32` in it, in the manner of [`word`]: of 64 bits all, or the low half is changed.
fn with_word(ty: Ty, old: u128, word: u32, part: u8) -> u128 {
    match ty {
        Ty::Int(64) if part % 2 == 1 => old ^ u128::from(word),
        Ty::Vec(_, lanes) => {
            let shift = 32 * (u32::from(part) % lanes);
            old & !(0xffff_ffff << shift) | u128::from(word) << shift
        }
        _ => cut(ty, u128::from(word)),
    }
}

fn cut(ty: Ty, value: u128) -> u128 {
    if ty.bytes() == 16 { value } else { value & ((1 << (8 * ty.bytes())) - 1) }
}

/// An operation on two numbers of 64 bits, of which the low bits are those of smaller ones, but for `lshr` and `umax`.
fn operation(op: &str, a: u64, b: u64) -> u64 {
    match op {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" => a.wrapping_mul(b),
        "and" => a & b,
        "or" => a | b,
        "shl" => a << (b & 31),
        "lshr" => a >> (b & 31),
        "umax" => a.max(b),
        _ => a ^ b,
    }
}

/// An operation on two values of a type, for each element.
fn wide(ty: Ty, op: &str, a: u128, b: u128) -> u128 {
    let Ty::Vec(bits, lanes) = ty else { return cut(ty, u128::from(operation(op, a as u64, b as u64))) };
    let element = |lane: u32| {
        let [a, b] = [a, b].map(|value| (value >> (bits * lane)) as u32);
        u128::from(operation(op, a.into(), b.into()) as u32) << (bits * lane)
    };
    (0..lanes).map(element).fold(0, |all, element| all | element)
}

impl Run<'_> {
    /// Statements that all lanes execute together.
    fn uniform(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                Kind::Loop { trips, down, body, .. } => {
                    let count = self.program.trips(*trips);
                    for round in 0..count {
                        self.rounds.push(if *down { count - 1 - round } else { round });
                        self.uniform(body);
                        self.rounds.pop();
                    }
                }
                Kind::Order(order) => {
                    self.time += 1;
                    let spaces = match order.only {
                        Some(lds) => usize::from(lds)..usize::from(lds) + 1,
                        None => 0..2,
                    };
                    for space in spaces {
                        self.order(order.scope, space);
                    }
                }
                _ => {
                    self.time += 1;
                    self.id = stmt.id;
                    let all: Vec<u32> = (0..self.program.items).collect();
                    self.lanes(std::slice::from_ref(stmt), &all);
                }
            }
        }
    }

    /// Orders what was before now.
    fn order(&mut self, scope: Scope, space: usize) {
        self.ordered[0][space] = self.time;
        if scope == Scope::Group {
            self.ordered[1][space] = self.time;
        }
    }

    /// Statements that some lanes execute.
    fn lanes(&mut self, body: &[Stmt], lanes: &[u32]) {
        for stmt in body {
            if let Kind::If { cond, arms } = &stmt.kind {
                let (yes, no): (Vec<u32>, Vec<u32>) =
                    lanes.iter().partition(|&&lane| self.holds(*cond, lane));
                self.lanes(&arms[0], &yes);
                self.lanes(&arms[1], &no);
                continue;
            }
            for &lane in lanes {
                self.lane(&stmt.kind, lane);
            }
        }
    }

    fn operand(&self, operand: Operand, lane: u32) -> u32 {
        match operand {
            Operand::Var(var, part) => word(self.program.vars[var], self.vars[lane as usize][var], part),
            Operand::Const(value) => value,
            Operand::Item => lane,
            Operand::Lane => lane % self.program.form.wave,
            Operand::Group => self.group,
            Operand::Round(depth) => self.rounds.get(depth).copied().unwrap_or(0),
        }
    }

    fn holds(&self, cond: Cond, lane: u32) -> bool {
        match cond {
            Cond::Bits(of, mask, value) => self.operand(of, lane) & mask == value,
            Cond::Below(of, limit) => self.operand(of, lane) < limit,
        }
    }

    fn lane(&mut self, kind: &Kind, lane: u32) {
        let types = &self.program.vars;
        let of = |run: &Self, var: usize| run.vars[lane as usize][var];
        match kind {
            Kind::Compute { dst, part, op, args } => {
                let [a, b] = args.map(|arg| self.operand(arg, lane));
                let result = operation(op, a.into(), b.into()) as u32;
                self.vars[lane as usize][*dst] = with_word(types[*dst], of(self, *dst), result, *part);
            }
            Kind::Wide { dst, op, arg } => {
                self.vars[lane as usize][*dst] = wide(types[*dst], op, of(self, *dst), of(self, *arg));
            }
            Kind::Load { access, dst, op } => {
                let loaded = self.access(access, lane, Manner::Read, true, |_| None);
                let value = op.map_or(loaded, |op| wide(access.ty, op, of(self, *dst), loaded));
                self.vars[lane as usize][*dst] = value;
            }
            Kind::Store { access, value } => {
                let value = of(self, *value);
                self.access(access, lane, Manner::Write, false, |_| Some(value));
            }
            Kind::Atomic { access, op, value, dst, .. } => {
                let (ty, value) = (access.ty, of(self, *value));
                // Whoever looks at the old value, or leaves its own, has to be the only one.
                let manner = match *op != "xchg" && dst.is_none() {
                    true => Manner::Update(op, ty.bytes() as u32),
                    false => Manner::Write,
                };
                let update = |old| if *op == "xchg" { value } else { wide(ty, op, old, value) };
                let old = self.access(access, lane, manner, true, |old| Some(update(old)));
                if let Some(dst) = *dst {
                    self.vars[lane as usize][dst] = old;
                }
            }
            Kind::If { .. } | Kind::Order(_) | Kind::Loop { .. } => {}
        }
    }

    /// The byte in its region.
    fn address(&self, access: &Access, lane: u32) -> u32 {
        let (map, lanes) = (&self.program.maps[access.map], self.program.lanes());
        let place = lane % lanes;
        let number = match map.number {
            Number::Own => lane,
            Number::Xor(bits) => lane ^ bits,
            Number::Reversed => self.program.items - 1 - lane,
            Number::Rotated(by) => (lane + by) % self.program.items,
            Number::InWave(by) => (place + by) % lanes,
            Number::XorInWave(bits) => place ^ bits,
            Number::Shared(shift) => lane >> shift,
            Number::Value(var, mask) => self.operand(Operand::Var(var, 0), lane) & mask,
            Number::Wave => lane / lanes,
            Number::Zero => 0,
        };
        let round = access.step.map_or(0, |(depth, bytes)| self.operand(Operand::Round(depth), lane) * bytes);
        map.base + number * map.scale + lane / lanes * map.slice + round + access.offset
    }

    /// What an access finds, which nobody may have written where it does not read; `update` makes of it what it leaves.
    fn access(
        &mut self,
        access: &Access,
        lane: u32,
        manner: Manner,
        reads: bool,
        update: impl FnOnce(u128) -> Option<u128>,
    ) -> u128 {
        let number_of = self.program.maps[access.map].region;
        let (at, size) = (self.address(access, lane) as usize, access.ty.bytes());
        if at + size > self.memory[number_of].len() {
            self.needs.entry(self.id).or_default().impossible = true;
            return 0;
        }
        for byte in at..at + size {
            self.meet(number_of, byte, lane, manner);
        }
        let cells = &mut self.memory[number_of][at..at + size];
        if reads && cells.iter().any(|cell| !cell.known) {
            self.needs.entry(self.id).or_default().impossible = true;
        }
        let bytes: Vec<u8> = cells.iter().map(|cell| cell.value).collect();
        let found = number(&bytes);
        if let Some(new) = update(found) {
            for (cell, byte) in cells.iter_mut().zip(new.to_le_bytes()) {
                (cell.value, cell.known) = (byte, true);
            }
        }
        found
    }

    /// Notes an access to a byte, and which ordering is missing in front of it.
    fn meet(&mut self, region: usize, byte: usize, lane: u32, manner: Manner) {
        let space = usize::from(self.program.regions[region].lds);
        let lanes = self.program.lanes();
        let (now, one_wave) = (self.time, lanes == self.program.items);
        // What all lanes have behind them can race no more.
        let behind = self.ordered[usize::from(!one_wave)][space];
        let cell = &mut self.memory[region][byte];
        if cell.pruned < behind {
            cell.pruned = behind;
            cell.reads.retain(|past| past.time >= behind);
            cell.changes.retain(|past| past.time >= behind);
        }
        let together = cell.manner == Some(manner) && manner != Manner::Write;
        let reads = if manner == Manner::Read { &[] } else { &cell.reads[..] };
        let changes = if together { &[] } else { &cell.changes[..] };
        let mut missing = None;
        for past in reads.iter().chain(changes).filter(|past| past.lane != lane) {
            if past.time == now {
                self.needs.entry(self.id).or_default().impossible = true;
                continue;
            }
            let scope = if past.lane / lanes == lane / lanes { Scope::Wave } else { Scope::Group };
            if past.time >= self.ordered[usize::from(scope == Scope::Group)][space] {
                missing = missing.max(Some(scope));
            }
        }
        let this = Past { lane, time: now };
        if manner == Manner::Read {
            cell.reads.push(this);
        } else {
            if !together {
                cell.reads.clear();
                cell.changes.clear();
                cell.manner = Some(manner);
            }
            cell.changes.push(this);
        }
        if let Some(scope) = missing {
            let need = &mut self.needs.entry(self.id).or_default().order[space];
            *need = (*need).max(Some(scope));
            self.order(scope, space);
        }
    }
}
