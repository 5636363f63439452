//! Which rows of the instruction table the simulator does not execute: `unsupported.txt` lists them all, each with the reason why no compute kernel
//! contains it, so a new row is either executed or added there in plain sight.

use mir::isa::{Format, Opcode};
use mir::machine::Inst;
use mir::target::{PROCESSORS, Target};
use sim::program::Op;
use std::collections::BTreeMap;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unsupported.txt");

#[test]
fn rows_that_are_not_executed_are_listed() {
    let targets: Vec<Target> = PROCESSORS.iter().map(Target::new).collect();
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
    println!("{executed} of {rows} rows are executed");
    let known = std::fs::read_to_string(LIST).unwrap_or_default();
    let known: Vec<(&str, &str)> = known.lines().map(|l| l.split_once(": ").unwrap_or((l, ""))).collect();
    assert!(known.iter().all(|(_, reason)| !reason.is_empty()), "a row without a reason");
    let new: Vec<_> = list.iter().filter(|n| !known.iter().any(|k| k.0 == **n)).collect();
    let gone: Vec<_> = known.iter().filter(|k| !list.iter().any(|m| m == k.0)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "not executed and not listed: {new:?}; listed and executed: {gone:?}"
    );
}
