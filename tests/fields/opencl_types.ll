; Names of OpenCL's types, and base types that differ from them.
define amdgpu_kernel void @k(i8 %a, i8 %b, i16 %c, i32 %d, i64 %e, <4 x float> %f, <3 x i32> %g, ptr addrspace(1) %o) !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 !kernel_arg_base_type !4 !kernel_arg_type_qual !5 {
  store i32 %d, ptr addrspace(1) %o
  ret void
}
!1 = !{i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 1}
!2 = !{!"none", !"none", !"none", !"none", !"none", !"none", !"none", !"none"}
!3 = !{!"char", !"byte", !"ushort", !"my_int", !"ulong", !"float4", !"uint3", !"my_int*"}
!4 = !{!"char", !"uchar", !"ushort", !"int", !"ulong", !"float __attribute__((ext_vector_type(4)))", !"uint __attribute__((ext_vector_type(3)))", !"int*"}
!5 = !{!"", !"", !"", !"const", !"", !"", !"", !"const restrict volatile"}
!opencl.ocl.version = !{!6}
!6 = !{i32 2, i32 0}
