; The other kinds of images.
define amdgpu_kernel void @k(ptr addrspace(4) %a, ptr addrspace(4) %b, ptr addrspace(4) %c, ptr addrspace(4) %d, ptr addrspace(4) %e, ptr addrspace(4) %f, ptr addrspace(4) %g, ptr addrspace(4) %h) !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !3 !kernel_arg_type_qual !4 {
  ret void
}
!1 = !{i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1}
!2 = !{!"read_only", !"read_only", !"read_only", !"read_only", !"read_only", !"read_only", !"read_only", !"read_only"}
!3 = !{!"image1d_t", !"image1d_array_t", !"image2d_array_t", !"image2d_depth_t", !"image2d_array_depth_t", !"image2d_msaa_t", !"image2d_array_msaa_t", !"image2d_msaa_depth_t"}
!4 = !{!"", !"", !"", !"", !"", !"", !"", !""}
