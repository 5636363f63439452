//! Kernels over all small control-flow graphs and over random ones compute what they must, at both levels.
//!
//! `GCNC_GRAPHS=all` asks for the long run: every graph of five blocks and a million random programs, some
//! hours.

use gcnc_tests::graphs::program::{LANES, STRIDE, Waves};
use gcnc_tests::graphs::{
    self, Campaign, Case, Counts, Finding, Fuel, Graph, Home, Inputs, Op, Program, Setting, Style, Var,
    dress, evaluate, judge, llvm, lower, reduce,
};
use gcnc_tests::interpret::Interpreter;
use gcnc_tests::measure::Compiler;
use gcnc_tests::opt;
use std::sync::Mutex;

fn long() -> bool {
    std::env::var("GCNC_GRAPHS").is_ok_and(|value| value == "all")
}

/// Runs what `run` asks for; panics with what went wrong.
fn all_right(run: impl Fn(&(dyn Fn(&Case, &Setting, &Finding) + Sync)) -> Counts) -> Counts {
    let problems = Mutex::new(Vec::new());
    let counts = run(&|case, setting, finding| {
        problems.lock().unwrap().push(format!("{}, {setting}: {}", case.name, finding.problem));
    });
    let problems = problems.into_inner().unwrap();
    assert!(
        problems.is_empty(),
        "{} differences\n{}",
        problems.len(),
        problems[..problems.len().min(10)].join("\n")
    );
    println!("{counts:?}");
    counts
}

#[test]
fn all_graphs_of_three_blocks() {
    let campaign = Campaign::new(1, 1);
    for (blocks, graphs) in [(1, 4), (2, 45), (3, 832)] {
        let counts = all_right(|listener| campaign.exhaustive(blocks, listener));
        assert_eq!(counts.graphs, graphs);
        assert_eq!(counts.runs, graphs * 8);
    }
}

#[test]
fn graphs_of_four_and_five_blocks() {
    for (blocks, every) in if long() { [(4, 1), (5, 1)] } else { [(4, 29), (5, 3001)] } {
        all_right(|listener| Campaign::new(2, every).exhaustive(blocks, listener));
    }
}

#[test]
fn random_graphs() {
    for (count, size) in if long() { [(900_000, 12), (100_000, 40)] } else { [(20_000, 7), (500, 30)] } {
        all_right(|listener| Campaign::new(1 << 32, 1).random(count, size, listener));
    }
}

/// GFX10 has waves of 32 lanes, and of 64.
#[test]
fn graphs_on_both_sizes_of_waves() {
    let (exact, count) = if long() { (1, 100_000) } else { (7, 1600) };
    for attributes in ["+wavefrontsize32", "+wavefrontsize64"] {
        let campaign = Campaign {
            cpus: ["gfx1010", "gfx1030"].map(str::to_owned).to_vec(),
            attributes: vec![attributes.to_owned()],
            ..Campaign::new(5, exact)
        };
        all_right(|listener| campaign.exhaustive(3, listener));
        let campaign = Campaign { every: 1, ..campaign };
        all_right(|listener| campaign.random(count, 9, listener));
    }
}

#[test]
fn graphs_after_passes_of_opt() {
    if let Err(message) = opt::available() {
        eprintln!("{message}");
        return;
    }
    let campaign = Campaign { opt: true, ..Campaign::new(3, 1) };
    let counts = all_right(|listener| campaign.random(if long() { 20_000 } else { 200 }, 8, listener));
    assert!(counts.left_out * 4 < counts.runs, "{counts:?}");
}

fn setting_for(cpu: &str, attributes: &[&str], level: u8) -> Setting {
    Setting {
        cpu: cpu.to_owned(),
        attributes: attributes.iter().map(ToString::to_string).collect(),
        level,
        verify: true,
        passes: None,
        compiler: Compiler::Gcnc,
    }
}

fn setting(level: u8) -> Setting {
    setting_for("gfx900", &[], level)
}

/// The judge itself: kernels that do something else than the programs that are evaluated are found, whatever
/// it is.
#[test]
fn wrong_results_are_found() {
    let mut found = 0;
    for (seed, graph) in (0u64..).zip(graphs::graphs(3).step_by(17)) {
        let (program, inputs) = dress(&graph, seed, Style::plain(true, seed % 2 == 0), Waves::W64);
        // The first operation on X adds one more.
        let mut spoiled = program.clone();
        let first = spoiled.blocks[0].ops.iter_mut().find_map(|op| match op {
            Op::Mix { dst: Var::X, addend, .. } => Some(addend),
            _ => None,
        });
        let Some(addend) = first else { continue };
        *addend += 1;
        let reference = |_: &Program, inputs: Inputs| evaluate::evaluate(&spoiled, inputs);
        if evaluate::evaluate(&spoiled, inputs) != evaluate::evaluate(&program, inputs) {
            found += 1;
            let findings = graphs::check_against(&reference, &[(program, inputs)], &setting(2));
            assert_eq!(findings.len(), 1, "seed {seed}");
        }
    }
    assert!(found > 5, "{found}");
}

/// LLVM's text of a module, read again, is compiled to the same code. (Not where a switch has several cases
/// of one target: the reader orders them its own way.)
#[test]
fn text_says_what_the_module_does() {
    for (seed, graph) in (0u64..).zip(graphs::graphs(3).step_by(13)) {
        let across =
            Style { convergent: seed % 3 == 0, kill: seed % 3 == 1, calls: seed % 3 == 2, ..Style::PLAIN[0] };
        for style in Style::PLAIN.into_iter().chain([across]) {
            let (program, _) = dress(&graph, seed, style, Waves::W64);
            let options = setting((seed % 2 * 2) as u8).options();
            let module = lower::lower(&[&program]);
            let text = llvm::text(&module).unwrap();
            let direct = gcnc::compile_module(module, &options).unwrap();
            let read = gcnc::compile(text.as_bytes(), "graphs", &options).unwrap();
            assert!(direct.bytes == read.bytes, "seed {seed}\n{text}");
        }
    }
}

/// Reducing keeps what is asked for and drops the rest.
#[test]
fn programs_are_reduced_to_what_matters() {
    let has_tally = |program: &Program| program.ops().any(|op| matches!(op, Op::Tally(_)));
    let mut reduced = 0;
    for seed in 0..40 {
        let (program, inputs) = graphs::random(seed, 20, Waves::W64);
        if !has_tally(&program) {
            continue;
        }
        let small = reduce(&program, inputs, &has_tally);
        assert_eq!(small.ops().count(), 1, "seed {seed}");
        assert!(has_tally(&small) && small.blocks.len() <= 2, "seed {seed}: {small:?}");
        reduced += 1;
    }
    assert!(reduced > 5);
}

fn straight(ops: Vec<Op>, ends: Vec<graphs::End>) -> Program {
    let graph = Graph { ends };
    let (mut program, _) = dress(&graph, 1, Style::plain(true, false), Waves::W64);
    program.graph = graph;
    program.homes = [Home::Ssa; 6];
    program.stored = [true; 6];
    program.fuel = 3;
    program.uneven_fuel = false;
    for block in &mut program.blocks {
        block.ops.clone_from(&ops);
        block.fuel = Fuel::Exit { at: 0 };
    }
    program
}

/// Lanes that went another way do not take part; those that are in the same round do, whichever way they
/// came.
#[test]
fn evaluation_knows_who_is_together() {
    use graphs::program::{Pick, Source};
    use graphs::{Cond, End};
    let odd = Cond::Below(Pick { source: Source::Lane, shift: 0, mask: 1 }, 1);
    let all = Op::Ballot { dst: Var::Y, cond: Cond::Const(true) };
    // 0 goes to 1 in even lanes, else to 2, 1 to 2: in 2 all are together again.
    let ends = vec![End::Branch { divergent: true, to: [1, 2] }, End::Jump(2), End::Jump(3)];
    let mut program = straight(Vec::new(), ends);
    program.blocks[0].cond = odd;
    let zero = Op::Mix { dst: Var::Y, factor: 0, addend: 0 };
    let inputs = Inputs { argument: 5 };
    let lane = |results: &[u32], lane: usize| results[lane * STRIDE + Var::Y as usize];
    let fold = |mask: u64| (mask as u32).wrapping_add(((mask >> 32) as u32).wrapping_mul(31));
    let at = |block: usize| {
        let mut program = program.clone();
        program.fuel = 9;
        program.blocks[2].ops = vec![];
        program.blocks[0].ops = vec![zero];
        program.blocks[block].ops.push(all);
        evaluate::evaluate(&program, inputs).unwrap()
    };
    let even = 0x5555_5555_5555_5555;
    let branch = at(1);
    assert_eq!((lane(&branch, 0), lane(&branch, 1)), (fold(even), 0));
    assert_eq!(lane(&at(2), LANES - 1), fold(u64::MAX));
    // Now 1 is a loop that even lanes enter, and leave for 2 when their fuel is used up: they never come to 2.
    program.graph.ends[1] = End::Jump(1);
    let rounds = evaluate::evaluate(
        &Program {
            blocks: program
                .blocks
                .iter()
                .enumerate()
                .map(|(block, code)| graphs::Block {
                    ops: if block == 0 { vec![zero] } else { vec![all] },
                    ..code.clone()
                })
                .collect(),
            ..program.clone()
        },
        inputs,
    )
    .unwrap();
    assert_eq!(lane(&rounds, 0), fold(even));
    assert_eq!(lane(&rounds, 1), fold(!even));
    // Two ways into a cycle: nobody can say who is together.
    program.graph.ends[1] = End::Jump(2);
    program.graph.ends[2] = End::Jump(1);
    program.blocks[1].ops = vec![all];
    assert!(evaluate::evaluate(&program, inputs).is_err());
}

/// What goes wrong is written so that the command line can run it.
#[test]
fn reports_can_be_run() {
    let (program, inputs) = graphs::random(7, 6, Waves::W64);
    let (text, dispatch) = judge::report(&program, inputs).unwrap();
    let object = gcnc::compile(text.as_bytes(), "graphs", &setting(2).options()).unwrap();
    let outcome = sim::run_from_json(
        &object.bytes,
        &dispatch.replace(", \"out\": \"out.bin\"", ""),
        &sim::RunOptions::default(),
    );
    assert_eq!(outcome.unwrap().buffers[0].bytes, 4 * program.results());
}

/// What the interpreter of IR makes of the text of a kernel, as read or simplified.
fn interpreted(
    program: &Program,
    inputs: Inputs,
    simplified: bool,
    setting: &Setting,
) -> Result<Vec<u32>, String> {
    let (text, _) = judge::report(program, inputs)?;
    let options = setting.options();
    let read = if simplified { Interpreter::simplified } else { Interpreter::as_read };
    let interpreter = read(text.as_bytes(), &options)?;
    let mut memory = sim::Memory::new();
    let out = memory.add_buffer("out", vec![0; 4 * program.results()]);
    let dispatch = sim::Dispatch {
        kernel: "k0".to_owned(),
        grid: [program.lanes as u32, 1, 1],
        group: [program.lanes as u32, 1, 1],
        args: vec![sim::Arg::Buffer(out), sim::Arg::Value(inputs.argument.to_le_bytes().to_vec())],
        ..sim::Dispatch::default()
    };
    interpreter.run(&mut memory, &dispatch)?;
    Ok(memory.read_u32s(out))
}

/// Two references judge each other: the direct evaluation, and the interpreter of IR with its own account of
/// who is together.
#[test]
fn references_agree() {
    let all = if long() { vec![(1, 1), (2, 1), (3, 1), (4, 1)] } else { vec![(2, 1), (3, 7), (4, 331)] };
    let small = all.into_iter().flat_map(|(blocks, every)| graphs::graphs(blocks).step_by(every));
    let small = (0u64..).zip(small).flat_map(|(seed, graph)| {
        let styles = if long() { &Style::PLAIN[..] } else { &Style::PLAIN[seed as usize % 4..][..1] };
        styles.iter().map(|&style| dress(&graph, seed, style, Waves::W64)).collect::<Vec<_>>()
    });
    let random = |start: u64, count: u64, waves: Waves| {
        (0..if long() { 25 * count } else { count }).map(move |seed| graphs::random(start | seed, 12, waves))
    };
    let settings =
        [setting(2), setting_for("gfx1030", &[], 2), setting_for("gfx1030", &["+wavefrontsize64"], 2)];
    let waves = settings.each_ref().map(|setting| setting.waves().unwrap());
    assert_eq!(waves.map(|waves| (waves.lanes, waves.permuted)), [(64, 64), (32, 32), (64, 32)]);
    let random = random(1 << 40, 4000, waves[0]).chain(random(1 << 41, 500, waves[1])).chain(random(
        1 << 42,
        500,
        waves[2],
    ));
    let mut convergent = 0;
    for (number, (program, inputs)) in small.chain(random).enumerate() {
        if program.is_shader() {
            continue;
        }
        convergent += usize::from(program.is_convergent());
        let want = evaluate::evaluate(&program, inputs);
        let at = waves.iter().position(|&waves| waves == program.waves).unwrap();
        let got = interpreted(&program, inputs, number % 2 == 0, &settings[at]);
        assert!(got == want, "program {number}: {program:?}\n{:?}", got.err());
    }
    assert!(convergent > 50, "{convergent}");
}
