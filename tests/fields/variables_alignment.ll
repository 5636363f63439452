; Alignments, stated and not.
@a = addrspace(1) global i8 1
@b = addrspace(1) global i64 1
@c = addrspace(1) global [3 x i32] [i32 1, i32 2, i32 3]
@d = addrspace(1) global i8 1, align 4096
@e = addrspace(1) global <4 x i32> <i32 1, i32 2, i32 3, i32 4>
@f = addrspace(1) global [0 x i32] zeroinitializer
@g = addrspace(1) global {} zeroinitializer
