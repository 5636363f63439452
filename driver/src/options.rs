//! What a compilation is asked to do.

use crate::features::FeatureList;
use crate::pass::FunctionTargets;
use mir::abi::call_graph::AssumedWish;
use mir::ir::{CallConv, Callee, Function, InstKind, Module};
use mir::target::{Features, MemoryModel, OlderName, Os, Processor, Target, Vendor};
use mir::{Diagnostic, Result};
use target_lexicon::{Architecture, OperatingSystem};

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FileType {
    /// Assembly text.
    #[default]
    Asm,
    /// Relocatable ELF.
    Obj,
    /// A loadable shared object: the relocatable one, linked.
    Hsaco,
    /// Nothing; compile only.
    Null,
}

/// The place before or behind a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub(crate) usize);

/// A choice of passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassSet {
    /// All of them.
    pub all: bool,
    /// These, by name.
    pub names: Vec<String>,
}

impl PassSet {
    /// Whether the pass called `name` is among them.
    pub fn covers(&self, name: &str) -> bool {
        self.all || self.names.iter().any(|known| known == name)
    }
}

/// Options of one compilation. The defaults are llc's.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Overrides the module's triple where not empty.
    pub triple: String,
    /// Architecture that counts before that of the module's triple.
    pub march: Option<String>,
    /// Processor name; empty means LLVM's default `generic`.
    pub cpu: String,
    /// `-mattr`: features with `+` or `-`.
    pub attributes: Vec<String>,
    /// Optimisation level, 0 to 3.
    pub opt_level: u8,
    /// What to write.
    pub file_type: FileType,
    /// Code object version where given on the command line.
    pub code_object_version: Option<u8>,
    /// Verify behind every pass.
    pub verify: bool,
    /// Passes whose input is printed.
    pub print_before: PassSet,
    /// Passes whose result is printed.
    pub print_after: PassSet,
    /// Functions that are printed; empty means all.
    pub print_functions: Vec<String>,
    /// Where to start, in the text of a program: what [`Self::stop`] writes.
    pub start: Option<Place>,
    /// Where to stop; the output is the text of the program.
    pub stop: Option<Place>,
    /// Threads; 0 takes all cores.
    pub threads: usize,
    /// Attributes for every defined function that does not have its own of that name.
    pub function_attributes: Vec<(String, String)>,
    /// Fuse multiplications and additions wherever it pays.
    pub contract_all: bool,
    /// Each function in a section of its own.
    pub function_sections: bool,
    /// Whether volatile accesses are waited for.
    pub volatile: isel::memory_model::Volatile,
    /// Each variable in a section of its own (`-data-sections`).
    pub data_sections: bool,
    /// Keep the kernels' metadata in the output.
    pub metadata: bool,
    /// What is assumed for stacks without a bound, in place of what the code object version has. The linker, which counts again, does not
    /// know it.
    pub assumed_stack: AssumedWish,
    /// What stops the compilation early; nothing where there is none.
    pub watch: Option<mir::interrupt::Watch>,
    /// Threads of the host's, in place of [`Self::threads`].
    pub pool: Option<std::sync::Arc<rayon::ThreadPool>>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            triple: String::new(),
            march: None,
            cpu: String::new(),
            attributes: Vec::new(),
            opt_level: 2,
            file_type: FileType::default(),
            code_object_version: None,
            verify: false,
            print_before: PassSet::default(),
            print_after: PassSet::default(),
            print_functions: Vec::new(),
            start: None,
            stop: None,
            threads: 0,
            function_attributes: Vec::new(),
            contract_all: false,
            function_sections: false,
            data_sections: false,
            volatile: Default::default(),
            metadata: false,
            assumed_stack: AssumedWish::default(),
            watch: None,
            pool: None,
        }
    }
}

/// Names of target features that change code, each with what it does.
pub fn feature_help() -> impl Iterator<Item = (&'static str, &'static str)> {
    crate::features::help()
}

impl CompileOptions {
    /// Whether the input is the text of a program between two passes.
    pub fn starts_from_text(&self) -> bool {
        self.start.is_some()
    }

    /// Whether dumps show the function called `name`.
    pub fn prints_function(&self, name: &str) -> bool {
        self.print_functions.is_empty() || self.print_functions.iter().any(|known| known == name)
    }

    /// The target that these options and the module's `triple` and code object version flag describe.
    ///
    /// # Errors
    /// `Malformed` for a triple of another architecture, `Unsupported` for an unknown processor, wave size or
    /// version.
    pub fn target(&self, triple: &str, version_flag: Option<u32>) -> Result<Target> {
        let System { os, vendor, memory_model } = self.system(triple)?;
        let version = match (self.asked_version()?, version_flag) {
            (Some(version), _) => version,
            // The flag counts in hundreds.
            (None, Some(flag)) => u8::try_from(flag / 100).unwrap_or(u8::MAX),
            (None, None) => DEFAULT_CODE_OBJECT_VERSION,
        };
        if !(2..=6).contains(&version) {
            return Err(Diagnostic::unsupported(format!("code object version {version}")));
        }
        Ok(Target { vendor, memory_model, ..self.target_of(os, version, &self.cpu, "")? })
    }

    /// The code object version that the command line asks for: by number, or as LLVM did before there was a number, by the feature
    /// `code-object-v3`, which switches between V2 and V3.
    fn asked_version(&self) -> Result<Option<u8>> {
        let list = FeatureList::read(self.attributes.iter().map(String::as_str))?;
        let feature = list.code_object_v3.map(|v3| if v3 { 3 } else { 2 });
        match (self.code_object_version, feature) {
            (Some(version), Some(other)) if version != other => Err(Diagnostic::malformed(format!(
                "code object version {version} and the feature code-object-v3, which asks for {other}"
            ))),
            (version, feature) => Ok(version.or(feature)),
        }
    }

    /// What `base`, which [`Self::target`] returned, becomes in a function with the attributes `"target-cpu"`
    /// and `"target-features"`: its processor counts before the command line's, the command line's features
    /// after its own.
    ///
    /// # Errors
    /// As [`Self::target`].
    pub fn function_target(&self, base: &Target, function: &Function) -> Result<Target> {
        let (cpu, features) = (function.attribute("target-cpu"), function.attribute("target-features"));
        if cpu.is_none() && features.is_none() {
            return Ok(*base);
        }
        let cpu = cpu.unwrap_or(&self.cpu);
        let target = self.target_of(base.os, base.code_object_version, cpu, features.unwrap_or(""))?;
        Ok(Target { vendor: base.vendor, memory_model: base.memory_model, ..target })
    }

    /// `target` with the settings that the functions of `module` agree on, where the command line leaves them
    /// open.
    ///
    /// # Errors
    /// `Malformed` where functions ask for different settings.
    pub fn module_target(
        &self,
        mut target: Target,
        module: &Module,
        targets: &FunctionTargets,
    ) -> Result<Target> {
        let settings = [
            ("xnack", Features::XNACK, Features::XNACK_ANY),
            ("sramecc", Features::SRAM_ECC, Features::SRAM_ECC_ANY),
        ];
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            if function.attribute("target-features").is_none() {
                continue;
            }
            let own = targets.of(function, &target, self)?;
            for (name, enabled, either) in settings {
                if !target.has(enabled) && !own.has(enabled) || own.has(either) {
                    continue;
                }
                if target.has(either) {
                    target.features.remove(either);
                    target.features.set(enabled, own.has(enabled));
                } else if own.has(enabled) != target.has(enabled) {
                    let message = format!("{name} setting of the function does not match that of the module");
                    return Err(Diagnostic::malformed(message).in_function(&function.name));
                }
            }
        }
        self.check_stacks(&target, module, targets)?;
        Ok(target)
    }

    /// Refuses calls between functions that reach scratch in different ways: their stack pointers count different things.
    fn check_stacks(&self, target: &Target, module: &Module, targets: &FunctionTargets) -> Result<()> {
        let access = |function: &Function| targets.of(function, target, self).map(|own| own.scratch_access());
        let mut found = Vec::new();
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            found.push(access(function)?);
        }
        if found.windows(2).all(|pair| pair[0] == pair[1]) {
            return Ok(());
        }
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            let own = access(function)?;
            for data in
                function.layout.iter().flat_map(|&b| &function.blocks[b].insts).map(|&i| &function.insts[i])
            {
                let differs = match data.kind {
                    InstKind::Call { callee: Callee::Func(callee), .. } => {
                        let callee = &module.functions[callee];
                        !callee.is_declaration() && access(callee)? != own
                    }
                    InstKind::Call { callee: Callee::Indirect(_), .. } => true,
                    _ => false,
                };
                if differs {
                    let message =
                        "a call between functions of which not all reach scratch by scratch instructions";
                    return Err(Diagnostic::unsupported(message).in_function(&function.name));
                }
            }
        }
        Ok(())
    }

    /// What of names and features in the command line and in `module` does not do what it seems to, for `base`, which [`Self::target`]
    /// returned; one line each.
    pub fn warnings(&self, module: &Module, base: &Target) -> Vec<String> {
        let mut asked: Vec<(Option<&str>, Option<&str>)> = Vec::new();
        asked.extend(
            module.functions.values().map(|f| (f.attribute("target-cpu"), f.attribute("target-features"))),
        );
        asked.sort_unstable();
        asked.dedup();
        // The command line counts even where there is no function.
        asked.push((None, None));
        let mut warnings = Vec::new();
        for (cpu, features) in asked {
            let cpu = cpu.unwrap_or(&self.cpu);
            let names = features.unwrap_or_default().split(',');
            let Ok(list) = FeatureList::read(names.chain(self.attributes.iter().map(String::as_str))) else {
                continue;
            };
            let Ok((processor, older)) = processor(cpu, base.os, base.code_object_version) else { continue };
            // A name that meant another processor in an older version is still a name.
            if let Some(older) = older.filter(|_| Target::processor_by_name(cpu).is_none()) {
                let setting = if older.xnack { " with xnack" } else { "" };
                warnings.push(format!("processor `{cpu}` is called `{}`{setting} today", older.processor));
            }
            for (name, wish, [supported, enabled]) in settings(&list) {
                if let Some(on) = wish.filter(|_| !has_setting(processor, base, supported | enabled)) {
                    let state = if on { "On" } else { "Off" };
                    let cpu = processor.name;
                    warnings.push(format!(
                        "{name} '{state}' was requested for {cpu}, which does not support it (ignored)"
                    ));
                }
            }
            // An object has one version, which functions cannot choose.
            let text = features.filter(|text| text.contains("code-object-v3")).unwrap_or_default();
            let own = FeatureList::read(text.split(','));
            if let Some(v3) = own.ok().and_then(|own| own.code_object_v3)
                && base.os == Os::AmdHsa
                && v3 != (base.code_object_version > 2)
            {
                let (sign, wanted) = if v3 { ('+', 3) } else { ('-', 2) };
                warnings.push(format!(
                    "target feature `{sign}code-object-v3` of a function asks for code objects V{wanted}, and this is one of V{} (ignored)",
                    base.code_object_version
                ));
            }
            warnings.extend(list.warnings);
        }
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            if let CallConv::Other(number) = function.call_conv {
                let name = &function.name;
                warnings.push(format!(
                    "function `{name}` is left out: no code calls convention {number} on {}",
                    base.processor.name
                ));
            }
        }
        let mut seen = std::collections::HashSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        warnings
    }

    fn target_of(&self, os: Os, version: u8, cpu: &str, features: &str) -> Result<Target> {
        let (processor, older) = processor(cpu, os, version)?;
        if processor.generic_version != 0 && os == Os::AmdHsa && version < 6 {
            let message = format!("{} needs code object version 6", processor.name);
            return Err(Diagnostic::unsupported(message));
        }
        let names = features.split(',').chain(self.attributes.iter().map(String::as_str));
        let list = FeatureList::read(names)?;
        let mut target = Target { os, code_object_version: version, ..Target::new(processor) };
        let features = &mut target.features;
        // ROCm's driver switches unaligned accesses on and installs a trap handler; of others nothing is
        // known.
        if os == Os::AmdHsa {
            features.insert(Features::TRAP_HANDLER);
        } else {
            features.remove(Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS);
        }
        list.apply(features);
        // Elsewhere nobody hands over what FLAT_SCRATCH starts with.
        if os != Os::AmdHsa {
            features.remove(Features::SCRATCH_INSTRUCTIONS);
        }
        // The mode is a permission; whether buffers and LDS can is a matter of the processor.
        let able = processor.features & (Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS);
        features.remove((Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS) - able);
        if !processor.features.contains(Features::ADDR64) {
            features.remove(Features::BUFFER_FOR_GLOBAL);
        }
        // Up to V3 a code object states what it was made for, which by default is what the processor is run
        // with.
        let any = os != Os::AmdHsa || version >= 4;
        for (name, wish, [supported, enabled]) in settings(&list) {
            let either = if name == "xnack" { Features::XNACK_ANY } else { Features::SRAM_ECC_ANY };
            match wish {
                // A setting that the processor does not have is passed over.
                _ if !has_setting(processor, &target, supported | enabled) => {}
                Some(on) => target.features.set(enabled, on),
                None if name == "xnack" && older.is_some_and(|older| older.xnack) => {
                    target.features.insert(enabled)
                }
                None if any && processor.features.intersects(supported | enabled) => {
                    target.features.insert(enabled | either);
                }
                None => {}
            }
        }
        Ok(target)
    }

    /// What the triple in force says besides the architecture.
    fn system(&self, triple: &str) -> Result<System> {
        match (self.triple.is_empty(), &self.march) {
            (false, _) => system(&self.triple),
            // The architecture of the command line counts before the triple's.
            (true, Some(march)) => {
                let rest = triple.split_once('-').map_or("", |(_, rest)| rest);
                system(&format!("{march}-{rest}"))
            }
            (true, None) => system(triple),
        }
    }
}

/// The processor called `cpu`, and the older name that this is.
fn processor(cpu: &str, os: Os, version: u8) -> Result<(&'static Processor, Option<&'static OlderName>)> {
    let cpu = match (cpu, os) {
        ("" | "generic", Os::AmdHsa) => "generic-hsa",
        ("", _) => "generic",
        _ => cpu,
    };
    let older = OlderName::find(cpu, if os == Os::AmdHsa { version } else { u8::MAX });
    let found = Target::processor_by_name(older.map_or(cpu, |older| older.processor));
    let found = found.ok_or_else(|| Diagnostic::unsupported(format!("unknown processor `{cpu}`")))?;
    Ok((found, older))
}

/// The settings with three states: name, what was asked for, and the abilities "can be switched" and "is on".
fn settings(list: &FeatureList) -> [(&'static str, Option<bool>, [Features; 2]); 2] {
    [
        ("xnack", list.xnack, [Features::XNACK_SUPPORTED, Features::XNACK]),
        ("sramecc", list.sram_ecc, [Features::SRAM_ECC_SUPPORTED, Features::SRAM_ECC]),
    ]
}

/// Whether `processor` has a setting, one of `either`. V3 knows replay on all of GFX8, later versions where the hardware can.
///
/// Source: AMDGPU usage guides of LLVM 8 and 22, "Processors".
fn has_setting(processor: &Processor, target: &Target, either: Features) -> bool {
    let v3 = target.os == Os::AmdHsa && target.code_object_version < 4;
    let of_v3 = v3 && either.contains(Features::XNACK) && processor.features.contains(Features::XNACK_MASK);
    of_v3 || processor.features.intersects(either)
}

/// LLVM 22's.
const DEFAULT_CODE_OBJECT_VERSION: u8 = 6;

/// Systems that `target-lexicon` does not know, and the names that LLVM takes for AMDHSA with anything behind
/// them, such as a version.
const NAMED_SYSTEMS: [(&str, Os); 3] =
    [("amdhsa", Os::AmdHsa), ("amdpal", Os::AmdPal), ("mesa3d", Os::Mesa3d)];

/// The system that a part of a triple names.
fn system_called(part: &str) -> Option<Os> {
    match part.parse() {
        Ok(OperatingSystem::AmdHsa) => Some(Os::AmdHsa),
        _ => NAMED_SYSTEMS.iter().find(|(name, _)| part.starts_with(name)).map(|&(_, os)| os),
    }
}

/// What a triple says besides the architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct System {
    os: Os,
    vendor: Vendor,
    memory_model: MemoryModel,
}

/// OS, vendor and memory model of an `amdgcn` triple; the environment `opencl` tells that the source is OpenCL. As LLVM does when it normalises a triple, a part counts first in its own place and
/// is then found by its name wherever it stands, which is why the parts are parsed one by one; systems without conventions of
/// their own count as none. `mesa3d` is a vendor only where another part is the system.
fn system(triple: &str) -> Result<System> {
    let mut parts = triple.split('-');
    if parts.next().map(str::parse) != Some(Ok(Architecture::AmdGcn)) {
        return Err(Diagnostic::malformed(format!("target triple `{triple}` is not for amdgcn")));
    }
    let in_place = parts.clone().nth(1).and_then(system_called);
    let mut vendor = match parts.clone().next() {
        Some("mesa3d") if in_place.is_some() => Vendor::Mesa3d,
        _ => Vendor::Unknown,
    };
    let mut os = in_place;
    let mut memory_model = MemoryModel::Hsa;
    for part in parts {
        match part {
            "amd" => vendor = Vendor::Amd,
            "mesa" => vendor = Vendor::Mesa,
            "opencl" => memory_model = MemoryModel::OpenCl,
            _ => {}
        }
        os = os.or_else(|| system_called(part));
    }
    Ok(System { os: os.unwrap_or(Os::Unknown), vendor, memory_model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ErrorKind;

    #[test]
    fn target_follows_options_then_module() {
        let options = CompileOptions { cpu: "polaris10".into(), ..Default::default() };
        let target = options.target("amdgcn-amd-amdhsa", Some(400)).unwrap();
        assert_eq!((target.processor.name, target.code_object_version), ("gfx803", 4));
        let options =
            CompileOptions { code_object_version: Some(5), attributes: vec!["+xnack".into()], ..options };
        let target = options.target("amdgcn-amd-amdhsa-opencl", Some(400)).unwrap();
        assert_eq!(target.code_object_version, 5);
        assert!(
            target.has(Features::UNALIGNED_ACCESS) && !target.has(Features::XNACK),
            "gfx803 cannot replay"
        );
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
        let unknown = [
            "amdgcn",
            "amdgcn-",
            "amdgcn--",
            "amdgcn-amd-hsa",
            "amdgcn-unknown-linux-gnu",
            "amdgcn-pc-mingw",
        ];
        assert!(unknown.into_iter().all(|triple| os(triple) == Some(Os::Unknown)));
        assert!(
            ["amdgcn-amdhsa", "amdgcn--amdhsa-opencl"]
                .into_iter()
                .all(|triple| os(triple) == Some(Os::AmdHsa))
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
}
