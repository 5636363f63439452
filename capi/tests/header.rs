//! `gcnc.h` is what cbindgen makes of the crate.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    config.after_includes = None;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["lib.rs", "options.rs", "compile.rs", "object.rs"] {
        builder = builder.with_src(folder.join("src").join(file));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = folder.join("gcnc.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == made,
        "capi/gcnc.h is not current: BLESS=1 cargo test --release -p gcnc-capi --test header"
    );
    // Every function that is exported is declared.
    for name in [
        "gcnc_compile(",
        "gcnc_compiler_new(",
        "gcnc_object_kernel(",
        "gcnc_error_diagnostic(",
        "gcnc_version(",
    ] {
        assert!(made.contains(name), "{name}");
    }
}
