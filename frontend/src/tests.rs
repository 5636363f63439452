//! Tests over small modules in text form.

use crate::{read, read_module};
use mir::ErrorKind;

const SMALL: &str = "
target triple = \"amdgcn-amd-amdhsa\"
define amdgpu_kernel void @k(ptr addrspace(1) noalias %out, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %exit, label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr inbounds [4 x float], ptr addrspace(1) %out, i32 %i, i32 2
  store float 1.0, ptr addrspace(1) %p, align 4
  %j = add nuw i32 %i, 1
  %d = icmp ult i32 %j, %n
  br i1 %d, label %loop, label %exit
exit:
  ret void
}
";

#[test]
fn reads_a_loop() {
    let module = read_module(SMALL.as_bytes(), "small.ll").unwrap();
    let kernel = module.functions.values().next().unwrap();
    assert_eq!((kernel.layout.len(), kernel.params.len()), (3, 2));
    assert_eq!(kernel.blocks[kernel.layout[1]].params.len(), 1);
}

#[test]
fn malformed_input_has_a_position() {
    let error = read(b"define void @f() {\n  %x = add i32 1,\n}\n", "bad.ll").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert_eq!(error.location.map(|l| (l.line, l.column)), Some((3, 1)));
}
