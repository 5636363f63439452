; Hints and sizes of work-groups.
define amdgpu_kernel void @required() !reqd_work_group_size !1 {
  ret void
}
define amdgpu_kernel void @hinted() !work_group_size_hint !2 !vec_type_hint !3 {
  ret void
}
define amdgpu_kernel void @floats() !vec_type_hint !4 {
  ret void
}
define amdgpu_kernel void @unsigned_vectors() !vec_type_hint !5 {
  ret void
}
!1 = !{i32 8, i32 4, i32 2}
!2 = !{i32 64, i32 1, i32 1}
!3 = !{i32 undef, i32 1}
!4 = !{float undef, i32 0}
!5 = !{<4 x i16> undef, i32 0}
!opencl.ocl.version = !{!6}
!6 = !{i32 1, i32 2}
