//! Reads files and says what came of it: one line for each refusal, then counts and times.
//!
//! `read FILE...` or `read -` for names on standard input. `-q` leaves out the refusals; `--check` verifies
//! the result and prints, parses and prints it again; `--print` shows it; `--repeat` copies each module ten
//! times and counts the quickest.

use frontend::Context;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let quiet = names.iter().any(|name| name == "-q");
    let check = names.iter().any(|name| name == "--check");
    let print = names.iter().any(|name| name == "--print");
    let repeats = if names.iter().any(|name| name == "--repeat") { 10 } else { 1 };
    names.retain(|name| !matches!(name.as_str(), "-q" | "--check" | "--print" | "--repeat"));
    if names == ["-"] {
        let mut text = String::new();
        if std::io::stdin().read_to_string(&mut text).is_err() {
            eprintln!("standard input is not text");
            return;
        }
        names = text.lines().map(str::to_owned).collect();
    }
    let (mut functions, mut instructions, mut malformed) = (0usize, 0usize, 0usize);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let [mut parsing, mut verifying, mut copying] = [Duration::ZERO; 3];
    for name in &names {
        let bytes = match std::fs::read(name) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{name}: {error}");
                continue;
            }
        };
        let context = Context::create();
        let start = Instant::now();
        let parsed = frontend::parse_unverified(&context, &bytes, name);
        parsing += start.elapsed();
        let start = Instant::now();
        let verified = parsed.and_then(|module| frontend::verify(&module, name).map(|()| module));
        verifying += start.elapsed();
        let mut quickest = Duration::MAX;
        let reading = verified.and_then(|module| {
            for _ in 1..repeats {
                let start = Instant::now();
                let reading = frontend::read_llvm_module(&module, name)?;
                quickest = quickest.min(start.elapsed());
                drop(reading);
            }
            let start = Instant::now();
            let reading = frontend::read_llvm_module(&module, name);
            quickest = quickest.min(start.elapsed());
            reading
        });
        copying += if quickest == Duration::MAX { Duration::ZERO } else { quickest };
        match reading {
            Ok(reading) => {
                let defined = reading.module.functions.values().filter(|f| !f.is_declaration());
                for function in defined {
                    functions += 1;
                    instructions += function.insts.len();
                }
                if print {
                    println!("{}", reading.module);
                }
                if check {
                    check_module(name, &reading.module);
                }
                for error in reading.errors {
                    if !quiet {
                        println!("{name}: {:?}: {error}", error.kind);
                    }
                    *reasons.entry(error.message.clone()).or_default() += 1;
                }
            }
            Err(error) => {
                malformed += 1;
                if !quiet {
                    println!("{name}: {:?}: {error} {:?}", error.kind, error.location);
                }
            }
        }
    }
    for (reason, count) in &reasons {
        println!("{count:6} {reason}");
    }
    println!(
        "{} files, {malformed} refused whole, {functions} functions, {instructions} instructions",
        names.len()
    );
    let each = |time: Duration| time.as_nanos() as f64 / instructions.max(1) as f64;
    println!(
        "ns an instruction: parse {:.0}, verify {:.0}, copy {:.0}",
        each(parsing),
        each(verifying),
        each(copying)
    );
}

/// Reports what the verifier finds, and whether the text form is read back as it is.
fn check_module(name: &str, module: &mir::ir::Module) {
    if let Err(errors) = mir::ir::verify_module(module) {
        for error in errors {
            println!("{name}: verifier: {error}");
        }
    }
    let text = module.to_string();
    match mir::ir::parse_module(&text, name) {
        Ok(again) => {
            let second = again.to_string();
            if let Some((a, b)) = text.lines().zip(second.lines()).find(|(a, b)| a != b) {
                println!("{name}: text differs: {a}\n{b}");
            } else if text.len() != second.len() {
                println!("{name}: text differs in length");
            }
        }
        Err(error) => println!("{name}: text is not read back: {error} {:?}", error.location),
    }
}
