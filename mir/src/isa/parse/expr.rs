//! Integer expressions over constants and symbols.
//!
//! An [`Expr`] is its operations in postfix order; parts without symbols are folded while they are read, so an expression of
//! numbers is one constant. Precedence is that of GNU assemblers: `||`, `&&`, comparisons, `+ -`, `| ^ & !`, `* / % << >>`. Values are
//! 64 bits wide and wrap; `>>` is logical. Reading and evaluation are linear and do not recurse.

use super::lexer::{Lexer, Token};
use super::{Failure, fail};
use crate::machine::RelocKind;
use smallvec::SmallVec;

/// A function of expressions, as the AMDGPU assembler has them for resource counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// Largest argument.
    Max,
    /// Bitwise or of all arguments.
    Or,
    /// First argument rounded up to a multiple of the second.
    AlignTo,
    /// SGPRs that VCC, FLAT_SCRATCH and XNACK_MASK add: (uses VCC, uses FLAT_SCRATCH, XNACK on).
    ExtraSgprs,
    /// VGPRs of (accumulation VGPRs, VGPRs).
    TotalVgprs,
}

/// Which part of a symbol's address an expression asks for: `symbol@SPECIFIER`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specifier {
    /// A part that a literal of an instruction can hold.
    Code(RelocKind),
    /// `rel64`: the distance in 64 bits.
    Rel64,
    /// `abs64`: the address in 64 bits.
    Abs64,
    /// `gotpcrel`: the distance to the symbol's GOT entry in 32 bits, checked for overflow.
    GotPcRel,
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Node<'a> {
    /// Pushes a number.
    Const(i64),
    /// Pushes a symbol's address, or the part of it that a relocation gives.
    Symbol(&'a str, Option<Specifier>),
    /// Replaces the top value: `-`, `~`, `!`.
    Unary(u8),
    /// Combines the two top values.
    Binary(Operator),
    /// Combines as many values.
    Call(Function, usize),
}

/// A binary operator: its bytes.
pub type Operator = [u8; 2];

/// An expression.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expr<'a> {
    /// In postfix order.
    pub nodes: SmallVec<[Node<'a>; 4]>,
}

impl Expr<'_> {
    /// The value, if it is a constant.
    pub fn constant(&self) -> Option<i64> {
        match self.nodes[..] {
            [Node::Const(value)] => Some(value),
            _ => None,
        }
    }
}

/// What waits on the operator stack.
enum Pending {
    Unary(u8),
    Binary(Operator, u8),
    Paren,
    /// A function with the arguments read so far.
    Call(Function, usize),
}

fn precedence(op: Operator) -> Option<u8> {
    Some(match &op {
        b"||" => 1,
        b"&&" => 2,
        b"==" | b"!=" | b"<\0" | b"<=" | b">\0" | b">=" => 3,
        b"+\0" | b"-\0" => 4,
        b"|\0" | b"^\0" | b"&\0" | b"!\0" => 5,
        b"*\0" | b"/\0" | b"%\0" | b"<<" | b">>" => 6,
        _ => return None,
    })
}

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "max" => Function::Max,
        "or" => Function::Or,
        "alignto" => Function::AlignTo,
        "extrasgprs" => Function::ExtraSgprs,
        "totalnumvgprs" => Function::TotalVgprs,
        _ => return None,
    })
}

/// Specifiers by name. Source: usage guide, "Relocation Records"; `rel32` alone was the low half up to LLVM 5.
const SPECIFIERS: [(&str, Specifier); 10] = [
    ("rel32@lo", Specifier::Code(RelocKind::Rel32Lo)),
    ("rel32", Specifier::Code(RelocKind::Rel32Lo)),
    ("rel32@hi", Specifier::Code(RelocKind::Rel32Hi)),
    ("gotpcrel32@lo", Specifier::Code(RelocKind::GotPcRel32Lo)),
    ("gotpcrel32@hi", Specifier::Code(RelocKind::GotPcRel32Hi)),
    ("abs32@lo", Specifier::Code(RelocKind::Abs32Lo)),
    ("abs32@hi", Specifier::Code(RelocKind::Abs32Hi)),
    ("rel64", Specifier::Rel64),
    ("abs64", Specifier::Abs64),
    ("gotpcrel", Specifier::GotPcRel),
];

/// Values of symbols that are known while text is read.
pub type Known<'k> = &'k dyn Fn(&str) -> Option<i64>;

/// Reads an expression; `primary` stops after one operand with its unary operators, as between the bars of `|x|`.
pub fn parse<'a>(lexer: &mut Lexer<'a>, known: Known<'_>, primary: bool) -> Result<Expr<'a>, Failure> {
    let mut out = Expr::default();
    let mut stack: SmallVec<[Pending; 4]> = SmallVec::new();
    loop {
        // An operand, with what stands before it.
        match lexer.token {
            Token::Op(op @ (b'-' | b'~' | b'!')) => {
                lexer.step();
                stack.push(Pending::Unary(op));
                continue;
            }
            Token::Op(b'+') => {
                lexer.step();
                continue;
            }
            Token::Op(b'(') => {
                lexer.step();
                stack.push(Pending::Paren);
                continue;
            }
            Token::Int(value) => {
                out.nodes.push(Node::Const(value));
                lexer.step();
            }
            Token::Name(name) => match function(name) {
                Some(function) if lexer.peek() == Token::Op(b'(') => {
                    lexer.step();
                    lexer.step();
                    stack.push(Pending::Call(function, 1));
                    continue;
                }
                _ => {
                    let at = lexer.start;
                    lexer.step();
                    let (name, suffix) = name.split_once('@').map_or((name, None), |(n, s)| (n, Some(s)));
                    out.nodes.push(symbol(name, suffix, at, known)?);
                }
            },
            Token::Str(name) => {
                let at = lexer.start;
                // A suffix follows the quotes directly.
                let suffix = lexer.rest().strip_prefix('@');
                let length = suffix
                    .map(|s| s.find(|c: char| !(c.is_ascii_alphanumeric() || c == '@')).unwrap_or(s.len()));
                let suffix = suffix.zip(length).and_then(|(s, n)| s.get(..n));
                lexer.step();
                if suffix.is_some() {
                    // The at sign is an operator of its own here.
                    lexer.step();
                    lexer.step();
                }
                out.nodes.push(symbol(name, suffix, at, known)?);
            }
            Token::Bad(why) => return fail(lexer.start, why),
            _ => return fail(lexer.start, "expected an expression"),
        }
        // Operators that end what they stand before.
        loop {
            while let Some(Pending::Unary(op)) = stack.last() {
                let op = *op;
                stack.pop();
                push(&mut out, Node::Unary(op));
            }
            let open = stack.iter().any(|p| matches!(p, Pending::Paren | Pending::Call(..)));
            match lexer.token {
                Token::Op(b')') if open => {
                    let at = lexer.start;
                    close(&mut out, &mut stack);
                    match stack.pop() {
                        Some(Pending::Call(function, count)) => push(&mut out, Node::Call(function, count)),
                        Some(_) => {}
                        None => return fail(at, "unbalanced parentheses"),
                    }
                    lexer.step();
                }
                _ => break,
            }
        }
        if primary && stack.is_empty() {
            return Ok(out);
        }
        let op = match lexer.token {
            Token::Op(op) => [op, 0],
            Token::Op2(op) => op,
            _ => [0, 0],
        };
        if op == *b",\0" && stack.iter().any(|p| matches!(p, Pending::Call(..))) {
            close(&mut out, &mut stack);
            if let Some(Pending::Call(_, count)) = stack.last_mut() {
                *count += 1;
                lexer.step();
                continue;
            }
            return fail(lexer.start, "expected a closing parenthesis");
        }
        let Some(level) = precedence(op) else { break };
        while let Some(Pending::Binary(op, top)) = stack.last() {
            if *top < level {
                break;
            }
            let op = *op;
            stack.pop();
            push(&mut out, Node::Binary(op));
        }
        stack.push(Pending::Binary(op, level));
        lexer.step();
    }
    close(&mut out, &mut stack);
    if stack.is_empty() { Ok(out) } else { fail(lexer.start, "expected a closing parenthesis") }
}

fn symbol<'a>(name: &'a str, suffix: Option<&str>, at: usize, known: Known<'_>) -> Result<Node<'a>, Failure> {
    let Some(suffix) = suffix else {
        return Ok(known(name).map_or(Node::Symbol(name, None), Node::Const));
    };
    match SPECIFIERS.iter().find(|(known, _)| *known == suffix) {
        Some(&(_, specifier)) => Ok(Node::Symbol(name, Some(specifier))),
        None => fail(at, format!("unknown relocation @{suffix}")),
    }
}

/// Applies the operators down to the innermost open parenthesis.
fn close(out: &mut Expr<'_>, stack: &mut SmallVec<[Pending; 4]>) {
    while let Some(Pending::Binary(op, _)) = stack.last() {
        let op = *op;
        stack.pop();
        push(out, Node::Binary(op));
    }
}

/// Appends an operation, or its result where all its values are numbers.
fn push<'a>(out: &mut Expr<'a>, node: Node<'a>) {
    let nodes = &mut out.nodes;
    let arity = match node {
        Node::Unary(_) => 1,
        Node::Binary(_) => 2,
        Node::Call(_, count) => count,
        Node::Const(_) | Node::Symbol(..) => 0,
    };
    let from = nodes.len().saturating_sub(arity);
    let values: SmallVec<[i64; 4]> = nodes[from..]
        .iter()
        .filter_map(|n| match n {
            Node::Const(value) => Some(*value),
            _ => None,
        })
        .collect();
    // Functions of the target are left to the evaluation.
    let folded = if values.len() == arity { apply(node, &values) } else { None };
    match folded {
        Some(value) => {
            nodes.truncate(from);
            nodes.push(Node::Const(value));
        }
        None => nodes.push(node),
    }
}

/// The result of an operation on numbers; `None` for a division by zero, and for what depends on the target.
pub fn apply(node: Node<'_>, values: &[i64]) -> Option<i64> {
    match (node, values) {
        (Node::Unary(b'-'), [a]) => Some(a.wrapping_neg()),
        (Node::Unary(b'~'), [a]) => Some(!a),
        (Node::Unary(_), [a]) => Some(i64::from(*a == 0)),
        (Node::Binary(op), &[a, b]) => {
            // True is all ones in GNU assemblers' comparisons.
            let truth = |yes: bool| Some(-i64::from(yes));
            match &op {
                b"+\0" => Some(a.wrapping_add(b)),
                b"-\0" => Some(a.wrapping_sub(b)),
                b"*\0" => Some(a.wrapping_mul(b)),
                b"/\0" => a.checked_div(b),
                b"%\0" => a.checked_rem(b),
                b"&\0" => Some(a & b),
                b"|\0" => Some(a | b),
                b"!\0" => Some(a | !b),
                b"^\0" => Some(a ^ b),
                b"<<" => Some(u32::try_from(b).ok().and_then(|n| a.checked_shl(n)).unwrap_or(0)),
                b">>" => {
                    let shifted = u32::try_from(b).ok().and_then(|n| (a as u64).checked_shr(n));
                    Some(shifted.unwrap_or(0) as i64)
                }
                b"==" => truth(a == b),
                b"!=" => truth(a != b),
                b"<\0" => truth(a < b),
                b"<=" => truth(a <= b),
                b">\0" => truth(a > b),
                b">=" => truth(a >= b),
                b"&&" => Some(i64::from(a != 0 && b != 0)),
                b"||" => Some(i64::from(a != 0 || b != 0)),
                _ => None,
            }
        }
        (Node::Call(Function::Max, _), values) => values.iter().copied().max(),
        (Node::Call(Function::Or, _), values) => Some(values.iter().fold(0, |a, b| a | b)),
        (Node::Call(Function::AlignTo, _), &[a, b]) if b > 0 => a.checked_add(b - 1).map(|sum| sum / b * b),
        (Node::Call(Function::TotalVgprs, _), values) => values.iter().copied().max(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<i64> {
        let mut lexer = Lexer::new(text);
        let expr = parse(&mut lexer, &|name| (name == "five").then_some(5), false).ok()?;
        lexer.at_end().then(|| expr.constant())?
    }

    #[test]
    fn precedence_and_folding() {
        assert_eq!(value("1+2*3"), Some(7));
        assert_eq!(value("(1+2)*3"), Some(9));
        assert_eq!(value("-2+1"), Some(-1));
        assert_eq!(value("~0 & 15 | 1 << 4"), Some(31));
        assert_eq!(value("- -3"), Some(3));
        assert_eq!(value("five * (2 + five)"), Some(35));
        assert_eq!(value("max(1, five, 2*(1+1))"), Some(5));
        assert_eq!(value("alignto(five, 4)"), Some(8));
        assert_eq!(value("0xffffffffffffffff >> 60"), Some(15));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for text in ["", "1+", "(1", "1)", "max(1,", "1 2", "a@b", ",", "1/0"] {
            assert_eq!(value(text), None, "{text}");
        }
        // Nesting costs no stack.
        let deep = "(".repeat(100_000) + "1" + &")".repeat(100_000);
        assert_eq!(value(&deep), Some(1));
    }

    #[test]
    fn symbols_stay() {
        let mut lexer = Lexer::new("x@rel32@lo+4");
        let expr = parse(&mut lexer, &|_| None, false).unwrap();
        let sum = Node::Binary(*b"+\0");
        assert_eq!(
            expr.nodes[..],
            [Node::Symbol("x", Some(Specifier::Code(RelocKind::Rel32Lo))), Node::Const(4), sum]
        );
    }
}
