//! `gcnc unbundle` of archives: one archive for each target.

use emit::archive::{Member, write};
use emit::bundle::{Part, plain};
use object::read::archive::ArchiveFile;
use std::path::Path;
use std::process::{Command, Output};

fn gcnc(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gcnc")).args(arguments).current_dir(folder).output().expect("gcnc runs")
}

fn names(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).expect("written");
    let archive = ArchiveFile::parse(&*bytes).expect("an archive");
    let name = |member: object::Result<object::read::archive::ArchiveMember<'_>>| {
        String::from_utf8_lossy(member.expect("a member").name()).into_owned()
    };
    archive.members().map(name).collect()
}

#[test]
fn an_archive_for_each_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let part =
        |target: &'static str, data: &'static [u8]| Part { target: target.into(), contents: data.into() };
    let bundle = plain::write(
        &[
            part("host-x86_64-unknown-linux-gnu-", b""),
            part("hip-amdgcn-amd-amdhsa--gfx900", b"nine"),
            part("hip-amdgcn-amd-amdhsa--gfx906:xnack+", b"six"),
        ],
        1,
    );
    let bundle = bundle.expect("writable");
    let member = |name: &str| Member { name: name.to_owned(), data: bundle[..].into() };
    std::fs::write(path.join("lib.a"), write(&[member("x.o"), member("y.o")]).expect("writable"))
        .expect("written");

    let targets = "--targets=hip-amdgcn-amd-amdhsa--gfx900,hip-amdgcn-amd-amdhsa--gfx906:xnack+";
    let run = gcnc(&["unbundle", "--type=a", "--input=lib.a", targets, "--output=a.a", "--output=b.a"], path);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(
        names(&path.join("a.a")),
        ["x-hip-amdgcn-amd-amdhsa--gfx900x.bc", "y-hip-amdgcn-amd-amdhsa--gfx900y.bc"]
    );
    assert_eq!(
        names(&path.join("b.a")),
        ["x-hip-amdgcn-amd-amdhsa--gfx906_xnack+x.bc", "y-hip-amdgcn-amd-amdhsa--gfx906_xnack+y.bc"]
    );
    // Any reader of archives reads them.
    if let Ok(listed) = Command::new("llvm-ar-22").args(["t", "b.a"]).current_dir(path).output() {
        assert_eq!(
            String::from_utf8_lossy(&listed.stdout).lines().collect::<Vec<_>>(),
            names(&path.join("b.a"))
        );
    }
    let listed = gcnc(&["bundle", "--list", "--input=lib.a"], path);
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 6);

    // What is not there is an error, or an empty archive; hosts have no archive; other files are no archives.
    let missing = ["unbundle", "--input=lib.a", "--targets=hip-amdgcn-amd-amdhsa--gfx803", "--output=c.a"];
    let run = gcnc(&missing, path);
    assert!(!run.status.success() && String::from_utf8_lossy(&run.stderr).contains("nothing for hip-"));
    assert!(!path.join("c.a").exists());
    assert!(gcnc(&[&missing[..], &["--allow-missing-bundles"]].concat(), path).status.success());
    assert!(names(&path.join("c.a")).is_empty());
    for (arguments, word) in [
        (["unbundle", "--input=lib.a", "--targets=host-x86_64-unknown-linux-gnu-", "--output=d.a"], "hosts"),
        (["unbundle", "--type=a", "--input=x", "--output=d.a"], "no archive"),
    ] {
        std::fs::write(path.join("x"), b"text").expect("written");
        let arguments = if word == "no archive" {
            [&arguments[..], &["--targets=hip-amdgcn-amd-amdhsa--gfx900"]].concat()
        } else {
            arguments.to_vec()
        };
        let run = gcnc(&arguments, path);
        let told = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && told.contains(word), "{told}");
    }
}
