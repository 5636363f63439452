; A variable without any code.
@v = addrspace(1) global i32 42, align 4
