//! Every reader of files, as a function of any bytes: it ends, and says whether the input is right. `driver/tests/damaged.rs` runs them on
//! damaged inputs, the targets of `cargo fuzz` on what the fuzzer thinks of.

use emit::bundle::{self, text};
use emit::link::{Input, LinkOptions, Undefined, link};
use mir::abi::Document;
use mir::target::Target;

/// Reports of files of any kind, as text and as JSON's data.
pub fn inspect(bytes: &[u8]) -> bool {
    let report = emit::inspect::inspect(bytes);
    assert!(!report.to_string().is_empty());
    report.is_known()
}

/// Disassembly of objects.
pub fn disassemble(bytes: &[u8]) -> bool {
    emit::disassemble(bytes).is_ok()
}

/// Objects as the simulator loads them.
pub fn load(bytes: &[u8]) -> bool {
    sim::CodeObject::load(bytes).is_ok()
}

/// Objects and archives as the linker reads them, once alone and once all of an archive.
pub fn link_alone(bytes: &[u8]) -> bool {
    let options = LinkOptions { undefined: Undefined::Allow, ..LinkOptions::default() };
    let linked = |whole_archive| link(&[Input { name: "input", bytes, whole_archive }], &options).is_ok();
    linked(false) & linked(true)
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
    let found = bundle::find(bytes);
    !found.is_empty() && found.iter().all(|found| found.parts().is_ok())
}

/// Bundles in text form.
pub fn text_bundle(bytes: &[u8]) -> bool {
    text::read(bytes, "#").is_ok()
}

/// Assembly text.
pub fn assemble(bytes: &[u8]) -> bool {
    let Some(processor) = Target::processor_by_name("gfx900") else { return false };
    emit::assemble(&String::from_utf8_lossy(bytes), &Target::new(processor)).is_ok()
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
    !text.contains("\"in\"") && sim::Described::from_json(&text, None).is_ok()
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
