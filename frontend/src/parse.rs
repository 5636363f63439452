//! From bytes to a verified LLVM module, and LLVM's messages to diagnostics.

use crate::llvm::{self, ModuleRef};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetTriple;
use mir::diag::SourceLocation;
use mir::{Diagnostic, Result};

/// Data layout of `amdgcn` targets as LLVM 22 writes it. Text without one means this, not LLVM's default for
/// unknown targets, whose pointers and alignments differ.
pub const DATA_LAYOUT: &str = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-\
    p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
    v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9";

/// Whether the data layout `layout` says that stack objects are private ones.
pub(crate) fn has_private_stack(layout: &str) -> bool {
    has_part(layout, "A5")
}

/// Parses bitcode or text (told apart by the first bytes) into `context` and verifies the result.
///
/// Errors: `Malformed`, with the position where the text has one.
pub fn parse<'c>(context: &'c Context, bytes: &[u8], name: &str) -> Result<Module<'c>> {
    let module = parse_unverified(context, bytes, name)?;
    verify(&module, name)?;
    Ok(module)
}

/// [`parse`] without LLVM's verifier.
pub fn parse_unverified<'c>(context: &'c Context, bytes: &[u8], name: &str) -> Result<Module<'c>> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Diagnostic::malformed("the input is empty").located(at(name, 0, 0)));
    }
    let parsed = if is_bitcode(bytes) {
        parse_bytes(context, bytes, name)
    } else {
        if let Some(position) = bytes.iter().position(|&b| b == 0) {
            let line = bytes[..position].iter().filter(|&&b| b == b'\n').count() as u32 + 1;
            let message = "neither bitcode nor text: zero byte in the input";
            return Err(Diagnostic::malformed(message).located(at(name, line, 0)));
        }
        match with_data_layout(bytes) {
            Some((text, _)) => parse_bytes(context, &text, name),
            None => parse_bytes(context, bytes, name),
        }
    };
    parsed.map_err(|message| parse_error(&message, bytes, name))
}

/// Key of the module flag without which LLVM takes debug information for that of another version, and a key of the same length.
const DEBUG_VERSION: [&[u8]; 2] = [b"Debug Info Version", b"Debug info version"];

/// LLVM's parser, which must not end the process whatever the input is.
///
/// Where a module says that it has debug information, LLVM's reader runs the verifier at its end, and ends the *process* when it finds
/// the module broken. Only a global option of LLVM prevents that, which a command may set ([`crate::settle_process`]), but not a library: the
/// host has an LLVM of its own in mind. So the module is read without the flag first, and LLVM meets the flag only where it has nothing to
/// complain of; a broken module stays without debug information, and our own run of the verifier says why it is refused.
///
/// Both text and bitcode hold strings of metadata as they are, bitcode since LLVM 3.9.
fn parse_bytes<'c>(context: &'c Context, bytes: &[u8], name: &str) -> Result<Module<'c>, String> {
    if llvm::is_settled() {
        return llvm::parse(context, bytes, name);
    }
    let [key, other] = DEBUG_VERSION;
    let places: Vec<usize> = memchr::memmem::find_iter(bytes, key).collect();
    if places.is_empty() {
        return llvm::parse(context, bytes, name);
    }
    let mut plain = bytes.to_vec();
    for at in places {
        plain[at..at + key.len()].copy_from_slice(other);
    }
    let trial = Context::create();
    let is_valid = llvm::parse(&trial, &plain, name)?.verify().is_ok();
    llvm::parse(context, if is_valid { bytes } else { &plain }, name)
}

/// LLVM's verifier, whose complaint becomes a diagnostic. Broken debug information is no reason to refuse a
/// module: it is taken out.
pub fn verify(module: &Module<'_>, name: &str) -> Result<()> {
    let Err(first) = module.verify() else { return Ok(()) };
    if !has_private_stack(&module.get_data_layout().as_str().to_string_lossy()) {
        // LLVM's verifier demands private stack objects of a module that names its target, whatever its data layout says.
        let triple = module.get_triple();
        module.set_triple(&TargetTriple::create(""));
        let verified = module.verify();
        module.set_triple(&triple);
        if verified.is_ok() {
            return Ok(());
        }
    }
    llvm::strip_debug_info(module);
    if module.verify().is_ok() {
        return Ok(());
    }
    let message = first.to_string_lossy().into_owned();
    let mut lines = message.lines().filter(|line| !line.trim().is_empty());
    let what = lines.next().unwrap_or("no reason given");
    let mut diagnostic = Diagnostic::malformed(format!("invalid IR: {what}")).located(at(name, 0, 0));
    if let Some(inst) = lines.next() {
        diagnostic = diagnostic.at(inst.trim());
    }
    Err(diagnostic)
}

/// Refuses what is not meant for AMD GCN. Without a triple, the caller decides.
pub(crate) fn check_target(module: ModuleRef<'_>, name: &str) -> Result<()> {
    let (triple, layout) = (module.triple(), module.data_layout());
    let arch = triple.split('-').next().unwrap_or_default();
    if !triple.is_empty() && !matches!(arch, "amdgcn" | "unknown" | "") {
        let message = format!("target triple {triple:?} is not amdgcn");
        return Err(Diagnostic::malformed(message).located(at(name, 0, 0)));
    }
    let has = |part: &str| has_part(&layout, part);
    let ours = is_partial(&layout) || has("e") && has("p3:32:32") && has("p5:32:32");
    if !ours {
        let message = format!("data layout {layout:?} is not that of amdgcn");
        return Err(Diagnostic::malformed(message).located(at(name, 0, 0)));
    }
    Ok(())
}

/// Raw bitcode, or bitcode in its wrapper.
fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}

/// Text with the target's data layout where it has none or only a part of one (`"A5"`), and how far columns
/// of the first line moved. The default that LLVM fills in differs in pointers and alignments.
fn with_data_layout(bytes: &[u8]) -> Option<(Vec<u8>, u32)> {
    let line = bytes.split_inclusive(|&b| b == b'\n').find(|line| {
        let rest = line.trim_ascii_start().strip_prefix(b"target");
        rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"datalayout"))
    });
    let Some(line) = line else {
        let prefix = format!("target datalayout = \"{DATA_LAYOUT}\" ");
        return Some(([prefix.as_bytes(), bytes].concat(), prefix.len() as u32));
    };
    let quotes: Vec<usize> = (0..line.len()).filter(|&i| line[i] == b'"').collect();
    let &[open, close, ..] = &quotes[..] else { return None };
    if !str::from_utf8(&line[open + 1..close]).is_ok_and(is_partial) {
        return None;
    }
    let start = line.as_ptr() as usize - bytes.as_ptr() as usize + open + 1;
    let rest = &bytes[start + close - open - 1..];
    Some(([&bytes[..start], DATA_LAYOUT.as_bytes(), rest].concat(), 0))
}

/// Whether `layout` says nothing of pointers and alignments but what is true of `amdgcn`. LLVM completes an empty one in part when it
/// reads bitcode.
fn is_partial(layout: &str) -> bool {
    let is_known = |part: &str| DATA_LAYOUT.split('-').any(|known| known == part);
    !has_part(layout, "p3:32:32")
        && layout.split('-').all(|part| {
            matches!(part.bytes().next(), None | Some(b'A' | b'e' | b'n' | b'G' | b'm')) || is_known(part)
        })
}

fn has_part(layout: &str, part: &str) -> bool {
    layout.split('-').any(|other| other == part)
}

fn at(file: &str, line: u32, column: u32) -> SourceLocation {
    SourceLocation { file: file.to_owned(), line, column }
}

/// Takes `NAME:LINE:COLUMN: error: TEXT` apart, the form in which LLVM's text parser reports.
fn parse_error(message: &str, bytes: &[u8], name: &str) -> Box<Diagnostic> {
    let first = message.lines().next().unwrap_or_default();
    let rest = first.strip_prefix(name).unwrap_or(first).trim_start_matches(':');
    let (position, what) = match rest.split_once("error: ") {
        Some((position, what)) => (position, what),
        None => ("", rest),
    };
    let mut numbers = position.split(':').map_while(|n| n.trim().parse::<u32>().ok());
    let (line, mut column) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if line == 1 && !is_bitcode(bytes) {
        column = column.saturating_sub(with_data_layout(bytes).map_or(0, |(_, moved)| moved));
    }
    let what = if what.is_empty() { "LLVM cannot read the input" } else { what };
    Diagnostic::malformed(what.trim()).located(at(name, line, column))
}
