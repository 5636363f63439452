//! Every reader of files, as a function of any bytes: it ends, and says whether the input is right. `driver/tests/damaged.rs` runs them on
//! damaged inputs, `gcnc-mutate` for as long as it is told, the targets of `cargo fuzz` on what the fuzzer thinks of.
//! Whatever the input is, it is never the reader's defect.

use emit::assemble::{Options, assemble_with};
use emit::bundle::{self, BundleTarget, archive, text};
use emit::link::{Input, LinkOptions, Undefined, link, link_relocatable};
use mir::abi::Document;
use mir::target::{Generation, Target};
use mir::{ErrorKind, Result};

/// Whether the input is right; an input that shows a defect, for which the command would exit with 70, is a failure.
fn right<T>(result: &Result<T>) -> bool {
    if let Err(error) = result {
        assert!(error.kind != ErrorKind::Defect, "a defect: {error}");
    }
    result.is_ok()
}

/// Reports of files of any kind, as text and as JSON's data.
pub fn inspect(bytes: &[u8]) -> bool {
    let report = emit::inspect::inspect(bytes);
    assert!(!report.to_string().is_empty());
    report.is_known()
}

/// Disassembly of objects.
pub fn disassemble(bytes: &[u8]) -> bool {
    right(&emit::disassemble::disassemble_with_source(bytes, &|_| Some(b"one\ntwo".to_vec())))
}

/// Objects as the simulator loads them.
pub fn load(bytes: &[u8]) -> bool {
    sim::CodeObject::load(bytes).is_ok()
}

/// Objects and archives as the linker reads them, once alone and once all of an archive.
pub fn link_alone(bytes: &[u8]) -> bool {
    let options = LinkOptions { undefined: Undefined::Allow, ..LinkOptions::default() };
    let input = |whole_archive| [Input { name: "input", bytes, whole_archive }];
    let linked = |whole_archive| right(&link(&input(whole_archive), &options));
    let joined = link_relocatable(&input(true), &options);
    let whole = linked(true);
    // What is joined can be linked as the parts can; sections of one name and different types are not joined.
    if let Ok(bytes) = &joined {
        let again = link(&[Input { name: "joined", bytes, whole_archive: false }], &options);
        assert!(
            right(&again) || !whole,
            "the parts can be linked, and not what is joined of them: {:?}",
            again.err()
        );
    }
    right(&joined);
    linked(false) & whole
}

/// Metadata as MessagePack. What is read is written, and read the same.
pub fn metadata(bytes: &[u8]) -> bool {
    let Ok(document) = Document::from_msgpack(bytes) else { return false };
    if let Ok(written) = document.to_msgpack() {
        // By bytes: not every number equals itself.
        let again = Document::from_msgpack(&written).and_then(|document| document.to_msgpack());
        assert_eq!(again.as_ref(), Ok(&written));
    }
    true
}

/// Metadata as YAML.
pub fn yaml(bytes: &[u8]) -> bool {
    let Ok(document) = Document::from_yaml(&String::from_utf8_lossy(bytes)) else { return false };
    !document.to_yaml().is_empty()
}

/// Bundles in binary and compressed form, offload binaries, and objects that hold such.
pub fn bundles(bytes: &[u8]) -> bool {
    if archive::is_archive(bytes) {
        let target = |id| BundleTarget::parse(id).into_iter();
        let targets: Vec<_> = ["hip-amdgcn-amd-amdhsa--gfx900", "hipv4-amdgcn-amd-amdhsa--gfx906:xnack+"]
            .into_iter()
            .flat_map(target)
            .collect();
        let apart = archive::unbundle(bytes, &targets, true);
        return right(&apart.and_then(|all| all.iter().try_for_each(|m| emit::archive::write(m).map(drop))));
    }
    let found = bundle::find(bytes);
    !found.is_empty() && found.iter().all(|found| right(&found.parts()))
}

/// Bundles in text form.
pub fn text_bundle(bytes: &[u8]) -> bool {
    right(&text::read(bytes, "#"))
}

/// Assembly text.
pub fn assemble(bytes: &[u8]) -> bool {
    let Some(processor) = Target::processor_by_name("gfx900") else { return false };
    let options = Options { most_bytes: Some(1 << 26), ..Options::default() };
    let assembled = assemble_with(&String::from_utf8_lossy(bytes), &Target::new(processor), &options);
    for error in assembled.as_ref().err().into_iter().flatten() {
        assert!(error.kind != ErrorKind::Defect, "a defect: {error}");
    }
    assembled.is_ok()
}

/// Inline assembly.
pub fn fragment(bytes: &[u8]) -> bool {
    let Some(processor) = Target::processor_by_name("gfx803") else { return false };
    let read = emit::assemble::fragment(&String::from_utf8_lossy(bytes), &Target::new(processor));
    right(&read.map_err(|(_, error)| error))
}

/// AMDIL's metadata. What is read is written, and read the same.
pub fn amdil(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(unit) = mir::abi::amdil::parse(&text) else { return false };
    assert_eq!(mir::abi::amdil::parse(&unit.to_string()).as_ref(), Ok(&unit), "{text}");
    true
}

/// Descriptions of dispatches.
pub fn dispatch(bytes: &[u8]) -> bool {
    // A file that is named would be read.
    let text = String::from_utf8_lossy(bytes);
    !text.contains("\"in\"") && sim::Described::within(&text, None, Generation::Gfx9, 1 << 24).is_ok()
}

/// The text of a program at any stage: read and verified. What is read is printed, and that is read the same.
pub fn program(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(program) = mir::text::parse_program(&text, "text") else { return false };
    let verified = mir::ir::verify_module(&program.module).is_ok()
        & program.functions.iter().all(|function| mir::machine::verify(function).is_ok());
    let printed = mir::text::print_program(&program.module, &program.functions);
    match mir::text::parse_program(&printed, "printed") {
        Ok(again) => assert_eq!(mir::text::print_program(&again.module, &again.functions), printed),
        Err(error) => panic!("{error}: {:?}\n{printed}", error.location),
    }
    verified
}
