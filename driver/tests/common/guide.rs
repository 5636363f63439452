//! Runs what the guide's chapters show. `CONTRIBUTING.md` says what the words behind a block's language mean.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block of a chapter.
#[derive(Debug, Default, PartialEq)]
pub struct Block {
    /// Language and words behind it: `sh`, `sh,needs=cc`, `c,file=scale.c`, `text`.
    pub info: String,
    /// The lines between the fences.
    pub text: String,
    /// Line of the opening fence, from 1.
    pub line: usize,
    /// Whether only blank lines are between this block and the one before.
    pub follows: bool,
}

impl Block {
    /// The language.
    pub fn language(&self) -> &str {
        self.info.split(',').next().unwrap_or_default()
    }

    /// What stands behind `name=` in the words.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.info.split(',').skip(1).find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The fenced blocks of `chapter`.
pub fn blocks(chapter: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut only_blank = false;
    for (index, line) in chapter.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            if !open {
                let block = Block {
                    info: info.to_owned(),
                    line: index + 1,
                    follows: only_blank && !blocks.is_empty(),
                    ..Block::default()
                };
                blocks.push(block);
            }
            open = !open;
            only_blank = true;
        } else if open {
            let block = blocks.last_mut().expect("a block is open");
            block.text.push_str(line);
            block.text.push('\n');
        } else {
            only_blank &= line.trim().is_empty();
        }
    }
    assert!(!open, "a block is not closed");
    blocks
}

/// Whether `printed` is what `shown` says: `…` stands for anything in a line, and alone for any lines.
pub fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        ["…", rest @ ..] => (0..=printed.len()).any(|skip| is_shown(rest, &printed[skip..])),
        [line, rest @ ..] => {
            printed.first().is_some_and(|first| is_line(line, first)) && is_shown(rest, &printed[1..])
        }
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.trim_end(), printed.trim_end());
    let Some((head, tail)) = shown.split_once('…') else { return shown == printed };
    let Some(rest) = printed.strip_prefix(head) else { return false };
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.into_iter().any(|at| is_line(tail, &rest[at..]))
}

/// The program `name`, where PATH has it, or the file, where it is a path.
fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Path::new(name).is_absolute() && Path::new(name).exists()
        || std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// What a chapter's commands find.
pub struct Place {
    /// The repository; its `examples` are in the folder where commands run.
    pub repository: PathBuf,
    /// Folders in front of PATH.
    pub path: Vec<PathBuf>,
    /// Blocks that need one of these run; `needs=` of anything else is a program.
    pub has: &'static [&'static str],
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// What became of a chapter.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of blocks of commands that ran.
    pub ran: usize,
    /// Why others did not.
    pub skipped: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// Runs the blocks of `chapter`, one after the other in one new folder, up to the first that goes wrong.
pub fn run(name: &str, chapter: &str, place: &Place) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let examples = folder.path().join("examples");
    std::os::unix::fs::symlink(place.repository.join("examples"), examples).expect("a link");
    let known = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = place.path.iter().cloned().chain(std::env::split_paths(&known)).collect();
    let mut outcome = Outcome::default();
    let blocks = blocks(chapter);
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{name}:{}", block.line);
        if let Some(file) = block.word("file") {
            std::fs::write(folder.path().join(file), &block.text).expect("it can be written");
        }
        if block.language() != "sh" || block.word("run") == Some("no") {
            continue;
        }
        let needs = block.word("needs").unwrap_or_default().split('+').filter(|need| !need.is_empty());
        let missing: Vec<&str> = needs.filter(|need| !place.has.contains(need) && !is_there(need)).collect();
        if !missing.is_empty() {
            outcome.skipped.push(format!("{at}: skipped, as {} is missing", missing.join(" and ")));
            continue;
        }
        let output = Command::new("bash")
            .args(["-c", "exec 2>&1; set -eu -o pipefail; eval \"$1\"", "bash", &block.text])
            .current_dir(folder.path())
            .env("PATH", std::env::join_paths(&path).expect("no colons"))
            .envs(place.variables.iter().map(|(name, value)| (*name, value)))
            .output()
            .expect("bash runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            outcome.wrong.push(format!("{at}: {}\n{}{printed}", output.status, block.text));
            return outcome;
        }
        outcome.ran += 1;
        let Some(shown) = blocks.get(index + 1).filter(|next| next.language() == "text" && next.follows)
        else {
            continue;
        };
        if !is_shown(&shown.text.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>()) {
            outcome
                .wrong
                .push(format!("{at}: the guide shows\n{}but this is printed\n{printed}", shown.text));
        }
    }
    outcome
}
