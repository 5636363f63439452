//! Reports name the source line where the object has line tables: OpenCL C with `-g` through clang and llc, relocatable and linked.

use sim::{Arg, CodeObject, Config, Dispatch, Kind, Memory};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "kernel void inner(global int *p, int n) {
  int i = get_global_id(0);
  if (i < n)
    p[i] = i * 3;

  p[n + i * 1000] = 7;
}
";

fn command(program: &str, args: &[&str], folder: &Path) -> Option<()> {
    let out = Command::new(program).args(args).current_dir(folder).output().ok()?;
    assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
    Some(())
}

#[test]
fn reports_name_the_source_line() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("lines.cl"), SOURCE).expect("the folder is writable");
    let clang = "-x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=gfx900 -nogpulib -mcode-object-version=4 -g -O2 -emit-llvm -c \
                 lines.cl -o lines.bc -Xclang -mlink-builtin-bitcode -Xclang /usr/lib/clc/amdgcn-amd-amdhsa.bc";
    let clang: Vec<&str> = clang.split_whitespace().collect();
    let llc = ["-march=amdgcn", "-mcpu=gfx900", "-filetype=obj", "lines.bc", "-o", "lines.o"];
    let link = ["-shared", "lines.o", "-o", "lines.so"];
    let tools = [("clang-22", &clang[..]), ("llc-22", &llc[..]), ("ld.lld-22", &link[..])];
    if tools.iter().any(|(program, args)| command(program, args, folder).is_none()) {
        eprintln!("skipped: clang-22, llc-22 and ld.lld-22 are needed");
        return;
    }
    for name in ["lines.o", "lines.so"] {
        let bytes = std::fs::read(folder.join(name)).expect("written above");
        let object = CodeObject::load(&bytes).unwrap_or_else(|r| panic!("{r}"));
        let mut memory = Memory::new();
        let buffer = memory.add_buffer("p", vec![0; 4 * 128]);
        let dispatch = Dispatch {
            kernel: "inner".to_owned(),
            grid: [64, 1, 1],
            group: [64, 1, 1],
            args: vec![Arg::Buffer(buffer), Arg::Value(vec![64, 0, 0, 0])],
            ..Dispatch::default()
        };
        let report = sim::run(&object, &mut memory, &dispatch, &Config::default())
            .expect_err("lane 1 stores far outside");
        assert_eq!((report.kind, report.lane), (Kind::OutOfBounds, Some(1)), "{report}");
        let source = report.source.clone().unwrap_or_default();
        assert!(source.ends_with("lines.cl:6"), "{name}: {source:?}");
        assert!(report.to_string().contains("lines.cl:6"), "{report}");
    }
}
