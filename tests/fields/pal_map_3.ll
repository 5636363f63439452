; Pipeline metadata as a map of version 3.0, of shaders and a function that is called.
; systems: amdpal
; since: 22
define amdgpu_cs void @c(i32 inreg %x, ptr addrspace(1) %o) {
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_ps void @p(float %x, ptr addrspace(1) %o) "amdgpu-ieee"="false" {
  store float %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_gs void @g(float %x, ptr addrspace(1) %o) {
  store float %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_gfx void @f(float %x, ptr addrspace(1) %o) "amdgpu-ieee"="false" {
  store float %x, ptr addrspace(1) %o
  ret void
}
!amdgpu.pal.metadata.msgpack = !{!0}
!0 = !{!"\82\B0amdpal.pipelines\91\82\AF.xgl_cache_info\80\A4.api\A6Vulkan\AEamdpal.version\92\03\00"}
