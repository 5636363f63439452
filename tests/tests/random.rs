//! Random programs give the results that were computed beside them, at both levels, with every step verified.

use gcnc_tests::measure::Compiler;
use gcnc_tests::random::{self, Op, Stmt};
use gcnc_tests::toolchain::Machine;

/// Modules of 16 programs; `GCNC_RANDOM` asks for more.
fn modules() -> u64 {
    std::env::var("GCNC_RANDOM").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn random_programs_compute_what_they_must() {
    let machine = |cpu, features| Machine { cpu, features };
    let gfx10 = [machine("gfx1010", ""), machine("gfx1010", "+wavefrontsize64"), machine("gfx1030", "")];
    for seed in 1..=modules() {
        let scratch = tempfile::tempdir().unwrap();
        let programs = random::module(seed, 60);
        for machine in [machine("gfx900", ""), gfx10[seed as usize % 3]] {
            for level in [0, 2] {
                let findings =
                    random::check(&programs, scratch.path(), Compiler::Gcnc, machine, level, None).unwrap();
                if let Some(finding) = findings.first() {
                    panic!("seed {seed} {machine} -O{level}: {}\n{}", finding.problem, finding.text);
                }
            }
        }
    }
}

#[test]
fn called_functions_compute_what_inlined_ones_do() {
    for seed in 1..=4 {
        for cpu in ["gfx900", "gfx700"] {
            random::check_calls(seed, cpu, &[0, 2], None).unwrap();
        }
        for (cpu, features) in [
            ("gfx900", "+enable-flat-scratch"),
            ("gfx1010", "+wavefrontsize32"),
            ("gfx1030", "+wavefrontsize64"),
        ] {
            random::check_calls(seed, Machine { cpu, features }, &[0, 2], None).unwrap();
        }
    }
}

/// Lanes of a wave and of a work-group talk to each other through memory, in waves of either size.
#[test]
fn lanes_find_what_others_left() {
    let machine = |cpu, features| Machine { cpu, features };
    let machines = [
        machine("gfx900", ""),
        machine("gfx600", ""),
        machine("gfx803", ""),
        machine("gfx1010", ""),
        machine("gfx1030", ""),
        machine("gfx1010", "+wavefrontsize64"),
        machine("gfx1030", "+wavefrontsize64"),
    ];
    for seed in 1..=7 * modules() {
        let machine = machines[seed as usize % machines.len()];
        if let Err(problem) = random::check_exchange(seed, Compiler::Gcnc, machine, &[0, 2], None) {
            panic!("{problem}");
        }
    }
}

/// Loops over memory do what they must, in waves of either size.
#[test]
fn loops_leave_what_they_must() {
    let machine = |cpu, features| Machine { cpu, features };
    let machines = [
        machine("gfx900", ""),
        machine("gfx803", ""),
        machine("gfx600", ""),
        machine("gfx1010", ""),
        machine("gfx1030", ""),
        machine("gfx1010", "+wavefrontsize64"),
        machine("gfx1030", "+wavefrontsize64"),
    ];
    for seed in 1..=14 * modules() {
        let machine = machines[seed as usize % machines.len()];
        if let Err(problem) = random::check_loops(seed, Compiler::Gcnc, machine, &[0, 2], None) {
            panic!("{problem}");
        }
    }
}

/// What earlier runs found: `min` of `abs`, a 16-bit constant that looks like a half.
#[test]
fn programs_that_failed_before() {
    for seed in [44, 147] {
        let scratch = tempfile::tempdir().unwrap();
        let programs = random::module(seed, 80);
        for level in [0, 2] {
            let findings =
                random::check(&programs, scratch.path(), Compiler::Gcnc, "gfx900", level, None).unwrap();
            assert!(findings.is_empty(), "seed {seed} at -O{level}: {}", findings[0].problem);
        }
    }
}

/// Makes the first addition below a subtraction.
fn spoil(body: &mut [Stmt]) -> bool {
    body.iter_mut().any(|stmt| match stmt {
        Stmt::Op { op, .. } if *op == Op::Binary("add") => {
            *op = Op::Binary("sub");
            true
        }
        Stmt::Branch { arms, .. } => arms.iter_mut().any(|arm| spoil(arm)),
        Stmt::Loop { body, .. } => spoil(body),
        _ => false,
    })
}

/// The judge itself: kernels that compute something else than their programs say are found.
#[test]
fn wrong_results_are_found() {
    let scratch = tempfile::tempdir().unwrap();
    let mut programs = random::module(1, 60);
    let object =
        random::build(&random::text(&programs), scratch.path(), Compiler::Gcnc, "gfx900", 2).unwrap();
    let spoiled =
        programs.iter_mut().filter_map(|(program, _)| spoil(&mut program.body).then_some(())).count();
    let findings = random::judge(&object, &programs).len();
    // An addition may be of no consequence to what is stored.
    assert!(findings > 0 && 3 * findings >= spoiled, "{findings} of {spoiled}");
}
