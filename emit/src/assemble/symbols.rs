//! The symbol table and the values of expressions.
//!
//! A symbol is a label, an expression (`.set`), or undefined. An expression evaluates to a number plus at
//! most one symbol minus at most one ([`Sum`]); the difference of two labels of a section is a number.
//! Evaluation keeps its own stack: chains of `.set` may be long.

use super::{Origin, Place, Value};
use mir::isa::parse::Expr;
use mir::isa::parse::expr::{Function, Node, Specifier, apply};
use mir::target::{Features, Target};
use object::elf as raw;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A symbol's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SymbolId(pub usize);

/// What a symbol stands for.
#[derive(Clone, Debug)]
pub enum Definition<'a> {
    /// Nothing here.
    Undefined,
    /// `.comm`: the linker reserves space with this alignment.
    Common(u64),
    /// `.amdgpu_lds`: the linker reserves LDS with this alignment.
    Lds(u64),
    /// A place.
    Label(Place),
    /// The value of an expression.
    Equated(Value<'a>),
    /// That value.
    Value(Sum),
}

/// A symbol.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Meaning.
    pub definition: Definition<'a>,
    /// Binding where a directive gave one.
    pub binding: Option<raw::SymbolBind>,
    /// Type.
    pub kind: raw::SymbolType,
    /// Visibility.
    pub visibility: raw::SymbolVisibility,
    /// Where it was given its value, if it was.
    pub origin: Option<Origin>,
    /// `.size`.
    pub size: Option<Value<'a>>,
    /// Size where the assembler knows it.
    pub fixed_size: u64,
    /// Defined by the assembler, and not by the text so far.
    pub predefined: bool,
    /// A directive is about it, so the object's table has it whether it is used or not.
    pub named: bool,
    /// How many were defined before it; the largest number where it is undefined.
    pub order: usize,
}

/// number + plus − minus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Number.
    pub constant: i64,
    /// Symbol that is added, with the part of its address that is meant.
    pub plus: Option<(SymbolId, Option<Specifier>)>,
    /// Symbol or place that is subtracted.
    pub minus: Option<Base>,
}

/// What can be subtracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A symbol that is not defined here.
    Symbol(SymbolId),
    /// A place.
    Place(Place),
}

/// All symbols by number and by name.
#[derive(Default)]
pub struct Symbols<'a> {
    /// By number.
    pub all: Vec<Symbol<'a>>,
    by_name: FxHashMap<Cow<'a, str>, SymbolId>,
    /// Definitions so far.
    defined: usize,
}

impl<'a> Symbols<'a> {
    /// The symbol called `name`, made if there is none.
    pub fn get(&mut self, name: impl Into<Cow<'a, str>>) -> SymbolId {
        let name = name.into();
        if let Some(&id) = self.by_name.get(&name) {
            return id;
        }
        let id = SymbolId(self.all.len());
        self.all.push(Symbol {
            name: name.clone(),
            definition: Definition::Undefined,
            binding: None,
            kind: raw::STT_NOTYPE,
            visibility: raw::STV_DEFAULT,
            origin: None,
            size: None,
            fixed_size: 0,
            predefined: false,
            named: false,
            order: usize::MAX,
        });
        self.by_name.insert(name, id);
        id
    }

    /// The symbol.
    pub fn of(&mut self, id: SymbolId) -> &mut Symbol<'a> {
        &mut self.all[id.0]
    }

    /// Defines a label.
    pub fn define(&mut self, name: impl Into<Cow<'a, str>>, place: Place) -> Result<SymbolId, String> {
        let id = self.get(name);
        let symbol = self.of(id);
        if !matches!(symbol.definition, Definition::Undefined) {
            return Err(format!("symbol {} is defined twice", symbol.name));
        }
        symbol.definition = Definition::Label(place);
        self.number(id);
        Ok(id)
    }

    /// Notes that `id` has been defined now.
    pub fn number(&mut self, id: SymbolId) {
        self.all[id.0].order = self.defined;
        self.defined += 1;
    }

    /// Gives `name` a value; a value may be replaced, a label may not.
    pub fn equate(&mut self, name: &'a str, value: Value<'a>) -> Result<(), String> {
        let id = self.get(name);
        let symbol = self.of(id);
        if matches!(symbol.definition, Definition::Label(_)) {
            return Err(format!("symbol {name} is a label"));
        }
        symbol.origin = Some(value.origin);
        symbol.predefined = false;
        symbol.definition = match value.expr.constant() {
            Some(constant) => Definition::Value(Sum { constant, ..Sum::default() }),
            None => Definition::Equated(value),
        };
        if symbol.order == usize::MAX {
            self.number(id);
        }
        Ok(())
    }

    /// Defines a symbol of the assembler's own.
    pub fn predefine(&mut self, name: &'static str, constant: i64) -> SymbolId {
        let id = self.get(name);
        let symbol = self.of(id);
        symbol.definition = Definition::Value(Sum { constant, ..Sum::default() });
        symbol.predefined = true;
        id
    }

    /// Whether `name` has been given a place or a value so far.
    pub fn is_defined(&self, name: &str) -> bool {
        let id = self.by_name.get(name);
        id.is_some_and(|id| !matches!(self.all[id.0].definition, Definition::Undefined))
    }

    /// The number that `name` stands for, if it is known.
    pub fn constant(&self, name: &str) -> Option<i64> {
        match self.all[self.by_name.get(name)?.0].definition {
            Definition::Value(Sum { constant, plus: None, minus: None }) => Some(constant),
            _ => None,
        }
    }

    /// Evaluates every symbol that is an expression. The error names the line's expression that is wrong.
    pub fn resolve(&mut self, target: &Target) -> Result<(), (Origin, String)> {
        for first in 0..self.all.len() {
            let mut stack = vec![SymbolId(first)];
            let mut pending = FxHashMap::default();
            while let Some(&id) = stack.last() {
                let Definition::Equated(value) = &self.all[id.0].definition else {
                    stack.pop();
                    continue;
                };
                let value = value.clone();
                let needed = self.unresolved(&value.expr);
                if needed.is_empty() {
                    let sum = self.expand(&value, target).map_err(|message| (value.origin, message))?;
                    self.all[id.0].definition = Definition::Value(sum);
                    stack.pop();
                    continue;
                }
                if pending.insert(id, ()).is_some() {
                    let name = &self.all[id.0].name;
                    return Err((value.origin, format!("the value of {name} depends on itself")));
                }
                stack.extend(needed);
            }
        }
        Ok(())
    }

    /// The symbols of `expr` that are expressions still.
    fn unresolved(&mut self, expr: &Expr<'a>) -> Vec<SymbolId> {
        let mut out = Vec::new();
        for node in &expr.nodes {
            if let Node::Symbol(name, _) = *node
                && name != "."
            {
                let id = self.get(name);
                if matches!(self.of(id).definition, Definition::Equated(_)) {
                    out.push(id);
                }
            }
        }
        out
    }

    /// The value of an expression; the symbols in it are resolved. An alias that other objects see is itself, since
    /// another of that name may be put in its place.
    pub fn evaluate(&mut self, value: &Value<'a>, target: &Target) -> Result<Sum, String> {
        self.value_of(value, target, false)
    }

    /// The value of an expression that a symbol gets, in which aliases are what they stand for.
    fn expand(&mut self, value: &Value<'a>, target: &Target) -> Result<Sum, String> {
        self.value_of(value, target, true)
    }

    fn value_of(&mut self, value: &Value<'a>, target: &Target, expand: bool) -> Result<Sum, String> {
        let mut stack: Vec<Sum> = Vec::new();
        for &node in &value.expr.nodes {
            let arity = match node {
                Node::Const(_) | Node::Symbol(..) => 0,
                Node::Unary(_) => 1,
                Node::Binary(_) => 2,
                Node::Call(_, count) => count,
            };
            let from = stack.len().checked_sub(arity).ok_or("broken expression")?;
            let result = match (node, &stack[from..]) {
                (Node::Const(constant), _) => Sum { constant, ..Sum::default() },
                (Node::Symbol(".", None), _) => self.at_place(value.here),
                (Node::Symbol(name, kind), _) => self.symbol(name, kind, expand),
                (Node::Unary(b'-'), [a]) if a.plus.is_some() => self.difference(&Sum::default(), a)?,
                (Node::Binary(op), [a, b]) if op == *b"+\0" => self.sum(a, b)?,
                (Node::Binary(op), [a, b]) if op == *b"-\0" => self.difference(a, b)?,
                (node, values) => {
                    let mut numbers = Vec::with_capacity(values.len());
                    for value in values {
                        if value.plus.is_some() || value.minus.is_some() {
                            return Err("expected an absolute expression".to_owned());
                        }
                        numbers.push(value.constant);
                    }
                    let constant = match (node, &numbers[..]) {
                        (Node::Call(Function::ExtraSgprs, _), &[vcc, flat_scratch, xnack]) => {
                            extra_sgprs(target, vcc != 0, flat_scratch != 0, xnack != 0)
                        }
                        _ => apply(node, &numbers).ok_or("division by zero or wrong arguments")?,
                    };
                    Sum { constant, ..Sum::default() }
                }
            };
            stack.truncate(from);
            stack.push(result);
        }
        match stack[..] {
            [sum] => Ok(sum),
            _ => Err("broken expression".to_owned()),
        }
    }

    /// The sum that means `place`, through a label of the section's start.
    fn at_place(&mut self, place: Place) -> Sum {
        // No source can write this name.
        let start = self.get(format!(" {}", place.section.0));
        self.of(start).definition = Definition::Label(Place { offset: 0, ..place });
        Sum { constant: place.offset as i64, plus: Some((start, None)), minus: None }
    }

    fn symbol(&mut self, name: &'a str, kind: Option<Specifier>, expand: bool) -> Sum {
        let id = self.get(name);
        let symbol = self.of(id);
        let seen = symbol.binding.is_some_and(|binding| binding != raw::STB_LOCAL);
        match (&symbol.definition, kind) {
            (Definition::Value(Sum { plus: Some(_), minus: None, .. }), _) if seen && !expand => {
                Sum { constant: 0, plus: Some((id, kind)), minus: None }
            }
            (Definition::Value(sum), None) => *sum,
            // An alias's address is that of what it stands for.
            (Definition::Value(sum), Some(_)) if sum.plus.is_some() && sum.minus.is_none() => {
                Sum { plus: sum.plus.map(|(target, _)| (target, kind)), ..*sum }
            }
            _ => Sum { constant: 0, plus: Some((id, kind)), minus: None },
        }
    }

    fn sum(&self, a: &Sum, b: &Sum) -> Result<Sum, String> {
        let constant = a.constant.wrapping_add(b.constant);
        match (a.plus.is_some() && b.plus.is_some(), a.minus.is_some() && b.minus.is_some()) {
            (false, false) => {
                Ok(self.folded(Sum { constant, plus: a.plus.or(b.plus), minus: a.minus.or(b.minus) }))
            }
            _ => Err("the sum of two addresses has no meaning".to_owned()),
        }
    }

    fn difference(&self, a: &Sum, b: &Sum) -> Result<Sum, String> {
        let constant = a.constant.wrapping_sub(b.constant);
        let minus = match b.plus {
            None => None,
            Some((_, Some(_))) => return Err("a part of an address cannot be subtracted".to_owned()),
            Some((id, None)) => Some(self.label(id).map_or(Base::Symbol(id), Base::Place)),
        };
        if b.minus.is_some() || (minus.is_some() && a.minus.is_some()) {
            return Err("too many addresses are subtracted".to_owned());
        }
        Ok(self.folded(Sum { constant, plus: a.plus, minus: minus.or(a.minus) }))
    }

    /// A difference inside a section is a number.
    fn folded(&self, sum: Sum) -> Sum {
        let (Some((plus, None)), Some(minus)) = (sum.plus, sum.minus) else { return sum };
        let distance = match (self.label(plus), minus) {
            (Some(a), Base::Place(b)) if a.section == b.section => a.offset as i64 - b.offset as i64,
            (_, Base::Symbol(id)) if id == plus => 0,
            _ => return sum,
        };
        Sum { constant: sum.constant.wrapping_add(distance), plus: None, minus: None }
    }

    /// The place that `sum` means, if it is one.
    pub fn place(&self, sum: &Sum) -> Option<Place> {
        let (Some((id, None)), None) = (sum.plus, sum.minus) else { return None };
        let place = self.label(id)?;
        Some(Place { offset: place.offset.wrapping_add_signed(sum.constant), ..place })
    }

    /// The place of a label, or of an alias of one.
    pub fn label(&self, id: SymbolId) -> Option<Place> {
        match self.all[id.0].definition {
            Definition::Label(place) => Some(place),
            Definition::Value(Sum { constant, plus: Some((base, None)), minus: None }) => {
                match self.all[base.0].definition {
                    Definition::Label(place) => {
                        Some(Place { offset: place.offset.wrapping_add_signed(constant), ..place })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// SGPRs that assemblers add to `.amdhsa_next_free_sgpr` of a kernel that says whether it uses VCC and, where there
/// are directives for it, FLAT_SCRATCH and XNACK_MASK.
pub(crate) fn assumed_extra_sgprs(target: &Target, vcc: bool, flat_scratch: bool) -> u32 {
    let flat_scratch = flat_scratch || !target.flat_scratch_is_sgprs();
    extra_sgprs(target, vcc, flat_scratch, target.has(Features::XNACK)) as u32
}

/// SGPRs beyond the numbered ones. `.amdhsa_reserve_xnack_mask` decides about XNACK, whatever the target's
/// setting.
///
/// LLVM's assembler also counts FLAT_SCRATCH, reserved by default, on GFX6, which has none.
pub fn extra_sgprs(target: &Target, vcc: bool, flat_scratch: bool, xnack: bool) -> i64 {
    if flat_scratch && !target.flat_scratch_is_sgprs() {
        return 4;
    }
    let mut target = *target;
    target.features.set(Features::XNACK, xnack);
    i64::from(mir::abi::descriptor::extra_sgprs(&target, vcc, flat_scratch))
}
