//! Reports as text.

use super::records::{Bundle, CodeObject, NoteContents, Register, Report};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_report(&mut Indented { out: f, depth: 0, at_start: true }, self)
    }
}

/// Writes lines with two blanks in front of them for each level.
struct Indented<'a, 'f> {
    out: &'a mut Formatter<'f>,
    depth: usize,
    at_start: bool,
}

impl Write for Indented<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            if std::mem::take(&mut self.at_start) && line != "\n" {
                write!(self.out, "{:1$}", "", 2 * self.depth)?;
            }
            self.out.write_str(line)?;
            self.at_start = line.ends_with('\n');
        }
        Ok(())
    }
}

/// The depth of reports is bounded by [`super::MAX_DEPTH`].
fn write_report(out: &mut Indented<'_, '_>, report: &Report) -> fmt::Result {
    match report {
        Report::CodeObject(object) => write_object(out, object),
        Report::HostObject(object) => {
            writeln!(out, "ELF file for machine {}, {} bundles", object.machine, object.bundles.len())?;
            object.bundles.iter().try_for_each(|found| {
                writeln!(out, "section {}:", Clean(&found.section))?;
                inside(out, |out| write_bundle(out, &found.bundle))
            })
        }
        Report::Bundles { bundles } => bundles.iter().try_for_each(|bundle| write_bundle(out, bundle)),
        Report::Archive(archive) => {
            writeln!(out, "archive of {} files", archive.members.len())?;
            write_problems(out, &archive.problems)?;
            archive.members.iter().try_for_each(|(name, report)| {
                writeln!(out, "{}:", Clean(name))?;
                inside(out, |out| write_report(out, report))
            })
        }
        Report::Amdil { kernels, data } => {
            writeln!(out, "AMDIL metadata of {} kernels", kernels.len())?;
            for (buffer, bytes) in data {
                match buffer {
                    Some(buffer) => writeln!(out, "data of {bytes} bytes for constant buffer {buffer}")?,
                    None => writeln!(out, "data of {bytes} bytes for global memory")?,
                }
            }
            kernels.iter().try_for_each(|kernel| {
                writeln!(out, "kernel {}:", Clean(&kernel.name))?;
                kernel.tokens.iter().try_for_each(|token| writeln!(out, "  {}", Clean(token)))
            })
        }
        Report::Bitcode { size } => writeln!(out, "LLVM bitcode, {size} bytes"),
        Report::Unknown { size, problems } => {
            writeln!(out, "{size} bytes of no known form")?;
            write_problems(out, problems)
        }
    }
}

/// Names with control characters, which terminals would obey, escaped.
struct Clean<'a>(&'a str);

impl Display for Clean<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })
    }
}

fn inside(
    out: &mut Indented<'_, '_>,
    write: impl FnOnce(&mut Indented<'_, '_>) -> fmt::Result,
) -> fmt::Result {
    out.depth += 1;
    let result = write(out);
    out.depth -= 1;
    result
}

fn write_problems(out: &mut Indented<'_, '_>, problems: &[String]) -> fmt::Result {
    problems.iter().try_for_each(|problem| writeln!(out, "problem: {}", Clean(problem)))
}

fn write_bundle(out: &mut Indented<'_, '_>, bundle: &Bundle) -> fmt::Result {
    write!(
        out,
        "{} at {:#x}, {} bytes, {} parts",
        bundle.format,
        bundle.offset,
        bundle.size,
        bundle.parts.len()
    )?;
    if let Some((version, method, bytes)) = bundle.compression {
        write!(out, "; version {version}, {method}, {bytes} bytes before compression")?;
    }
    out.write_char('\n')?;
    write_problems(out, &bundle.problems)?;
    inside(out, |out| {
        bundle.parts.iter().try_for_each(|(target, report)| {
            writeln!(out, "{}:", Clean(target))?;
            inside(out, |out| write_report(out, report))
        })
    })
}

fn write_registers(out: &mut Indented<'_, '_>, registers: &[Register]) -> fmt::Result {
    registers.iter().try_for_each(|register| {
        let name = register.name.as_deref().unwrap_or_default();
        writeln!(out, "  {:#010x} {name:<28} = {:#x}", register.register, register.value)
    })
}

fn write_object(out: &mut Indented<'_, '_>, object: &CodeObject) -> fmt::Result {
    let target = &object.target;
    write!(out, "{} code object", object.elf)?;
    match (target.version, target.system) {
        (Some(version), Some(system)) => writeln!(out, " V{version} for {system}")?,
        (None, Some(system)) => writeln!(out, " for {system}")?,
        _ => writeln!(out)?,
    }
    writeln!(out, "  target     {}", target.id.as_deref().or(target.processor).unwrap_or("unknown"))?;
    write!(out, "  flags      {:#x}: processor {:#x}, ", object.flags, target.mach)?;
    writeln!(out, "xnack {}, sramecc {}", target.xnack, target.sramecc)?;
    if let Some(version) = target.generic_version {
        writeln!(out, "  generic    version {version}")?;
    }
    writeln!(out, "  ABI        {}, version {}", object.os_abi, object.abi_version)?;
    write_problems(out, &object.problems)?;
    writeln!(
        out,
        "\nsections\n  {:>3} {:<24} {:<10} {:<5} {:>10} {:>8} {:>8} {:>5}",
        "", "name", "type", "flags", "address", "offset", "size", "align"
    )?;
    for section in &object.sections {
        writeln!(
            out,
            "  {:>3} {:<24} {:<10} {:<5} {:>#10x} {:>#8x} {:>#8x} {:>5}",
            section.index,
            Clean(&section.name).to_string(),
            section.kind,
            section.flags,
            section.address,
            section.offset,
            section.size,
            section.align
        )?;
    }
    if !object.segments.is_empty() {
        writeln!(
            out,
            "\nsegments\n  {:<10} {:<5} {:>8} {:>10} {:>8} {:>8} {:>6}",
            "type", "flags", "offset", "address", "file", "memory", "align"
        )?;
    }
    for segment in &object.segments {
        writeln!(
            out,
            "  {:<10} {:<5} {:>#8x} {:>#10x} {:>#8x} {:>#8x} {:>6}",
            segment.kind,
            segment.flags,
            segment.offset,
            segment.address,
            segment.file_bytes,
            segment.memory_bytes,
            segment.align
        )?;
    }
    if !object.symbols.is_empty() {
        writeln!(
            out,
            "\nsymbols\n  {:>10} {:>8} {:<8} {:<7} {:<9} {:<16} name",
            "value", "size", "type", "binding", "visible", "section"
        )?;
    }
    for symbol in &object.symbols {
        write!(
            out,
            "  {:>#10x} {:>#8x} {:<8} {:<7} {:<9} {:<16} {}",
            symbol.value,
            symbol.size,
            symbol.kind,
            symbol.binding,
            symbol.visibility,
            Clean(&symbol.section).to_string(),
            Clean(&symbol.name)
        )?;
        writeln!(out, "{}", if symbol.dynamic { " (dynamic)" } else { "" })?;
    }
    if !object.relocations.is_empty() {
        writeln!(
            out,
            "\nrelocations\n  {:<16} {:>10} {:<26} symbol and addend",
            "section", "offset", "type"
        )?;
    }
    for relocation in &object.relocations {
        let (section, symbol) = (Clean(&relocation.section).to_string(), Clean(&relocation.symbol));
        let (offset, kind, addend) = (relocation.offset, &relocation.kind, relocation.addend);
        writeln!(out, "  {section:<16} {offset:>#10x} {kind:<26} {symbol}{addend:+}")?;
    }
    write_notes(out, object)?;
    for kernel in &object.kernels {
        writeln!(out, "\nkernel {} ({})", Clean(&kernel.name), kernel.described_by)?;
        for (what, value) in [
            ("VGPRs", kernel.vgprs.map(u64::from)),
            ("SGPRs", kernel.sgprs.map(u64::from)),
            ("LDS bytes", kernel.lds_bytes),
            ("scratch bytes of a lane", kernel.scratch_bytes),
            ("argument bytes", kernel.kernarg_bytes),
        ] {
            if let Some(value) = value {
                writeln!(out, "  {what}: {value}")?;
            }
        }
        kernel.fields.iter().try_for_each(|field| writeln!(out, "    {} = {}", field.name, field.value))?;
    }
    if !object.config.is_empty() {
        writeln!(out, "\nregisters for the driver")?;
        write_registers(out, &object.config)?;
    }
    Ok(())
}

fn write_notes(out: &mut Indented<'_, '_>, object: &CodeObject) -> fmt::Result {
    for note in &object.notes {
        let name = if note.name.is_empty() { "unknown" } else { note.name };
        writeln!(out, "\nnote {} {} ({name}) in {}", Clean(&note.owner), note.kind, Clean(&note.section))?;
        match &note.contents {
            NoteContents::Version { major, minor } => writeln!(out, "  version {major}.{minor}")?,
            NoteContents::HsailProperties { version: [major, minor], modes: [profile, model, rounding] } => {
                writeln!(
                    out,
                    "  HSAIL {major}.{minor}, profile {profile}, model {model}, rounding {rounding}"
                )?;
            }
            NoteContents::Isa { version: [major, minor, stepping], vendor, architecture } => {
                writeln!(out, "  {}:{}:{major}:{minor}:{stepping}", Clean(vendor), Clean(architecture))?;
            }
            NoteContents::Producer { version: [major, minor], name } => {
                writeln!(out, "  {} {major}.{minor}", Clean(name))?;
            }
            NoteContents::Text(text) => writeln!(out, "  {}", Clean(text))?,
            NoteContents::Metadata(document) => inside(out, |out| out.write_str(&document.to_yaml()))?,
            NoteContents::Registers(registers) => write_registers(out, registers)?,
            NoteContents::Bytes(bytes) => writeln!(out, "  {bytes}")?,
        }
    }
    Ok(())
}
