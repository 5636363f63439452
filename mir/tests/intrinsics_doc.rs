//! `docs/intrinsics.md` lists what the table of intrinsics has; `GCNC_BLESS=1` writes it anew.

use mir::ir::{BufferAction, Intrinsic, IntrinsicProps};
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/intrinsics.md");

/// One row: name and what passes know about it.
fn row(out: &mut String, name: &str, props: IntrinsicProps) {
    let words: Vec<&str> = [
        (IntrinsicProps::EFFECT, "effect"),
        (IntrinsicProps::READS, "reads memory"),
        (IntrinsicProps::DIVERGENT, "divergent"),
        (IntrinsicProps::UNIFORM, "uniform"),
        (IntrinsicProps::CONVERGENT, "convergent"),
        (IntrinsicProps::DROPPED, "dropped"),
        (IntrinsicProps::STOPS, "may stop"),
    ]
    .into_iter()
    .filter(|(flag, _)| props.contains(*flag))
    .map(|(_, word)| word)
    .collect();
    let _ = writeln!(out, "| `llvm.{name}` | {} |", words.join(", "));
}

fn document() -> String {
    let mut out = String::from(
        "# Intrinsics\n\n\
         Generated from the table in `mir::ir::intrinsic`. An intrinsic that is not listed, or whose instruction the processor lacks, is\n\
         refused by name. The second column is what passes know: *effect* (not removed), *uniform* and *divergent* (whatever the operands are),\n\
         *convergent* (does not move across branches), *may stop* (what follows may not run), *dropped* (means nothing for code).\n",
    );
    for (title, amdgpu) in [("Generic", false), ("AMDGPU", true)] {
        let _ = writeln!(out, "\n## {title}\n\n| name | properties |\n|---|---|");
        for &intrinsic in Intrinsic::SINGLE {
            let name = intrinsic.name();
            if name.starts_with("gcnc.") {
                continue;
            }
            if (name.starts_with("amdgcn.") || name.starts_with("r600.")) == amdgpu {
                row(&mut out, name, intrinsic.props());
            }
        }
    }
    out.push_str("\n## Buffers\n\n| name | properties |\n|---|---|\n");
    for intrinsic in Intrinsic::all() {
        if let Intrinsic::Buffer(buffer) = intrinsic {
            let desc = buffer.desc();
            // Float additions and conditional subtraction exist on later processors alone.
            if !matches!(desc.action, BufferAction::Atomic("fadd" | "cond.sub.u32")) {
                row(&mut out, &desc.name, intrinsic.props());
            }
        }
    }
    out.push_str("\n## Images\n\nBy operation; dimensions as in the second column. Samples exist without a result, too (`.nortn` behind the dimension).\n\n| name | dimensions |\n|---|---|\n");
    let mut operations: Vec<(String, Vec<&str>)> = Vec::new();
    for intrinsic in Intrinsic::all() {
        let Intrinsic::Image(image) = intrinsic else { continue };
        let desc = image.desc();
        if desc.no_result {
            continue;
        }
        let operation = desc.name.trim_end_matches(desc.dim.name()).to_owned();
        if ["add.flt.", "pk.add."].iter().any(|late| operation.contains(late)) {
            continue;
        }
        match operations.iter_mut().find(|(name, _)| *name == operation) {
            Some((_, dims)) => dims.push(desc.dim.name()),
            None => operations.push((operation, vec![desc.dim.name()])),
        }
    }
    for (operation, dims) in operations {
        let _ = writeln!(out, "| `llvm.{operation}*` | {} |", dims.join(", "));
    }
    out
}

#[test]
fn the_document_is_what_the_table_says() {
    let wanted = document();
    if std::env::var_os("GCNC_BLESS").is_some() {
        std::fs::write(PATH, &wanted).expect("docs/intrinsics.md can be written");
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/intrinsics.md differs from the table; GCNC_BLESS=1 writes it");
}
