; Pipeline metadata as a map of version 3.0, of functions alone.
; systems: amdpal
; since: 22
@l = internal addrspace(3) global [5 x i32] undef, align 4
define amdgpu_gfx void @f(float %x, ptr addrspace(1) %o) {
  store float %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_gfx void @g(i32 %i, float %x) {
  %p = getelementptr [5 x i32], ptr addrspace(3) @l, i32 0, i32 %i
  store volatile float %x, ptr addrspace(3) %p
  ret void
}
!amdgpu.pal.metadata.msgpack = !{!0}
!0 = !{!"\82\B0amdpal.pipelines\91\80\AEamdpal.version\92\03\00"}
