; Arguments that have names in OpenCL's metadata.
define amdgpu_kernel void @k(ptr addrspace(1) %0, i32 %1) !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !3 !kernel_arg_type_qual !4 !kernel_arg_name !5 {
  store i32 %1, ptr addrspace(1) %0
  ret void
}
!1 = !{i32 1, i32 0}
!2 = !{!"none", !"none"}
!3 = !{!"uint*", !"uint"}
!4 = !{!"restrict", !""}
!5 = !{!"out", !"value"}
!opencl.ocl.version = !{!6}
!6 = !{i32 1, i32 2}
