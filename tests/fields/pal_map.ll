; Pipeline metadata as a map: an API of a name and a version of 2.1.
; systems: amdpal
define amdgpu_cs void @_amdgpu_cs_main(i32 inreg %a, i32 %v) {
  ret void
}
!amdgpu.pal.metadata.msgpack = !{!0}
!0 = !{!"\82\B0amdpal.pipelines\91\81\A4.api\A6Vulkan\AEamdpal.version\92\02\01"}
