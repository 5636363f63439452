//! Version scripts: which names a shared object offers.
//!
//! A script is `{ global: PATTERNS local: PATTERNS };` with patterns that end with a semicolon, have `*`, `?` and `[…]`, and may be quoted, which makes them
//! names. Versions by name are refused, since no loader of code objects knows them. A name is judged by the first that fits of: names under `global`,
//! under `local`, patterns other than `*` under `global`, under `local`, `*` under either; it is offered where nothing fits. That is ld.lld's order.
//!
//! Cost: linear in names times patterns with wildcards.

use mir::{Diagnostic, Result};
use rustc_hash::FxHashSet;

/// Names and patterns of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct List {
    names: FxHashSet<String>,
    patterns: Vec<Vec<u8>>,
    all: bool,
}

/// What a version script says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    global: List,
    local: List,
}

/// A word of a script; whether it was quoted.
type Word<'a> = (&'a str, bool);

/// Words, braces, semicolons and colons. Comments are those of C, and from `#` to the end of the line.
fn words(text: &str) -> Result<Vec<Word<'_>>> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(out) };
        let open = || Diagnostic::malformed("the version script ends inside of a comment or a name");
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").ok_or_else(open)?.1;
        } else if first == '#' {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (name, behind) = quoted.split_once('"').ok_or_else(open)?;
            out.push((name, true));
            rest = behind;
        } else {
            let is_end = |c: char| c.is_whitespace() || "{};:\"".contains(c) || c == '#';
            let len = if "{};:".contains(first) { 1 } else { rest.find(is_end).unwrap_or(rest.len()) };
            let (word, behind) = rest.split_at(len);
            out.push((word, false));
            rest = behind;
        }
    }
}

impl Exports {
    /// Reads a script.
    ///
    /// # Errors
    /// What is no version script ([`mir::ErrorKind::Malformed`]); versions and languages by name ([`mir::ErrorKind::Unsupported`]).
    pub fn parse(text: &str) -> Result<Self> {
        let words = words(text)?;
        let wrong = |what: &str| Diagnostic::malformed(format!("version script: {what}"));
        let [(open, false), members @ .., (close, false), (end, false)] = &words[..] else {
            return Err(wrong("`{ … };` is expected"));
        };
        if *open != "{" {
            return Err(Diagnostic::unsupported(format!("version script: the version `{open}` by name")));
        }
        let mut out = Self::default();
        let mut local = false;
        let mut members = members.iter().peekable();
        while let Some(&(word, quoted)) = members.next() {
            let mark = members.peek().map_or("", |(mark, quoted)| if *quoted { "" } else { *mark });
            match (word, quoted, mark) {
                ("global" | "local", false, ":") => {
                    local = word == "local";
                    members.next();
                }
                ("extern", false, _) => {
                    return Err(Diagnostic::unsupported("version script: names of a language"));
                }
                ("}", false, _) => return Err(Diagnostic::unsupported("version script: several versions")),
                ("{" | ";" | ":", false, _) => return Err(wrong(&format!("`{word}` is not expected here"))),
                (_, _, ";") => {
                    let list = if local { &mut out.local } else { &mut out.global };
                    list.add(word, quoted);
                    members.next();
                }
                _ => return Err(wrong(&format!("`;` is expected behind `{word}`"))),
            }
        }
        match (*close, *end) {
            ("}", ";") => Ok(out),
            _ => Err(wrong("`{ … };` is expected")),
        }
    }

    /// Whether the object offers `name`.
    pub(super) fn keeps(&self, name: &str) -> bool {
        let (global, local) = (&self.global, &self.local);
        global.names.contains(name)
            || !local.names.contains(name)
                && (global.fits(name) || !local.fits(name) && (global.all || !local.all))
    }
}

impl List {
    fn add(&mut self, word: &str, quoted: bool) {
        match word {
            "*" if !quoted => self.all = true,
            _ if quoted || !word.contains(['*', '?', '[']) => drop(self.names.insert(word.to_owned())),
            _ => self.patterns.push(word.as_bytes().to_vec()),
        }
    }

    fn fits(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| fits(pattern, name.as_bytes()))
    }
}

/// Whether `pattern` describes the whole of `name`. A star that has taken too little takes one more; only the last one must be asked again.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, n));
            p += 1;
        } else if let Some(len) = pattern.get(p..).and_then(|rest| one(rest, name[n])) {
            p += len;
            n += 1;
        } else if let Some((after, taken)) = star {
            star = Some((after, taken + 1));
            (p, n) = (after, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// How much of `pattern` describes the one byte.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'[' => {
            let end = pattern.iter().skip(2).position(|&b| b == b']')? + 2;
            let (negated, set) = match pattern[1] {
                b'^' | b'!' => (true, &pattern[2..end]),
                _ => (false, &pattern[1..end]),
            };
            let mut found = false;
            let mut at = 0;
            while let Some(&first) = set.get(at) {
                let range = (set.get(at + 1) == Some(&b'-')).then(|| set.get(at + 2)).flatten();
                found |= (first..=*range.unwrap_or(&first)).contains(&byte);
                at += if range.is_some() { 3 } else { 1 };
            }
            (found != negated).then_some(end + 1)
        }
        first => (first == byte).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_say_what_is_offered() {
        let script = Exports::parse(
            "{ /* rustc's form */\n  global:\n    scale;\n    scale.kd; # both\n  \"a*\"; k_[a-c]?*z; no_*;\n\n  local:\n    no_more; *;\n};\n",
        )
        .unwrap();
        for (name, keeps) in [
            ("scale", true),
            ("scale.kd", true),
            ("scale.k", false),
            ("a*", true),
            ("ab", false),
            ("k_bxz", true),
            ("k_bxyz", true),
            ("k_bz", false),
            ("k_dxz", false),
            ("no_less", true),
            ("no_more", false),
        ] {
            assert_eq!(script.keeps(name), keeps, "{name}");
        }
        assert!(Exports::parse("{ local: x*; };").unwrap().keeps("y"));
        assert!(Exports::parse("{};").unwrap().keeps("y"));
        for (text, message) in [
            ("VERS_1 { global: a; };", "by name"),
            ("{ global: a; }; V2 { };", "several versions"),
            ("{ global: extern \"C++\" { a; }; };", "language"),
            ("{ global: a }", "expected"),
            ("{ a b; };", "behind `a`"),
            ("{ /* };", "ends inside"),
            ("", "expected"),
        ] {
            let error = Exports::parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
