//! Files of Debian's packages that are only tested with: fetched by apt, unpacked and kept in a cache outside of the tree, never installed.

use crate::toolchain::run;
use std::path::PathBuf;
use std::process::Command;

/// The cache: `$GCNC_CACHE`, else a folder of the temporary folder.
pub fn cache() -> PathBuf {
    std::env::var_os("GCNC_CACHE").map_or_else(|| std::env::temp_dir().join("gcnc-cache"), PathBuf::from)
}

/// The folder with the files of `package`.
///
/// # Errors
/// No apt, no network, no such package: as text.
pub fn unpacked(package: &str) -> Result<PathBuf, String> {
    let folder = cache().join("packages");
    let place = folder.join(package);
    if place.is_dir() {
        return Ok(place);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Renamed when it is complete, so that nobody sees half of it.
    let temporary = tempfile::tempdir_in(&folder).map_err(|error| error.to_string())?;
    run(Command::new("apt-get").args(["-qq", "download", package]).current_dir(temporary.path()))?;
    let entries = std::fs::read_dir(temporary.path()).map_err(|error| error.to_string())?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "deb");
    let file = entries.filter_map(|entry| Some(entry.ok()?.path())).find(is_package);
    let file = file.ok_or_else(|| format!("apt-get downloads nothing for {package}"))?;
    let files = temporary.path().join("files");
    run(Command::new("dpkg").arg("-x").arg(file).arg(&files))?;
    // Somebody else may have been faster.
    match std::fs::rename(&files, &place) {
        Err(error) if !place.is_dir() => Err(format!("{}: {error}", place.display())),
        _ => Ok(place),
    }
}
