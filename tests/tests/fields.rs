//! Objects beside llc's, field by field, and linked objects beside ld.lld's: a sample of what `gcnc-fields` compares.

use gcnc_tests::fields::facts::{facts, report};
use gcnc_tests::fields::known::{self, Known};
use gcnc_tests::fields::matrix::{self, Llc, Module, Setting};
use gcnc_tests::fields::{Outcome, compare, compile, consistency, linked};
use rayon::prelude::*;
use std::process::Command;

/// Settings of the sample: each generation, system and version, features on and off.
const SETTINGS: [&str; 12] = [
    "amdhsa gfx600 V4",
    "amdhsa gfx701 V5",
    "amdhsa gfx802 V2",
    "amdhsa gfx803 V6",
    "amdhsa gfx900 V3 +xnack",
    "amdhsa gfx906 V5 -xnack,+sramecc",
    "amdpal gfx803",
    "mesa3d gfx704",
    "none gfx900",
    "amdhsa gfx1010 V4 +xnack,+cumode",
    "amdhsa gfx1030 V5 +wavefrontsize64",
    "mesa3d gfx1012 -xnack",
];

fn modules() -> Vec<Module> {
    let files = gcnc_tests::ir_files(&[matrix::modules_folder()]).expect("the folder of modules");
    files.iter().map(|path| Module::read(path, 0).expect("readable")).collect()
}

fn settings() -> Vec<Setting> {
    let mut all = matrix::settings();
    all.retain(|setting| SETTINGS.contains(&setting.to_string().as_str()));
    assert_eq!(all.len(), SETTINGS.len(), "each is a setting");
    all
}

/// Each module with a third of the settings, others for its neighbour.
fn pairs() -> Vec<(Module, Setting)> {
    let settings = settings();
    let pairs = modules().into_iter().enumerate().flat_map(|(number, module)| {
        let some = matrix::sample(&settings, 3, number).into_iter().filter(|setting| module.suits(setting));
        some.map(|setting| (module.clone(), setting.clone())).collect::<Vec<_>>()
    });
    pairs.collect()
}

fn list() -> Known {
    let text = std::fs::read_to_string(known::path()).expect("the list");
    Known::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts that enough was compared, and that the list has every difference.
fn judge(outcomes: &[Outcome], at_least: usize) {
    let known = list();
    let compared = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Compared(differences) => Some(differences),
        _ => None,
    });
    let wrong: Vec<_> = compared.clone().flatten().filter(|found| known.reason(found).is_none()).collect();
    assert!(wrong.is_empty(), "{} fields, first {:?}", wrong.len(), wrong.first());
    assert!(compared.clone().count() >= at_least, "{} objects are too few", compared.count());
}

#[test]
fn objects_are_llcs_but_for_the_list() {
    let llcs: Vec<Llc> =
        Llc::all().into_iter().filter(|(_, installed)| *installed).map(|(llc, _)| llc).collect();
    if !llcs.iter().any(|llc| llc.release == 22) {
        eprintln!("skipped: llc-22 is not installed");
        return;
    }
    let outcomes = pairs().into_par_iter().flat_map_iter(|(module, setting)| {
        let ours = compile(&module, &setting).and_then(|bytes| {
            let problems = consistency(&*report(&bytes)?);
            assert!(problems.is_empty(), "{setting} {}: {problems:?}", module.name);
            facts(&bytes)
        });
        let asked = llcs.iter().filter(|llc| llc.release >= module.since && llc.knows(&setting));
        let outcomes = asked.map(|llc| {
            let theirs = llc.compile(&module.path, &setting).and_then(|bytes| facts(&bytes));
            compare(&ours, &theirs, &format!("llc-{} {setting} {}", llc.release, module.name))
        });
        outcomes.collect::<Vec<_>>()
    });
    judge(&outcomes.collect::<Vec<_>>(), 100);
}

#[test]
fn linked_objects_are_llds_but_for_the_list() {
    if Command::new("ld.lld-22").arg("--version").output().is_err() {
        eprintln!("skipped: ld.lld-22 is not installed");
        return;
    }
    let pairs = pairs().into_par_iter().filter(|(_, setting)| setting.system == "amdhsa");
    let outcomes = pairs.filter_map(|(module, setting)| {
        let object = compile(&module, &setting).ok()?;
        Some(linked::compare(&object, &format!("ld.lld-22 {setting} {}", module.name)))
    });
    judge(&outcomes.collect::<Vec<_>>(), 50);
}

#[test]
fn contradictions_are_noticed() {
    let module = modules().into_iter().find(|module| module.name == "scratch_static").expect("the module");
    let setting = settings().into_iter().find(|s| s.to_string() == "amdhsa gfx803 V6").expect("the setting");
    let bytes = compile(&module, &setting).expect("compiles");
    let mut object = report(&bytes).expect("an object");
    assert_eq!(consistency(&object), Vec::<String>::new());
    for field in ["vgpr_blocks", "sgpr_blocks", "private_segment_fixed_size"] {
        let mut wrong = object.clone();
        let fields = &mut wrong.kernels[0].fields;
        fields.iter_mut().find(|f| f.name == field).expect("the field").value += 1;
        assert_eq!(consistency(&wrong).len(), 1, "{field}");
    }
    object.target.processor = None;
    assert_eq!(consistency(&object).len(), 1);
}
