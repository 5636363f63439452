//! RUN lines of LLVM's tests: what `llc` is asked to do with what.
//!
//! A RUN line is a shell command after `RUN:`; a backslash at its end continues it on the next RUN line. Here
//! it becomes pipelines of stages, a stage being its words and where its standard input and output go. `%s`
//! is the test, `%S` and `%p` its folder, `%t` a temporary name.

/// A command of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Words.
    pub argv: Vec<String>,
    /// File of the standard input.
    pub stdin: Option<String>,
    /// File of the standard output.
    pub stdout: Option<String>,
}

/// The RUN lines of a test: line number of the first part, joined command.
pub fn run_lines(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut current: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(at) = line.find("RUN:") else { continue };
        if line[..at].chars().next_back().is_some_and(|c| !matches!(c, ';' | '#' | '/' | ' ' | '\t')) {
            continue;
        }
        let part = line[at + 4..].trim();
        let (_, command) = current.get_or_insert_with(|| (number + 1, String::new()));
        match part.strip_suffix('\\') {
            Some(part) => {
                command.push_str(part);
                command.push(' ');
            }
            None => {
                command.push_str(part);
                out.extend(current.take());
            }
        }
    }
    out.extend(current);
    out
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(String),
}

const OPERATORS: [&str; 12] = ["||", "&&", "&>", ">&1", ">&2", ">>", ">", "<", "|", ";", "&", "2>&1"];

fn tokens(command: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let (mut word, mut have) = (String::new(), false);
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        match c {
            ' ' | '\t' => {
                if have {
                    out.push(Token::Word(std::mem::take(&mut word)));
                }
                have = false;
            }
            '\'' => {
                let body = rest[1..].split('\'').next().unwrap_or_default();
                word.push_str(body);
                have = true;
                used = (body.len() + 2).min(rest.len());
            }
            '"' => {
                have = true;
                let mut chars = rest[1..].char_indices();
                used = rest.len();
                while let Some((at, c)) = chars.next() {
                    match c {
                        '"' => {
                            used = at + 2;
                            break;
                        }
                        '\\' => match chars.next() {
                            Some((_, c @ ('"' | '\\' | '`' | '$'))) => word.push(c),
                            Some((_, c)) => word.extend(['\\', c]),
                            None => {}
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                let next = rest[1..].chars().next();
                word.extend(next);
                have = true;
                used += next.map_or(0, char::len_utf8);
            }
            '|' | '&' | ';' | '<' | '>' => {
                let operator = OPERATORS.iter().find(|o| rest.starts_with(**o)).copied().unwrap_or("|");
                used = operator.len();
                let mut operator = operator.to_owned();
                if operator.starts_with(['<', '>']) && have && word.bytes().all(|b| b.is_ascii_digit()) {
                    operator.insert_str(0, &std::mem::take(&mut word));
                    have = false;
                }
                if have {
                    out.push(Token::Word(std::mem::take(&mut word)));
                }
                have = false;
                out.push(Token::Operator(operator));
            }
            c => {
                word.push(c);
                have = true;
            }
        }
        rest = &rest[used..];
    }
    if have {
        out.push(Token::Word(word));
    }
    out
}

/// The pipelines of a command, each a list of stages.
pub fn pipelines(command: &str) -> Vec<Vec<Stage>> {
    enum Want {
        Word,
        Input,
        Output,
        Nothing,
    }
    let (mut out, mut pipeline, mut stage, mut want) = (Vec::new(), Vec::new(), Stage::default(), Want::Word);
    for token in tokens(command) {
        match token {
            Token::Word(word) => {
                match want {
                    Want::Word => stage.argv.push(word),
                    Want::Input => stage.stdin = Some(word),
                    Want::Output => stage.stdout = Some(word),
                    Want::Nothing => {}
                }
                want = Want::Word;
            }
            Token::Operator(operator) => match operator.as_str() {
                "|" => pipeline.push(std::mem::take(&mut stage)),
                "&&" | "||" | ";" | "&" => {
                    pipeline.push(std::mem::take(&mut stage));
                    out.push(std::mem::take(&mut pipeline));
                }
                o if o.contains(">&") => {}
                o if o.ends_with('<') => want = Want::Input,
                o if o.starts_with('2') => want = Want::Nothing,
                _ => want = Want::Output,
            },
        }
    }
    pipeline.push(stage);
    out.push(pipeline);
    out.retain(|p| p.iter().any(|s| !s.argv.is_empty()));
    out
}

/// What a RUN line asks of `llc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Llc {
    /// `-mtriple`.
    pub triple: Option<String>,
    /// `-march`.
    pub march: Option<String>,
    /// `-mcpu`; empty where absent.
    pub mcpu: String,
    /// `-mattr`, all of them.
    pub mattr: String,
    /// `-O`.
    pub opt: u8,
    /// GlobalISel is asked for.
    pub gisel: bool,
    /// It reads or writes machine IR.
    pub mir: bool,
    /// Inputs; `-` is the standard input.
    pub inputs: Vec<String>,
    /// `--amdhsa-code-object-version`.
    pub version: Option<u8>,
}

/// Options whose value may be the next word.
const SPACED: [&str; 16] = [
    "o",
    "mtriple",
    "march",
    "mcpu",
    "mattr",
    "filetype",
    "debug-only",
    "stop-after",
    "stop-before",
    "start-before",
    "start-after",
    "run-pass",
    "relocation-model",
    "code-model",
    "regalloc",
    "x",
];

impl Llc {
    /// Reads the words behind `llc`. Options that change neither what must compile nor its meaning are passed
    /// over.
    pub fn parse(argv: &[String]) -> Self {
        let mut llc = Self { opt: 2, ..Self::default() };
        let mut words = argv.iter();
        let mut attributes = Vec::new();
        while let Some(word) = words.next() {
            if word == "-" || !word.starts_with('-') {
                llc.inputs.push(word.clone());
                continue;
            }
            let text = word.trim_start_matches('-');
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if SPACED.contains(&text) => (text, words.next().cloned()),
                None => (text, None),
            };
            let value = value.unwrap_or_default();
            match name {
                "O0" | "O1" | "O3" => llc.opt = name.as_bytes()[1] - b'0',
                "O" if !value.is_empty() => llc.opt = value.parse().unwrap_or(2),
                "mtriple" | "triple" => llc.triple = Some(value),
                "march" => llc.march = Some(value),
                "mcpu" => llc.mcpu = value,
                "mattr" => attributes.push(value),
                "global-isel" => llc.gisel = !matches!(value.as_str(), "0" | "false"),
                "amdhsa-code-object-version" => llc.version = value.parse().ok(),
                "x" => llc.mir |= value == "mir",
                _ if ["run-pass", "stop-after", "stop-before"].contains(&name)
                    || name.starts_with("start-") =>
                {
                    llc.mir = true;
                }
                _ => {}
            }
        }
        attributes.retain(|a| !a.is_empty());
        llc.mattr = attributes.join(",");
        llc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_lines_and_quotes() {
        let text = "; RUN: llc -mtriple=amdgcn \\\n; RUN:   -O0 < %s | FileCheck %s\ndefine void @f() { ret void } ; XRUN: no\n";
        let lines = run_lines(text);
        assert_eq!(lines, [(1, "llc -mtriple=amdgcn  -O0 < %s | FileCheck %s".to_owned())]);
        let p = pipelines(&lines[0].1);
        assert_eq!(p.len(), 1);
        assert_eq!((p[0].len(), p[0][0].stdin.as_deref()), (2, Some("%s")));
        let p = pipelines(
            "sed 's/a b/c/' %s | not llc -mattr +x,-y -mcpu=gfx900 2>&1 -o /dev/null && rm -f %t > out",
        );
        assert_eq!(p.len(), 2);
        assert_eq!(p[0][0].argv[1], "s/a b/c/");
        assert_eq!(p[1][0].stdout.as_deref(), Some("out"));
        let llc = Llc::parse(&p[0][1].argv[2..]);
        assert_eq!((llc.mattr.as_str(), llc.mcpu.as_str(), llc.opt), ("+x,-y", "gfx900", 2));
    }
}
