use super::*;
use crate::ir::{CallConv, IndirectParam, InstFlags, MemAccess};

fn target(version: u8) -> Target {
    let processor = Target::processor_by_name("gfx900").expect("gfx900 is in the table");
    Target { code_object_version: version, ..Target::new(processor) }
}

fn kernel() -> Function {
    Function::new("k", CallConv::Kernel, Type::Void)
}

fn global_ptr() -> Type {
    Type::ptr(AddrSpace::GLOBAL)
}

fn use_implicit(function: &mut Function, load: Option<(i64, Type)>) {
    let block = function.add_block();
    let ptr_ty = Type::ptr(AddrSpace::CONSTANT);
    let call = InstKind::Intrinsic { intrinsic: Intrinsic::ImplicitargPtr, args: Default::default() };
    let base = function.append(block, call, ptr_ty).expect("has a result");
    if let Some((offset, ty)) = load {
        let add = InstKind::PtrAdd { base, index: None, scale: 0, offset };
        let ptr = function.append(block, add, ptr_ty).expect("has a result");
        let mem = MemAccess::plain(AddrSpace::CONSTANT, 2);
        let inst = function.make_inst(InstKind::Load { ptr, mem }, ty, InstFlags::empty());
        function.blocks[block].insts.push(inst);
    }
}

fn kinds(layout: &KernargLayout) -> Vec<(u32, &'static str)> {
    layout.args.iter().filter(|a| a.param.is_none()).map(|a| (a.offset_bytes, a.value_kind)).collect()
}

/// The offsets that llc 16 prints for the same parameters.
#[test]
fn explicit_arguments_lie_as_llc_puts_them() {
    let mut module = Module::default();
    let pair = module.types.struct_of(&[Type::I32, Type::I64, Type::I8], false);
    let mut function = kernel();
    function.add_param(global_ptr(), "p");
    function.add_param(Type::I8, "b");
    function.add_param(Type::Vector(Scalar::Int(32), 3), "v");
    function.add_param(Type::ptr(AddrSpace::LOCAL), "l");
    function.params[3].align_log2 = 4;
    function.add_param(Type::ptr(AddrSpace::CONSTANT), "s");
    function.params[4].indirect = Some(IndirectParam { ty: pair, by_value: false });
    function.params[4].align_log2 = 3;
    for ty in [
        Type::F16,
        Type::I1,
        Type::I64,
        Type::ptr(AddrSpace::FLAT),
        Type::ptr(AddrSpace::PRIVATE),
        Type::int(24),
    ] {
        function.add_param(ty, "");
    }
    let layout = layout(&module, &function, &target(3));
    let got: Vec<_> = layout.args.iter().map(|a| (a.offset_bytes, a.size_bytes)).collect();
    let want =
        [(0, 8), (8, 1), (16, 16), (32, 4), (40, 24), (64, 2), (66, 1), (72, 8), (80, 8), (88, 4), (92, 4)];
    assert_eq!(got, want);
    assert_eq!((layout.size_bytes, layout.align_bytes, layout.implicit_offset), (96, 16, 96));
    assert_eq!((layout.args[3].value_kind, layout.args[3].pointee_align), ("dynamic_shared_pointer", 16));
    assert_eq!(layout.args[4].value_kind, "by_value");
    assert_eq!(layout.args[9].space, Some(AddrSpace::PRIVATE));
}

#[test]
fn v3_block_keeps_unused_slots_and_obeys_the_attribute() {
    let module = Module::default();
    let mut function = kernel();
    function.add_param(global_ptr(), "p");
    use_implicit(&mut function, Some((0, Type::I64)));
    let full = layout(&module, &function, &target(3));
    assert_eq!((full.size_bytes, full.align_bytes), (64, 8));
    assert_eq!(
        kinds(&full),
        [
            (8, "hidden_global_offset_x"),
            (16, "hidden_global_offset_y"),
            (24, "hidden_global_offset_z"),
            (32, "hidden_none"),
            (40, "hidden_none"),
            (48, "hidden_none"),
            (56, "hidden_none"),
        ]
    );
    function.attributes.insert("amdgpu-implicitarg-num-bytes".into(), "24".into());
    let short = layout(&module, &function, &target(3));
    assert_eq!((short.size_bytes, kinds(&short).len()), (32, 3));
    function.attributes.insert("amdgpu-no-implicitarg-ptr".into(), String::new());
    let none = layout(&module, &function, &target(3));
    assert_eq!((none.size_bytes, kinds(&none).len(), none.implicit_offset), (8, 0, 8));
}

#[test]
fn a_variable_index_may_reach_the_block() {
    let mut function = kernel();
    function.add_param(Type::I32, "i");
    let block = function.add_block();
    let ptr_ty = Type::ptr(AddrSpace::CONSTANT);
    let call = InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, args: Default::default() };
    let base = function.append(block, call, ptr_ty).expect("has a result");
    let add = InstKind::PtrAdd { base, index: Some(function.params[0].value), scale: 4, offset: 4 };
    let ptr = function.append(block, add, ptr_ty).expect("has a result");
    let mem = MemAccess::plain(AddrSpace::CONSTANT, 2);
    function.append(block, InstKind::Load { ptr, mem }, Type::I32);
    let found = layout(&Module::default(), &function, &target(3));
    assert_eq!((found.implicit_offset, found.size_bytes), (8, 64));
}

#[test]
fn an_escaping_pointer_asks_for_everything() {
    let mut module = Module::default();
    let mut function = kernel();
    function.add_param(Type::ptr(AddrSpace::CONSTANT), "p");
    use_implicit(&mut function, None);
    let block = function.entry();
    let base = function.insts[function.blocks[block].insts[0]].result.expect("has a result");
    let mem = MemAccess::plain(AddrSpace::GLOBAL, 3);
    let ptr = function.params[0].value;
    function.append(block, InstKind::Store { ptr, value: base, mem }, Type::Void);
    let all = layout(&module, &function, &target(3));
    let want = [
        "hidden_hostcall_buffer",
        "hidden_default_queue",
        "hidden_completion_action",
        "hidden_multigrid_sync_arg",
    ];
    assert_eq!(kinds(&all)[3..].iter().map(|k| k.1).collect::<Vec<_>>(), want);
    module.printf_formats.push("1:1:4:%d".into());
    assert_eq!(kinds(&layout(&module, &function, &target(3)))[3].1, "hidden_printf_buffer");
    let v5 = layout(&module, &function, &target(5));
    assert_eq!(v5.size_bytes, 264);
    assert!(
        kinds(&v5).contains(&(80, "hidden_printf_buffer"))
            && kinds(&v5).contains(&(88, "hidden_hostcall_buffer"))
    );
}

#[test]
fn v5_block_obeys_attributes_alone() {
    let module = Module::default();
    let mut function = kernel();
    let all = layout(&module, &function, &target(5));
    assert_eq!((all.size_bytes, all.align_bytes), (256, 8));
    for name in ["hostcall-ptr", "multigrid-sync-arg", "heap-ptr", "completion-action", "queue-ptr"] {
        function.attributes.insert(format!("amdgpu-no-{name}"), String::new());
    }
    let names = kinds(&layout(&module, &function, &target(5)));
    assert_eq!(names.len(), 14);
    assert_eq!(names[12..], [(64, "hidden_grid_dims"), (104, "hidden_default_queue")]);
    function.attributes.insert("amdgpu-no-implicitarg-ptr".into(), String::new());
    let unused = layout(&module, &function, &target(5));
    assert_eq!((unused.size_bytes, unused.align_bytes, unused.args.len()), (0, 4, 0));
}

#[test]
fn a_header_comes_first_without_a_system() {
    let mut function = kernel();
    function.add_param(Type::I32, "i");
    function.add_param(Type::I64, "l");
    let bare = Target { os: Os::Unknown, ..target(5) };
    let offsets: Vec<_> =
        layout(&Module::default(), &function, &bare).args.iter().map(|a| a.offset_bytes).collect();
    assert_eq!(offsets, [36, 44]);
}

/// After lowering, the block is read through the kernarg pointer.
#[test]
fn lowered_reads_count() {
    let module = Module::default();
    let lowered = |offset: i64| {
        let mut function = kernel();
        function.add_param(global_ptr(), "p");
        use_implicit(&mut function, Some((offset, Type::I32)));
        let first = function.blocks[function.entry()].insts[0];
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::KernargSegmentPtr, args: Default::default() };
        function.insts[first].kind = kind;
        layout(&module, &function, &target(3))
    };
    assert_eq!((lowered(4).size_bytes, kinds(&lowered(4)).len()), (8, 0));
    assert_eq!((lowered(8).size_bytes, kinds(&lowered(8))[4].1), (64, "hidden_none"));
    assert_eq!(kinds(&lowered(8 + 32))[4], (40, "hidden_default_queue"));
}

#[test]
fn opencl_type_names_decide_the_kind() {
    let space = Some(AddrSpace::CONSTANT);
    assert_eq!(value_kind(space, "", "image2d_array_depth_t"), "image");
    assert_eq!(value_kind(space, "", "sampler_t"), "sampler");
    assert_eq!(value_kind(space, "", "queue_t"), "queue");
    assert_eq!(value_kind(Some(AddrSpace::GLOBAL), "const pipe", "int"), "pipe");
    assert_eq!(value_kind(space, "const", "int*"), "global_buffer");
    assert_eq!(value_kind(None, "", "float"), "by_value");
}
