//! What `llvm-readelf-22 --all` prints of a linked object, as fields: so nothing that it shows escapes the comparison.
//!
//! Every line belongs to a field. Addresses and offsets become places: a section and, where its contents are laid out alike, a distance. What has no name is told by its
//! number among its like.

use super::facts::Facts;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Its name.
const PROGRAM: &str = "llvm-readelf-22";

/// Tags of the dynamic table whose values are addresses or sizes of what is laid out.
const PLACES: [&str; 10] = [
    "(HASH)",
    "(GNU_HASH)",
    "(STRTAB)",
    "(SYMTAB)",
    "(RELA)",
    "(STRSZ)",
    "(RELASZ)",
    "(INIT_ARRAY)",
    "(FINI_ARRAY)",
    "(JMPREL)",
];

/// A line of the table of sections.
struct Section {
    name: String,
    start: u64,
    size: u64,
    /// Whether its parts may stand in another order: what is merged.
    loose: bool,
}

/// Sections by number.
#[derive(Default)]
struct Sections(Vec<Section>);

impl Sections {
    fn name(&self, number: &str) -> String {
        let found = number.parse().ok().and_then(|number: usize| self.0.get(number));
        found.map_or_else(|| number.to_owned(), |section| section.name.clone())
    }

    /// The section that an address is in, and how far.
    fn place(&self, address: u64) -> String {
        let holds = |s: &&Section| s.start > 0 && (s.start..s.start + s.size.max(1)).contains(&address);
        match self.0.iter().find(holds) {
            Some(section) if section.loose => section.name.clone(),
            Some(section) => format!("{}+{:#x}", section.name, address - section.start),
            None if address == 0 => "0".to_owned(),
            None => "nowhere".to_owned(),
        }
    }
}

/// Adds the fields of the object in `file`; none where the program is not installed.
///
/// # Errors
/// What it says where it fails, and warnings, which good objects get none of.
pub fn add(file: &Path, out: &mut Facts) -> Result<(), String> {
    let Ok(output) = Command::new(PROGRAM).args(["--all", "--wide"]).arg(file).output() else {
        return Ok(());
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !complaints.trim().is_empty() {
        return Err(format!("{PROGRAM}: {}", complaints.trim()));
    }
    read(&String::from_utf8_lossy(&output.stdout), out);
    Ok(())
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Puts the fields of a listing into `out`.
fn read(text: &str, out: &mut Facts) {
    let mut sections = Sections::default();
    let mut order = String::new();
    let mut part = "";
    // Names that occur more than once get a number.
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut put = |name: String, value: String| {
        let key = match counts.get_mut(&name) {
            Some(count) => {
                *count += 1;
                format!("readelf {name} #{count}")
            }
            None => {
                let key = format!("readelf {name}");
                counts.insert(name, 1);
                key
            }
        };
        out.insert(key, value);
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let heading = [
            ("ELF Header:", "header"),
            ("There are ", ""),
            ("Section Headers:", "sections"),
            ("Key to Flags:", "key"),
            ("Elf file type", "segments"),
            ("Program Headers:", "segments"),
            (" Section to Segment mapping:", "mapping"),
            ("Dynamic section", "dynamic"),
            ("Relocation section", "relocations"),
            ("Symbol table '.dynsym'", "dynamic symbols"),
            ("Symbol table '.symtab'", "symbols"),
            ("Displaying notes", "notes"),
            ("There are no section groups", "groups"),
            ("Histogram", "histogram"),
        ];
        if let Some((_, name)) = heading.iter().find(|(start, _)| line.starts_with(start)) {
            part = name;
            continue;
        }
        match part {
            "header" => {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                let place = name.contains("Start of section headers");
                put(
                    format!("header {}", name.trim()),
                    if place { "a place" } else { value.trim() }.to_owned(),
                );
            }
            "sections" => {
                let Some((_, rest)) = line.split_once(']') else { continue };
                let mut fields: Vec<&str> = rest.split_whitespace().collect();
                if fields.first() == Some(&"NULL") {
                    fields.insert(0, "");
                }
                // Flags may be missing.
                if fields.len() == 9 {
                    fields.insert(6, "");
                }
                let [name, kind, address, _, size, entry, flags, link, info, align] = fields[..] else {
                    continue;
                };
                let (Some(start), Some(size)) = (number(address), number(size)) else { continue };
                let _ = write!(order, " {name}");
                sections.0.push(Section { name: name.to_owned(), start, size, loose: flags.contains('M') });
                // Strings are sorted by each linker as it likes; names of the linker, its notes and tables over all symbols are counted elsewhere.
                let own = matches!(
                    name,
                    ".comment" | ".note" | ".relro_padding" | ".symtab" | ".strtab" | ".shstrtab"
                );
                let size = if own { "its own".to_owned() } else { format!("{size:#x}") };
                // Local symbols, which are compared one by one.
                let info = if name == ".symtab" { "locals" } else { info };
                put(
                    format!("section {name}"),
                    format!(
                        "{kind} {flags} entries {entry} size {size} link {link} info {info} align {align}"
                    ),
                );
            }
            // Segments, and what is in which, are compared by the names of sections.
            "segments" | "mapping" | "key" => {}
            "dynamic" => {
                let [tag, name, value, ..] = words[..] else { continue };
                if tag.starts_with("0x") {
                    let value = if PLACES.contains(&name) { "a place" } else { value };
                    put(format!("dynamic {name}"), value.to_owned());
                }
            }
            "relocations" => {
                let [offset, _, kind, ref rest @ ..] = words[..] else { continue };
                let Some(offset) = number(offset).filter(|_| kind.starts_with("R_")) else { continue };
                let value = match rest {
                    [addend] => number(addend).map_or_else(|| (*addend).to_owned(), |at| sections.place(at)),
                    // The symbol's value is a place.
                    [_, rest @ ..] => rest.join(" "),
                    [] => String::new(),
                };
                put(format!("relocation at {}", sections.place(offset)), format!("{kind} {value}"));
            }
            "dynamic symbols" | "symbols" => {
                let [count, value, size, kind, binding, visibility, section, ref name @ ..] = words[..]
                else {
                    continue;
                };
                let (true, Some(value)) = (count.ends_with(':'), number(value)) else { continue };
                let value = if section == "ABS" || section == "UND" {
                    format!("{value:#x}")
                } else {
                    sections.place(value)
                };
                put(
                    format!("{part} {}", name.join(" ")),
                    format!("{value} size {size} {kind} {binding} {visibility} {}", sections.name(section)),
                );
            }
            _ => put(format!("{part} line"), line.trim_end().to_owned()),
        }
    }
    put("order of sections".to_owned(), order.trim().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_fields() {
        let text = "\
ELF Header:
  Class:                             ELF64
  Start of section headers:          6848 (bytes into file)
Section Headers:
  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al
  [ 0]                   NULL            0000000000000000 000000 000000 00      0   0  0
  [ 1] .rodata           PROGBITS        0000000000000840 000840 000100 00   A  0   0 64
  [ 2] .debug_line       PROGBITS        0000000000000000 001410 000111 00      0   0  1
Relocation section '.rela.dyn' at offset 0x770 contains 1 entries:
    Offset             Info             Type               Symbol's Value  Symbol's Name + Addend
0000000000000848  000000000000000d R_AMDGPU_RELATIVE64               880
Symbol table '.symtab' contains 2 entries:
   Num:    Value          Size Type    Bind   Vis       Ndx Name
     1: 0000000000000850     6 OBJECT  LOCAL  DEFAULT     1 x
Displaying notes found in: .note
  AMDGPU               0x000003b7 NT_AMDGPU_METADATA (AMDGPU Metadata)
";
        let mut out = Facts::new();
        read(text, &mut out);
        let value = |name: &str| out.get(&format!("readelf {name}")).map(String::as_str);
        assert_eq!(value("header Class"), Some("ELF64"));
        assert_eq!(value("header Start of section headers"), Some("a place"));
        let section = "PROGBITS A entries 00 size 0x100 link 0 info 0 align 64";
        assert_eq!(value("section .rodata"), Some(section));
        assert_eq!(value("relocation at .rodata+0x8"), Some("R_AMDGPU_RELATIVE64 .rodata+0x40"));
        assert_eq!(value("symbols x"), Some(".rodata+0x10 size 6 OBJECT LOCAL DEFAULT .rodata"));
        assert_eq!(value("order of sections"), Some(".rodata .debug_line"));
        assert!(value("notes line").is_some_and(|line| line.contains("0x000003b7")));
    }
}
