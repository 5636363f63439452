; Volatile and constant pointers.
define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(4) %b, ptr addrspace(3) %c) !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !3 !kernel_arg_type_qual !4 {
  store volatile i32 0, ptr addrspace(1) %a
  ret void
}
!1 = !{i32 1, i32 2, i32 3}
!2 = !{!"none", !"none", !"none"}
!3 = !{!"int*", !"int*", !"float4*"}
!4 = !{!"volatile", !"const", !""}
!opencl.ocl.version = !{!5}
!5 = !{i32 1, i32 2}
