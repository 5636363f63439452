//! LLVM's AMDGPU code generator tests for GFX6 to GFX10: what gcnc accepts of them, and whether it means the
//! same as `llc`.

use clap::Parser;
use gcnc_tests::llvm_suite::compare::Verdict;
use gcnc_tests::llvm_suite::llc::Llc;
use gcnc_tests::llvm_suite::{
    Comparison, Outcome, Plan, cases, compare_case, elsewhere, explained, judge, reference, refusals,
    suspects,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Compiles LLVM's own AMDGPU tests with gcnc and judges the objects.
#[derive(Parser)]
struct Args {
    /// Folder llvm/test/CodeGen/AMDGPU; else below the cache, else fetched there from Debian's source
    /// package.
    #[arg(long)]
    tests: Option<PathBuf>,
    /// Cache of fetched and generated files; else $GCNC_CACHE, else the temporary folder.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Run functions of both compilers on the simulator and compare.
    #[arg(long)]
    compare: bool,
    /// Only cases whose name (`FILE:LINE`) has one of these parts; `^PART` is one at the start.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only functions whose name has this part.
    #[arg(long)]
    function: Option<String>,
    /// Only this processor.
    #[arg(long)]
    mcpu: Option<String>,
    /// Compile the cases of this processor's generation for it, whatever processor of that generation they name.
    #[arg(long, conflicts_with_all = ["mcpu", "bless"])]
    on: Option<String>,
    /// With --on: the cases of all generations.
    #[arg(long, requires = "on")]
    all_generations: bool,
    /// With --on: features besides those of the cases.
    #[arg(long, requires = "on", default_value = "", allow_hyphen_values = true)]
    mattr: String,
    /// Instead of the suite: the tests of LLVM's other targets and of its optimiser, moved to the processor of --on, else gfx900; none may
    /// crash the compiler or keep it busy
    #[arg(long)]
    elsewhere: bool,
    /// Every n-th case.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Seeds of the comparison's inputs.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    seeds: Vec<u64>,
    /// Levels of gcnc in the comparison.
    #[arg(short = 'O', value_delimiter = ',', default_values_t = [0, 2])]
    levels: Vec<u8>,
    /// Write the table of refusals, which may only shrink.
    #[arg(long)]
    bless: bool,
    /// Print every case.
    #[arg(long)]
    verbose: bool,
    /// Compare this gcnc's code instead of the built-in one's.
    #[arg(long)]
    gcnc: Option<PathBuf>,
    /// Print the instructions that gcnc's code executes in the comparison.
    #[arg(long)]
    trace: bool,
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_refusals.txt")
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("gcnc-llvm-suite: skipped: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let cache = args.cache.clone().or_else(|| std::env::var_os("GCNC_CACHE").map(PathBuf::from));
    let cache = cache.unwrap_or_else(|| std::env::temp_dir().join("gcnc-cache"));
    let work = cache.join("llvm_suite");
    let mut all = match args.elsewhere {
        true => elsewhere::find(&cache, &work, args.on.as_deref().unwrap_or("gfx900"), &args.mattr)?,
        false => cases::find(&cases::tests_folder(args.tests.as_deref(), &cache)?, &work)?,
    };
    let named = |id: &str, part: &String| match part.strip_prefix('^') {
        Some(start) => id.starts_with(start),
        None => id.contains(part.as_str()),
    };
    all.retain(|case| args.only.is_empty() || args.only.iter().any(|part| named(&case.id, part)));
    all.retain(|case| args.mcpu.as_ref().is_none_or(|mcpu| case.mcpu == *mcpu));
    if let Some(cpu) = args.on.as_ref().filter(|_| !args.elsewhere) {
        all = cases::on(&all, cpu, &args.mattr, args.all_generations)?;
    }
    let all: Vec<_> = all.into_iter().step_by(args.every.max(1)).collect();
    if args.elsewhere && !args.compare {
        return Ok(survive(args, &all));
    }
    let llc = Llc::new(&work)?;
    if args.compare { compare(args, &all, &llc, &work) } else { accept(args, &all, &llc) }
}

/// Whether no module crashes the compiler or keeps it busy.
fn survive(args: &Args, all: &[cases::Case]) -> bool {
    let outcomes: Vec<_> = all.par_iter().map(|case| (&case.id, judge(case, None))).collect();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let [mut accepted, mut failed] = [0; 2];
    for (id, outcome) in &outcomes {
        match outcome {
            Outcome::Accepted(_) => accepted += 1,
            Outcome::Refused(message) => *reasons.entry(refusals::reason(message)).or_default() += 1,
            Outcome::Crashed(_) | Outcome::Hung => {
                failed += 1;
                println!("{id}: {outcome:?}");
            }
        }
    }
    if args.verbose {
        print!("{}", refusals::text(&reasons));
    }
    let refused: usize = reasons.values().sum();
    println!("{} modules: {accepted} accepted, {refused} refused, {failed} crashed or hung", all.len());
    failed == 0
}

fn accept(args: &Args, all: &[cases::Case], llc: &Llc) -> Result<bool, String> {
    let outcomes: Vec<(bool, &cases::Case, Outcome)> = all
        .par_iter()
        .filter_map(|case| {
            let theirs = reference(case, llc);
            // What LLVM 22 does not do as the test of LLVM 19 says is no case.
            if theirs.is_ok() == case.negative {
                return None;
            }
            let outcome = judge(case, theirs.as_deref().ok());
            if args.verbose {
                println!("{} {outcome:?}", case.id);
            }
            Some((case.negative, case, outcome))
        })
        .collect();
    let known = suspects::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_suspects.txt"))?;
    let mut used = vec![false; known.len()];
    let mut unexplained = 0;
    let [mut accepted, mut clean, mut suspect, mut crashed, mut hung, mut rejected, mut negative] = [0; 7];
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (is_negative, case, outcome) in &outcomes {
        if *is_negative {
            negative += 1;
            match outcome {
                Outcome::Refused(_) => rejected += 1,
                other => println!("{} must be refused: {other:?}", case.id),
            }
            continue;
        }
        match outcome {
            Outcome::Accepted(findings) => {
                accepted += 1;
                clean += usize::from(findings.wrong.is_empty());
                suspect += usize::from(findings.wrong.is_empty() && !findings.suspect.is_empty());
                findings.wrong.iter().for_each(|what| println!("{}: wrong: {what}", case.id));
                for what in &findings.suspect {
                    match known.iter().position(|row| row.is_about(&case.id, args.on.as_deref(), what)) {
                        Some(row) => used[row] = true,
                        None => {
                            unexplained += 1;
                            println!("{}: suspect: {what}", case.id);
                        }
                    }
                }
            }
            Outcome::Refused(message) => *reasons.entry(refusals::reason(message)).or_default() += 1,
            Outcome::Crashed(message) => {
                crashed += 1;
                println!("{}: CRASH: {message}", case.id);
            }
            Outcome::Hung => {
                hung += 1;
                println!("{}: HANG", case.id);
            }
        }
    }
    print!("{}", refusals::text(&reasons));
    let total = outcomes.len() - negative;
    let share = |n: usize| 100.0 * n as f64 / total.max(1) as f64;
    println!("{total} cases that llc-22 accepts");
    println!(
        "accepted {accepted} ({:.1} %), clean {clean} ({:.1} %), of these suspect {suspect}",
        share(accepted),
        share(clean)
    );
    println!("clean and not suspect: {} ({:.1} %)", clean - suspect, share(clean - suspect));
    println!("suspect functions that llvm_suite_suspects.txt does not explain: {unexplained}");
    println!("refused {}, crashed {crashed}, hung {hung}", reasons.values().sum::<usize>());
    println!("{rejected} of {negative} cases that llc-22 refuses are refused");
    let all_lines = args.only.is_empty() && args.mcpu.is_none() && args.every == 1;
    // With more features than the cases', other functions may be suspect.
    let of_this_run = |row: &suspects::Row| {
        all_lines && args.mattr.is_empty() && row.on == args.on && args.all_generations == args.on.is_some()
    };
    let stale: Vec<_> = known.iter().zip(&used).filter(|(row, used)| of_this_run(row) && !**used).collect();
    stale.iter().for_each(|(row, _)| println!("is not suspect: {} {}", row.file, row.function));
    if !all_lines || args.on.is_some() {
        return Ok(stale.is_empty() && crashed + hung + unexplained == 0);
    }
    let grown = match table().exists() {
        true => refusals::grown(&refusals::read(&table())?, &reasons),
        false => None,
    };
    if let Some(grown) = &grown {
        println!("{grown}");
    } else if args.bless {
        std::fs::write(table(), refusals::text(&reasons)).map_err(|e| e.to_string())?;
    }
    Ok(grown.is_none() && stale.is_empty() && crashed + hung + unexplained == 0)
}

fn compare(args: &Args, all: &[cases::Case], llc: &Llc, work: &Path) -> Result<bool, String> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_differences.txt");
    let rows = explained::read(&table)?;
    let explanation = |r: &Comparison| {
        let differs = matches!(r.verdict, Verdict::Different(_) | Verdict::Unclear(_));
        rows.iter().position(|row| differs && row.is_about(&r.case, &r.function))
    };
    let plan = Plan {
        seeds: args.seeds.clone(),
        levels: args.levels.clone(),
        only: args.function.clone(),
        trace: args.trace,
        gcnc: args.gcnc.clone(),
    };
    let done = AtomicUsize::new(0);
    let results: Vec<_> = all
        .par_iter()
        .filter(|case| !case.negative)
        .flat_map_iter(|case| {
            let results = compare_case(case, llc, work, &plan);
            for r in &results {
                match &r.verdict {
                    _ if explanation(r).is_some() => {}
                    Verdict::Different(what) => println!("DIFFERENT {}: {what}", r.what),
                    Verdict::Unclear(what) => println!("unclear {}: {what}", r.what),
                    Verdict::Close(what) => println!("close {}: {what}", r.what),
                    Verdict::Equal(n) if args.verbose => println!("equal {}: {n} bytes", r.what),
                    Verdict::Skipped(why) if args.verbose => println!("skipped {}: {why}", r.what),
                    _ => {}
                }
            }
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            if n.is_multiple_of(200) {
                eprintln!("{n} of {} cases", all.len());
            }
            results
        })
        .collect();
    let [mut equal, mut close, mut different, mut unclear, mut known] = [0; 5];
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let mut used = vec![false; rows.len()];
    for r in &results {
        if let Some(row) = explanation(r) {
            used[row] = true;
            known += 1;
            continue;
        }
        match &r.verdict {
            Verdict::Equal(_) => equal += 1,
            Verdict::Close(_) => close += 1,
            Verdict::Different(_) => different += 1,
            Verdict::Unclear(_) => unclear += 1,
            Verdict::Skipped(why) => *skipped.entry(why.clone()).or_default() += 1,
        }
    }
    let mut reasons: Vec<_> = skipped.iter().collect();
    reasons.sort_by_key(|(why, count)| (usize::MAX - **count, (*why).clone()));
    reasons.iter().take(60).for_each(|(why, count)| println!("{count:7}  skipped: {why}"));
    let total: usize = skipped.values().sum();
    println!(
        "{equal} equal, {close} equal but for rounding, {different} different, {unclear} different with undefined operands, {known} different for known reasons, {total} skipped"
    );
    // Explanations of what does not differ any more must go.
    let whole = args.only.is_empty() && args.every == 1 && args.mcpu.is_none() && args.function.is_none();
    let stale: Vec<_> = rows.iter().zip(&used).filter(|(_, used)| whole && !**used).collect();
    stale.iter().for_each(|(row, _)| println!("does not differ: {} {}", row.file, row.function));
    Ok(different + unclear == 0 && stale.is_empty())
}
