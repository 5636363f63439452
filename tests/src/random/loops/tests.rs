//! The judge itself: it sees what is wrong, and the programs are such that passes over loops have work.

use super::evaluate::evaluate;
use super::*;
use crate::measure::Compiler;
use crate::random::judged::{Judged, Problem, build, is_changed};
use crate::toolchain::Machine;
use sim::Checks;

/// Makes the first addition a subtraction.
fn spoil(program: &mut Loops) -> bool {
    let mut spoiled = false;
    visit_mut(&mut program.body, &mut |stmt| match stmt {
        Stmt::Load { op, .. } | Stmt::Compute { op, .. } if *op == "add" && !spoiled => {
            (*op, spoiled) = ("sub", true);
        }
        _ => {}
    });
    spoiled
}

/// Kernels that compute something else than their programs say are found.
#[test]
fn wrong_results_are_found() {
    let (mut all, mut wrong) = (0, 0);
    for seed in 1..=25 {
        let program = loops(seed);
        let mut other = program.clone();
        if !spoil(&mut other) || evaluate(&other).is_err() {
            continue;
        }
        let object = build(&program.text(), Compiler::Gcnc, Machine::from("gfx900"), 2).unwrap();
        program.judge(&object, Checks::default()).unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        all += 1;
        wrong += usize::from(matches!(other.judge(&object, Checks::default()), Err(Problem::Wrong(_))));
    }
    // An addition may be of no consequence, or in a loop that does not run.
    assert!(all > 10 && 3 * wrong > all, "{wrong} of {all}");
}

/// A loop that goes on for one round more or less is found.
#[test]
fn wrong_rounds_are_found() {
    let (mut all, mut wrong) = (0, 0);
    for seed in 1..=40 {
        let mut program = loops(seed);
        let text = program.text();
        let mut changed = false;
        visit_mut(&mut program.body, &mut |stmt| {
            if let Stmt::Loop(turn) = stmt
                && !changed
                && matches!(turn.predicate, "slt" | "ult")
            {
                turn.predicate = if turn.predicate == "slt" { "sle" } else { "ule" };
                changed = true;
            }
        });
        if !changed || evaluate(&program).is_err() {
            continue;
        }
        let object = build(&text, Compiler::Gcnc, Machine::from("gfx900"), 2).unwrap();
        all += 1;
        wrong += usize::from(matches!(program.judge(&object, Checks::default()), Err(Problem::Wrong(_))));
    }
    assert!(all > 8 && 3 * wrong > all, "{wrong} of {all}");
}

/// Wide loops that do one iteration more than is left are found.
#[test]
fn one_iteration_too_many_is_found() {
    let (mut all, mut found) = (0, 0);
    for seed in 1..=60 {
        let program = loops(seed);
        let machine = Machine::from("gfx900");
        let place = gcnc::Place::after("unroll");
        let first = gcnc::CompileOptions { stop: place, threads: 1, ..machine.options(2) };
        let output = gcnc::compile(program.text().as_bytes(), "random", &first).unwrap();
        let text = String::from_utf8(output.bytes).unwrap();
        // What a wide loop asks of a counter with a step of one.
        let asks = |line: &str| ["icmp sgt v", "icmp ugt v"].iter().any(|test| line.contains(test));
        let mut wrong = String::new();
        for line in text.lines() {
            let line = if asks(line) { line.replace(", i32 3", ", i32 2") } else { line.to_owned() };
            wrong.push_str(&line);
            wrong.push('\n');
        }
        if wrong == text {
            continue;
        }
        let second = gcnc::CompileOptions {
            start: place,
            file_type: gcnc::FileType::Obj,
            code_object_version: Some(4),
            threads: 1,
            ..machine.options(2)
        };
        let output = gcnc::compile(wrong.as_bytes(), "random", &second).unwrap();
        let object = sim::CodeObject::load(&output.bytes).unwrap();
        all += 1;
        found += usize::from(program.judge(&object, Checks::default()).is_err());
    }
    // Three of them must be left in some lane.
    assert!(all > 10 && 5 * found > all, "{found} of {all}");
}

/// Passes over loops find their shapes in a fair part of the programs.
#[test]
fn passes_have_work() {
    for (pass, least) in [
        ("licm", 40),
        ("uniform-bases", 15),
        ("unroll", 30),
        ("induction", 25),
        ("reduce-strength", 2),
        ("merge-memory", 40),
        ("pipeline-loads", 3),
    ] {
        let programs = (1..=100)
            .filter(|&seed| is_changed(&loops(seed).text(), Machine::from("gfx900"), pass).unwrap())
            .count();
        assert!(programs >= least, "{pass} changes {programs} of 100");
    }
}

/// Scopes tell accesses apart in a fair part of the programs.
#[test]
fn some_accesses_are_apart() {
    let apart = |seed: &u64| {
        let module = frontend::read_module(loops(*seed).text().as_bytes(), "loops.ll").unwrap();
        module.functions.values().any(|function| function.alias_sets.pairs().next().is_some())
    };
    let programs = (1..=100).filter(apart).count();
    assert!(programs >= 15, "accesses of {programs} of 100 are apart");
}

/// A program that goes wrong becomes one with little besides what is wrong.
#[test]
fn programs_become_small() {
    let program = loops(3);
    let least = reduce::reduce(&program, &|smaller| smaller.text().contains("br label %loop"));
    assert!(least.text().lines().count() < 30, "{}", least.text());
}
