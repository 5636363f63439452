; Formats of printf and a read of the hidden arguments.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %p = getelementptr i8, ptr addrspace(4) %h, i32 %i
  %x = load i32, ptr addrspace(4) %p
  store i32 %x, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
!llvm.printf.fmts = !{!0}
!0 = !{!"1:1:4:%d\5Cn"}
