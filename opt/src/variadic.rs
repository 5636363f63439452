//! Functions with variable arguments become functions with one more parameter: a generic pointer to those
//! arguments.
//!
//! The caller puts them into a stack object, one behind the other, each at a multiple of four bytes. A list
//! of arguments (`va_list`) is a pointer to the next one: `va_start` stores the parameter, `va_copy` copies
//! it, `va_end` does nothing.
//!
//! Runs first, so that nothing else knows of variable arguments. Cost: linear.
//!
//! Source: what LLVM 22 makes of such functions for AMDGPU (ExpandVariadics).

use mir::ir::*;
use smallvec::SmallVec;

/// log2 of the alignment of arguments.
const SLOT_ALIGN_LOG2: u8 = 2;
/// log2 of the alignment of a list.
const LIST_ALIGN_LOG2: u8 = 3;

/// Rewrites all functions and calls of `module`.
pub fn lower(module: &mut Module) {
    let types = &module.types;
    for function in module.functions.values_mut() {
        let arguments = std::mem::take(&mut function.variadic)
            .then(|| function.add_param(Type::ptr(AddrSpace::FLAT), "varargs"));
        if !function.is_declaration() {
            Lowering { function, types, arguments, objects: Vec::new() }.run();
        }
    }
}

struct Lowering<'a> {
    function: &'a mut Function,
    types: &'a TypeTable,
    /// The function's own variable arguments.
    arguments: Option<Value>,
    /// Stack objects for arguments of calls, to be placed in the entry.
    objects: Vec<Inst>,
}

impl Lowering<'_> {
    fn run(mut self) {
        for index in 0..self.function.layout.len() {
            let block = self.function.layout[index];
            let concerned = |&inst: &Inst| match &self.function.insts[inst].kind {
                InstKind::Call { .. } => {
                    self.function.call_sites.get(&inst).is_some_and(|site| site.variadic.is_some())
                }
                InstKind::Intrinsic { intrinsic, .. } => {
                    matches!(intrinsic, Intrinsic::VaStart | Intrinsic::VaCopy)
                }
                _ => false,
            };
            if !self.function.blocks[block].insts.iter().any(concerned) {
                continue;
            }
            for inst in std::mem::take(&mut self.function.blocks[block].insts) {
                self.lower(block, inst);
            }
        }
        if !self.objects.is_empty() {
            let entry = self.function.entry();
            self.function.blocks[entry].insts.splice(0..0, self.objects);
        }
    }

    /// Appends what becomes of `inst`.
    fn lower(&mut self, block: Block, inst: Inst) {
        let flat = Type::ptr(AddrSpace::FLAT);
        match self.function.insts[inst].kind.clone() {
            InstKind::Intrinsic { intrinsic: Intrinsic::VaStart, args } => {
                let list = args[0];
                let value = match self.arguments {
                    Some(arguments) => arguments,
                    None => self.function.constant(flat, Const::Poison),
                };
                let mem = self.list_access(list);
                self.function.append(block, InstKind::Store { ptr: list, value, mem }, Type::Void);
                return;
            }
            InstKind::Intrinsic { intrinsic: Intrinsic::VaCopy, args } => {
                let (to, from) = (args[0], args[1]);
                let mem = self.list_access(from);
                if let Some(value) = self.function.append(block, InstKind::Load { ptr: from, mem }, flat) {
                    let mem = self.list_access(to);
                    self.function.append(block, InstKind::Store { ptr: to, value, mem }, Type::Void);
                }
                return;
            }
            InstKind::Call { callee, args } => {
                let site = self.function.call_sites.get_mut(&inst);
                if let Some(site) = site
                    && let Some(fixed) = site.variadic.take()
                {
                    let fixed = (fixed as usize).min(args.len());
                    let passed: Vec<CallArgument> = site.args.drain(fixed.min(site.args.len())..).collect();
                    site.args.push(CallArgument::default());
                    let pointer = match (site.tail, self.arguments) {
                        // Such a call hands on what the caller was given.
                        (TailCall::Must, Some(arguments)) => arguments,
                        _ => {
                            // The arguments are in the caller's frame.
                            site.tail = TailCall::No;
                            self.pass(block, &args[fixed..], &passed)
                        }
                    };
                    let mut args: SmallVec<[Value; 4]> = SmallVec::from_slice(&args[..fixed]);
                    args.push(pointer);
                    self.function.insts[inst].kind = InstKind::Call { callee, args };
                }
            }
            _ => {}
        }
        self.function.blocks[block].insts.push(inst);
    }

    fn list_access(&self, list: Value) -> MemAccess {
        MemAccess::plain(self.function.ty(list).addr_space().unwrap_or(AddrSpace::FLAT), LIST_ALIGN_LOG2)
    }

    /// Stores arguments in a stack object; its address.
    fn pass(&mut self, block: Block, args: &[Value], passed: &[CallArgument]) -> Value {
        let (flat, private) = (Type::ptr(AddrSpace::FLAT), Type::ptr(AddrSpace::PRIVATE));
        if args.is_empty() {
            return self.function.constant(flat, Const::Zero);
        }
        let alloca = InstKind::Alloca { size_bytes: 0, count: None, align_log2: SLOT_ALIGN_LOG2 };
        let alloca = self.function.make_inst(alloca, private, InstFlags::empty());
        let Some(object) = self.function.insts[alloca].result else {
            return self.function.constant(flat, Const::Poison);
        };
        let mut end = 0u64;
        for (n, &arg) in args.iter().enumerate() {
            let offset = end.next_multiple_of(1 << SLOT_ALIGN_LOG2);
            let step = InstKind::PtrAdd { base: object, index: None, scale: 0, offset: offset as i64 };
            let place = self.function.append(block, step, private).unwrap_or(object);
            let copied = passed.get(n).and_then(|passed| passed.indirect).filter(|i| i.by_value);
            let ty = copied.map_or(self.function.ty(arg), |indirect| indirect.ty);
            let bytes = self.types.alloc_bytes(ty);
            if copied.is_some() {
                let (len, no) = (self.function.int(Type::I64, bytes), self.function.int(Type::I1, 0));
                let args = SmallVec::from_slice(&[place, arg, len, no]);
                let copy = InstKind::Intrinsic { intrinsic: Intrinsic::Memcpy, args };
                self.function.append(block, copy, Type::Void);
            } else {
                let mem = MemAccess::plain(AddrSpace::PRIVATE, SLOT_ALIGN_LOG2);
                self.function.append(block, InstKind::Store { ptr: place, value: arg, mem }, Type::Void);
            }
            end = offset.saturating_add(bytes);
        }
        if let InstKind::Alloca { size_bytes, .. } = &mut self.function.insts[alloca].kind {
            *size_bytes = end;
        }
        self.objects.push(alloca);
        let cast = InstKind::Cast { op: CastOp::AddrSpaceCast, arg: object };
        self.function.append(block, cast, flat).unwrap_or(object)
    }
}
