//! Targets from options, modules and functions.

use super::*;
use mir::ErrorKind;
use mir::ir::AddrSpace;
use mir::target::Vendor;

#[test]
fn target_follows_options_then_module() {
    let options = CompileOptions { cpu: "polaris10".into(), ..Default::default() };
    let target = options.target("amdgcn-amd-amdhsa", Some(400)).unwrap();
    assert_eq!((target.processor.name, target.code_object_version), ("gfx803", 4));
    let options =
        CompileOptions { code_object_version: Some(5), attributes: vec!["+xnack".into()], ..options };
    let target = options.target("amdgcn-amd-amdhsa-opencl", Some(400)).unwrap();
    assert_eq!(target.code_object_version, 5);
    assert!(target.has(Features::UNALIGNED_ACCESS) && !target.has(Features::XNACK), "gfx803 cannot replay");
}

#[test]
fn versions_are_numbers_flags_or_a_feature() {
    let version = |number: Option<u8>, attribute: &str, flag: Option<u32>| {
        let options = CompileOptions {
            cpu: "gfx900".into(),
            code_object_version: number,
            attributes: vec![attribute.into()],
            ..Default::default()
        };
        options.target("amdgcn-amd-amdhsa", flag).map(|target| target.code_object_version)
    };
    assert_eq!([version(Some(2), "", None), version(None, "", Some(200))], [Ok(2), Ok(2)]);
    assert_eq!(
        [version(None, "-code-object-v3", None), version(None, "+code-object-v3", None)],
        [Ok(2), Ok(3)]
    );
    assert_eq!(
        [version(None, "-code-object-v3", Some(500)), version(Some(2), "-code-object-v3", None)],
        [Ok(2), Ok(2)]
    );
    let error = version(Some(4), "-code-object-v3", None).unwrap_err();
    assert!(error.message.contains("code-object-v3"), "{error}");
    assert!(version(Some(2), "+code-object-v3", None).is_err());
    assert!([Some(1), Some(7)].into_iter().all(|number| version(number, "", None).is_err()));
}

#[test]
fn triples_as_llvm_normalises_them() {
    let os = |triple: &str| system(triple).ok().map(|system| system.os);
    let unknown =
        ["amdgcn", "amdgcn-", "amdgcn--", "amdgcn-amd-hsa", "amdgcn-unknown-linux-gnu", "amdgcn-pc-mingw"];
    assert!(unknown.into_iter().all(|triple| os(triple) == Some(Os::Unknown)));
    assert!(
        ["amdgcn-amdhsa", "amdgcn--amdhsa-opencl"].into_iter().all(|triple| os(triple) == Some(Os::AmdHsa))
    );
    assert_eq!(
        [os("amdgcn-amd-amdpal"), os("amdgcn-mesa-mesa3d"), os("r600")],
        [Some(Os::AmdPal), Some(Os::Mesa3d), None]
    );
    // The place decides where a name is both a vendor and a system.
    for (triple, vendor) in [
        ("amdgcn-mesa3d-mesa3d", Vendor::Mesa3d),
        ("amdgcn-mesa3d", Vendor::Unknown),
        ("amdgcn-amd-mesa3d", Vendor::Amd),
    ] {
        let system = system(triple).ok().map(|system| (system.os, system.vendor));
        assert_eq!(system, Some((Os::Mesa3d, vendor)), "{triple}");
    }
    assert_eq!(os("amdgcn-mesa3d-amdpal"), Some(Os::AmdPal));
    let options = CompileOptions { march: Some("amdgcn".into()), ..Default::default() };
    assert_eq!(options.target("x86_64-pc-linux-gnu", None).map(|t| t.os), Ok(Os::Unknown));
    assert_eq!(options.target("", None).map(|t| t.processor.name), Ok("generic"));
    assert_eq!(options.target("amdgcn--amdhsa", None).map(|t| t.processor.name), Ok("generic-hsa"));
}

#[test]
fn replay_has_three_states() {
    let target = |cpu: &str, attribute: &str, version| {
        let attributes = vec![attribute.to_owned()];
        let options = CompileOptions {
            cpu: cpu.into(),
            attributes,
            code_object_version: Some(version),
            ..Default::default()
        };
        let target = options.target("amdgcn-amd-amdhsa", None).unwrap();
        (target.has(Features::XNACK), target.has(Features::XNACK_ANY))
    };
    assert_eq!(
        [target("gfx900", "", 4), target("gfx900", "+xnack", 4), target("gfx900", "-xnack", 4)],
        [(true, true), (true, false), (false, false)]
    );
    assert_eq!(
        [target("gfx900", "", 3), target("gfx902", "", 3), target("gfx803", "+xnack", 5)],
        [(false, false), (true, false), (false, false)]
    );
}

#[test]
fn functions_may_have_their_own_target() {
    let options =
        CompileOptions { cpu: "gfx900".into(), attributes: vec!["-xnack".into()], ..Default::default() };
    let base = options.target("amdgcn--", None).unwrap();
    let mut function = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Type::Void);
    function.attributes.insert("target-cpu".into(), "gfx906".into());
    function.attributes.insert("target-features".into(), "+xnack,+unaligned-access-mode,+strange".into());
    let target = options.function_target(&base, &function).unwrap();
    assert_eq!(target.processor.name, "gfx906");
    assert!(
        target.has(Features::UNALIGNED_ACCESS)
            && !target.has(Features::XNACK)
            && !base.has(Features::UNALIGNED_ACCESS)
    );
    // The mode is what scratch needs, too, where the processor takes dwords of it anywhere.
    let scratch = |target: &Target| target.takes_any_dword(AddrSpace::PRIVATE);
    assert!(scratch(&target) && !scratch(&base));
    for (cpu, any) in [("gfx803", false), ("gfx900", true), ("gfx1030", true)] {
        let options = CompileOptions { cpu: cpu.into(), ..Default::default() };
        assert_eq!(scratch(&options.target("amdgcn-amd-amdhsa", None).unwrap()), any, "{cpu}");
    }
    let mut module = Module::default();
    module.functions.push(function);
    assert_eq!(options.warnings(&module, &base), ["unknown target feature `+strange` (ignored)"]);
}

#[test]
fn functions_do_not_choose_the_version() {
    let options = CompileOptions { cpu: "gfx900".into(), ..Default::default() };
    let warnings = |features: &str, version: u8| {
        let options = CompileOptions { code_object_version: Some(version), ..options.clone() };
        let base = options.target("amdgcn-amd-amdhsa", None).unwrap();
        let mut function = Function::new("f", mir::ir::CallConv::Kernel, mir::ir::Type::Void);
        function.attributes.insert("target-features".into(), features.into());
        let mut module = Module::default();
        module.functions.push(function);
        options.warnings(&module, &base)
    };
    assert!(warnings("-code-object-v3", 4)[0].contains("V2, and this is one of V4"));
    assert!(warnings("+code-object-v3", 2)[0].contains("V3, and this is one of V2"));
    assert!(warnings("-code-object-v3", 2).is_empty() && warnings("+code-object-v3", 6).is_empty());
}

#[test]
fn wrong_targets_are_refused_by_name() {
    let options = CompileOptions { cpu: "gfx900".into(), ..Default::default() };
    let error = options.target("x86_64-pc-linux-gnu", None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert!(error.message.contains("x86_64"));
    let options = CompileOptions { cpu: "gfx9000".into(), ..Default::default() };
    let error = options.target("amdgcn-amd-amdhsa", None).unwrap_err();
    assert!(error.message.contains("gfx9000"));
}
