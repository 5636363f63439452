//! Tests whose undefined operands have become values.
//!
//! A third of LLVM's tests use `undef` where any value would do: as the pointer of a store, as a condition.
//! What such code does is nobody's business, so nothing could be compared. Here each undefined scalar of an
//! instruction becomes a value that neither compiler can know, a volatile load from an address of its own;
//! pointers become constant addresses, vectors and elements of constant ones (masks of shuffles too) zeros.
//! Operands of other constants stay.
//!
//! The text is read line by line, in which LLVM prints one instruction; where that fails, the result does not
//! parse, and the caller keeps to the original.

use std::fmt::Write as _;

/// Scalar types that can be loaded.
fn is_scalar(word: &str) -> bool {
    let bits = word.strip_prefix('i').and_then(|n| n.parse::<u32>().ok());
    matches!(word, "half" | "bfloat" | "float" | "double") || bits.is_some_and(|n| n >= 1)
}

/// The type in front of an operand: its start in `text`, which ends with it.
fn type_before(text: &str) -> Option<usize> {
    let text = text.trim_end();
    if text.ends_with('>') {
        let start = text.rfind('<')?;
        return text[start..].contains(" x ").then_some(start);
    }
    if text.ends_with(')') {
        let start = text.rfind("ptr addrspace(")?;
        return text[start + 14..text.len() - 1].bytes().all(|b| b.is_ascii_digit()).then_some(start);
    }
    let start = text.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    (is_scalar(&text[start..]) || &text[start..] == "ptr").then_some(start)
}

/// An address in a space, apart from others by `n`.
fn address(ty: &str, n: usize) -> Option<String> {
    let space: u32 = match ty.strip_prefix("ptr addrspace(") {
        Some(rest) => rest.trim_end_matches(')').parse().ok()?,
        None => 0,
    };
    Some(match space {
        0 | 1 | 4 => format!("inttoptr (i64 {} to {ty})", 0x2e00_0000_0000u64 + ((n as u64) << 16)),
        3 => format!("inttoptr (i32 {} to {ty})", 0xc000 + (n % 16) * 256),
        _ => return None,
    })
}

/// The undefined operands of a line: where the word starts and how long it is.
fn operands(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for word in ["undef", "poison"] {
        for (at, _) in line.match_indices(word) {
            let after = line[at + word.len()..].chars().next();
            let before = line[..at].chars().next_back();
            if matches!(before, Some(' ' | '['))
                && after.is_none_or(|c| matches!(c, ' ' | ',' | ')' | ']' | '>'))
            {
                found.push((at, word.len()));
            }
        }
    }
    found.sort_unstable();
    found
}

/// The text with values in place of undefined scalars.
pub fn defined(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1024);
    let (mut inside, mut count) = (false, 0);
    for whole in text.lines() {
        let line = whole.split(';').next().unwrap_or_default();
        if line.starts_with("define ") {
            inside = true;
        } else if line.starts_with('}') {
            inside = false;
        }
        let found = if inside { operands(line) } else { Vec::new() };
        if found.is_empty() {
            out.push_str(whole);
            out.push('\n');
            continue;
        }
        let phi = line.find(" phi ").map(|at| at + 5);
        let (mut new, mut copied, mut loads) = (String::new(), 0, String::new());
        for (at, len) in found {
            if line.starts_with("define ") {
                continue;
            }
            // A constant vector or the mask of a shuffle.
            let open = |a: char, b: char| line[..at].matches(a).count() > line[..at].matches(b).count();
            if open('<', '>') {
                new.push_str(&line[copied..at]);
                new.push_str("zeroinitializer");
                copied = at + len;
                continue;
            }
            let ty = match phi {
                Some(start) => line[start..at].split(" [").next().map(str::trim),
                None => type_before(&line[..at]).map(|start| line[start..at].trim()),
            };
            let Some(ty) = ty else { continue };
            count += 1;
            let value = if ty.starts_with("ptr") {
                let Some(value) = address(ty, count) else { continue };
                value
            } else if ty.starts_with('<') {
                "zeroinitializer".to_owned()
            } else if !is_scalar(ty) {
                continue;
            } else if phi.is_some() {
                // No instruction can stand in front.
                if ty.starts_with('i') { format!("{}", count % 2) } else { "zeroinitializer".to_owned() }
            } else {
                let place = 0x2d00_0000_0000u64 + ((count as u64) << 12);
                let name = format!("%made.of.undef.{count}");
                let from = format!("ptr addrspace(1) inttoptr (i64 {place} to ptr addrspace(1))");
                let _ = if ty == "i1" {
                    writeln!(
                        loads,
                        "  {name}.b = load volatile i8, {from}\n  {name} = trunc i8 {name}.b to i1"
                    )
                } else {
                    writeln!(loads, "  {name} = load volatile {ty}, {from}")
                };
                name
            };
            new.push_str(&line[copied..at]);
            new.push_str(&value);
            copied = at + len;
        }
        new.push_str(&line[copied..]);
        out.push_str(&loads);
        out.push_str(&new);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_scalars_become_values() {
        let text = "target triple = \"amdgcn-amd-amdhsa\"\n@g = global i32 undef\n\
            define void @f(i32 %x) {\n\
            \x20 store i32 %x, ptr addrspace(1) undef, align 4 ; undef\n\
            \x20 br i1 undef, label %a, label %b\na:\n\
            \x20 %v = insertelement <2 x i32> undef, i32 undef, i32 0\n\
            \x20 store <2 x i32> %v, ptr addrspace(1) poison\n\
            \x20 %s = shufflevector <2 x i32> %v, <2 x i32> <i32 7, i32 poison>, <2 x i32> <i32 undef, i32 3>\n\
            \x20 br label %b\nb:\n\
            \x20 %p = phi i32 [ 1, %0 ], [ undef, %a ]\n  ret void\n}\n";
        let made = defined(text);
        assert!(made.contains(
            "store i32 %x, ptr addrspace(1) inttoptr (i64 50577534943232 to ptr addrspace(1)), align 4"
        ));
        assert!(made.contains("br i1 %made.of.undef.2, label"));
        assert!(made.contains("insertelement <2 x i32> zeroinitializer, i32 %made.of.undef.4, i32 0"));
        assert!(made.contains("[ 1, %0 ], [ 0, %a ]"));
        assert!(made.contains("<i32 7, i32 zeroinitializer>, <2 x i32> <i32 zeroinitializer, i32 3>"));
        assert!(made.contains("@g = global i32 undef"));
        frontend::read(made.as_bytes(), "t.ll").unwrap();
    }
}
