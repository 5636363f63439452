//! For whom a part of a bundle is: `KIND-ARCH-VENDOR-OS-ENVIRONMENT-TARGETID`, for instance `hipv4-amdgcn-amd-amdhsa--gfx906:xnack+`.
//!
//! Source: clang's documentation, "Clang Offload Bundler", "Bundle Entry ID" and "Target ID".

use mir::{Diagnostic, Result};
use std::fmt::{self, Display, Formatter};

/// Kinds of offloading that a bundle may name.
const KINDS: [&str; 7] = ["host", "openmp", "hip", "hipv4", "cuda", "sycl", "spirv"];

/// The parts of a bundle entry's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleTarget {
    /// `host`, `hip`, `hipv4`, `openmp` and so on.
    pub kind: String,
    /// Architecture, vendor, system and environment, `unknown` where the id leaves them out. `amdhsa` has no environment.
    pub triple: [String; 4],
    /// Processor and settings; empty for none.
    pub target_id: String,
}

impl BundleTarget {
    /// Reads an id.
    ///
    /// # Errors
    /// An id of fewer than five parts, or of a kind that nobody knows ([`mir::ErrorKind::Malformed`]).
    pub fn parse(id: &str) -> Result<Self> {
        let parts: Vec<&str> = id.splitn(6, '-').collect();
        let [kind, arch, vendor, os, environment, rest @ ..] = &parts[..] else {
            return Err(Diagnostic::malformed(format!(
                "target {id} is not of the form KIND-ARCH-VENDOR-OS-ENVIRONMENT-TARGETID"
            )));
        };
        if !KINDS.contains(kind) {
            return Err(Diagnostic::malformed(format!("target {id} is of the unknown kind {kind}")));
        }
        let filled = |part: &str| if part.is_empty() { "unknown".to_owned() } else { part.to_owned() };
        // Runtimes compare the triple as text, and for this system they expect nothing there.
        let environment = match os.starts_with("amdhsa") {
            true if *environment == "unknown" => String::new(),
            true => (*environment).to_owned(),
            false => filled(environment),
        };
        Ok(Self {
            kind: (*kind).to_owned(),
            triple: [filled(arch), filled(vendor), filled(os), environment],
            target_id: rest.first().copied().unwrap_or_default().to_owned(),
        })
    }

    /// Whether it is the host's.
    pub fn is_host(&self) -> bool {
        self.kind == "host"
    }

    /// Processor.
    pub fn processor(&self) -> &str {
        self.target_id.split(':').next().unwrap_or_default()
    }

    /// Settings with their state.
    fn settings(&self) -> impl Iterator<Item = (&str, bool)> {
        self.target_id.split(':').skip(1).filter_map(|setting| match setting.strip_suffix('+') {
            Some(name) => Some((name, true)),
            None => setting.strip_suffix('-').map(|name| (name, false)),
        })
    }

    /// Whether both name the same kind and triple; `hip` and `hipv4` are one to OpenMP, and OpenMP to them, where `kinds_mix`.
    fn same_system(&self, other: &Self, kinds_mix: bool) -> bool {
        let device = |kind: &str| matches!(kind, "openmp" | "hip" | "hipv4");
        let kinds = self.kind == other.kind || kinds_mix && device(&self.kind) && device(&other.kind);
        kinds && self.triple == other.triple
    }

    /// Whether code of this target runs where `asked` is asked for: the same processor, and every setting of the code as there. A
    /// setting that the code leaves open suits any.
    pub fn serves(&self, asked: &Self, kinds_mix: bool) -> bool {
        self.same_system(asked, kinds_mix)
            && self.processor() == asked.processor()
            && self.settings().all(|setting| asked.settings().any(|other| other == setting))
    }

    /// Whether a loader could not choose between the two: one leaves open what the other sets.
    pub fn conflicts(&self, other: &Self) -> bool {
        let names = |of: &Self, all: &Self| {
            of.settings().all(|(name, _)| all.settings().any(|(known, _)| known == name))
        };
        self.same_system(other, false)
            && self.processor() == other.processor()
            && !(names(self, other) && names(other, self))
    }
}

impl Display for BundleTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.kind, self.triple.join("-"), self.target_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(id: &str) -> BundleTarget {
        BundleTarget::parse(id).expect("an id")
    }

    #[test]
    fn ids_have_one_spelling() {
        for (given, wanted) in [
            ("host-x86_64-unknown-linux--", "host-x86_64-unknown-linux-unknown-"),
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("hipv4-amdgcn-amd-amdhsa--gfx900", "hipv4-amdgcn-amd-amdhsa--gfx900"),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx906:xnack-", "hip-amdgcn-amd-amdhsa--gfx906:xnack-"),
        ] {
            assert_eq!(target(given).to_string(), wanted);
        }
        assert!(BundleTarget::parse("hip-amdgcn-amd-amdhsa").is_err());
        assert!(BundleTarget::parse("hop-amdgcn-amd-amdhsa--gfx900").is_err());
    }

    #[test]
    fn code_serves_targets_that_set_no_less() {
        let id = |settings: &str| target(&format!("hip-amdgcn-amd-amdhsa--gfx906{settings}"));
        assert!(id("").serves(&id(":xnack+"), false) && id(":xnack+").serves(&id(":xnack+"), false));
        assert!(!id(":xnack+").serves(&id(""), false) && !id(":xnack+").serves(&id(":xnack-"), false));
        let openmp = target("openmp-amdgcn-amd-amdhsa--gfx906");
        assert!(!id("").serves(&openmp, false) && id("").serves(&openmp, true));
        assert!(id("").conflicts(&id(":xnack+")) && !id(":xnack-").conflicts(&id(":xnack+")));
        assert!(!id("").conflicts(&target("hip-amdgcn-amd-amdhsa--gfx900:xnack+")));
    }
}
