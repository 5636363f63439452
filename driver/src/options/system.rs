//! What a triple says besides the architecture.

use mir::target::{MemoryModel, Os, Vendor};
use mir::{Diagnostic, Result};
use target_lexicon::{Architecture, OperatingSystem};

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
pub(super) struct System {
    pub(super) os: Os,
    pub(super) vendor: Vendor,
    pub(super) memory_model: MemoryModel,
}

/// OS, vendor and memory model of an `amdgcn` triple; the environment `opencl` tells that the source is OpenCL. As LLVM does when it normalises a triple, a part counts first in its own place and
/// is then found by its name wherever it stands, which is why the parts are parsed one by one; systems without conventions of
/// their own count as none. `mesa3d` is a vendor only where another part is the system.
pub(super) fn system(triple: &str) -> Result<System> {
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
