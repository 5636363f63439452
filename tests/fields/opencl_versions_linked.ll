; Several versions, as linked modules have.
define amdgpu_kernel void @k(ptr addrspace(1) %o) {
  store i32 0, ptr addrspace(1) %o
  ret void
}
!opencl.ocl.version = !{!0, !0, !1}
!0 = !{i32 2, i32 0}
!1 = !{i32 1, i32 2}
