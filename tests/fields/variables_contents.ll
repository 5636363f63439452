; Contents of every kind.
@bytes = addrspace(1) global [5 x i8] c"abc\00\FF", align 1
@zero = addrspace(1) global [100 x i32] zeroinitializer, align 16
@floats = addrspace(1) global <{ half, float, double }> <{ half 1.0, float -0.5, double 3.5 }>
@mixed = addrspace(1) global { i8, i64, [3 x i16] } { i8 1, i64 -2, [3 x i16] [i16 3, i16 4, i16 5] }, align 8
@table = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 16
@string = private unnamed_addr addrspace(4) constant [6 x i8] c"hello\00", align 1
@four = private unnamed_addr addrspace(4) constant i32 77, align 4
@eight = private unnamed_addr addrspace(4) constant i64 78, align 8
@sixteen = private unnamed_addr addrspace(4) constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 16
@odd = addrspace(1) global i24 -3, align 4
@wide = addrspace(1) global i128 12345678901234567890123, align 16
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) {
  %a = getelementptr [6 x i8], ptr addrspace(4) @string, i32 0, i32 %i
  %x = load i8, ptr addrspace(4) %a
  %b = getelementptr [4 x i32], ptr addrspace(4) @sixteen, i32 0, i32 %i
  %y = load i32, ptr addrspace(4) %b
  %f = load volatile i32, ptr addrspace(4) @four
  %e = load volatile i64, ptr addrspace(4) @eight
  store volatile i8 %x, ptr addrspace(1) %o
  store volatile i32 %y, ptr addrspace(1) %o
  store volatile i32 %f, ptr addrspace(1) %o
  store volatile i64 %e, ptr addrspace(1) %o
  ret void
}
