//! Creates a context and ends: what LLVM costs every start of the program.
use frontend as _;

fn main() {
    let context = inkwell::context::Context::create();
    println!("{}", context.i32_type());
}
