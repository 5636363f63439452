//! The guide says what is so: commands are run, outputs compared, links followed. `CONTRIBUTING.md`, "Change the guide", has the form.

#[path = "common/guide.rs"]
mod guide;

use guide::{Place, blocks, is_shown, run};
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Names and texts of all chapters, in the order of their names.
fn chapters() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(repository().join("docs/guide/src")).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

fn place() -> Place {
    let program = Path::new(env!("CARGO_BIN_EXE_gcnc"));
    let path = vec![program.parent().unwrap().to_owned()];
    Place { repository: repository(), path, has: &[], variables: Vec::new() }
}

/// Chapters run at the same time, each in its own folder.
#[test]
fn commands_print_what_is_shown() {
    let mut chapters = chapters();
    if let Ok(one) = std::env::var("GCNC_CHAPTER") {
        chapters.retain(|(name, _)| *name == one);
        assert_eq!(chapters.len(), 1, "{one}");
    }
    let outcomes: Vec<guide::Outcome> = std::thread::scope(|scope| {
        let run = |(name, text): &(String, String)| run(name, text, &place());
        let threads: Vec<_> = chapters.iter().map(|chapter| scope.spawn(move || run(chapter))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for line in outcomes.iter().flat_map(|outcome| &outcome.skipped) {
        eprintln!("{line}");
    }
    let wrong: Vec<&str> = outcomes.iter().flat_map(|outcome| &outcome.wrong).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let ran: usize = outcomes.iter().map(|outcome| outcome.ran).sum();
    assert!(ran >= 10 || chapters.len() == 1, "{ran} blocks");
}

/// What `](` leads to in `text`, outside of blocks.
fn links(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        inside ^= line.starts_with("```");
        if !inside {
            let ends = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(ends.map(|(link, _)| link));
        }
    }
    found
}

/// The names of `text`'s headings in links.
fn anchors(text: &str) -> Vec<String> {
    let letters = |title: &str| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| letters(line.trim_start_matches('#')))
        .collect()
}

/// Links of `text`, a file in `folder`, that lead nowhere.
fn broken(folder: &Path, own: &str, text: &str) -> Vec<String> {
    let is_broken = |link: &str| {
        if link.contains("://") {
            return false;
        }
        let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
        let path = folder.join(if file.is_empty() { own } else { file });
        let Ok(bytes) = std::fs::read(&path) else { return !path.is_dir() };
        let target = String::from_utf8_lossy(&bytes);
        anchor.is_some_and(|anchor| !anchors(&target).iter().any(|name| name == anchor))
    };
    links(text).into_iter().filter(|link| is_broken(link)).map(|link| format!("{own}: {link}")).collect()
}

#[test]
fn the_summary_has_every_chapter_and_links_resolve() {
    let chapters = chapters();
    let folder = repository().join("docs/guide/src");
    let summary = &chapters.iter().find(|(name, _)| name == "SUMMARY.md").expect("a summary").1;
    let mut listed = links(summary);
    listed.sort_unstable();
    let files: Vec<&str> =
        chapters.iter().map(|(name, _)| name.as_str()).filter(|&name| name != "SUMMARY.md").collect();
    assert_eq!(listed, files);
    let mut wrong: Vec<String> =
        chapters.iter().flat_map(|(name, text)| broken(&folder, name, text)).collect();
    for name in ["README.md", "CONTRIBUTING.md", "docs/README.md"] {
        let path = repository().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        wrong.extend(broken(path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), &text));
    }
    // A chapter that is one line includes another document.
    for (name, text) in &chapters {
        if let Some(rest) = text.strip_prefix("{{#include ") {
            let file = rest.trim_end().trim_end_matches('}');
            assert!(folder.join(file).is_file(), "{name}: {file}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Between chapters only: what is not in the book cannot be reached in it.
    for (name, text) in &chapters {
        assert!(links(text).iter().all(|link| !link.starts_with("../")), "{name}");
    }
}

#[test]
fn the_judge_finds_what_is_wrong() {
    let run = |text: &str| run("test", text, &place());
    let right = run("```sh\nfalse || echo one 2 three\n```\n```text\none … three\n```\n");
    assert_eq!((right.ran, right.wrong.len()), (1, 0), "{right:?}");
    assert_eq!(run("```sh\necho one\n```\n\n```text\ntwo\n```\n").wrong.len(), 1);
    // Text that does not follow is not the output.
    assert_eq!(run("```sh\necho one\n```\nor\n```text\ntwo\n```\n").wrong.len(), 0);
    let failed = run("```sh\nfalse\ntrue\n```\n```sh\ntouch x\n```\n");
    assert_eq!((failed.ran, failed.wrong.len()), (0, 1), "{failed:?}");
    assert_eq!(run("```sh\nfalse | true\n```\n").wrong.len(), 1);
    assert_eq!(run("```sh\ngcnc --no-such-flag\n```\n").wrong.len(), 1);
    // One folder for a chapter; files are in it.
    let files = run(
        "```c,file=a.c\nint a;\n```\n```sh\ncat a.c; ls examples/saxpy.cl\n```\n```text\nint a;\nexamples/saxpy.cl\n```\n",
    );
    assert_eq!((files.ran, files.wrong.len()), (1, 0), "{files:?}");
    let skipped = run("```sh,needs=no-such-program\nfalse\n```\n```sh,run=no\nfalse\n```\n");
    assert_eq!((skipped.ran, skipped.wrong.len()), (0, 0));
    assert_eq!(skipped.skipped, ["test:1: skipped, as no-such-program is missing"]);

    assert!(is_shown(&["a", "…", "b"], &["a", "b"]) && is_shown(&["a", "…", "b"], &["a", "x", "b", "b"]));
    assert!(!is_shown(&["a"], &["a", "b"]) && !is_shown(&["a", "b"], &["a"]) && !is_shown(&["…x"], &["y"]));
    assert!(is_shown(&["1 … 3 … 5"], &["1 2 3 4 5"]) && !is_shown(&["1 … 3"], &["1 2 3 4"]));

    let folder = repository().join("docs/guide/src");
    assert_eq!(links("[a](b.md) `[c]` [d](#e)\n```\n[f](g)\n```\n"), ["b.md", "#e"]);
    assert_eq!(
        broken(&folder, "limits.md", "[a](nowhere.md) [b](limits.md#nowhere) [c](limits.md#of-the-library)")
            .len(),
        2
    );
    assert_eq!(blocks("```sh,needs=cc\na\n```\n")[0].word("needs"), Some("cc"));
}
