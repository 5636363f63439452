//! What a compilation is asked to do.

mod system;

use crate::features::FeatureList;
use crate::pass::FunctionTargets;
use mir::abi::call_graph::AssumedWish;
use mir::ir::{Callee, Function, InstKind, Module};
use mir::target::{Features, OlderName, Os, Processor, Target};
use mir::{Diagnostic, Result};
use system::{System, system};

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
    /// What is wished of the memory model.
    pub memory_model: isel::memory_model::Wishes,
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
            memory_model: Default::default(),
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

    /// Refuses calls between functions that reach scratch in different ways: their stack pointers count different things, or the resource is not what both
    /// are made for.
    fn check_stacks(&self, target: &Target, module: &Module, targets: &FunctionTargets) -> Result<()> {
        let access = |function: &Function| -> Result<_> {
            let own = targets.of(function, target, self)?;
            let elements = own.limits().buffers.element_size.then_some(own.private_element_bytes);
            Ok((own.scratch_access(), elements))
        };
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
                    let message = "a call between functions that reach scratch in different ways, or in elements of different sizes";
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
            let lacks = |feature| !processor.features.contains(feature);
            let why = match list.flat_for_global {
                Some(true) if lacks(Features::FLAT) => {
                    Some("`+flat-for-global`: {} has no FLAT instructions")
                }
                Some(false) if lacks(Features::ADDR64) => {
                    Some("`-flat-for-global`: buffers of {} take no 64-bit addresses")
                }
                _ => None,
            };
            warnings.extend(
                why.map(|why| format!("target feature {} (ignored)", why.replace("{}", processor.name))),
            );
            let elements = list.private_element_bytes();
            if elements > 4 && !private_elements_count(&Target { processor, ..*base }) {
                warnings.push(format!(
                    "target feature `+max-private-element-size-{elements}`: nothing in code objects from V3 on tells it to the runtime, whose scratch has elements of 4 bytes on {} (ignored)",
                    processor.name
                ));
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
            if let Some(number) = mir::abi::shader::uncalled(function.call_conv, base) {
                let name = &function.name;
                warnings.push(format!(
                    "function `{name}` is left out: no code calls convention {number} on {}",
                    base.processor.name
                ));
            }
        }
        warnings.extend(self.other_processors(module, base));
        if warnings.len() > 1 {
            let mut seen = std::collections::HashSet::new();
            warnings.retain(|warning| seen.insert(warning.clone()));
        }
        warnings
    }

    /// Functions made for processors other than the one that the object names; one line for each such processor. Like LLVM, gcnc takes
    /// a function's word before the command line's, and the object has one processor.
    fn other_processors(&self, module: &Module, base: &Target) -> Vec<String> {
        // An object without a processor says nothing that may be wrong.
        let own = base.processor;
        if own.elf_mach == 0 {
            return Vec::new();
        }
        let mut others: Vec<(&'static str, &str, usize)> = Vec::new();
        for function in module.functions.values().filter(|f| !f.is_declaration()) {
            let Some(cpu) = function.attribute("target-cpu") else { continue };
            let Ok((processor, _)) = processor(cpu, base.os, base.code_object_version) else { continue };
            if processor.elf_mach == own.elf_mach || processor.elf_mach == 0 {
                continue;
            }
            match others.iter_mut().find(|(name, ..)| *name == processor.name) {
                Some((_, _, more)) => *more += 1,
                None => others.push((processor.name, &function.name, 0)),
            }
        }
        let line = |(name, function, more): (&str, &str, usize)| {
            let others = match more {
                0 => String::new(),
                1 => " and one more".to_owned(),
                more => format!(" and {more} more"),
            };
            format!(
                "function `{function}`{others} has the attribute \"target-cpu\"=\"{name}\" and code for {name}, in an object for {}",
                own.name
            )
        };
        others.into_iter().map(line).collect()
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
        if private_elements_count(&target) {
            target.private_element_bytes = list.private_element_bytes();
        }
        let features = &mut target.features;
        // ROCm's driver switches unaligned accesses on and installs a trap handler; of others nothing is
        // known.
        if os == Os::AmdHsa {
            features.insert(Features::TRAP_HANDLER);
        } else {
            features.remove(Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS);
        }
        list.apply(features, processor)?;
        // Elsewhere nobody hands over what FLAT_SCRATCH starts with.
        if os != Os::AmdHsa {
            features.remove(Features::SCRATCH_INSTRUCTIONS);
        }
        // The mode is a permission; whether buffers and LDS can is a matter of the processor.
        let able = processor.features & (Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS);
        features.remove((Features::UNALIGNED_ACCESS | Features::UNALIGNED_DS) - able);
        // Of systems without HSA nothing says that FLAT reaches global memory. Witness: llc, which takes buffers there on GFX7.
        let buffers = !list.flat_for_global.unwrap_or(os == Os::AmdHsa);
        let choice = processor.features.contains(Features::FLAT | Features::ADDR64);
        features.set(Features::BUFFER_FOR_GLOBAL, choice && buffers);
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
    let found = found.ok_or_else(|| {
        Diagnostic::unsupported(format!("unknown processor `{cpu}` (-mcpu=help lists the known ones)"))
    })?;
    Ok((found, older))
}

/// Whether the size of scratch's elements is for the code to say: it builds the resource, its header or the driver's convention says what is in it, or the
/// processor splits accesses itself.
fn private_elements_count(target: &Target) -> bool {
    target.os != Os::AmdHsa || target.code_object_version < 3 || !target.limits().buffers.element_size
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

#[cfg(test)]
mod tests;
