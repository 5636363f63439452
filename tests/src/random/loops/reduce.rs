//! Makes a program that goes wrong smaller as long as it still goes wrong.
//!
//! One simplification at a time is tried: a statement left out, a branch replaced by what is inside, fewer promises, guards and pointers, numbers that are
//! constants. A program that has no meaning any more counts as not wrong.

use super::evaluate::evaluate;
use super::*;
use std::time::{Duration, Instant};

/// Longest that is tried.
const TIME: Duration = Duration::from_secs(20);

/// The smallest program found for which `fails` still holds, which holds for `program`.
pub fn reduce(program: &Loops, fails: &dyn Fn(&Loops) -> bool) -> Loops {
    let mut best = program.clone();
    let (start, mut at, mut progress) = (Instant::now(), 0, false);
    while start.elapsed() < TIME {
        let mut candidate = best.clone();
        let mut left = at;
        if !simplify(&mut candidate.body, &mut left) {
            // The end of a round without progress ends it all.
            if !std::mem::take(&mut progress) {
                break;
            }
            at = 0;
        } else if evaluate(&candidate).is_ok() && fails(&candidate) {
            (best, progress) = (candidate, true);
        } else {
            at += 1;
        }
    }
    best
}

/// Changes a value to a simpler one if it is not that already and it is its turn.
fn simpler<T: PartialEq>(value: &mut T, simple: T, left: &mut usize) -> bool {
    if *value == simple {
        return false;
    }
    let now = *left == 0;
    if now {
        *value = simple;
    }
    *left = left.wrapping_sub(1);
    now
}

/// Makes simplification number `left` of those that there are; false where there are fewer.
fn simplify(body: &mut Vec<Stmt>, left: &mut usize) -> bool {
    for at in 0..body.len() {
        if *left == 0 {
            body.remove(at);
            return true;
        }
        *left -= 1;
        if let Stmt::If { arms, .. } = &mut body[at] {
            if *left == 0 {
                let inside: Vec<_> = arms.iter_mut().flat_map(std::mem::take).collect();
                body.splice(at..=at, inside);
                return true;
            }
            *left -= 1;
        }
        let done = match &mut body[at] {
            Stmt::If { arms, .. } => arms.iter_mut().any(|arm| simplify(arm, left)),
            Stmt::Loop(turn) => simplify_loop(turn, left),
            Stmt::Load { access, op, components, .. } => {
                let first = components[..1].to_vec();
                simpler(components, first, left) || simpler(op, "set", left) || simplify_access(access, left)
            }
            Stmt::Store { access, value } => {
                simpler(value, Operand::Const(1), left) || simplify_access(access, left)
            }
            Stmt::Compute { .. } | Stmt::Break(_) => false,
        };
        if done {
            return true;
        }
    }
    false
}

fn simplify_access(access: &mut Access, left: &mut usize) -> bool {
    if let Index::Sum { add, scale, term, .. } = &mut access.index
        && (simpler(add, Operand::Const(0), left)
            || simpler(scale, Operand::Const(1), left)
            || simpler(term, Operand::Const(0), left)
            || simpler(&mut access.form, Form::Sum, left))
    {
        return true;
    }
    simpler(&mut access.plus, 0, left)
        || simpler(&mut access.promises, [false; 2], left)
        || simpler(&mut access.inbounds, false, left)
        || simpler(&mut access.scopes, [false; 2], left)
}

fn simplify_loop(turn: &mut Turn, left: &mut usize) -> bool {
    for at in 0..turn.guards.len() {
        if *left == 0 {
            turn.guards.remove(at);
            return true;
        }
        *left -= 1;
    }
    let mut walks = Vec::new();
    visit(&turn.body, &mut |stmt| {
        walks.extend(stmt.access().map(|access| matches!(access.index, Index::Walk(..))));
    });
    if !turn.walks.is_empty() && !walks.contains(&true) {
        if *left == 0 {
            turn.walks.clear();
            return true;
        }
        *left -= 1;
    }
    simpler(&mut turn.hint, Hint::None, left)
        || simpler(&mut turn.promises, [false; 2], left)
        || simpler(&mut turn.last, None, left)
        || simpler(&mut turn.moving, false, left)
        || simpler(&mut turn.early, false, left)
        || simpler(&mut turn.swapped, false, left)
        || simpler(&mut turn.inverse, false, left)
        || simpler(&mut turn.start, Operand::Const(0), left)
        || simplify(&mut turn.body, left)
}
