//! The program that measures memory.

use std::process::Command;

fn peak(command: &[&str]) -> Option<u64> {
    let output = Command::new(env!("CARGO_BIN_EXE_gcnc-peak")).args(command).output().expect("it starts");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number"))
}

#[test]
fn memory_is_the_commands_and_not_the_makers() {
    // Far less than this test, or gcnc-bench, would add.
    let nothing = peak(&["true"]).expect("true succeeds");
    assert!((100..10_000).contains(&nothing), "{nothing} KiB");
    let much = peak(&["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1", "status=none"]);
    assert!(much.expect("dd succeeds") > 60_000, "{much:?} KiB");
}

#[test]
fn a_failure_is_one() {
    assert_eq!(peak(&["false"]), None);
    assert_eq!(peak(&["/no/such/command"]), None);
    assert_eq!(peak(&[]), None);
}
