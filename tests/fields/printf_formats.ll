; Formats of printf in the module.
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  store i32 0, ptr addrspace(1) %o
  ret void
}
!llvm.printf.fmts = !{!0, !1}
!0 = !{!"1:1:4:%d\5Cn"}
!1 = !{!"2:2:8:4:%f %s: \22quoted\22"}
!opencl.ocl.version = !{!2}
!2 = !{i32 1, i32 2}
