//! The code objects in what compilers for hosts and devices write: bundles, offload binaries, and objects and programs of hosts that have either in them.

use super::compile::wrong;
use super::{refused, report};
use emit::bundle::{self, BundleTarget, compressed, offload_binary, plain};

/// ELF's number of these processors.
const EM_AMDGPU: u16 = 224;

/// Whether a file that starts with these bytes (20 or more of them) may have code objects in it, rather than be one.
pub fn may_have(start: &[u8]) -> bool {
    // The machine is the halfword at offset 18.
    let is_elf_of_host = start.starts_with(b"\x7fELF")
        && start.get(18..20).is_some_and(|machine| machine != EM_AMDGPU.to_le_bytes());
    is_elf_of_host
        || plain::is_bundle(start)
        || compressed::is_compressed(start)
        || offload_binary::is_offload_binary(start)
}

/// The code objects in `bytes`, the file `name`, for the processor `mcpu`, or of the only target where that is empty: one or more.
///
/// # Errors
/// The exit status, where there are none, or of several targets; what is wrong is reported.
pub fn fitting(name: &str, bytes: &[u8], mcpu: &str) -> Result<Vec<Vec<u8>>, i32> {
    let mut parts = Vec::new();
    for found in bundle::find(bytes) {
        parts.extend(found.parts().map_err(|error| report(name, &error))?.0);
    }
    let (mut targets, mut fitting) = (Vec::new(), Vec::new());
    for part in parts {
        let Ok(target) = BundleTarget::parse(&part.target) else { continue };
        // Offload binaries may hold what is still to be linked.
        if target.is_host() || !part.contents.starts_with(b"\x7fELF") {
            continue;
        }
        if mcpu.is_empty() || target.processor() == mcpu {
            fitting.push(part.contents.into_owned());
        }
        targets.push(target.target_id);
    }
    if targets.is_empty() {
        return Err(refused(&format!("{name}: no code object for AMD's processors is in it")));
    }
    let is_one = targets.iter().all(|target| *target == targets[0]);
    if fitting.is_empty() || mcpu.is_empty() && !is_one {
        targets.sort();
        targets.dedup();
        return Err(wrong(&format!(
            "{name}: -mcpu names one of the processors in the bundle: {}",
            targets.join(", ")
        )));
    }
    Ok(fitting)
}
