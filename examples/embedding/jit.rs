//! Compiles a kernel at run time, with a deadline, and says what launching it takes.

use gcnc::{CancelToken, Compiler, Error};
use std::time::Duration;

const KERNEL: &str = r#"
define amdgpu_kernel void @scale(ptr addrspace(1) %data, float %factor) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr float, ptr addrspace(1) %data, i32 %id
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, %factor
  store float %new, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
"#;

/// Compiles [`KERNEL`] and prints what launching it takes.
pub fn main() -> Result<(), Error> {
    let compiler = Compiler::builder("gfx900").opt_level(2).memory_limit(1 << 30).build()?;
    let token = CancelToken::new(); // any thread may pull it: token.cancel()
    let object = compiler
        .job()
        .name("scale.ll")
        .within(Duration::from_secs(5))
        .cancelled_by(&token)
        .compile(KERNEL)?;
    // `object.bytes` is what `hipModuleLoadData` takes.
    for kernel in &object.kernels {
        println!("{}: {} bytes of arguments, {} VGPRs", kernel.name, kernel.kernarg_bytes, kernel.vgprs);
        for argument in kernel.arguments.iter().filter(|argument| !argument.is_hidden()) {
            println!("  at {:2}: {} bytes, {}", argument.offset, argument.size, argument.kind);
        }
    }
    Ok(())
}
