//! Archives whose members are bundles, and the archives of single targets that they hold, as `clang-offload-bundler -type=a` takes them apart.
//!
//! Every part that serves a target becomes a member of the target's archive. Its name is the member's without extension, the part's own id, and the
//! member's again, with the extension that device libraries have. A device's object that is a member by itself, in no bundle, goes to
//! the archives of the targets that its header serves, under its own name; clang passes it over. Parts for hosts stay where they are.
//!
//! Source: clang's documentation, "Clang Offload Bundler", "Archive Unbundling"; names as clang-offload-bundler 22 makes them.

use super::{BundleTarget, find};
use crate::archive::Member;
use crate::object::flags::Identity;
use mir::{Diagnostic, Result};
use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{Endianness, elf};

/// Whether `bytes` are an archive with its members inside.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n")
}

/// The members of each target's archive; none where nothing serves it. `hip` and `openmp` are one where `kinds_mix`.
///
/// # Errors
/// An archive or a bundle that cannot be read, a part whose id is none: with the member's name.
pub fn unbundle<'a>(
    bytes: &'a [u8],
    targets: &[BundleTarget],
    kinds_mix: bool,
) -> Result<Vec<Vec<Member<'a>>>> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    let mut out: Vec<Vec<Member<'a>>> = vec![Vec::new(); targets.len()];
    let archive = ArchiveFile::parse(bytes).map_err(bad)?;
    // What is decompressed is bounded for the archive as a whole.
    let mut left = super::MAX_UNCOMPRESSED_BYTES;
    for member in archive.members() {
        let member = member.map_err(bad)?;
        let name = String::from_utf8_lossy(member.name());
        let name = name.rsplit('/').next().unwrap_or_default();
        let data = member.data(bytes).map_err(bad)?;
        let in_member = |mut error: Box<Diagnostic>| {
            error.message = format!("{name}: {}", error.message);
            error
        };
        if let Some(id) = own_target(data) {
            for (target, out) in targets.iter().zip(&mut out) {
                let own = BundleTarget::parse(&format!("{}-{id}", target.kind)).map_err(in_member)?;
                if own.serves(target, false) {
                    out.push(Member { name: name.to_owned(), data: data.into() });
                }
            }
            continue;
        }
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (name, ""),
        };
        for found in find(data) {
            let (parts, decompressed) = found.parts_within(left).map_err(in_member)?;
            left = left.saturating_sub(decompressed);
            for part in parts {
                let own = BundleTarget::parse(&part.target).map_err(in_member)?;
                let suffix = match own.processor() {
                    processor if processor.contains("gfx") => ".bc".to_owned(),
                    processor if processor.contains("sm_") => ".cubin".to_owned(),
                    _ if extension.is_empty() => String::new(),
                    _ => format!(".{extension}"),
                };
                for (target, out) in targets.iter().zip(&mut out) {
                    if own.is_host() || !own.serves(target, kinds_mix) {
                        continue;
                    }
                    // Colons are no part of names on every system.
                    let name = format!("{stem}-{}{stem}{suffix}", part.target).replace(':', "_");
                    out.push(Member { name, data: part.contents.clone() });
                }
            }
        }
    }
    Ok(out)
}

/// The ids of the parts of all members, in their order.
///
/// # Errors
/// Those of [`unbundle`].
pub fn targets(bytes: &[u8]) -> Result<Vec<String>> {
    let bad = |e: object::read::Error| Diagnostic::malformed(e.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(bad)?;
    let (mut out, mut left) = (Vec::new(), super::MAX_UNCOMPRESSED_BYTES);
    for member in archive.members() {
        let data = member.map_err(bad)?.data(bytes).map_err(bad)?;
        for found in find(data) {
            let (parts, decompressed) = found.parts_within(left)?;
            left = left.saturating_sub(decompressed);
            out.extend(parts.into_iter().map(|part| part.target.into_owned()));
        }
    }
    Ok(out)
}

/// Triple and target id of an object for an AMD GPU.
fn own_target(data: &[u8]) -> Option<String> {
    let file = ElfFile64::<Endianness>::parse(data).ok()?;
    let header = file.elf_header();
    let endian = file.endian();
    if header.e_machine.get(endian) != elf::EM_AMDGPU {
        return None;
    }
    let ident = header.e_ident;
    let identity = Identity::read(ident.os_abi.0, ident.abi_version, header.e_flags.get(endian).0);
    let mut target = identity.target()?;
    // Ids of bundles have the form of V4, in which settings are parts of their own.
    target.code_object_version = target.code_object_version.max(4);
    Some(mir::abi::metadata::target_id(&target))
}

#[cfg(test)]
mod tests {
    use super::super::{Part, compressed, plain};
    use super::*;
    use mir::target::{Features, Target};

    fn bundle(parts: &[(&str, &'static [u8])]) -> Vec<u8> {
        let parts: Vec<Part<'_>> = parts
            .iter()
            .map(|(target, data)| Part { target: target.to_string().into(), contents: (*data).into() })
            .collect();
        plain::write(&parts, 1).expect("writable")
    }

    #[test]
    fn parts_go_to_their_targets() {
        let host = "host-x86_64-unknown-linux-gnu-";
        let first = bundle(&[
            (host, b"host"),
            ("openmp-amdgcn-amd-amdhsa--gfx906", b"any"),
            ("openmp-amdgcn-amd-amdhsa--gfx908:xnack+", b"on"),
        ]);
        let second = bundle(&[(host, b""), ("hip-amdgcn-amd-amdhsa--gfx906", b"hip")]);
        let second = compressed::compress(&second, compressed::Method::Zstd, 3).expect("writable");
        let target = Target::new(Target::processor_by_name("gfx906").expect("a processor"));
        // For any setting, and for one.
        let [object, xnack_off] = ["", ":sramecc+:xnack-"].map(|settings| {
            let head = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx906{settings}\"\n");
            let [xnack, sramecc] =
                [Features::XNACK | Features::XNACK_ANY, Features::SRAM_ECC | Features::SRAM_ECC_ANY];
            let features =
                if settings.is_empty() { target.features | xnack | sramecc } else { target.features };
            let text = format!("{head}.amdhsa_code_object_version 5\ns_endpgm\n");
            crate::assemble(&text, &Target { features, code_object_version: 5, ..target }).expect("assembles")
        });
        let member = |name: &str, data: &[u8]| Member { name: name.to_owned(), data: data.to_vec().into() };
        let members = [
            member("one.o", &first),
            member("two.b.o", &second),
            member("note.txt", b"text"),
            member("own.o", &object),
            member("off.o", &xnack_off),
        ];
        let archive = crate::archive::write(&members).expect("writable");
        let ids = [
            "openmp-amdgcn-amd-amdhsa--gfx906:xnack+",
            "openmp-amdgcn-amd-amdhsa--gfx906:xnack-",
            "openmp-amdgcn-amd-amdhsa--gfx908:xnack-",
            "hip-amdgcn-amd-amdhsa--gfx906",
        ];
        let asked = ids.map(|id| BundleTarget::parse(id).expect("an id"));
        let found = |kinds_mix: bool| -> Vec<Vec<(String, String)>> {
            let found = unbundle(&archive, &asked, kinds_mix).expect("readable");
            let text = |member: &Member<'_>| match member.data.starts_with(b"\x7fELF") {
                true => "object".to_owned(),
                false => String::from_utf8_lossy(&member.data).into_owned(),
            };
            found.iter().map(|m| m.iter().map(|m| (m.name.clone(), text(m))).collect()).collect()
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let any = pair("one-openmp-amdgcn-amd-amdhsa--gfx906one.bc", "any");
        let hip = pair("two.b-hip-amdgcn-amd-amdhsa--gfx906two.b.bc", "hip");
        let own = pair("own.o", "object");
        let alone = [
            vec![any.clone(), own.clone()],
            vec![any.clone(), own.clone()],
            vec![],
            vec![hip.clone(), own.clone()],
        ];
        assert_eq!(found(false), alone);
        let mixed = [
            vec![any.clone(), hip.clone(), own.clone()],
            vec![any.clone(), hip.clone(), own.clone()],
            vec![],
            vec![any, hip, own],
        ];
        assert_eq!(found(true), mixed);
        assert_eq!(targets(&archive).expect("readable").len(), 5);
        assert!(unbundle(&archive[..archive.len() - 1], &asked, false).is_err());
    }
}
