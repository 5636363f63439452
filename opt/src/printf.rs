//! Calls of OpenCL's `printf` become stores into the buffer that the runtime reads after the kernel.
//!
//! A call takes room with `__printf_alloc(bytes)`, a function of the device library, and where there is room stores the number of
//! its format and the arguments, each in a multiple of four bytes. The format itself goes into the metadata
//! ([`Module::printf_formats`]): `NUMBER:ARGUMENTS:SIZE[0]:...:FORMAT`. The result is 0, or -1 where the buffer was full.
//!
//! Formats and the strings that `%s` names must be constants of the module, the latter are stored by value. Not for OpenMP, which has
//! a function `printf` of its own. Cost: linear in code and strings.
//!
//! Sources: AMDGPU usage guide, `amdhsa.printf`; OpenCL C 2.0, 6.13.13; what LLVM 22 makes of such calls.

use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::{SmallVec, smallvec};
use std::fmt::Write as _;

/// The runtime's buffer is one of dwords.
const DWORD: u64 = 4;
/// Letters that end a conversion in a format.
const CONVERSIONS: &[u8] = b"cdieEfFgGaAosuxXp";
/// What is printed for a string that is no constant.
const UNKNOWN_STRING: &[u8] = b"???";
/// What tells an empty string from none.
const EMPTY_STRING: u64 = 0xffff_ff00;

/// Rewrites all calls of `printf` in `module`.
///
/// # Errors
/// A format that is no constant string of the module ([`mir::ErrorKind::Unsupported`]).
pub fn lower(module: &mut Module) -> Result<()> {
    let concerned = |f: &Function| {
        f.name == "printf" && f.is_declaration() && f.variadic && f.params.len() == 1 && f.ret == Type::I32
    };
    let Some(printf) = module.functions.iter().find(|(_, f)| concerned(f)).map(|(func, _)| func) else {
        return Ok(());
    };
    if module.is_openmp {
        return Ok(());
    }
    let callers: Vec<Func> =
        module.functions.iter().filter(|(_, f)| calls(f, printf)).map(|(func, _)| func).collect();
    if callers.is_empty() {
        return Ok(());
    }
    let alloc = printf_alloc(module);
    for func in callers {
        let empty = Function::new(String::new(), CallConv::Device, Type::Void);
        let mut function = std::mem::replace(&mut module.functions[func], empty);
        let lowered = Lowering { function: &mut function, module, printf, alloc }.run();
        let lowered = lowered.map_err(|error| error.in_function(&function.name));
        module.functions[func] = function;
        lowered?;
    }
    Ok(())
}

fn calls(function: &Function, callee: Func) -> bool {
    let insts = function.layout.iter().flat_map(|&block| &function.blocks[block].insts);
    insts.into_iter().any(|&inst| is_call_of(function, inst, callee))
}

fn is_call_of(function: &Function, inst: Inst, printf: Func) -> bool {
    let InstKind::Call { callee, .. } = &function.insts[inst].kind else { return false };
    let named = match callee {
        Callee::Func(func) => *func == printf,
        // Called as a function of another type.
        Callee::Indirect(pointer) => {
            matches!(function.as_const(*pointer), Some(&Const::Symbol(SymbolRef::Func(func), 0)) if func == printf)
        }
    };
    named && function.call_sites.get(&inst).is_none_or(|site| !site.no_builtin)
}

/// The device library's function that gives room in the buffer, declared if it is not there.
fn printf_alloc(module: &mut Module) -> Func {
    const NAME: &str = "__printf_alloc";
    if let Some((func, _)) = module.functions.iter().find(|(_, f)| f.name == NAME) {
        return func;
    }
    let mut declaration = Function::new(NAME, CallConv::Device, Type::ptr(AddrSpace::GLOBAL));
    declaration.add_param(Type::I32, "");
    module.functions.push(declaration)
}

/// The letters of the conversions in `format`, in order. `%%` is none.
fn conversions(format: &[u8]) -> Vec<u8> {
    let mut letters = Vec::new();
    let mut start = 0;
    for (at, letter) in format.iter().enumerate().filter(|(_, letter)| CONVERSIONS.contains(letter)) {
        let between = &format[start..at];
        if let Some(last) = between.iter().rposition(|&c| c == b'%') {
            // An even run of percent signs prints half as many.
            let run = between[..=last].iter().rev().take_while(|&&c| c == b'%').count();
            if run % 2 == 1 {
                letters.push(*letter);
            }
        }
        start = at + 1;
    }
    letters
}

/// `format` as the metadata has it. A colon separates fields there.
fn escaped(format: &[u8]) -> String {
    let mut text = String::new();
    for c in String::from_utf8_lossy(format).chars() {
        match c {
            '\x07' => text.push_str("\\a"),
            '\x08' => text.push_str("\\b"),
            '\x0c' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\x0b' => text.push_str("\\v"),
            ':' => text.push_str("\\72"),
            c => text.push(c),
        }
    }
    text
}

/// What is stored for an argument: values, one behind the other.
struct Stored {
    values: SmallVec<[Value; 1]>,
    bytes: u64,
}

struct Lowering<'a> {
    function: &'a mut Function,
    module: &'a mut Module,
    printf: Func,
    alloc: Func,
}

impl Lowering<'_> {
    fn run(mut self) -> Result<()> {
        let mut layout = Vec::with_capacity(self.function.layout.len());
        for block in self.function.layout.clone() {
            layout.push(block);
            let printf = self.printf;
            let concerned = |&inst: &Inst| is_call_of(self.function, inst, printf);
            if !self.function.blocks[block].insts.iter().any(concerned) {
                continue;
            }
            // Instructions move to the current end of the block, which calls split.
            let mut current = block;
            for inst in std::mem::take(&mut self.function.blocks[block].insts) {
                if is_call_of(self.function, inst, printf) {
                    current = self.call(inst, current, &mut layout)?;
                } else {
                    self.function.blocks[current].insts.push(inst);
                }
            }
        }
        self.function.layout = layout;
        Ok(())
    }

    /// Replaces a call, behind what is in `block`; the block in which the code goes on.
    fn call(&mut self, inst: Inst, block: Block, layout: &mut Vec<Block>) -> Result<Block> {
        self.function.call_sites.remove(&inst);
        let InstKind::Call { args, .. } = self.function.insts[inst].kind.clone() else { return Ok(block) };
        let Some((&format, args)) = args.split_first() else {
            return Err(Diagnostic::malformed("printf without a format"));
        };
        let success = self.function.int(Type::I32, 0);
        if matches!(self.function.as_const(format), Some(Const::Undef | Const::Poison | Const::Zero)) {
            // Nothing to print, and nobody to tell.
            self.result(inst, block, success, success, None);
            return Ok(block);
        }
        let Some(format) = self.constant_string(format) else {
            return Err(Diagnostic::unsupported("the format of printf is no constant string of the module"));
        };
        let letters = conversions(&format);
        let mut stored = Vec::with_capacity(args.len());
        for (&arg, &letter) in args.iter().zip(&letters) {
            stored.push(self.argument(arg, letter, block)?);
        }
        let number = self.module.printf_formats.len() + 1;
        let mut text = format!("{number}:{}:", args.len());
        for argument in &stored {
            let _ = write!(text, "{}:", argument.bytes);
        }
        text.push_str(&escaped(&format));
        self.module.printf_formats.push(text);

        let bytes = DWORD + stored.iter().map(|s| s.bytes).sum::<u64>();
        let bytes = self.function.int(Type::I32, bytes);
        let global = Type::ptr(AddrSpace::GLOBAL);
        let alloc = InstKind::Call { callee: Callee::Func(self.alloc), args: smallvec![bytes] };
        let room = self.append(block, alloc, global)?;
        let null = self.function.constant(global, Const::Zero);
        let compare = InstKind::Icmp { predicate: IntPredicate::Ne, args: [room, null] };
        let has_room = self.append(block, compare, Type::I1)?;
        let failure = self.function.int(Type::I32, u64::MAX);
        self.result(inst, block, success, failure, Some(has_room));

        let (filled, rest) = (self.function.add_block(), self.function.add_block());
        let branch = InstKind::Branch {
            cond: has_room,
            if_true: BlockCall::to(filled),
            if_false: BlockCall::to(rest),
        };
        self.function.append(block, branch, Type::Void);
        let number = self.function.int(Type::I32, number as u64);
        let mut at = 0;
        for value in std::iter::once(number).chain(stored.iter().flat_map(|s| s.values.iter().copied())) {
            let step = InstKind::PtrAdd { base: room, index: None, scale: 0, offset: at };
            let place = self.append(filled, step, global)?;
            let mem = MemAccess::plain(AddrSpace::GLOBAL, DWORD.ilog2() as u8);
            self.function.append(filled, InstKind::Store { ptr: place, value, mem }, Type::Void);
            at += self.module.types.alloc_bytes(self.function.ty(value)) as i64;
        }
        self.function.append(filled, InstKind::Jump { target: BlockCall::to(rest) }, Type::Void);
        layout.extend([filled, rest]);
        Ok(rest)
    }

    /// Turns `inst` into its result: `success` where `cond` holds or is none.
    fn result(&mut self, inst: Inst, block: Block, success: Value, failure: Value, cond: Option<Value>) {
        if self.function.insts[inst].result.is_none() {
            return;
        }
        let cond = cond.unwrap_or_else(|| self.function.int(Type::I1, 1));
        self.function.insts[inst].kind = InstKind::Select { cond, if_true: success, if_false: failure };
        self.function.blocks[block].insts.push(inst);
    }

    /// What is stored for `arg`, which is printed by the conversion `letter`; code goes to the end of `block`.
    fn argument(&mut self, arg: Value, letter: u8, block: Block) -> Result<Stored> {
        let ty = self.function.ty(arg);
        let is_pointer = matches!(ty, Type::Scalar(Scalar::Ptr(_)));
        if letter == b's' && is_pointer {
            let text = self.constant_string(arg).unwrap_or_else(|| UNKNOWN_STRING.to_vec());
            return Ok(self.string(&text));
        }
        let arg = match letter {
            b'f' => self.as_single(arg),
            _ => arg,
        };
        let arg = self.as_dwords(arg, letter, block)?;
        let bytes = self.module.types.alloc_bytes(self.function.ty(arg));
        Ok(Stored { values: smallvec![arg], bytes })
    }

    /// A string by value, without its end.
    fn string(&mut self, text: &[u8]) -> Stored {
        let dword = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let words: Vec<u64> = text.chunks(DWORD as usize).map(dword).collect();
        let words = if words.is_empty() { vec![EMPTY_STRING] } else { words };
        let values: SmallVec<[Value; 1]> =
            words.into_iter().map(|word| self.function.int(Type::I32, word)).collect();
        Stored { bytes: DWORD * values.len() as u64, values }
    }

    /// The `float` behind a `double` that C's promotion made, or the nearest to a constant: `%f` prints six digits.
    fn as_single(&mut self, arg: Value) -> Value {
        if self.function.ty(arg) != Type::F64 {
            return arg;
        }
        if let Some(&Const::Float(bits)) = self.function.as_const(arg) {
            let single = f64::from_bits(bits) as f32;
            return self.function.constant(Type::F32, Const::Float(single.to_bits().into()));
        }
        match self.function.def_inst(arg).map(|inst| &self.function.insts[inst].kind) {
            Some(&InstKind::Cast { op: CastOp::FpExt, arg }) if self.function.ty(arg) == Type::F32 => arg,
            _ => arg,
        }
    }

    /// `arg` with elements of 32 bits where it does not fill dwords.
    fn as_dwords(&mut self, arg: Value, letter: u8, block: Block) -> Result<Value> {
        let ty = self.function.ty(arg);
        if self.module.types.alloc_bytes(ty).is_multiple_of(DWORD) {
            return Ok(arg);
        }
        let (scalar, op) = match ty.scalar() {
            Some(Scalar::Float(_)) => (Scalar::Float(Float::Single), CastOp::FpExt),
            Some(Scalar::Int(_)) if b"xXuo".contains(&letter) => (Scalar::Int(32), CastOp::ZExt),
            Some(Scalar::Int(_)) => (Scalar::Int(32), CastOp::SExt),
            _ => {
                return Err(Diagnostic::unsupported(
                    "an argument of printf that is neither number nor pointer",
                ));
            }
        };
        let wide = match ty {
            Type::Vector(_, lanes) => Type::Vector(scalar, lanes),
            _ => Type::Scalar(scalar),
        };
        self.append(block, InstKind::Cast { op, arg }, wide)
    }

    /// The bytes up to the first NUL that a pointer to a constant variable leads to.
    fn constant_string(&self, mut pointer: Value) -> Option<Vec<u8>> {
        let mut offset = 0i64;
        loop {
            if let Some(&Const::Symbol(SymbolRef::Global(global), addend)) = self.function.as_const(pointer) {
                let data = &self.module.globals[global];
                let init =
                    data.init.as_ref().filter(|init| data.is_constant && init.relocations.is_empty())?;
                let start = usize::try_from(offset.checked_add(addend)?).ok()?;
                // What an initialiser leaves out is zero.
                let bytes = init.bytes.get(start..).unwrap_or_default();
                return Some(bytes.iter().copied().take_while(|&byte| byte != 0).collect());
            }
            match self.function.insts[self.function.def_inst(pointer)?].kind {
                InstKind::Cast { op: CastOp::AddrSpaceCast | CastOp::BitCast, arg } => pointer = arg,
                InstKind::PtrAdd { base, index: None, offset: step, .. } => {
                    offset = offset.checked_add(step)?;
                    pointer = base;
                }
                _ => return None,
            }
        }
    }

    /// Makes an instruction that has a result.
    fn append(&mut self, block: Block, kind: InstKind, ty: Type) -> Result<Value> {
        let value = self.function.append(block, kind, ty);
        value.ok_or_else(|| Diagnostic::defect("an instruction without its result"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_counted_as_the_runtime_counts_them() {
        assert_eq!(conversions(b"%d %5.2f%%x %-3s %%%p %v4hlf"), b"dfspf");
        assert_eq!(conversions(b"no conversion"), b"");
        assert_eq!(escaped(b"a:b\n%d\x07"), "a\\72b\\n%d\\a");
    }
}
