//! The cases of LLVM's AMDGPU code generator tests: every `llc` invocation for a processor of GFX6 to GFX10,
//! once.
//!
//! Inputs that a RUN line makes with `sed`, `opt`, `llvm-as` and their like are made the same way and kept in
//! the cache. The tests come from the Debian source package of LLVM 19 ([`tests_folder`]); nothing of them is
//! part of this project.

use super::runlines::{Llc, Stage, pipelines, run_lines};
use mir::target::{Os, Target};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One invocation.
#[derive(Clone, Debug)]
pub struct Case {
    /// `FILE:LINE`, with a letter where a line has several.
    pub id: String,
    /// What is compiled.
    pub input: PathBuf,
    /// Triple.
    pub triple: String,
    /// Processor; empty where none is named.
    pub mcpu: String,
    /// Features.
    pub mattr: String,
    /// Optimisation level.
    pub opt: u8,
    /// Code object version where the line names one.
    pub version: Option<u8>,
    /// `llc` must refuse it.
    pub negative: bool,
}

/// Programs that may run to make an input.
const TOOLS: [&str; 14] = [
    "sed",
    "opt",
    "llvm-as",
    "llvm-dis",
    "llvm-link",
    "llvm-extract",
    "split-file",
    "cat",
    "cp",
    "rm",
    "mkdir",
    "echo",
    "grep",
    "printf",
];

/// The folder of LLVM's tests: `given`, or below the cache, or fetched there with `apt-get source`.
///
/// # Errors
/// Says what is missing where they can be had in no way.
pub fn tests_folder(given: Option<&Path>, cache: &Path) -> Result<PathBuf, String> {
    const INSIDE: &str = "llvm/test/CodeGen/AMDGPU";
    if let Some(given) = given {
        return match given.is_dir() {
            true => Ok(given.to_owned()),
            false => Err(format!("{}: no such folder", given.display())),
        };
    }
    unpacked_sources(
        &cache.join("src"),
        INSIDE,
        "set -e; apt-get source -qq --download-only llvm-toolchain-19 >&2; \
        tar -xf llvm-toolchain-19_*.orig.tar.xz --wildcards '*/llvm/test/CodeGen/AMDGPU/*' \
        '*/llvm/test/MC/AMDGPU/*'; rm -f llvm-toolchain-19_*.tar.xz",
    )
    .map_err(|error| format!("{error}; name a folder {INSIDE} with --tests"))
}

/// The folder `inside` of a source package that is unpacked in `sources`; where it is missing, `script` fetches it.
///
/// # Errors
/// Where it cannot be had.
pub fn unpacked_sources(sources: &Path, inside: &str, script: &str) -> Result<PathBuf, String> {
    let unpacked = || {
        let entries = std::fs::read_dir(sources).ok()?.flatten();
        entries.map(|e| e.path().join(inside)).find(|p| p.is_dir())
    };
    if let Some(folder) = unpacked() {
        return Ok(folder);
    }
    std::fs::create_dir_all(sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    let status = Command::new("bash").args(["-c", script]).current_dir(sources).stdin(Stdio::null()).status();
    let fetched = status.is_ok_and(|s| s.success());
    unpacked().filter(|_| fetched).ok_or_else(|| {
        "LLVM's tests are missing: `apt-get source llvm-toolchain-19` failed (it needs deb-src lines and the network)"
            .to_owned()
    })
}

/// The processor that `llc` compiles for, if gcnc knows it.
pub fn target_of(mcpu: &str, triple: &str) -> Option<Target> {
    let name = match mcpu {
        "" | "generic" | "generic-hsa" => {
            match mcpu == "generic-hsa" || mcpu.is_empty() && triple.contains("amdhsa") {
                true => "gfx700",
                false => "gfx600",
            }
        }
        name => name,
    };
    let target = Target::processor_by_name(name).map(Target::new)?;
    let os = match triple {
        _ if triple.contains("amdhsa") => Os::AmdHsa,
        _ if triple.contains("amdpal") => Os::AmdPal,
        _ if triple.contains("mesa3d") => Os::Mesa3d,
        _ => Os::Unknown,
    };
    Some(Target { os, ..target })
}

/// The cases of `cpu`'s generation, or of all, each for `cpu` and with `features` behind its own, once; inputs whose functions name processors are left
/// out.
///
/// # Errors
/// A processor that the suite is not for.
pub fn on(cases: &[Case], cpu: &str, features: &str, all: bool) -> Result<Vec<Case>, String> {
    let generation = |mcpu: &str, triple: &str| target_of(mcpu, triple).map(|target| target.generation());
    let wanted = generation(cpu, "").ok_or_else(|| format!("{cpu} is no processor that gcnc knows"))?;
    let mut seen = HashSet::new();
    let names_one = |case: &Case| {
        std::fs::read_to_string(&case.input).is_ok_and(|text| text.contains("\"target-cpu\"=\""))
    };
    let of_it = cases.iter().filter(|case| all || generation(&case.mcpu, &case.triple) == Some(wanted));
    let of_it = of_it.filter(|case| !names_one(case));
    let moved = of_it.map(|case| {
        let parts = [case.mattr.as_str(), features];
        let mattr = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",");
        Case { mcpu: cpu.to_owned(), mattr, ..case.clone() }
    });
    let key = |case: &Case| {
        (case.input.clone(), case.triple.clone(), case.mattr.clone(), case.opt, case.version, case.negative)
    };
    Ok(moved.filter(|case| seen.insert(key(case))).collect())
}

fn processors_beyond(text: &str) -> bool {
    text.match_indices("\"target-cpu\"=\"").any(|(at, key)| {
        let cpu = text[at + key.len()..].split('"').next().unwrap_or_default();
        cpu.starts_with("gfx1")
            || cpu.starts_with("gfx908")
            || cpu.starts_with("gfx90a")
            || cpu.starts_with("gfx94")
    })
}

fn without_comments(text: &str) -> String {
    let strip = |line: &str| -> String {
        let mut quoted = false;
        let end = line.char_indices().find(|&(_, c)| {
            quoted ^= c == '"';
            c == ';' && !quoted
        });
        end.map_or(line, |(at, _)| &line[..at]).trim_end().to_owned()
    };
    text.lines().map(strip).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

struct Finder<'a> {
    folder: &'a Path,
    work: &'a Path,
    cases: Vec<Case>,
    seen: HashSet<(u64, String, String, String, u8, bool)>,
    /// Digest of the text without comments, the triple in it, whether it is for later processors.
    texts: HashMap<PathBuf, (u64, String, bool, bool)>,
}

/// All cases in the order of the files. `work` keeps generated inputs.
///
/// # Errors
/// Where the folder cannot be read.
pub fn find(folder: &Path, work: &Path) -> Result<Vec<Case>, String> {
    let tools = work.join("bin");
    std::fs::create_dir_all(&tools).map_err(|e| format!("{}: {e}", tools.display()))?;
    for tool in TOOLS.iter().filter(|t| t.starts_with("llvm") || matches!(**t, "opt" | "split-file")) {
        let real = PathBuf::from(format!("/usr/bin/{tool}-22"));
        let link = tools.join(tool);
        if real.exists() && !link.exists() {
            std::os::unix::fs::symlink(&real, &link).map_err(|e| format!("{}: {e}", link.display()))?;
        }
    }
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(failed)?.flatten().map(|e| e.path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "ll"));
    files.sort();
    let mut finder = Finder { folder, work, cases: Vec::new(), seen: HashSet::new(), texts: HashMap::new() };
    for file in &files {
        finder.file(file)?;
    }
    Ok(finder.cases)
}

impl Finder<'_> {
    fn file(&mut self, path: &Path) -> Result<(), String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
        for (line, command) in run_lines(&text) {
            for pipeline in pipelines(&command) {
                self.pipeline(path, line, &pipeline, scratch.path());
            }
        }
        Ok(())
    }

    fn substituted(&self, word: &str, path: &Path, scratch: &Path) -> String {
        word.replace("%s", &path.to_string_lossy())
            .replace("%S", &self.folder.to_string_lossy())
            .replace("%p", &self.folder.to_string_lossy())
            .replace("%t", &scratch.join("t").to_string_lossy())
    }

    fn shell(&self, stages: &[Stage], path: &Path, scratch: &Path) -> Option<Vec<u8>> {
        if !stages.iter().all(|s| s.argv.first().is_some_and(|a| TOOLS.contains(&a.as_str()))) {
            return None;
        }
        let word = |w: &String| quoted(&self.substituted(w, path, scratch));
        let stage = |s: &Stage| {
            let mut text = s.argv.iter().map(word).collect::<Vec<_>>().join(" ");
            text.extend(s.stdin.iter().map(|w| format!(" < {}", word(w))));
            text.extend(s.stdout.iter().map(|w| format!(" > {}", word(w))));
            text
        };
        let script = stages.iter().map(stage).collect::<Vec<_>>().join(" | ");
        let path =
            format!("{}:{}", self.work.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &script])
            .env("PATH", path)
            .stdin(Stdio::null())
            .current_dir(scratch)
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// Keeps a generated input, as text.
    fn keep(&self, data: Vec<u8>, path: &Path, scratch: &Path) -> Option<PathBuf> {
        let data = match data.starts_with(b"BC") {
            true => {
                let bitcode = scratch.join("kept.bc");
                std::fs::write(&bitcode, &data).ok()?;
                Command::new("llvm-dis-22").arg(&bitcode).args(["-o", "-"]).output().ok()?.stdout
            }
            false => data,
        };
        if data.trim_ascii().is_empty() {
            return None;
        }
        let folder = self.work.join("inputs");
        std::fs::create_dir_all(&folder).ok()?;
        let stem = path.file_stem()?.to_string_lossy();
        let kept = folder.join(format!("{stem}.{:016x}.ll", sim::memory::digest(&data)));
        if !kept.exists() {
            std::fs::write(&kept, &data).ok()?;
        }
        Some(kept)
    }

    fn pipeline(&mut self, path: &Path, line: usize, stages: &[Stage], scratch: &Path) {
        let mut found = None;
        for (k, stage) in stages.iter().enumerate() {
            let skipped = stage.argv.iter().take_while(|a| {
                matches!(a.as_str(), "not" | "env" | "--crash") || a.contains('=') && !a.starts_with('-')
            });
            let skipped = skipped.count();
            if stage.argv.get(skipped).is_some_and(|a| a == "llc") {
                let negative = stage.argv[..skipped].iter().any(|a| a == "not");
                found = Some((k, negative, Llc::parse(&stage.argv[skipped + 1..])));
                break;
            }
        }
        let Some((at, negative, llc)) = found else {
            // A step that makes a file for later lines.
            let until = stages.iter().position(|s| s.argv.first().is_some_and(|a| a == "FileCheck"));
            let stages = &stages[..until.unwrap_or(stages.len())];
            let makes = |s: &Stage| s.argv.iter().chain(&s.stdout).any(|w| w.contains("%t"));
            if stages.iter().any(makes) {
                let _ = self.shell(stages, path, scratch);
            }
            return;
        };
        if llc.gisel || llc.mir {
            return;
        }
        let source = llc.inputs.iter().find(|i| *i != "-").or(stages[at].stdin.as_ref());
        let input = match source.map(String::as_str) {
            Some("%s") => Some(path.to_owned()),
            Some(name) if name.contains("%t") => std::fs::read(self.substituted(name, path, scratch))
                .ok()
                .and_then(|data| self.keep(data, path, scratch)),
            None if at > 0 => {
                self.shell(&stages[..at], path, scratch).and_then(|data| self.keep(data, path, scratch))
            }
            _ => None,
        };
        let Some(input) = input.filter(|i| i.extension().is_some_and(|e| e == "ll")) else { return };
        if !self.texts.contains_key(&input) {
            let Ok(bytes) = std::fs::read(&input) else { return };
            let text = String::from_utf8_lossy(&bytes);
            let stripped = without_comments(&text);
            let triple = stripped.lines().find_map(|l| l.strip_prefix("target triple")?.split('"').nth(1));
            let is_ir = ["define", "declare", "@", "target", "%", "!", "attributes", "source_filename"]
                .iter()
                .any(|w| stripped.lines().any(|l| l.trim_start().starts_with(w)));
            let facts = (
                sim::memory::digest(stripped.as_bytes()),
                triple.unwrap_or_default().to_owned(),
                processors_beyond(&stripped),
                is_ir,
            );
            self.texts.insert(input.clone(), facts);
        }
        let (digest, own, beyond, is_ir) = self.texts[&input].clone();
        let triple = match (llc.triple, llc.march.as_deref()) {
            (Some(triple), _) => triple,
            (None, Some("amdgcn")) if !own.starts_with("amdgcn") => "amdgcn".to_owned(),
            (None, Some("amdgcn") | None) => own,
            (None, Some(_)) => return,
        };
        let known = target_of(&llc.mcpu, &triple).is_some();
        if !triple.starts_with("amdgcn") || beyond || !is_ir || !known {
            return;
        }
        let key = (digest, triple.clone(), llc.mcpu.clone(), llc.mattr.clone(), llc.opt, negative);
        if !self.seen.insert(key) {
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut id = format!("{name}:{line}");
        let same = self.cases.iter().rev().take_while(|c| c.id.starts_with(&id)).count();
        if same > 0 {
            id.push(char::from(b'a' + same.min(25) as u8));
        }
        let Llc { mcpu, mattr, opt, version, .. } = llc;
        self.cases.push(Case { id, input, triple, mcpu, mattr, opt, version, negative });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_move_to_a_processor_of_their_generation() {
        let case = |id: &str, mcpu: &str, mattr: &str| Case {
            id: id.to_owned(),
            input: PathBuf::from("a.ll"),
            triple: "amdgcn".to_owned(),
            mcpu: mcpu.to_owned(),
            mattr: mattr.to_owned(),
            opt: 2,
            version: None,
            negative: false,
        };
        let all = [
            case("a.ll:1", "tonga", ""),
            case("a.ll:2", "fiji", ""),
            case("a.ll:3", "gfx900", ""),
            case("a.ll:4", "fiji", "-flat-for-global"),
            case("a.ll:5", "", ""),
        ];
        let moved = on(&all, "gfx801", "+xnack", false).unwrap();
        let said: Vec<_> = moved.iter().map(|c| (c.id.as_str(), c.mcpu.as_str(), c.mattr.as_str())).collect();
        assert_eq!(said, [("a.ll:1", "gfx801", "+xnack"), ("a.ll:4", "gfx801", "-flat-for-global,+xnack")]);
        assert_eq!(on(&all, "tahiti", "", false).unwrap()[0].id, "a.ll:5");
        assert!(on(&all, "gfx1100", "", true).is_err());
        let all_of_them = on(&all, "gfx801", "", true).unwrap();
        assert_eq!(all_of_them.len(), 2);
    }

    #[test]
    fn cases_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let test = "; RUN: llc -mtriple=amdgcn -mcpu=tahiti < %s | FileCheck %s\n\
            ; RUN: llc -march=amdgcn -mcpu=tahiti < %s | FileCheck %s\n\
            ; RUN: llc -mtriple=amdgcn -mcpu=gfx1010 < %s\n\
            ; RUN: sed 's/@f/@g/' %s | not llc -mtriple=amdgcn -O0 2>&1\n\
            define amdgpu_kernel void @f() { ret void }\n";
        std::fs::write(folder.path().join("a.ll"), test).unwrap();
        let cases = find(folder.path(), work.path()).unwrap();
        let ids: Vec<_> = cases.iter().map(|c| (c.id.as_str(), c.opt, c.negative)).collect();
        assert_eq!(ids, [("a.ll:1", 2, false), ("a.ll:3", 2, false), ("a.ll:4", 0, true)]);
        let text = std::fs::read_to_string(&cases[2].input).unwrap();
        assert!(text.contains("void @g()"));
        assert!(tests_folder(Some(&folder.path().join("none")), work.path()).is_err());
    }
}
