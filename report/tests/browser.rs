//! The page in headless Chromium, where it is installed: it opens without an error, and a click on a line of machine code marks its IR and source lines.
//!
//! `GCNC_CHROMIUM` names the program; else the usual names are tried.

mod common;

use common::{BODY, assemble, kernel};
use report::{Inputs, IrFunction, IrLine, IrText, gather, html};
use scraper::{Html, Selector};
use std::collections::BTreeMap;
use std::process::Command;

const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<String> {
    let named = std::env::var("GCNC_CHROMIUM").ok();
    let runs =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    named.into_iter().chain(NAMES.map(str::to_owned)).find(runs)
}

/// Notes errors, and clicks the second line of machine code that has an IR line.
const WATCH: &str = "<script>window.errors=[];addEventListener('error',e=>errors.push(e.message));\
    const log=console.error;console.error=(...all)=>{errors.push(all.join(' '));log(...all)};</script>";
const CLICK: &str = "<script>document.querySelectorAll('.machine tr[data-i]')[1].click();\
    document.body.dataset.errors=JSON.stringify(errors);</script>";

#[test]
fn a_click_marks_what_belongs_together() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no Chromium (GCNC_CHROMIUM, or one of {NAMES:?} in PATH)");
        return;
    };
    let object = assemble(&kernel("gfx900", "k", BODY), "gfx900").object;
    let lines = (0..12).map(|n| IrLine { text: format!("line {n}"), source: Some((0, n + 1)) }).collect();
    let ir = IrText {
        functions: vec![IrFunction { name: "k".to_owned(), first: 1, lines }],
        files: vec!["k.cl".to_owned()],
        positions: BTreeMap::from([("k".to_owned(), vec![(0, 3), (4, 5), (12, 7)])]),
    };
    let read_source = |_: &str| Some("source\n".repeat(20));
    let inputs =
        Inputs { object: &object, name: "k.ll", ir: Some(&ir), run: None, read_source: &read_source };
    let page = html(&gather(&inputs).expect("the object is right"));
    let page = page.replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("{CLICK}</body>"),
        1,
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).expect("the folder can be written to");

    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let log = String::from_utf8_lossy(&out.stderr);
    assert!(!log.contains("CONSOLE"), "the console says something: {log}");
    let page = Html::parse_document(&String::from_utf8_lossy(&out.stdout));
    let select = |text: &str| Selector::parse(text).expect("the selector is right");
    let body = page.select(&select("body")).next().expect("a body");
    assert_eq!(body.attr("data-errors"), Some("[]"), "{log}");
    let on: Vec<&str> = page.select(&select("tr.on")).filter_map(|e| e.attr("id")).collect();
    let of = |letter: char| on.iter().copied().filter(|id| id.starts_with(letter)).collect::<Vec<_>>();
    // The second line of code is the first of two from IR line 5, which is source line 5.
    assert_eq!((of('i').len(), of('s').len(), of('m').len()), (1, 1, 2), "{on:?}");
    assert!(of('i')[0].ends_with("-5") && of('s')[0].ends_with("-5"), "{on:?}");
}
