//! Makes a program that goes wrong smaller as long as it still goes wrong.
//!
//! One simplification at a time is tried: a statement left out, a loop or a branch replaced by what is inside, fewer
//! rounds, one work-group, simple accesses. A program whose lanes race has no meaning and counts as not wrong.

use super::evaluate::evaluate;
use super::*;
use std::time::{Duration, Instant};

/// Longest that is tried.
const TIME: Duration = Duration::from_secs(20);

/// The smallest program found for which `fails` still holds, which holds for `program`.
pub fn reduce(program: &Exchange, fails: &dyn Fn(&Exchange) -> bool) -> Exchange {
    let mut best = program.clone();
    let start = Instant::now();
    let mut at = 0;
    // The end of a round without progress ends it all.
    let mut progress = false;
    while start.elapsed() < TIME {
        let mut candidate = best.clone();
        if !simplify(&mut candidate, at) {
            if !std::mem::take(&mut progress) {
                break;
            }
            at = 0;
            continue;
        }
        if evaluate(&candidate).is_ok() && fails(&candidate) {
            best = candidate;
            progress = true;
        } else {
            at += 1;
        }
    }
    best
}

/// Makes simplification number `at` of those that there are; false where there are fewer.
fn simplify(program: &mut Exchange, at: usize) -> bool {
    let mut left = at;
    if program.groups > 1 {
        if left == 0 {
            program.groups = 1;
            return true;
        }
        left -= 1;
    }
    if simplify_body(&mut program.body, &mut left) {
        return true;
    }
    for map in &mut program.maps {
        for simpler in [map.early, map.wide, map.form != Form::Steps] {
            if !simpler {
                continue;
            }
            if left == 0 {
                (map.early, map.wide, map.form) = (false, false, Form::Steps);
                return true;
            }
            left -= 1;
        }
    }
    false
}

fn simplify_body(body: &mut Vec<Stmt>, left: &mut usize) -> bool {
    let next = |left: &mut usize| {
        let now = *left == 0;
        *left = left.saturating_sub(1);
        now
    };
    for at in 0..body.len() {
        if next(left) {
            body.remove(at);
            return true;
        }
        match &mut body[at].kind {
            Kind::Loop { trips, down, guarded, body: inside } => {
                if !matches!(trips, Trips::Const(1)) && next(left) {
                    *trips = Trips::Const(1);
                    return true;
                }
                if !matches!(trips, Trips::Const(1 | 2)) && next(left) {
                    *trips = Trips::Const(2);
                    return true;
                }
                if (*down || *guarded) && next(left) {
                    (*down, *guarded) = (false, false);
                    return true;
                }
                if matches!(trips, Trips::Const(1)) && next(left) {
                    // Rounds that nobody counts are the first.
                    let inside = std::mem::take(inside);
                    body.splice(at..=at, inside);
                    return true;
                }
                if simplify_body(inside, left) {
                    return true;
                }
            }
            Kind::If { arms, .. } => {
                if next(left) {
                    let inside = arms.iter_mut().flat_map(std::mem::take).collect::<Vec<_>>();
                    body.splice(at..=at, inside);
                    return true;
                }
                if arms.iter_mut().any(|arm| simplify_body(arm, left)) {
                    return true;
                }
            }
            Kind::Load { access, op, .. } => {
                if access.how != How::Plain && next(left) {
                    access.how = How::Plain;
                    return true;
                }
                if op.is_some() && next(left) {
                    *op = None;
                    return true;
                }
            }
            Kind::Store { access, .. } => {
                if access.how != How::Plain && next(left) {
                    access.how = How::Plain;
                    return true;
                }
            }
            Kind::Order(order) => {
                if order.only.is_some() && next(left) {
                    order.only = None;
                    return true;
                }
            }
            Kind::Compute { .. } | Kind::Wide { .. } | Kind::Atomic { .. } => {}
        }
    }
    false
}
