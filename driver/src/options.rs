//! What a compilation is asked to do.

use crate::pipeline::Step;
use mir::target::{Features, Os, Target};
use mir::{Diagnostic, Result};

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FileType {
    /// Assembly text.
    #[default]
    Asm,
    /// Relocatable ELF.
    Obj,
    /// Nothing; compile only.
    Null,
}

/// Options of one compilation. The defaults are llc's.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Overrides the module's triple where not empty.
    pub triple: String,
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
    /// Verify after every step.
    pub verify: bool,
    /// Dump the result of this step as text.
    pub print_after: Option<Step>,
    /// Stop after this step; the output is its dump.
    pub stop_after: Option<Step>,
    /// Threads; 0 takes all cores.
    pub threads: usize,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            triple: String::new(),
            cpu: String::new(),
            attributes: Vec::new(),
            opt_level: 2,
            file_type: FileType::default(),
            code_object_version: None,
            verify: false,
            print_after: None,
            stop_after: None,
            threads: 0,
        }
    }
}

/// The names that `-mattr` accepts, with the ability each one switches. A name that is not listed is an error.
const ATTRIBUTES: &[(&str, Features)] = &[
    ("xnack", Features::XNACK),
    ("sramecc", Features::SRAM_ECC),
    ("sram-ecc", Features::SRAM_ECC),
    ("unaligned-access-mode", Features::UNALIGNED_ACCESS),
    ("unaligned-ds-access", Features::UNALIGNED_DS),
];

impl CompileOptions {
    /// The target that these options and the module's `triple` and code object version flag describe.
    ///
    /// # Errors
    /// `Malformed` for a triple of another architecture, `Unsupported` for an unknown processor, feature or version.
    pub fn target(&self, triple: &str, version_flag: Option<u32>) -> Result<Target> {
        let triple = if self.triple.is_empty() { triple } else { &self.triple };
        let os = operating_system(triple)?;
        let cpu = if self.cpu.is_empty() { "generic" } else { &self.cpu };
        let processor = Target::processor_by_name(cpu)
            .ok_or_else(|| Diagnostic::unsupported(format!("unknown processor `{cpu}`")))?;
        let mut target = Target { os, ..Target::new(processor) };
        for attribute in &self.attributes {
            let (on, name) = match attribute.split_at_checked(1) {
                Some(("+", name)) => (true, name),
                Some(("-", name)) => (false, name),
                _ => {
                    return Err(Diagnostic::unsupported(format!(
                        "feature `{attribute}` needs + or - in front"
                    )));
                }
            };
            let feature = ATTRIBUTES.iter().find(|(known, _)| *known == name);
            let &(_, feature) =
                feature.ok_or_else(|| Diagnostic::unsupported(format!("unknown target feature `{name}`")))?;
            target.features.set(feature, on);
        }
        target.code_object_version = match (self.code_object_version, version_flag) {
            (Some(version), _) => version,
            // The flag counts in hundreds. Versions below 4 were chosen on the command line alone.
            (None, Some(flag)) => u8::try_from(flag / 100).unwrap_or(u8::MAX),
            (None, None) => 5,
        };
        match target.code_object_version {
            3..=6 => Ok(target),
            version => Err(Diagnostic::unsupported(format!("code object version {version}"))),
        }
    }
}

/// The OS part of an `amdgcn` triple.
fn operating_system(triple: &str) -> Result<Os> {
    let mut parts = triple.split('-');
    let (arch, _vendor, os) = (parts.next().unwrap_or(""), parts.next(), parts.next().unwrap_or(""));
    if arch != "amdgcn" {
        return Err(Diagnostic::malformed(format!("target triple `{triple}` is not for amdgcn")));
    }
    match os {
        "amdhsa" => Ok(Os::AmdHsa),
        "amdpal" | "mesa3d" | "" | "unknown" => Err(Diagnostic::unsupported(format!(
            "operating system of target triple `{triple}` (only amdhsa)"
        ))),
        other => {
            Err(Diagnostic::unsupported(format!("operating system `{other}` in target triple `{triple}`")))
        }
    }
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
            CompileOptions { code_object_version: Some(3), attributes: vec!["+xnack".into()], ..options };
        let target = options.target("amdgcn-amd-amdhsa-opencl", Some(400)).unwrap();
        assert_eq!(target.code_object_version, 3);
        assert!(target.has(Features::XNACK));
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
