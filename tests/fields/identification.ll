; The producer's name.
source_filename = "identification.cl"
define amdgpu_kernel void @k() {
  ret void
}
!llvm.ident = !{!0, !0}
!0 = !{!"a producer 1.0"}
