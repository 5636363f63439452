; Assembly beside functions.
module asm ".globl extra"
module asm ".type extra,@object"
module asm ".data"
module asm "extra:"
module asm "  .long 5"
module asm "  .size extra, 4"
define amdgpu_kernel void @k() {
  ret void
}
