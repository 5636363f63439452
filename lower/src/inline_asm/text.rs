//! The text of inline assembly with its operands in place.
//!
//! The template's language is LLVM's: `$n`, `${n:modifier}` (`c`: a constant, `n`: its negative, `r`: a register), `$$`, `${:uid}`, `${:comment}`,
//! `${:private}`, and alternatives `$(a$|b$)`, of which the first is taken. Cost: linear in the text.

use mir::machine::{AsmArgument, AsmSite, Inst, PReg, Reg, RegOperand};
use mir::{Diagnostic, Result};
use std::fmt::Write;

/// The template with its operands in place.
pub(super) fn substitute(site: &AsmSite, inst: &Inst, uid: u32) -> Result<String> {
    let invalid = || Diagnostic::malformed(format!("invalid operand in inline asm: '{}'", site.text));
    let mut out = String::with_capacity(site.text.len() + 16);
    let mut rest = site.text.as_str();
    // Number of the alternative that is being read.
    let mut variant: Option<u32> = None;
    while let Some(at) = rest.find('$') {
        let mut put = |text: &str| {
            if variant.is_none_or(|n| n == 0) {
                out.push_str(text);
            }
        };
        put(&rest[..at]);
        rest = &rest[at + 1..];
        let next = rest.chars().next().ok_or_else(invalid)?;
        match next {
            '$' => put("$"),
            '(' if variant.is_none() => variant = Some(0),
            '|' => match &mut variant {
                Some(n) => *n += 1,
                None => out.push('|'),
            },
            ')' => match variant {
                Some(_) => variant = None,
                None => out.push(')'),
            },
            '{' => {
                let end = rest.find('}').ok_or_else(invalid)?;
                let inside = &rest[1..end];
                let (name, modifier) = inside.split_once(':').unwrap_or((inside, ""));
                if name.is_empty() {
                    match modifier {
                        "uid" => put(&uid.to_string()),
                        "comment" => put(";"),
                        "private" => put(".L"),
                        _ => return Err(invalid()),
                    }
                } else {
                    let n = name.parse().map_err(|_| invalid())?;
                    put(&argument(site, inst, n, modifier).ok_or_else(invalid)?);
                }
                rest = &rest[end + 1..];
                continue;
            }
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let n = rest[..end].parse().map_err(|_| invalid())?;
                put(&argument(site, inst, n, "").ok_or_else(invalid)?);
                rest = &rest[end..];
                continue;
            }
            _ => return Err(invalid()),
        }
        rest = &rest[next.len_utf8()..];
    }
    if variant.is_none_or(|n| n == 0) {
        out.push_str(rest);
    }
    Ok(out)
}

/// Operand `n` as text; `None` where there is none, or none that the modifier is for.
fn argument(site: &AsmSite, inst: &Inst, n: usize, modifier: &str) -> Option<String> {
    match (site.arguments.get(n)?, modifier) {
        (AsmArgument::Number(value), "" | "r") => Some(number(*value)),
        (AsmArgument::Number(value), "c") => Some(value.to_string()),
        (AsmArgument::Number(value), "n") => Some(value.wrapping_neg().to_string()),
        (AsmArgument::Text(text), "" | "r" | "c") => Some(text.clone()),
        (AsmArgument::Operand(k), "" | "r") => register(inst.operands.get(*k as usize)?.as_reg().copied()?),
        _ => None,
    }
}

/// A constant as LLVM prints it: small ones in decimals, others as the bits of the shortest width that has them.
fn number(value: i64) -> String {
    if (-16..=64).contains(&value) { value.to_string() } else { format!("{value:#x}") }
}

/// A register tuple in assembly.
fn register(operand: RegOperand) -> Option<String> {
    let Reg::Physical(first) = operand.reg else { return None };
    let pair = |name: &str| Some(name.to_owned());
    match (first, operand.dwords) {
        (_, 0 | 1) => Some(first.to_string()),
        (PReg::VCC_LO, 2) => pair("vcc"),
        (PReg::EXEC_LO, 2) => pair("exec"),
        (PReg::FLAT_SCRATCH_LO, 2) => pair("flat_scratch"),
        (PReg::XNACK_MASK_LO, 2) => pair("xnack_mask"),
        (PReg::TBA_LO, 2) => pair("tba"),
        (PReg::TMA_LO, 2) => pair("tma"),
        _ => {
            let (name, n) = match (first.vgpr_index(), first.sgpr_index(), first.ttmp_index()) {
                (Some(n), ..) => ("v", n),
                (_, Some(n), _) => ("s", n),
                (.., Some(n)) => ("ttmp", n),
                _ => return None,
            };
            let mut out = String::new();
            let _ = write!(out, "{name}[{n}:{}]", n + u16::from(operand.dwords) - 1);
            Some(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::machine::{Operand, inline_asm};

    fn text(template: &str) -> Result<String> {
        let outputs = [(Operand::preg(PReg::vgpr(4), 2), false, None)];
        let inst = inline_asm(0, &outputs, &[], &[Operand::preg(PReg::VCC_LO, 2)]);
        let arguments = vec![
            AsmArgument::Operand(5),
            AsmArgument::Operand(6),
            AsmArgument::Number(-5),
            AsmArgument::Number(70000),
            AsmArgument::Text("m0".into()),
        ];
        let site = AsmSite {
            text: template.into(),
            arguments,
            named_sgprs: 0,
            pure: false,
            opaque: false,
            inside: Vec::new(),
        };
        substitute(&site, &inst, 7)
    }

    #[test]
    fn templates() {
        let is = |template, expected: &str| assert_eq!(text(template).unwrap(), expected, "{template}");
        is("v_mov $0, $1", "v_mov v[4:5], vcc");
        is("$2 ${2:n} ${2:c} $3 ${3:c} ${3:n}", "-5 5 -5 0x11170 70000 -70000");
        is("a$$b ${4} ${0:r}1", "a$b m0 v[4:5]1");
        is("${:private}x${:uid}:${:comment} y", ".Lx7:; y");
        is("$(att$|intel$) z", "att z");
    }

    #[test]
    fn wrong_operands_are_errors() {
        for template in ["$9", "${0:n}", "${0:q}", "$", "${0", "${x}", "$q", "${:what}"] {
            let error = text(template).expect_err(template);
            assert!(error.message.starts_with("invalid operand in inline asm"), "{error}");
        }
    }
}
