//! Completions for shells and man pages.

use std::path::Path;
use std::process::{Command, Output};

fn gcnc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gcnc")).args(args).output().unwrap()
}

fn subcommands() -> Vec<String> {
    let help = gcnc(&["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let words = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    words
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&word| word != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn scripts_know_every_subcommand() {
    let subcommands = subcommands();
    assert!(subcommands.len() > 10 && subcommands.iter().any(|name| name == "run"), "{subcommands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = gcnc(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{shell}");
        for name in &subcommands {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(script.contains("offload-arch"), "{shell}");
    }
    assert_eq!(gcnc(&["completions", "tcsh"]).status.code(), Some(2));
}

/// bash completes words with it.
#[test]
fn bash_takes_the_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("gcnc.bash");
    std::fs::write(&script, gcnc(&["completions", "bash"]).stdout).unwrap();
    let ask = r#"source "$1" && COMP_WORDS=(gcnc insp) COMP_CWORD=1 && _gcnc gcnc insp gcnc && echo "${COMPREPLY[*]}""#;
    let output = match Command::new("bash").args(["--norc", "-c", ask, "bash"]).arg(&script).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("no bash, which is skipped: {error}"),
    };
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "inspect\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn page(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_subcommand_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    let output = gcnc(&["man", "--out", pages.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let main = page(&pages, "gcnc.1");
    assert!(main.contains(".TH gcnc 1") && main.contains("mcpu") && main.contains("gcnc\\-run(1)"), "{main}");
    let subcommands = subcommands();
    for name in &subcommands {
        let text = page(&pages, &format!("gcnc-{name}.1"));
        assert!(text.contains(&format!(".TH gcnc-{name} 1")), "{text}");
    }
    assert_eq!(std::fs::read_dir(&pages).unwrap().count(), subcommands.len() + 1);
    // A folder that cannot be made is an error that names it.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = gcnc(&["man", "--out", file.join("below").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("file/below"));
}
