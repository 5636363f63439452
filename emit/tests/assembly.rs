//! Assembly text: LLVM's assembler makes the object of it that the object writer makes directly.

use emit::{FinalFunction, emit_asm};
use mir::ir::{
    self, AddrSpace, CallConv, GlobalData, Initializer, InitializerRelocation, Linkage, Module, SymbolRef,
    Type, Visibility,
};
use mir::isa::Opcode;
use mir::machine::{
    self, Condition, Edge, EntryValue, Inst, Operand, PReg, RelocKind, Resources, Terminator,
};
use mir::target::Target;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use std::process::Command;

fn target(name: &str, version: u8) -> Target {
    let processor = Target::processor_by_name(name).expect("a processor of the table");
    Target { code_object_version: version, ..Target::new(processor) }
}

fn global(name: &str, linkage: Linkage, is_constant: bool, init: Option<Initializer>) -> GlobalData {
    GlobalData {
        name: name.into(),
        linkage,
        visibility: Visibility::Default,
        space: AddrSpace::GLOBAL,
        size_bytes: 40,
        align_log2: 3,
        is_constant,
        section: String::new(),
        init,
    }
}

/// Two kernels with scratch, a loop, loads and addresses, and variables of every kind.
fn sample(target: &Target) -> (Module, Vec<FinalFunction>) {
    let mut module = Module::default();
    let bytes = |bytes: &[u8]| Initializer { bytes: bytes.to_vec(), relocations: Vec::new() };
    let mut mixed = vec![0; 33];
    (mixed[0], mixed[32]) = (9, 255);
    let data = module.globals.push(global("data", Linkage::External, false, Some(bytes(&mixed))));
    let private = module.globals.push(global("", Linkage::Private, true, Some(bytes(&[1, 2, 3]))));
    module.globals.push(global("zeros", Linkage::Internal, false, Some(bytes(&[]))));
    let relocation = |offset_bytes, symbol, addend| InitializerRelocation {
        offset_bytes,
        width_bytes: 8,
        symbol: SymbolRef::Global(symbol),
        addend,
        is_relative: false,
    };
    let table = Initializer {
        bytes: vec![0; 40],
        relocations: vec![
            relocation(8, data, -4),
            relocation(24, private, 1),
            InitializerRelocation { is_relative: true, ..relocation(32, data, 3) },
        ],
    };
    module.globals.push(global("odd name", Linkage::WeakAny, true, Some(table)));
    let external = module.globals.push(global("elsewhere", Linkage::External, false, None));
    let mut functions = Vec::new();
    for name in ["first", "second"] {
        let mut source = ir::Function::new(name, CallConv::Kernel, Type::Void);
        source.add_param(Type::ptr(AddrSpace::GLOBAL), "p");
        let func = module.functions.push(source);
        let mut f = machine::Function::new(name, CallConv::Kernel, func);
        for value in [
            EntryValue::PrivateSegmentBuffer,
            EntryValue::KernargSegmentPtr,
            EntryValue::WorkgroupIdX,
            EntryValue::ScratchWaveOffset,
            EntryValue::WorkitemIdX,
            EntryValue::WorkitemIdY,
        ] {
            f.entry.request(value, None);
        }
        f.kernarg = mir::abi::kernarg::layout(&module, &module.functions[func], target);
        f.resources = Resources { scratch_bytes: 16, ..Resources::default() };
        let symbol = f.symbols.push(SymbolRef::Global(external));
        let half = |addend, kind| Operand::Symbol { symbol, addend, kind };
        let (s, v) = (|n, d| Operand::preg(PReg::sgpr(n), d), |n, d| Operand::preg(PReg::vgpr(n), d));
        let (entry, body, exit) = (f.add_block(), f.add_block(), f.add_block());
        f.blocks[entry].insts = vec![
            Inst::new(Opcode::S_LOAD_DWORDX2, [s(10, 2), s(4, 2), Operand::Imm(0)]),
            Inst::new(
                Opcode::PC_ADDRESS,
                [s(12, 2), half(4, RelocKind::GotPcRel32Lo), half(12, RelocKind::GotPcRel32Hi)],
            ),
            Inst::new(Opcode::S_LOAD_DWORDX2, [s(12, 2), s(12, 2), Operand::Imm(0)]),
        ];
        f.blocks[body].insts = vec![
            Inst::new(Opcode::V_MOV_B32, [v(2, 1), s(10, 1)]),
            Inst::new(Opcode::V_MOV_B32, [v(3, 1), Operand::Imm(0x1234_5678)]),
            Inst::new(Opcode::BUFFER_STORE_DWORD, [v(3, 1), Operand::Off, s(0, 4), Operand::Imm(0)]),
            Inst::new(Opcode::S_CMP_LG_U32, [s(10, 1), Operand::Imm(3)]),
        ];
        f.blocks[exit].insts = vec![Inst::new(Opcode::V_ADD_F32, [v(0, 1), v(1, 1), s(12, 1)])];
        let edge = |block| Edge { block, args: Default::default() };
        for data in f.blocks.values_mut() {
            data.tail_start = data.insts.len() as u32;
        }
        f.blocks[entry].term = Terminator::Jump;
        f.blocks[entry].wave_succs.push(edge(body));
        f.blocks[body].term = Terminator::Uniform(Condition::Scc1);
        f.blocks[body].wave_succs.extend([edge(body), edge(exit)]);
        f.blocks[exit].term = Terminator::EndProgram;
        functions.push(gcnc::finish(f, &module, target).expect("finishes"));
    }
    (module, functions)
}

/// Contents and relocations of the sections that matter.
fn sections(bytes: &[u8]) -> Vec<(String, Vec<u8>, Vec<(u64, String, i64)>)> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let mut out = Vec::new();
    for name in [".text", ".rodata", ".data", ".data.rel.ro", ".note"] {
        let section = file.section_by_name(name).expect("a section");
        let relocations = section.relocations().map(|(offset, relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { panic!("{relocation:?}") };
            let symbol = file.symbol_by_index(index).expect("a symbol");
            (offset, symbol.name().unwrap_or_default().to_owned(), relocation.addend())
        });
        let relocations = relocations.collect();
        out.push((name.to_owned(), section.data().expect("data").to_vec(), relocations));
    }
    out
}

#[test]
fn llvm_assembles_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let v3 = "--amdhsa-code-object-version=3";
    for (tool, processor, version, extra) in [
        ("llvm-mc-16", "gfx900", 3, v3),
        ("llvm-mc-16", "gfx803", 3, v3),
        ("llvm-mc-22", "gfx900", 4, "--triple=amdgcn-amd-amdhsa"),
        ("llvm-mc-22", "gfx900", 5, "--triple=amdgcn-amd-amdhsa"),
        ("llvm-mc-22", "gfx803", 5, "--triple=amdgcn-amd-amdhsa"),
    ] {
        let target = target(processor, version);
        let (module, functions) = sample(&target);
        let text = emit_asm(&module, &functions, &target).expect("emits");
        std::fs::write(path("a.s"), &text).expect("writable");
        let output = Command::new(tool)
            .args([
                "-triple=amdgcn-amd-amdhsa",
                &format!("-mcpu={processor}"),
                "-filetype=obj",
                "-o",
                &path("a.o"),
            ])
            .args((processor == "gfx900").then_some("-mattr=-xnack"))
            .args((extra == v3).then_some(extra))
            .arg(path("a.s"))
            .output();
        let Ok(output) = output else { continue };
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
        let theirs = std::fs::read(path("a.o")).expect("an object");
        let ours = emit::emit_object(&module, &functions, &target).expect("emits");
        for (ours, theirs) in sections(&ours).into_iter().zip(sections(&theirs)) {
            assert_eq!(ours, theirs, "{processor} V{version}\n{text}");
        }
        let flags = |bytes: &[u8]| object::File::parse(bytes).expect("an ELF file").flags();
        assert_eq!(flags(&ours), flags(&theirs), "{processor} V{version}");
    }
}
