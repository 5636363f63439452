//! What `llc-22` makes of an input, kept between runs: its object, or its refusal.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt;

/// `llc` must answer within this.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The cache.
#[derive(Clone, Debug)]
pub struct Llc {
    folder: PathBuf,
}

/// The words that choose what `llc` compiles for.
pub fn arguments(triple: &str, mcpu: &str, mattr: &str, opt: u8) -> Vec<String> {
    let mut args = vec![format!("-mtriple={triple}")];
    args.extend((!mcpu.is_empty()).then(|| format!("-mcpu={mcpu}")));
    args.extend((!mattr.is_empty()).then(|| format!("-mattr={mattr}")));
    args.push(format!("-O{opt}"));
    args
}

impl Llc {
    /// A cache in `work`.
    ///
    /// # Errors
    /// Where the folder cannot be made.
    pub fn new(work: &Path) -> Result<Self, String> {
        let folder = work.join("llc");
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Self { folder })
    }

    /// The object for `text`; an error where `llc` refuses or crashes.
    ///
    /// # Errors
    /// `llc`'s message.
    pub fn object(&self, input: &Path, text: &[u8], args: &[String]) -> Result<Vec<u8>, String> {
        let mut key = sim::memory::digest(text);
        for arg in args {
            key = sim::memory::fnv1a(key, arg.as_bytes());
            key = sim::memory::fnv1a(key, &[0]);
        }
        let kept = self.folder.join(format!("{key:016x}.o"));
        let refused = kept.with_extension("err");
        if let Ok(bytes) = std::fs::read(&kept) {
            return Ok(bytes);
        }
        if let Ok(message) = std::fs::read_to_string(&refused) {
            return Err(message);
        }
        let mut own = DefaultHasher::new();
        std::thread::current().id().hash(&mut own);
        let temporary = kept.with_extension(format!("{}-{:x}.tmp", std::process::id(), own.finish()));
        let result = run(input, args, "obj", &temporary).or_else(|message| {
            // LLVM 22 crashes writing some objects whose assembly is fine.
            let assembly = temporary.with_extension("s");
            let made = run(input, args, "asm", &assembly).and_then(|()| {
                let mut command = Command::new("llvm-mc-22");
                command.arg("-filetype=obj").args(args.iter().filter(|a| a.starts_with("-m")));
                command.arg(&assembly).arg("-o").arg(&temporary);
                finish(&mut command)
            });
            let _ = std::fs::remove_file(&assembly);
            made.map_err(|_| message)
        });
        match result {
            Ok(()) => {
                let bytes = std::fs::read(&temporary).map_err(|e| e.to_string())?;
                std::fs::rename(&temporary, &kept).map_err(|e| e.to_string())?;
                Ok(bytes)
            }
            Err(message) => {
                let _ = std::fs::remove_file(&temporary);
                std::fs::write(&refused, &message).map_err(|e| e.to_string())?;
                Err(message)
            }
        }
    }
}

fn run(input: &Path, args: &[String], kind: &str, out: &Path) -> Result<(), String> {
    let mut command = Command::new("llc-22");
    command.arg(format!("-filetype={kind}")).args(args).arg(input).arg("-o").arg(out);
    finish(&mut command)
}

/// Runs a compiler; the first error that it prints is the error.
pub fn finish(command: &mut Command) -> Result<(), String> {
    let errors = tempfile::tempfile().map_err(|e| e.to_string())?;
    let copy = errors.try_clone().map_err(|e| e.to_string())?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(copy)
        .spawn()
        .map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let status = match child.wait_timeout(TIMEOUT).map_err(|e| e.to_string())? {
        Some(status) => status,
        None => {
            let _ = child.kill();
            let _ = child.wait();
            return Err("timeout".to_owned());
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    let mut errors = errors;
    use std::io::{Read, Seek};
    let _ = errors.rewind().and_then(|()| errors.read_to_string(&mut text));
    let line = text.lines().find(|l| l.to_lowercase().contains("error")).or(text.lines().next());
    Err(line.unwrap_or("no message").trim().to_owned())
}
