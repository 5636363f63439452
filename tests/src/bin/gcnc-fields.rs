//! Compares gcnc's objects with those of llc-22, llc-16 and llc-14 field by field, for every processor, system, version of code objects and setting.

use clap::Parser;
use gcnc_tests::fields::facts::{Facts, facts, report};
use gcnc_tests::fields::known::{self, Known};
use gcnc_tests::fields::matrix::{self, Llc, Module, Setting};
use gcnc_tests::fields::{Difference, Outcome, compare, compile, consistency, linked};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares objects with llc's, field by field. What `tests/field_differences.txt` gives a reason for is meant; anything else is a failure.
#[derive(Parser)]
struct Args {
    /// Files of LLVM IR, text or bitcode, or folders of them; else those of `tests/fields` and the examples.
    inputs: Vec<PathBuf>,
    /// A sample: every module for some thirty settings.
    #[arg(long)]
    quick: bool,
    /// Every n-th pair of module and setting.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Only so many settings, spread over all, each with every module.
    #[arg(long)]
    settings: Option<usize>,
    /// Keep what llc says in this folder, and read it there the next time.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Only modules whose name contains this.
    #[arg(long, default_value = "")]
    module: String,
    /// Only settings whose text (`amdhsa gfx900 V5 +xnack`) contains this.
    #[arg(long, default_value = "")]
    setting: String,
    /// Only these releases of llc.
    #[arg(long, value_delimiter = ',', default_values_t = [22, 16, 14])]
    llc: Vec<u8>,
    /// Link each object for amdhsa, gcnc's and that of llc-22, with `gcnc link` and `ld.lld-22` instead, and compare what comes out.
    #[arg(long)]
    link: bool,
    /// Print how often each line of the list matched.
    #[arg(long)]
    uses: bool,
    /// Write every difference to this file, one line each in the form of the list; `-` stands for the reason where there is none.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Print at most so many different differences.
    #[arg(long, default_value_t = 300)]
    show: usize,
}

fn main() -> ExitCode {
    gcnc_tests::exit("gcnc-fields", run(&Args::parse()))
}

/// What all jobs share.
struct Jobs<'a> {
    args: &'a Args,
    llcs: Vec<Llc>,
    known: Known,
}

/// What a job found.
#[derive(Default)]
struct Found {
    compared: BTreeMap<u8, usize>,
    only_ours: BTreeMap<u8, usize>,
    refused: usize,
    explained: usize,
    /// Lines for `--write`.
    lines: Vec<String>,
    different: Vec<Difference>,
}

impl Found {
    fn join(mut self, other: Self) -> Self {
        for (release, count) in other.compared {
            *self.compared.entry(release).or_default() += count;
        }
        for (release, count) in other.only_ours {
            *self.only_ours.entry(release).or_default() += count;
        }
        self.refused += other.refused;
        self.explained += other.explained;
        self.lines.extend(other.lines);
        self.different.extend(other.different);
        self
    }

    /// Sorts differences into those of the list and others.
    fn add(&mut self, differences: Vec<Difference>, jobs: &Jobs<'_>) {
        for difference in differences {
            let reason = jobs.known.reason(&difference);
            if jobs.args.write.is_some() {
                let Difference { field, ours, theirs, place } = &difference;
                let reason = reason.unwrap_or("-");
                self.lines.push(format!("{field} | {ours} | {theirs} | {place} | {reason}"));
            }
            match reason {
                Some(_) => self.explained += 1,
                None => self.different.push(difference),
            }
        }
    }
}

/// One module for one setting, with every llc that knows both.
fn objects(module: &Module, setting: &Setting, jobs: &Jobs<'_>) -> Found {
    let mut found = Found::default();
    let asked = jobs.llcs.iter().filter(|llc| llc.release >= module.since && llc.knows(setting));
    let asked: Vec<&Llc> = asked.collect();
    if asked.is_empty() {
        return found;
    }
    let ours = compile(module, setting);
    if let Ok(bytes) = &ours {
        let problems = report(bytes).map_or_else(|error| vec![error], |object| consistency(&object));
        let difference = |problem| Difference {
            field: "consistency".to_owned(),
            ours: problem,
            theirs: "-".to_owned(),
            place: format!("{setting} {}", module.name),
        };
        found.add(problems.into_iter().map(difference).collect(), jobs);
    }
    let ours: Result<Facts, String> = ours.and_then(|bytes| facts(&bytes));
    for llc in asked {
        let theirs = match &jobs.args.cache {
            Some(folder) => llc.compile_once(module, setting, folder),
            None => llc.compile(&module.path, setting),
        };
        let theirs = theirs.and_then(|bytes| facts(&bytes));
        match compare(&ours, &theirs, &format!("llc-{} {setting} {}", llc.release, module.name)) {
            Outcome::Compared(differences) => {
                *found.compared.entry(llc.release).or_default() += 1;
                found.add(differences, jobs);
            }
            Outcome::OnlyOurs => *found.only_ours.entry(llc.release).or_default() += 1,
            Outcome::Refused => found.refused += 1,
        }
    }
    found
}

/// One module for one setting, gcnc's object and that of llc-22, each linked twice.
fn links(module: &Module, setting: &Setting, jobs: &Jobs<'_>) -> Found {
    let mut found = Found::default();
    let llc = jobs.llcs.iter().find(|llc| llc.release == 22 && llc.knows(setting));
    let of_llc = llc.map(|llc| match &jobs.args.cache {
        Some(folder) => llc.compile_once(module, setting, folder),
        None => llc.compile(&module.path, setting),
    });
    let objects = [(Some(compile(module, setting)), ""), (of_llc, "of llc-22 ")];
    for (object, of) in objects {
        let object = match object {
            Some(Ok(object)) => object,
            Some(Err(_)) => {
                found.refused += 1;
                continue;
            }
            None => continue,
        };
        match linked::compare(&object, &format!("ld.lld-22 {of}{setting} {}", module.name)) {
            Outcome::Compared(differences) => {
                *found.compared.entry(22).or_default() += 1;
                found.add(differences, jobs);
            }
            Outcome::OnlyOurs => *found.only_ours.entry(22).or_default() += 1,
            Outcome::Refused => found.refused += 1,
        }
    }
    found
}

/// Modules to compile; the folder holds what clang makes of the examples.
fn modules(args: &Args, folder: &Path) -> Result<Vec<Module>, String> {
    let inputs = if args.inputs.is_empty() { vec![matrix::modules_folder()] } else { args.inputs.clone() };
    let files = gcnc_tests::files(&inputs, &["ll", "bc"])?;
    let mut out = files.iter().map(|path| Module::read(path, 0)).collect::<Result<Vec<_>, _>>()?;
    if args.inputs.is_empty() {
        match matrix::examples(folder) {
            Ok(examples) => out.extend(examples),
            Err(error) => println!("examples are left out: {error}"),
        }
    }
    out.retain(|module| module.name.contains(&args.module));
    Ok(out)
}

fn run(args: &Args) -> Result<bool, String> {
    let text = std::fs::read_to_string(known::path()).map_err(|error| error.to_string())?;
    let known = Known::parse(&text).map_err(|error| format!("{}: {error}", known::path().display()))?;
    let mut llcs = Vec::new();
    for (llc, installed) in Llc::all() {
        if !installed {
            println!("llc-{} is not installed; what it would tell is left out", llc.release);
        } else if args.llc.contains(&llc.release) {
            llcs.push(llc);
        }
    }
    if llcs.is_empty() {
        return Err("no llc to compare with".to_owned());
    }
    if let Some(folder) = &args.cache {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let modules = modules(args, folder.path())?;
    let mut settings = matrix::settings();
    settings.retain(|setting| setting.to_string().contains(&args.setting));
    settings.retain(|setting| !args.link || setting.system == "amdhsa");
    if let Some(count) = args.settings {
        let some = matrix::sample(&settings, settings.len().div_ceil(count.max(1)), count);
        settings = some.into_iter().cloned().collect();
    }
    let step = args.every.max(if args.quick { settings.len().div_ceil(30) } else { 1 });
    let pairs = modules.iter().enumerate().flat_map(|(number, module)| {
        let settings = matrix::sample(&settings, step, number).into_iter();
        settings.filter(|setting| module.suits(setting)).map(move |setting| (module, setting))
    });
    let pairs: Vec<(&Module, &Setting)> = pairs.collect();
    println!("{} modules, {} settings, {} pairs", modules.len(), settings.len(), pairs.len());
    let jobs = Jobs { args, llcs, known };
    let found = pairs
        .par_iter()
        .map(|(module, setting)| match args.link {
            true => links(module, setting, &jobs),
            false => objects(module, setting, &jobs),
        })
        .reduce(Found::default, Found::join);
    print(args, &found, &jobs.known);
    if let Some(path) = &args.write {
        let text = found.lines.join("\n") + "\n";
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let whole = step == 1
        && args.inputs.is_empty()
        && args.module.is_empty()
        && args.setting.is_empty()
        && args.settings.is_none()
        && jobs.llcs.len() == Llc::all().len();
    let mut well = found.different.is_empty();
    if whole {
        // Lines about linked objects are met by that run alone, and the others by the other.
        for (line, field) in jobs.known.stale().filter(|(_, field)| field.starts_with("linked ") == args.link)
        {
            println!("{}:{line}: {field}: matches nothing", known::path().display());
            well = false;
        }
    }
    Ok(well)
}

fn print(args: &Args, found: &Found, known: &Known) {
    let mut groups: BTreeMap<(String, &str, &str), (usize, &str)> = BTreeMap::new();
    for difference in &found.different {
        let key = (difference.class(), difference.ours.as_str(), difference.theirs.as_str());
        groups.entry(key).or_insert((0, &difference.place)).0 += 1;
    }
    for ((field, ours, theirs), (count, place)) in groups.iter().take(args.show) {
        println!("{field} | {ours} | {theirs} | {count} times, first {place}");
    }
    if groups.len() > args.show {
        println!("and {} more", groups.len() - args.show);
    }
    if args.uses {
        known.uses().for_each(|(count, field, reason)| println!("{count:8} {field}: {reason}"));
    }
    let with = if args.link { "ld.lld" } else { "llc" };
    for (release, count) in &found.compared {
        let only = found.only_ours.get(release).copied().unwrap_or_default();
        println!("{with}-{release}: {count} objects compared, {only} that only gcnc makes");
    }
    println!(
        "{} fields differ for a reason of the list, {} without one; {} pairs are refused",
        found.explained,
        found.different.len(),
        found.refused
    );
}
