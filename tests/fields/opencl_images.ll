; Images, samplers, queues and pipes.
define amdgpu_kernel void @k(ptr addrspace(4) %a, ptr addrspace(4) %b, ptr addrspace(4) %c, ptr addrspace(4) %d, ptr addrspace(1) %q, ptr addrspace(1) %p, ptr addrspace(1) %r) !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !3 !kernel_arg_type_qual !4 {
  ret void
}
!1 = !{i32 1, i32 1, i32 1, i32 0, i32 1, i32 1, i32 1}
!2 = !{!"read_only", !"write_only", !"read_write", !"none", !"none", !"write_only", !"read_only"}
!3 = !{!"image2d_t", !"image3d_t", !"image1d_buffer_t", !"sampler_t", !"queue_t", !"int", !"int4"}
!4 = !{!"", !"", !"", !"", !"", !"pipe", !"pipe"}
!opencl.ocl.version = !{!5}
!5 = !{i32 2, i32 0}
