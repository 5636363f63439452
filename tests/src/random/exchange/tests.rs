//! The judge itself: it asks for what lanes need, and sees where that is missing.

use super::*;
use crate::measure::Compiler;
use crate::random::judged::{Judged, Problem, build, is_changed};
use crate::toolchain::Machine;
use sim::Checks;

/// Takes out ordering number `at`; false where there are fewer.
fn take_order(body: &mut Vec<Stmt>, at: &mut usize) -> bool {
    for index in 0..body.len() {
        let taken = match &mut body[index].kind {
            Kind::Order(_) if *at == 0 => {
                body.remove(index);
                true
            }
            Kind::Order(_) => {
                *at -= 1;
                false
            }
            Kind::Loop { body, .. } => take_order(body, at),
            _ => false,
        };
        if taken {
            return true;
        }
    }
    false
}

fn programs(wave: u32, count: u64) -> impl Iterator<Item = Exchange> {
    (1..=count).map(move |seed| exchange(seed, ExchangeForm { wave, convergent: false }))
}

/// More than half of the orderings are there since something would race without them.
#[test]
fn orderings_are_needed() {
    let (mut all, mut needed) = (0, 0);
    for program in programs(64, 8).chain(programs(32, 8)) {
        assert!(evaluate::evaluate(&program).is_ok());
        for number in 0.. {
            let mut less = program.clone();
            if !take_order(&mut less.body, &mut { number }) {
                break;
            }
            all += 1;
            needed += usize::from(evaluate::evaluate(&less).is_err());
        }
    }
    assert!(all > 100 && 2 * needed > all, "{needed} of {all}");
}

/// The judge itself: where lanes do not say what order they need, wrong results are found.
#[test]
fn missing_orderings_are_found() {
    let machine = Machine::from("gfx900");
    let (mut all, mut wrong) = (0, 0);
    for program in programs(64, 25).filter(|program| program.items <= 64) {
        let mut unordered = program.clone();
        while take_order(&mut unordered.body, &mut 0) {}
        let object = build(&unordered.text(), Compiler::Gcnc, machine, 2).unwrap();
        all += 1;
        match program.judge(&object, Checks::default()) {
            Ok(()) => {}
            Err(Problem::Wrong(_)) => wrong += 1,
            Err(problem) => panic!("{problem}\n{}", unordered.text()),
        }
    }
    assert!(10 * wrong > all, "{wrong} of {all}");
}

/// Conditions on lanes' numbers are in a fair part of the programs.
#[test]
fn lane_masks_are_found() {
    let machine = Machine::from("gfx900");
    let is_found = |program: &Exchange| is_changed(&program.text(), machine, "find-lane-masks").unwrap();
    let found = programs(64, 100).filter(is_found).count();
    assert!(found >= 15, "{found} of 100");
}

/// A program that goes wrong becomes one with little besides what is wrong.
#[test]
fn programs_become_small() {
    let program = exchange(7, ExchangeForm { wave: 64, convergent: false });
    let least = reduce::reduce(&program, &|smaller| smaller.text().contains("store i32"));
    assert!(least.text().lines().count() < 30, "{}", least.text());
}
