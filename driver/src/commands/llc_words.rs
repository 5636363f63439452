//! The words of a compilation's command line as llc takes them: any option with one dash or two, a value behind `=` or as the next word, booleans
//! with or without a value, of repeated options the last. What comes out is for clap, each option with its value in one word.

use super::build::words::{Follows, clang_option, has_source};
use gcnc::llc_flags::{Fate, Flag, boolean, find};
use std::collections::HashMap;
use std::ffi::OsString;

/// How an option of gcnc's own is followed by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// It has none.
    Switch,
    /// `=` and a value, or neither.
    Optional,
    /// Always.
    Value,
}

/// The words for clap, and a warning for each that was passed over.
///
/// # Errors
/// Names the flag of llc that is not there.
pub fn translate(
    args: Vec<OsString>,
    command: &clap::Command,
) -> Result<(Vec<OsString>, Vec<String>), String> {
    let own: HashMap<&str, Own> =
        command.get_arguments().filter_map(|arg| Some((arg.get_long()?, kind(arg)))).collect();
    let has_source = has_source(&args);
    let mut words = args.into_iter();
    let mut out =
        Translation { words: words.next().into_iter().collect(), own, has_source, idle: Vec::new() };
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                out.words.push(word);
                out.words.extend(words.by_ref());
            }
            Some(text) if text.len() > 1 && text.starts_with('-') => out.option(text, &mut words)?,
            _ => out.words.push(word),
        }
    }
    let compat = out.words.iter().take_while(|word| *word != "--").any(|word| word == "--llc-compat");
    match out.idle.first() {
        Some((word, note)) if !compat => {
            Err(format!("option `{word}` has no meaning here ({note}); `--llc-compat` passes over it"))
        }
        _ => {
            let warning = |(word, note): &(String, &str)| {
                format!("option `{word}` has no meaning here: {note} (ignored)")
            };
            Ok((out.words, out.idle.iter().map(warning).collect()))
        }
    }
}

fn kind(arg: &clap::Arg) -> Own {
    match arg.get_action() {
        clap::ArgAction::Set | clap::ArgAction::Append if arg.is_require_equals_set() => Own::Optional,
        clap::ArgAction::Set | clap::ArgAction::Append => Own::Value,
        _ => Own::Switch,
    }
}

struct Translation<'a> {
    words: Vec<OsString>,
    own: HashMap<&'a str, Own>,
    /// Whether clang's options have a meaning.
    has_source: bool,
    /// Words without a meaning here, and why.
    idle: Vec<(String, &'static str)>,
}

impl Translation<'_> {
    /// One option; `rest` are the words behind it.
    fn option(&mut self, text: &str, rest: &mut std::vec::IntoIter<OsString>) -> Result<(), String> {
        let body = text.strip_prefix("--").or(text.strip_prefix('-')).unwrap_or(text);
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        if let Some(&own) = self.own.get(name) {
            return self.own_option(own, name, value, rest);
        }
        let flag = find(name);
        let of_llc = flag.is_some_and(|flag| flag.fate != Fate::Missing);
        if let Some(follows) = clang_option(body).filter(|_| self.has_source && !of_llc) {
            // With the number of dashes that it has: for clang that may make a difference.
            self.words.push(format!("--clang-arg={text}").into());
            if follows == Follows::Value
                && let Some(value) = rest.next()
            {
                let mut word = OsString::from("--clang-arg=");
                word.push(value);
                self.words.push(word);
            }
            return Ok(());
        }
        match (name, flag.map(|flag| flag.fate)) {
            // `-o=FILE`, `-o FILE`, `-x ir`, `-O 2`: short options of gcnc.
            ("o" | "x" | "O", _) => {
                self.words.push(format!("-{name}").into());
                self.words.extend(value.map(OsString::from).or_else(|| rest.next()));
            }
            (_, Some(Fate::Same)) | (_, None) => {
                let dashes = if flag.is_none() && is_attached(name) { "-" } else { "--" };
                // Of `--O2`, too, the rest is the value.
                let short = if body.starts_with('O') && flag.is_none() { "-" } else { dashes };
                self.words.push(format!("{short}{body}").into());
            }
            (_, Some(Fate::Mapped(to))) => {
                if value.is_none_or(|value| boolean(value) == Some(true)) {
                    self.words.push(format!("--{to}").into());
                }
            }
            (_, Some(fate)) => {
                let Some(flag) = flag else { return Ok(()) };
                self.foreign(flag, fate, value, rest)?;
            }
        }
        Ok(())
    }

    fn own_option(
        &mut self,
        own: Own,
        name: &str,
        value: Option<&str>,
        rest: &mut std::vec::IntoIter<OsString>,
    ) -> Result<(), String> {
        let word = format!("--{name}");
        match (own, value) {
            (Own::Switch, Some(value)) => match boolean(value) {
                Some(true) => self.words.push(word.into()),
                // What was switched on before is off again.
                Some(false) => self.words.retain(|known| *known != *word),
                None => return Err(format!("option `{word}`: `{value}` is neither true nor false")),
            },
            (Own::Optional, None)
                if name == "stats" && rest.as_slice().first().is_some_and(|w| w == "json") =>
            {
                rest.next();
                self.words.push(format!("{word}=json").into());
            }
            (Own::Value, None) => {
                let mut word = OsString::from(word);
                if let Some(value) = rest.next() {
                    word.push("=");
                    word.push(value);
                }
                self.words.push(word);
            }
            (_, Some(value)) => self.words.push(format!("{word}={value}").into()),
            (_, None) => self.words.push(word.into()),
        }
        Ok(())
    }

    /// A flag of llc that gcnc does not have.
    fn foreign(
        &mut self,
        flag: Flag,
        fate: Fate,
        value: Option<&str>,
        rest: &mut std::vec::IntoIter<OsString>,
    ) -> Result<(), String> {
        let next = match (value, flag.takes_value) {
            (None, true) => rest.next().and_then(|word| word.into_string().ok()),
            _ => None,
        };
        let value = value.or(next.as_deref());
        if flag.is_usual(value) {
            return Ok(());
        }
        let word = value.map_or(format!("-{}", flag.name), |value| format!("-{}={value}", flag.name));
        if fate == Fate::Missing {
            return Err(format!("option `{word}` of llc is missing: {}", flag.note));
        }
        self.idle.push((word, flag.note));
        Ok(())
    }
}

/// Whether an unknown option is a short one with its value, `-oFILE`, or a short one alone.
fn is_attached(name: &str) -> bool {
    name.len() == 1 || name.starts_with('o')
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction, Command};

    /// A command with one option of each kind.
    fn words(line: &str) -> Result<(String, Vec<String>), String> {
        let command = Command::new("gcnc")
            .arg(Arg::new("mcpu").long("mcpu"))
            .arg(Arg::new("mattr").long("mattr").action(ArgAction::Append))
            .arg(Arg::new("verify").long("verify-machineinstrs").action(ArgAction::SetTrue))
            .arg(Arg::new("compat").long("llc-compat").action(ArgAction::SetTrue))
            .arg(Arg::new("stats").long("stats").num_args(0..=1).require_equals(true));
        let args = line.split(' ').map(OsString::from).collect();
        let (words, warnings) = translate(args, &command)?;
        let words: Vec<String> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
        Ok((words.join(" "), warnings))
    }

    #[track_caller]
    fn becomes(line: &str, wanted: &str) {
        assert_eq!(words(line), Ok((wanted.to_owned(), Vec::new())));
    }

    #[test]
    fn options_have_one_dash_or_two_and_values_either_way() {
        becomes(
            "gcnc -mcpu gfx900 --mattr -xnack -mattr=+a a.ll",
            "gcnc --mcpu=gfx900 --mattr=-xnack --mattr=+a a.ll",
        );
        becomes("gcnc -O=2 --O3 -O 1 -O0 -o=x --o y -oz -x=ir", "gcnc -O 2 -O3 -O 1 -O0 -o x -o y -oz -x ir");
        becomes(
            "gcnc -verify-machineinstrs=1 --verify-machineinstrs -",
            "gcnc --verify-machineinstrs --verify-machineinstrs -",
        );
        becomes("gcnc -verify-machineinstrs -verify-machineinstrs=0 -", "gcnc -");
        becomes("gcnc -stats a.ll", "gcnc --stats a.ll");
        becomes("gcnc -stats json a.ll", "gcnc --stats=json a.ll");
        becomes("gcnc -stats-json -stats-json=0 -help-hidden", "gcnc --stats=json --help");
        becomes("gcnc a.ll -- -mcpu", "gcnc a.ll -- -mcpu");
        assert!(words("gcnc -verify-machineinstrs=maybe").is_err());
    }

    #[test]
    fn options_of_clang_are_handed_on_where_there_is_a_source() {
        becomes(
            "gcnc k.cl -DN=4 -I inc -mcpu gfx900 -cl-std=CL2.0 -O2 -Wall -ffast-math",
            "gcnc k.cl --clang-arg=-DN=4 --clang-arg=-I --clang-arg=inc --mcpu=gfx900 --clang-arg=-cl-std=CL2.0 -O2 --clang-arg=-Wall \
             --clang-arg=-ffast-math",
        );
        becomes("gcnc -c -Os -x hip - -g", "gcnc -c -Os -x hip - --clang-arg=-g");
        assert!(words("gcnc k.ll -ffast-math").is_err());
    }

    #[test]
    fn flags_of_llc_pass_where_asked_for_and_harmless() {
        let (kept, warnings) =
            words("gcnc --llc-compat -amdgpu-nsa-threshold 3 -misched=gcn-max-ilp a.ll -- --llc-compat")
                .unwrap();
        assert_eq!(kept, "gcnc --llc-compat a.ll -- --llc-compat");
        assert!(warnings[0].contains("`-amdgpu-nsa-threshold=3`") && warnings.len() == 2, "{warnings:?}");
        let refused = |line: &str, text: &str| {
            let message = words(line).unwrap_err();
            assert!(message.contains(text), "{line}: {message}");
        };
        refused("gcnc -amdgpu-sdwa-peephole=0 a.ll -- --llc-compat", "amdgpu-sdwa-peephole=0");
        refused("gcnc --llc-compat -amdgpu-asan-instrument-lds a.ll", "code is not instrumented");
        becomes("gcnc -amdgpu-asan-instrument-lds=0 -amdgpu-enable-lower-module-lds a.ll", "gcnc a.ll");
        // What nobody knows is for clap to refuse.
        becomes("gcnc --llc-compat -no-such-flag=1", "gcnc --llc-compat --no-such-flag=1");
    }
}
