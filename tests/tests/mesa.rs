//! The examples as kernels of Mesa's loader: OpenCL C through the command, on the simulator, compared with the CPU.

use gcnc_tests::examples::EXAMPLES;
use gcnc_tests::gpu::Gpu;
use gcnc_tests::toolchain::examples_folder;
use rayon::prelude::*;
use std::process::Command;

#[test]
fn examples_run_for_mesa() {
    let own = std::env::current_exe().unwrap();
    // Tests are in `deps`; the command is built with the whole workspace.
    let gcnc = own.parent().and_then(|deps| deps.parent()).map(|folder| folder.join("gcnc"));
    let Some(gcnc) = gcnc.filter(|gcnc| gcnc.is_file()) else {
        eprintln!("skipped: the command `gcnc` has not been built");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let wrong: Vec<String> = EXAMPLES
        .par_iter()
        .filter_map(|example| {
            let object = folder.path().join(format!("{}.o", example.name));
            let mut command = Command::new(&gcnc);
            command.arg(examples_folder().join(example.name).with_extension("cl"));
            command.args([
                "--mtriple=amdgcn-mesa-mesa3d",
                "-mcpu=gfx600",
                "-O2",
                "-cl-std=CL2.0",
                "-w",
                "-o",
            ]);
            let output = command.arg(&object).output().unwrap();
            if !output.status.success() {
                return Some(format!("{}: {}", example.name, String::from_utf8_lossy(&output.stderr)));
            }
            let mut gpu = Gpu::new(&std::fs::read(&object).unwrap()).unwrap();
            (example.run)(&mut gpu).err().map(|why| format!("{}: {why}", example.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
