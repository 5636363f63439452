//! The text of whole programs, and of modules.

use super::*;
use crate::ir::{Block, Const, Function, Inst, SymbolRef, Type, Value};
use cranelift_entity::EntityRef;

/// Something of everything that a module has, and a machine function behind it.
const PROGRAM: &str = r#"module "k.cl"
triple "amdgcn--"
module_asm "\09s_nop 0"
code_object_version 500
opencl_version 2 0
openmp
ident "clang"
printf_format "1:1:4:%d"
file "k.cl"
type { i8, i64 }
type [3 x { i8, i64 }]
type <{ i8, i64 }>
global @lds internal addrspace(3) size 256 align 16 init ""
global @"a b" weak hidden addrspace(1) constant size 8 align 8 section ".data" init "0011" [0: 8 @f + 4, 8: 4 relative @f + -12]
alias @second internal = @lds + 16
used @f
lds @k 256 bytes gds 4 dynamic [0: @lds]
lds @f 0 bytes

define kernel void @k(v0: ptr addrspace(1) noalias align 16 dereferenceable 4 byref { i8, i64 } "out", v1: i32 in $s16) internal hidden convergent section ".text.k" loc 0 1 2
    "amdgpu-waves-per-eu" = "1,2"
    kernel_arg 1 "out" "none" "int*" "int*" ""
    reqd_work_group_size 64 1 1
    vec_type_hint "float4"
    lds_kernel_id 2
    inputs dispatch_ptr workgroup_id_y {
block0:
  v3: i1 = icmp eq v1, i32 7 !loc 0 3 1
  br v3, block2, block3(i32 7)
block3(v5: i32):
  v8: i32 = call @f(v5, i32 7) !loc 0 4 1 !site device zeroext [inreg align 4, _, sret byval { i8, i64 }] variadic 1 musttail !places [$v30, $s16, 8] graphics tail
  store v0, v8 addrspace(1) align 4
  jump block2
block2 no_unroll:
  ret
constants v2 = i32 7, v6 = float 0x3f800000, v7 = <2 x i32> (i32 7, i32 7)
tables 12 values 9 instructions 5 blocks
}

declare amdgpu_ps noundef i32 @f(v0: i32, v1: i32 ...)
    ps_inputs 0x3 0x1
    arguments_end 5

function k, linear
  sym0 = #fn1
mbb0:
  wave end
"#;

fn parsed(text: &str) -> Program {
    parse_program(text, "test").unwrap_or_else(|error| panic!("{error}: {:?}", error.location))
}

#[test]
fn programs_read_back() {
    let program = parsed(PROGRAM);
    assert_eq!(print_program(&program.module, &program.functions), PROGRAM);
    let k = &program.module.functions.values().next().unwrap();
    assert_eq!((k.values.len(), k.insts.len(), k.blocks.len()), (12, 9, 5));
    // What is made from now on goes on where it was.
    let mut k: Function = (*k).clone();
    assert_eq!(k.int(Type::I32, 7), Value::new(2));
    assert_eq!(k.int(Type::I32, 8), Value::new(12));
    assert_eq!(k.add_block(), Block::new(5));
    assert!(k.call_sites.keys().chain(k.call_layouts.keys()).all(|&inst| inst == Inst::new(2)));
    assert_eq!(k.find_constant(Type::F32, &Const::Float(0x3f80_0000)), Some(Value::new(6)));
    assert_eq!(program.module.types.aggregates.len(), 3);
    assert_eq!(program.functions[0].symbols.values().next(), Some(&SymbolRef::Func(crate::ir::Func::new(1))));
}

#[test]
fn symbols_of_machine_code_are_the_modules() {
    let text = PROGRAM.replace("#fn1", "#fn2");
    let error = parse_program(&text, "test").expect_err("there are two functions");
    assert_eq!(error.message, "expected a symbol of the module");
    let text = PROGRAM.replace("function k", "function k, source #global0");
    let error = parse_program(&text, "test").expect_err("a variable has no code");
    assert_eq!(error.message, "expected a function");
}

#[test]
fn a_module_ends_where_machine_code_begins() {
    let error = ir::parse_module(PROGRAM, "test").expect_err("machine code is no part of a module");
    assert_eq!(error.message, "expected a definition");
}

#[test]
fn constants_are_there_once() {
    let text = |line: &str| format!("define kernel void @k() {{\nblock0:\n  ret\n{line}\n}}\n");
    for (line, message) in [
        ("constants v0 = i32 1, v1 = i32 1", "constant is there twice"),
        ("constants v0 = i32 1, v0 = i32 2", "v0 is defined twice"),
        ("constants v0 = i32", "expected a constant"),
        ("block0:\n  ret", "block0 is there twice"),
        ("tables 99999999 values 0 instructions 0 blocks", "table is too large"),
    ] {
        assert_eq!(ir::parse_module(&text(line), "test").expect_err(line).message, message);
    }
}

#[test]
fn damaged_programs_are_refused_or_mean_something() {
    let read_again = |text: &str| {
        if let Ok(program) = parse_program(text, "test") {
            let printed = print_program(&program.module, &program.functions);
            let again = parse_program(&printed, "test").map(|p| print_program(&p.module, &p.functions));
            assert_eq!(again.as_ref(), Ok(&printed), "{text}");
        }
    };
    (0..PROGRAM.len()).for_each(|end| read_again(&PROGRAM[..end]));
    for at in 0..PROGRAM.len() {
        for byte in ["9", "x", "(", "\"", "\n", ""] {
            read_again(&format!("{}{byte}{}", &PROGRAM[..at], &PROGRAM[at + 1..]));
        }
    }
}
