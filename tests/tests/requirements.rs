//! `docs/requirements.tsv` says what is required, how far it is done, where, and which test proves it. This test keeps the table
//! true as far as a machine can tell: places exist, tests are tests, what is called done has both, and `docs/requirements.md` is
//! what the table renders to (`BLESS=1` writes it).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A run of items: the ids' prefix, the first number, what the items are about. Numbers go on without a gap up to the next chapter
/// of the prefix.
struct Chapter {
    prefix: &'static str,
    first: u32,
    title: &'static str,
}

const fn chapter(prefix: &'static str, first: u32, title: &'static str) -> Chapter {
    Chapter { prefix, first, title }
}

/// Chapters in the order of the table.
const CHAPTERS: &[Chapter] = &[
    chapter("T", 1, "Triples and processors"),
    chapter("F", 1, "Features and attributes of functions"),
    chapter("A", 1, "Address spaces"),
    chapter("S", 1, "Memory scopes"),
    chapter("M", 1, "Memory model: rules"),
    chapter("MT", 1, "Memory model: rows of the table for GFX6 to GFX9"),
    chapter("M10", 1, "Memory model: GFX10"),
    chapter("C", 1, "Code object"),
    chapter("N", 1, "Notes and metadata of V2"),
    chapter("N", 20, "Notes and metadata of V3 and later"),
    chapter("K", 1, "Kernel descriptor and initial state"),
    chapter("P", 1, "Prolog"),
    chapter("X", 1, "Traps"),
    chapter("PAL", 1, "amdpal"),
    chapter("OS", 1, "mesa3d and targets without a system"),
    chapter("L", 1, "Source languages"),
    chapter("ASM", 1, "Assembler: syntax"),
    chapter("ASM", 17, "Assembler: directives of V3 and later"),
    chapter("ASM", 24, "Assembler: directives of V2"),
    chapter("D", 1, "DWARF: the standard"),
    chapter("D", 10, "DWARF: heterogeneous debugging"),
    chapter("Q", 1, "Dispatch, queues and signals"),
    chapter("OLD", 1, "amd_kernel_code_t"),
    chapter("IL", 1, "Metadata of AMDIL"),
    chapter("R600", 1, "r600"),
    chapter("E", 1, "Where documents disagree"),
];

/// How far an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Implemented and tested.
    Done,
    /// Implemented and tested another way than the document has it; the note says how, and why.
    Differs,
    /// A part is missing; the note says which.
    Partial,
    /// Not begun.
    Planned,
    /// Asks nothing of a compiler for these processors.
    NotApplicable,
}

impl State {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Done, "done"),
        (Self::Differs, "differs"),
        (Self::Partial, "partial"),
        (Self::Planned, "planned"),
        (Self::NotApplicable, "not applicable"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }
}

/// A file, and what of it is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place<'a> {
    path: &'a str,
    symbol: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn list(text: &'a str) -> Vec<Self> {
        let places = text.split(';').map(str::trim).filter(|place| !place.is_empty());
        places
            .map(|place| match place.rsplit_once(':') {
                Some((path, symbol)) => Self { path, symbol: Some(symbol) },
                None => Self { path: place, symbol: None },
            })
            .collect()
    }
}

/// An item.
#[derive(Debug)]
struct Row<'a> {
    id: &'a str,
    requirement: &'a str,
    state: State,
    implementations: Vec<Place<'a>>,
    tests: Vec<Place<'a>>,
    note: &'a str,
}

/// The names of the columns, which are the table's first line.
const COLUMNS: [&str; 6] = ["id", "requirement", "state", "implemented in", "tested by", "note"];

/// Reads the table; what cannot be read is complained about.
fn rows<'a>(text: &'a str, complaints: &mut Vec<String>) -> Vec<Row<'a>> {
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(line, _)| !line.split('\t').eq(COLUMNS)) {
        complaints.push(format!("line 1 does not name the columns {COLUMNS:?}"));
    }
    let mut rows = Vec::new();
    for (line, number) in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[id, requirement, state, implementations, tests, note] = &columns[..] else {
            complaints.push(format!("line {number} has {} columns, not {}", columns.len(), COLUMNS.len()));
            continue;
        };
        let Some(&(state, _)) = State::ALL.iter().find(|(_, name)| *name == state) else {
            complaints.push(format!("{id}: there is no state `{state}`"));
            continue;
        };
        let (implementations, tests) = (Place::list(implementations), Place::list(tests));
        rows.push(Row { id, requirement, state, implementations, tests, note });
    }
    rows
}

/// The chapter that `id` belongs to, and its number.
fn chapter_of(id: &str) -> Option<(usize, u32)> {
    let (prefix, number) = id.rsplit_once('-')?;
    let number: u32 = number.parse().ok()?;
    let of_prefix = |c: &Chapter| c.prefix == prefix && c.first <= number;
    Some((CHAPTERS.iter().rposition(of_prefix)?, number))
}

/// Each item has the number behind its predecessor's, or the first of the next chapter.
fn check_order(rows: &[Row<'_>], complaints: &mut Vec<String>) {
    let mut before: Option<(usize, u32)> = None;
    for row in rows {
        let Some(here) = chapter_of(row.id) else {
            complaints.push(format!("{}: belongs to no chapter", row.id));
            continue;
        };
        let next = [
            before.map(|(chapter, number)| (chapter, number + 1)),
            Some(before.map_or(0, |(chapter, _)| chapter + 1))
                .filter(|&chapter| chapter < CHAPTERS.len())
                .map(|chapter| (chapter, CHAPTERS[chapter].first)),
        ];
        if !next.contains(&Some(here)) {
            let wanted: Vec<String> = next
                .iter()
                .flatten()
                .map(|&(chapter, number)| format!("{}-{number:02}", CHAPTERS[chapter].prefix))
                .collect();
            complaints.push(format!("{}: stands where {} is due", row.id, wanted.join(" or ")));
        }
        before = Some(here);
    }
    if before.map(|(chapter, _)| chapter + 1) != Some(CHAPTERS.len()) {
        complaints.push("the last chapters are missing".to_owned());
    }
}

/// Texts of the project's files, each read once.
struct Files {
    root: PathBuf,
    texts: HashMap<String, Option<String>>,
}

impl Files {
    fn text(&mut self, path: &str) -> Option<&str> {
        let root = &self.root;
        self.texts
            .entry(path.to_owned())
            .or_insert_with(|| std::fs::read_to_string(root.join(path)).ok())
            .as_deref()
    }
}

/// Whether `text` begins with `word`, and something else follows.
fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
}

/// Whether `line` of a Rust file defines `name`: an item, or a row of a table that begins with the name, as it is or as a string.
fn defines(line: &str, name: &str) -> bool {
    const ITEMS: [&str; 9] =
        ["fn ", "struct ", "enum ", "const ", "static ", "type ", "trait ", "mod ", "macro_rules! "];
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    let is_item = ITEMS.iter().any(|item| {
        line.match_indices(item).any(|(at, _)| {
            let starts = at == 0 || line[..at].ends_with([' ', '(']);
            starts && begins_with_word(&line[at + item.len()..], name)
        })
    });
    // Rows may be calls of a macro.
    let of_macro = line.split_once("!(").filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric()));
    let row = of_macro.map_or(line, |(_, row)| row).trim_start_matches(['(', '[', '{', ' ', '"', '.']);
    let is_row = begins_with_word(row, name)
        && row[name.len()..].trim_start_matches(['"', ' ']).starts_with([',', ':', '=', ')', '{']);
    is_item || is_row
}

/// Whether `text` has a test called `name`: the function, with the attribute above it.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(at, line)| {
        let is_function = line.strip_prefix("fn ").is_some_and(|rest| begins_with_word(rest, name));
        let mut above =
            lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        is_function && above.any(|line| *line == "#[test]")
    })
}

/// Complaints about what a row says.
fn check_row(row: &Row<'_>, files: &mut Files, complaints: &mut Vec<String>) {
    let mut complain = |what: String| complaints.push(format!("{}: {what}", row.id));
    if row.requirement.trim().is_empty() {
        complain("says nothing".to_owned());
    }
    let is_built = matches!(row.state, State::Done | State::Differs);
    if is_built && (row.implementations.is_empty() || row.tests.is_empty()) {
        complain(format!("is {}, but names no implementation or no test", row.state.name()));
    }
    if row.state != State::Done && row.note.trim().is_empty() {
        complain(format!("is {}, and nothing says why", row.state.name()));
    }
    for (place, of_tests) in
        row.implementations.iter().map(|p| (p, false)).chain(row.tests.iter().map(|p| (p, true)))
    {
        let path = place.path;
        let Some(text) = files.text(path) else {
            if place.symbol.is_some() || !files.root.join(path).is_dir() || of_tests {
                complain(format!("there is no file {path}"));
            }
            continue;
        };
        match place.symbol {
            Some(name) if of_tests && !has_test(text, name) => complain(format!("{path} has no test {name}")),
            Some(name) if !of_tests && !text.lines().any(|line| defines(line, name)) => {
                complain(format!("{path} does not define {name}"))
            }
            None if of_tests && path.ends_with(".rs") => complain(format!("{path} names no test")),
            None if of_tests && !path.starts_with("tests/filetests/") => {
                complain(format!("{path} is no test"))
            }
            _ => {}
        }
    }
}

/// The places of a cell.
fn cell(places: &[Place<'_>]) -> String {
    let shown: Vec<String> = places
        .iter()
        .map(|place| match place.symbol {
            Some(symbol) => format!("[`{symbol}`](../{} \"{}\")", place.path, place.path),
            None => format!("[`{0}`](../{0})", place.path),
        })
        .collect();
    shown.join("<br>")
}

/// The document.
fn render(rows: &[Row<'_>]) -> String {
    let mut out = String::from(
        "# Requirements\n\n\
         What the documents that define this compiler ask for, item by item: the AMDGPU usage guides of LLVM 5 and 8 and \
         their revision for heterogeneous debugging (LLVM 10), AMD's compute ABI 0.40 and the specification of AMDIL's metadata. Where they \
         contradict each other the newest counts, and LLVM where a document is wrong; chapter E lists such cases.\n\n\
         Generated from `requirements.tsv`; `BLESS=1 cargo test --release -p gcnc-tests --test requirements` writes it anew. \
         The test checks that the places named exist, that the tests are tests, and that what is *done* or *differs* has both.\n\n\
         * *done*: implemented and tested.\n\
         * *differs*: implemented and tested another way than the document has it; the last column says how, and why.\n\
         * *partial*: something is missing, which the last column says.\n\
         * *planned*: not begun.\n\
         * *not applicable*: nothing to do for a compiler of these processors.\n\n",
    );
    let count = |chapter: Option<usize>, state: State| {
        let in_chapter = |row: &&Row<'_>| chapter.is_none() || chapter_of(row.id).map(|c| c.0) == chapter;
        rows.iter().filter(in_chapter).filter(|row| row.state == state).count()
    };
    let line = |name: &str, chapter: Option<usize>| {
        let counts = State::ALL.map(|(state, _)| count(chapter, state));
        let total: usize = counts.iter().sum();
        let cells: Vec<String> =
            counts.iter().map(|n| if *n == 0 { String::new() } else { n.to_string() }).collect();
        format!("| {name} | {total} | {} |\n", cells.join(" | "))
    };
    let names = State::ALL.map(|(_, name)| name).join(" | ");
    let _ = write!(out, "| chapter | items | {names} |\n|---|--:|{}\n", "--:|".repeat(State::ALL.len()));
    for (index, chapter) in CHAPTERS.iter().enumerate() {
        out.push_str(&line(chapter.title, Some(index)));
    }
    out.push_str(&line("**all**", None));
    for (index, chapter) in CHAPTERS.iter().enumerate() {
        let _ = write!(
            out,
            "\n## {}\n\n| id | requirement | state | implemented in | tested by | note |\n|---|---|---|---|---|---|\n",
            chapter.title
        );
        for row in rows.iter().filter(|row| chapter_of(row.id).is_some_and(|c| c.0 == index)) {
            let escape = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                row.id,
                escape(row.requirement),
                row.state.name(),
                cell(&row.implementations),
                cell(&row.tests),
                escape(row.note)
            );
        }
    }
    out
}

#[test]
fn the_table_is_true_and_the_document_follows_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = std::fs::read_to_string(root.join("docs/requirements.tsv")).expect("the table");
    let mut complaints = Vec::new();
    let rows = rows(&table, &mut complaints);
    check_order(&rows, &mut complaints);
    let mut files = Files { root: root.clone(), texts: HashMap::new() };
    for row in &rows {
        check_row(row, &mut files, &mut complaints);
    }
    let document = root.join("docs/requirements.md");
    let wanted = render(&rows);
    if std::env::var_os("BLESS").is_some_and(|value| value != "0") {
        std::fs::write(&document, &wanted).expect("docs/requirements.md can be written");
    }
    if std::fs::read_to_string(&document).unwrap_or_default() != wanted {
        complaints.push("docs/requirements.md is not what the table says; BLESS=1 writes it".to_owned());
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}

/// What the test would complain about.
#[test]
fn wrong_rows_are_named() {
    let head = COLUMNS.join("\t");
    let place = "tests/tests/requirements.rs";
    let text = format!(
        "{head}\nT-01\ta\tdone\t{place}:CHAPTERS\t{place}:wrong_rows_are_named\t\n\
         T-03\tb\tdone\t{place}:Nothing\t{place}:render\t\n\
         T-04\tc\tdone\t{place}\t\t\n\
         T-05\td\tpartial\tnowhere.rs:a; docs\t{place}\t\n\
         T-06\te\tready\t\t\t\n\
         T-07\tf\n\
         T-08\tg\tdiffers\t{place}:CHAPTERS\t\tas LLVM does\n"
    );
    let mut complaints = Vec::new();
    let rows = rows(&text, &mut complaints);
    check_order(&rows, &mut complaints);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Files { root, texts: HashMap::new() };
    rows.iter().for_each(|row| check_row(row, &mut files, &mut complaints));
    let wanted = [
        "T-06: there is no state `ready`".to_owned(),
        "line 7 has 2 columns, not 6".to_owned(),
        "T-03: stands where T-02 or F-01 is due".to_owned(),
        "T-08: stands where T-06 or F-01 is due".to_owned(),
        "the last chapters are missing".to_owned(),
        format!("T-03: {place} does not define Nothing"),
        format!("T-03: {place} has no test render"),
        "T-04: is done, but names no implementation or no test".to_owned(),
        "T-05: is partial, and nothing says why".to_owned(),
        "T-05: there is no file nowhere.rs".to_owned(),
        format!("T-05: {place} names no test"),
        "T-08: is differs, but names no implementation or no test".to_owned(),
    ];
    assert_eq!(complaints, wanted);
}

#[test]
fn definitions_are_items_and_rows() {
    for line in [
        "pub fn write(",
        "    const write: u32 = 1;",
        "pub(super) struct write<'a> {",
        "    write,",
        "    (\"write\", 1),",
        "    \"write\" => 3,",
        "    write { a: u32 },",
        "    row!(write, 1),",
    ] {
        assert!(defines(line, "write"), "{line}");
    }
    for line in ["// fn write(", "    write(1);", "fn write_all() {", "let write = 1;", "    rewrite,"] {
        assert!(!defines(line, "write"), "{line}");
    }
}
