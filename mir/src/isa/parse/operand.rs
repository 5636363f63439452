//! Operands as written: a register or a number with its input modifiers, or an immediate of special syntax.
//!
//! What is read does not depend on the instruction's encoding, only on which syntax its row has in this position: the
//! matcher decides afterwards what the operand means.

use super::expr::{self, Expr, Known};
use super::lexer::{Lexer, Token};
use super::register::{self, Tuple};
use super::{Failure, fail};
use crate::target::Target;

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// A register tuple.
    Register(Tuple),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// An expression with symbols.
    Symbolic(Expr<'a>),
    /// `off`.
    Off,
    /// An immediate that was written in its own syntax: `hwreg(..)`, `attr0.x`, `vmcnt(0)`, `mrt0`.
    Special(i64),
}

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand<'a> {
    /// What it is.
    pub value: Value<'a>,
    /// First byte in the line.
    pub at: usize,
    /// `-x` or `neg(x)`.
    pub neg: bool,
    /// `|x|` or `abs(x)`.
    pub abs: bool,
    /// `sext(x)`.
    pub sext: bool,
    /// `lit(x)`: a literal, though there might be an inline constant.
    pub literal: bool,
}

impl<'a> Operand<'a> {
    /// An operand without input modifiers.
    pub fn plain(value: Value<'a>, at: usize) -> Self {
        Self { value, at, neg: false, abs: false, sext: false, literal: false }
    }

    /// Whether it has an input modifier.
    pub fn is_modified(&self) -> bool {
        self.neg || self.abs || self.sext
    }
}

/// Reads a register, a number or `off`, with its input modifiers.
pub fn parse<'a>(lexer: &mut Lexer<'a>, target: &Target, known: Known<'_>) -> Result<Operand<'a>, Failure> {
    let at = lexer.start;
    let mut operand = Operand::plain(Value::Off, at);
    if lexer.token == Token::Op(b'-') {
        let next = lexer.after();
        if next.token == Token::Op(b'-') {
            return fail(at, "expected neg(..) instead of two signs");
        }
        // Before a number the sign is a part of it.
        if register::is_here(&next) || matches!(next.token, Token::Op(b'|') | Token::Name("abs")) {
            operand.neg = true;
            lexer.step();
        }
    }
    let mut open = 0;
    for (name, flag) in [("sext", &mut operand.sext), ("neg", &mut operand.neg), ("abs", &mut operand.abs)] {
        if lexer.token == Token::Name(name) && lexer.peek() == Token::Op(b'(') {
            if std::mem::replace(flag, true) {
                return fail(at, "expected register or immediate");
            }
            lexer.step();
            lexer.step();
            open += 1;
        }
    }
    if lexer.token == Token::Name("lit") {
        lexer.step();
        if !lexer.skip(b'(') {
            return fail(lexer.start, "expected left parenthesis after lit");
        }
        operand.literal = true;
        open += 1;
    }
    let bars = lexer.skip(b'|');
    if bars && std::mem::replace(&mut operand.abs, true) {
        return fail(at, "expected register or immediate");
    }
    operand.value = value(lexer, target, known, bars)?;
    if operand.literal && !matches!(operand.value, Value::Int(_) | Value::Float(_)) {
        return fail(at, "expected immediate with lit modifier");
    }
    if bars && !lexer.skip(b'|') {
        return fail(lexer.start, "expected vertical bar");
    }
    for _ in 0..open {
        if !lexer.skip(b')') {
            return fail(lexer.start, "expected closing parenthesis");
        }
    }
    if operand.is_modified() && matches!(operand.value, Value::Symbolic(_) | Value::Off) {
        return fail(at, "expected an absolute expression");
    }
    Ok(operand)
}

fn value<'a>(
    lexer: &mut Lexer<'a>,
    target: &Target,
    known: Known<'_>,
    bars: bool,
) -> Result<Value<'a>, Failure> {
    if register::is_here(lexer) {
        return register::parse(lexer, target, known).map(Value::Register);
    }
    match (lexer.token, lexer.peek()) {
        (Token::Name("off"), _) => {
            lexer.step();
            Ok(Value::Off)
        }
        (Token::Float(number), _) => {
            lexer.step();
            Ok(Value::Float(number))
        }
        (Token::Op(b'-'), Token::Float(number)) => {
            lexer.step();
            lexer.step();
            Ok(Value::Float(-number))
        }
        _ => {
            let expr = expr::parse(lexer, known, bars)?;
            Ok(expr.constant().map_or_else(|| Value::Symbolic(expr), Value::Int))
        }
    }
}
