//! Every file below `tests/filetests`: `BLESS=1` writes what passes leave into the files, which is to be read
//! before it is committed.

use gcnc::pipeline::PASSES;
use gcnc_tests::filetests::{check, files};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests")
}

/// The directory of a file.
fn pass_of(path: &Path) -> &str {
    path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default()
}

#[test]
fn passes_leave_what_files_expect() {
    let bless = std::env::var_os("BLESS").is_some_and(|value| value != "0");
    let only = std::env::var("ONLY").unwrap_or_default();
    let files = files(&folder()).expect("the folder of the tests");
    let failures: Vec<String> = files
        .par_iter()
        .filter(|path| path.to_string_lossy().contains(&only))
        .filter_map(|path| {
            let run = || {
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
                match check(&text, pass_of(path), bless)? {
                    Some(blessed) if blessed != text => {
                        std::fs::write(path, blessed).map_err(|error| error.to_string())
                    }
                    _ => Ok(()),
                }
            };
            Some(format!("{}: {}", path.display(), run().err()?))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), files.len(), failures.join("\n"));
}

#[test]
fn every_pass_has_files() {
    let files = files(&folder()).expect("the folder of the tests");
    for pass in PASSES {
        assert!(files.iter().any(|path| pass_of(path) == pass.name), "{} has no file test", pass.name);
    }
    for path in &files {
        let pass = pass_of(path);
        assert!(pass == "verify" || PASSES.iter().any(|p| p.name == pass), "{} is no pass", path.display());
    }
}
