//! Which rows of the instruction table the simulator does not execute: `unsupported.txt` lists them all, so a new row is either executed
//! or added there in plain sight. `GCNC_BLESS=1` rewrites the list.

use mir::isa::{Format, Opcode};
use mir::machine::Inst;
use mir::target::{Generation, PROCESSORS, Target};
use sim::program::Op;
use std::collections::BTreeMap;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unsupported.txt");

#[test]
fn rows_that_are_not_executed_are_listed() {
    let targets: Vec<Target> =
        PROCESSORS.iter().filter(|p| p.generation < Generation::Gfx10).map(Target::new).collect();
    let mut refused = BTreeMap::<&str, Vec<String>>::new();
    let (mut rows, mut executed) = (0, 0);
    for &op in Opcode::ALL {
        let info = op.info();
        let homes = targets.iter().filter(|t| info.exists_on(t));
        if info.format == Format::Pseudo || homes.clone().next().is_none() {
            continue;
        }
        rows += 1;
        if homes.clone().all(|t| Op::new(Inst::new(op, []), 4, t).is_supported()) {
            executed += 1;
            continue;
        }
        let lines = refused.entry(info.name).or_default();
        lines.push(format!("{op:?}"));
    }
    let mut list: Vec<String> = refused.into_values().flatten().collect();
    list.sort();
    let text = list.iter().map(|name| format!("{name}\n")).collect::<String>();
    println!("{executed} of {rows} rows are executed");
    if std::env::var_os("GCNC_BLESS").is_some() {
        std::fs::write(LIST, &text).expect("the list can be written");
    }
    let known = std::fs::read_to_string(LIST).unwrap_or_default();
    let known: Vec<&str> = known.lines().collect();
    let new: Vec<_> = list.iter().filter(|n| !known.contains(&n.as_str())).collect();
    let gone: Vec<_> = known.iter().filter(|n| !list.iter().any(|m| m == **n)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not executed and not listed: {new:?}; listed and executed: {gone:?}; GCNC_BLESS=1 rewrites unsupported.txt"
    );
}
