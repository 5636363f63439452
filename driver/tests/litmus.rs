//! Litmus tests of the memory model on GFX10: messages from one work-group to another, directly or through a third, on work-groups of pairs of compute units and of
//! one, in either size of waves. The simulator's caches say what a wait or an invalidation is needed for, so what is ordered must
//! run with all checks, and what lacks an order must be stopped.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

const SCOPES: [&str; 2] = ["", "syncscope(\"agent\") "];

/// What says that the data are there, in `%pf`, ordered behind them: in each, `$` is the scope.
const SENDERS: [&str; 3] = [
    "store atomic i32 1, ptr addrspace(1) %pf $release, align 4",
    "fence $release\n  store atomic i32 1, ptr addrspace(1) %pf $monotonic, align 4",
    "%sx = atomicrmw xchg ptr addrspace(1) %pf, i32 1 $release, align 4",
];
/// What finds it, as `%f`, ordered before the data are read.
const RECEIVERS: [&str; 3] = [
    "%f = load atomic i32, ptr addrspace(1) %pf $acquire, align 4",
    "%f = load atomic i32, ptr addrspace(1) %pf $monotonic, align 4\n  fence $acquire",
    "%f = atomicrmw or ptr addrspace(1) %pf, i32 0 $acquire, align 4",
];
/// The same without an order, and how the simulator names what is missing.
const SENDERS_WITHOUT: [(&str, &str); 2] = [
    ("store atomic i32 1, ptr addrspace(1) %pf $monotonic, align 4", "release: "),
    ("%sx = atomicrmw xchg ptr addrspace(1) %pf, i32 1 $acquire, align 4", "release: "),
];
const RECEIVERS_WITHOUT: [(&str, &str); 2] = [
    ("%f = load atomic i32, ptr addrspace(1) %pf $monotonic, align 4", "stale: "),
    ("%f = atomicrmw or ptr addrspace(1) %pf, i32 0 $release, align 4", "stale: "),
];
/// What hands a message on, from `%pf` to `%pg`.
const FORWARDERS: [&str; 2] = [
    "%h = load atomic i32, ptr addrspace(1) %pf $acquire, align 4\n  store atomic i32 %h, ptr addrspace(1) %pg $release, align 4",
    "%h = atomicrmw add ptr addrspace(1) %pf, i32 0 $acq_rel, align 4\n  %hx = atomicrmw xchg ptr addrspace(1) %pg, i32 %h $acq_rel, align 4",
];

/// A kernel, and what the simulator must complain of.
struct Litmus {
    /// Work-groups: sender, receiver, and one between them where there are three.
    groups: u32,
    expected: Option<&'static str>,
}

/// A kernel in which every work-item of the first work-group sends a number to its like in the last one.
fn kernel(text: &mut String, number: usize, scope: &str, [send, forward, receive]: [&str; 3]) {
    let [send, forward, receive] = [send, forward, receive].map(|part| part.replace('$', scope));
    let last = if forward.is_empty() { 1 } else { 2 };
    // A receiver behind another one reads its flag.
    let receive = if last == 2 { receive.replace("%pf", "%pg") } else { receive };
    let _ = write!(
        text,
        "define amdgpu_kernel void @k{number}(ptr addrspace(1) %out, ptr addrspace(1) %data, ptr addrspace(1) %flags) #0 {{
  %w = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %pd = getelementptr i32, ptr addrspace(1) %data, i32 %w
  %pf = getelementptr i32, ptr addrspace(1) %flags, i32 %w
  %pg = getelementptr i32, ptr addrspace(1) %pf, i32 64
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %w
  switch i32 %g, label %forward [ i32 0, label %send
                                  i32 {last}, label %receive ]
send:
  %x = add i32 %w, 1000
  store i32 %x, ptr addrspace(1) %pd
  {send}
  br label %done
forward:
  {forward}
  br label %done
receive:
  {receive}
  %sent = icmp eq i32 %f, 1
  br i1 %sent, label %take, label %done
take:
  %y = load i32, ptr addrspace(1) %pd
  store i32 %y, ptr addrspace(1) %po
  br label %done
done:
  ret void
}}
"
    );
}

/// All kernels, and what is expected of them.
fn module() -> (String, Vec<Litmus>) {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\ndeclare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n\
         attributes #0 = { \"amdgpu-flat-work-group-size\"=\"64,64\" }\n",
    );
    let mut all = Vec::new();
    let mut add = |scope: &str, parts: [&str; 3], expected: Option<&'static str>| {
        kernel(&mut text, all.len(), scope, parts);
        all.push(Litmus { groups: if parts[1].is_empty() { 2 } else { 3 }, expected });
    };
    for scope in SCOPES {
        for send in SENDERS {
            RECEIVERS.iter().for_each(|receive| add(scope, [send, "", receive], None));
            FORWARDERS.iter().for_each(|forward| add(scope, [send, forward, RECEIVERS[0]], None));
            RECEIVERS_WITHOUT.iter().for_each(|(receive, what)| add(scope, [send, "", receive], Some(what)));
        }
        SENDERS_WITHOUT.iter().for_each(|(send, what)| add(scope, [send, "", RECEIVERS[0]], Some(what)));
    }
    (text, all)
}

fn gcnc(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gcnc")).current_dir(folder).args(args).output().expect("it runs")
}

#[test]
fn messages_between_work_groups_of_gfx10() {
    let (text, all) = module();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("litmus.ll"), text).expect("a file");
    let sent = (1000..1064).map(|n: u32| n.to_string()).collect::<Vec<_>>().join(",");
    let waves = ["-wavefrontsize64,+wavefrontsize32", "-wavefrontsize32,+wavefrontsize64"];
    let settings = ["gfx1010", "gfx1030"]
        .into_iter()
        .flat_map(|cpu| ["-cumode", "+cumode"].map(|mode| (cpu, mode)))
        .flat_map(|(cpu, mode)| waves.map(|wave| (format!("-mcpu={cpu}"), format!("-mattr={mode},{wave}"))));
    for (cpu, features) in settings {
        let output =
            gcnc(folder.path(), &["litmus.ll", &cpu, &features, "--emit=hsaco", "-o", "litmus.hsaco"]);
        assert!(output.status.success(), "{cpu} {features}: {}", String::from_utf8_lossy(&output.stderr));
        for (number, litmus) in all.iter().enumerate() {
            let (kernel, grid) = (format!("k{number}"), (64 * litmus.groups).to_string());
            let expected = format!("0={sent}:i32");
            let buffers = ["--arg", "0=zeros:64xi32", "--arg", "1=zeros:64xi32", "--arg", "2=zeros:128xi32"];
            let mut args = vec!["run", "litmus.hsaco", "--kernel", &kernel, "--grid", &grid, "--block", "64"];
            args.extend(buffers);
            args.extend(["--expect", &expected]);
            let output = gcnc(folder.path(), &args);
            let said = String::from_utf8_lossy(&output.stderr);
            let right = match litmus.expected {
                None => output.status.success(),
                Some(what) => output.status.code() == Some(3) && said.contains(what),
            };
            assert!(right, "{cpu} {features} {kernel}, expected {:?}: {said}", litmus.expected);
        }
    }
}
