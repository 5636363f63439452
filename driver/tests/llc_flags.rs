//! The table of llc's flags against `llc-22`, and the document made from it.

use gcnc::llc_flags::{document, find};
use std::collections::BTreeMap;
use std::process::Command;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/llc-flags.md");

#[test]
fn the_document_is_what_the_table_says() {
    let wanted = document();
    if std::env::var_os("GCNC_BLESS").is_some() {
        std::fs::write(PATH, &wanted).expect("docs/llc-flags.md can be written");
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/llc-flags.md differs from the table; GCNC_BLESS=1 writes it");
}

/// Names in the output of `llc --help-hidden`: `  --name=<value>   - text`.
fn names(help: &str) -> impl Iterator<Item = (&str, bool)> {
    help.lines().filter_map(|line| {
        let text = line.strip_prefix("  -")?.trim_start_matches('-');
        let end = text.find(['=', '[', ' ']).unwrap_or(text.len());
        let rest = &text[end..];
        // `-O <char>` takes its value as a word of its own.
        let takes_value = rest.starts_with('=') || rest.starts_with(" <");
        (end > 0).then_some((&text[..end], takes_value))
    })
}

#[test]
fn every_flag_of_llc_has_a_fate() {
    let Ok(help) = Command::new("llc-22").args(["-mtriple=amdgcn", "--help-hidden"]).output() else {
        eprintln!("skipped: no llc-22");
        return;
    };
    let help = String::from_utf8(help.stdout).expect("help is text");
    // One that need not have a value is listed with and without.
    let mut flags: BTreeMap<&str, bool> = BTreeMap::new();
    for (name, takes_value) in names(&help) {
        flags.entry(name).and_modify(|always| *always &= takes_value).or_insert(takes_value);
    }
    let wrong = |&(name, takes_value): &(&str, bool)| find(name).is_none_or(|f| f.takes_value != takes_value);
    let wrong: Vec<_> = flags.iter().map(|(&name, &takes_value)| (name, takes_value)).filter(wrong).collect();
    assert!(flags.len() > 1000 && wrong.is_empty(), "{wrong:?}");
}
