//! Constructors and destructors of a module: `@llvm.global_ctors` and `@llvm.global_dtors`.
//!
//! Each function of a table becomes an entry of a section `.init_array` or `.fini_array` (with its priority
//! in the name, unless that is the default), which linkers join to one array. The runtime runs a kernel
//! before all others and one after them; such a kernel walks over the joined array, whose ends are symbols of
//! the linker. Modules that define kernels of these names keep theirs.
//!
//! Sources: LLVM language reference, "The 'llvm.global_ctors' Global Variable"; what `llc` 22 writes for both
//! tables; AMDGPU usage guide, kernel metadata `.kind`.

use mir::ir::{
    AddrSpace, BlockCall, CallConv, Callee, Const, Function, Global, GlobalData, InstKind, IntPredicate,
    Linkage, MemAccess, Module, SymbolRef, Type, Value,
};

/// One of the two tables.
pub(crate) struct Table {
    /// The variable.
    pub name: &'static str,
    /// Section of its entries.
    pub section: &'static str,
    /// Kernel that runs them.
    kernel: &'static str,
    /// Attribute by which the runtime finds the kernel.
    attribute: &'static str,
    /// Symbols of the array's ends.
    ends: [&'static str; 2],
    /// Whether entries run from the first to the last.
    forward: bool,
}

/// Both tables.
pub(crate) static TABLES: [Table; 2] = [
    Table {
        name: "llvm.global_ctors",
        section: ".init_array",
        kernel: "amdgcn.device.init",
        attribute: "device-init",
        ends: ["__init_array_start", "__init_array_end"],
        forward: true,
    },
    Table {
        name: "llvm.global_dtors",
        section: ".fini_array",
        kernel: "amdgcn.device.fini",
        attribute: "device-fini",
        ends: ["__fini_array_start", "__fini_array_end"],
        forward: false,
    },
];

/// The table that the variable `name` is.
pub(crate) fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

/// Adds the kernel that runs the functions of `table`, unless the module has one of that name.
pub(crate) fn add_kernel(module: &mut Module, table: &Table) {
    if module.functions.values().any(|function| function.name == table.kernel) {
        return;
    }
    let [start, end] = table.ends.map(|name| array_end(module, name));
    let mut function = walk(table, start, end);
    function.linkage = Linkage::WeakOdr;
    function.attributes.insert("amdgpu-flat-work-group-size".into(), "1,1".into());
    function.attributes.insert(table.attribute.into(), String::new());
    module.functions.push(function);
}

/// The symbol `name`, which the linker defines.
fn array_end(module: &mut Module, name: &str) -> Global {
    match module.globals.iter().find(|(_, global)| global.name == name) {
        Some((known, _)) => known,
        None => {
            module.globals.push(GlobalData { size_bytes: 0, align_log2: 3, ..GlobalData::external(name) })
        }
    }
}

/// Calls every function between `start` and `end`.
///
/// ```text
/// entry:   if start == end, done
/// head(p): call the function at p (backwards: at p - 8, from the end on); next; done at the other end
/// ```
fn walk(table: &Table, start: Global, end: Global) -> Function {
    let mut f = Function::new(table.kernel, CallConv::Kernel, Type::Void);
    let pointer = Type::ptr(AddrSpace::GLOBAL);
    let symbol = |f: &mut Function, global| f.constant(pointer, Const::Symbol(SymbolRef::Global(global), 0));
    let (start, end) = (symbol(&mut f, start), symbol(&mut f, end));
    let [entry, head, done] = [(); 3].map(|()| f.add_block());
    let at = f.add_block_param(head, pointer);
    let (from, to) = if table.forward { (start, end) } else { (end, start) };
    let result = |value: Option<Value>, or: Value| value.unwrap_or(or);

    let same = |f: &mut Function, block, args| {
        f.append(block, InstKind::Icmp { predicate: IntPredicate::Eq, args }, Type::I1)
    };
    let step = |f: &mut Function, offset| {
        f.append(head, InstKind::PtrAdd { base: at, index: None, scale: 0, offset }, pointer)
    };
    let to_head = |value| BlockCall { block: head, args: std::iter::once(value).collect() };
    if let Some(cond) = same(&mut f, entry, [from, to]) {
        let kind = InstKind::Branch { cond, if_true: BlockCall::to(done), if_false: to_head(from) };
        f.append(entry, kind, Type::Void);
    }
    let before = if table.forward { at } else { result(step(&mut f, -8), at) };
    let mem = MemAccess::plain(AddrSpace::GLOBAL, 3);
    let load = InstKind::Load { ptr: before, mem };
    if let Some(callback) = f.append(head, load, Type::ptr(AddrSpace::FLAT)) {
        let kind = InstKind::Call { callee: Callee::Indirect(callback), args: [].into_iter().collect() };
        f.append(head, kind, Type::Void);
    }
    let next = if table.forward { result(step(&mut f, 8), at) } else { before };
    if let Some(cond) = same(&mut f, head, [next, to]) {
        let kind = InstKind::Branch { cond, if_true: BlockCall::to(done), if_false: to_head(next) };
        f.append(head, kind, Type::Void);
    }
    f.append(done, InstKind::Ret { value: None }, Type::Void);
    f
}
