//! Code objects on disk: hits, damage, size, several users at once.
#![cfg(feature = "cache")]

use gcnc::{Cache, Compiler};
use std::path::Path;

fn text(number: u32) -> String {
    format!(
        "define amdgpu_kernel void @k(ptr addrspace(1) %p) {{ store i32 {number}, ptr addrspace(1) %p ret void }}"
    )
}

fn compiler(folder: &Path, most_bytes: u64) -> Compiler {
    Compiler::builder("gfx900").cache(Cache::new(folder, most_bytes)).build().unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_hit_is_what_was_compiled_and_depends_on_options() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = compiler(folder.path(), 1 << 24);
    let first = compiler.compile(&text(1)).unwrap();
    let second = compiler.compile(&text(1)).unwrap();
    assert!(!first.stats.from_cache && second.stats.from_cache);
    assert_eq!(
        (&first.bytes, &first.kernels, &first.warnings),
        (&second.bytes, &second.kernels, &second.warnings)
    );
    assert_eq!(first.stats.functions, second.stats.functions);
    let cache = || Cache::new(folder.path(), 1 << 24);
    let others = [
        Compiler::builder("gfx906").cache(cache()),
        Compiler::builder("gfx900").opt_level(0).cache(cache()),
        Compiler::builder("gfx900").symbol("x", 1).cache(cache()),
    ];
    for other in others {
        assert!(!other.build().unwrap().compile(&text(1)).unwrap().stats.from_cache);
    }
    assert!(!compiler.compile(&text(2)).unwrap().stats.from_cache);
    // Refusals are not kept.
    assert!(compiler.compile("nonsense").is_err() && compiler.compile("nonsense").is_err());
}

#[test]
fn damage_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = compiler(folder.path(), 1 << 24);
    let known = compiler.compile(&text(1)).unwrap().bytes;
    for damage in 0..4usize {
        for file in files(folder.path()) {
            let mut bytes = std::fs::read(&file).unwrap();
            match damage {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.clear(),
                2 => bytes.iter_mut().for_each(|byte| *byte ^= 0x55),
                _ => bytes.extend([0; 100]),
            }
            let mut permissions = std::fs::metadata(&file).unwrap().permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
            std::fs::set_permissions(&file, permissions).unwrap();
            std::fs::write(&file, bytes).unwrap();
        }
        let object = compiler.compile(&text(1)).unwrap();
        assert!(object.bytes == known, "damage {damage}");
        assert!(compiler.compile(&text(1)).unwrap().bytes == known);
    }
}

#[test]
fn the_size_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let one = compiler(folder.path(), 1 << 24).compile(&text(0)).unwrap().bytes.len() as u64;
    let most = 20 * one;
    let compiler = compiler(folder.path(), most);
    (1..120).for_each(|number| drop(compiler.compile(&text(number)).unwrap()));
    let content: u64 =
        files(&folder.path().join("content-v2")).iter().map(|f| f.metadata().unwrap().len()).sum();
    assert!(content > 0 && content < most + most / 4, "{content} bytes of {most}");
    assert!(compiler.compile(&text(119)).unwrap().stats.from_cache);
    assert!(!compiler.compile(&text(3)).unwrap().stats.from_cache);
}

#[test]
fn several_may_use_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let alone = Compiler::new("gfx900").unwrap();
    let known: Vec<Vec<u8>> = (0..10).map(|number| alone.compile(&text(number)).unwrap().bytes).collect();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let (folder, known) = (folder.path(), &known);
            // Each with a view of its own, as another process has it.
            scope.spawn(move || {
                let compiler = compiler(folder, 1 << 16);
                for step in 0..30 {
                    let number = (start * 3 + step) % 10;
                    assert!(compiler.compile(&text(number)).unwrap().bytes == known[number as usize]);
                }
            });
        }
    });
}
