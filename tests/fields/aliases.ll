; Other names of variables and functions.
@v = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@second = alias i32, getelementptr (i8, ptr addrspace(1) @v, i64 4)
@weak = weak alias [4 x i32], ptr addrspace(1) @v
@hidden = hidden alias [4 x i32], ptr addrspace(1) @v
@g = alias void (), ptr @f
define void @f() {
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  %x = load i32, ptr addrspace(1) @second
  store i32 %x, ptr addrspace(1) %o
  ret void
}
