; The subject of gcnc-mutate: calls, variables, branches, LDS, arguments with names and types.
@table = addrspace(1) global [2 x ptr addrspace(1)] [ptr addrspace(1) @table, ptr addrspace(1) null]
@lds = internal addrspace(3) global [16 x i32] poison
@extern = external addrspace(1) global i32
@weak = weak addrspace(1) global i32 7
declare void @other()
define internal i32 @own(i32 %x) noinline {
  %y = mul i32 %x, 3
  ret i32 %y
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %x, <3 x i16> %v, ptr addrspace(3) %l) !kernel_arg_type !0 !kernel_arg_base_type !0 !kernel_arg_access_qual !1 !kernel_arg_type_qual !2 !kernel_arg_name !3 !reqd_work_group_size !4 {
  %t = load i32, ptr addrspace(1) @table
  %e = load i32, ptr addrspace(1) @extern
  %w = load i32, ptr addrspace(1) @weak
  %s = add i32 %t, %e
  %c = icmp eq i32 %x, 0
  br i1 %c, label %a, label %b
a:
  %o = call i32 @own(i32 %w)
  %at = getelementptr i32, ptr addrspace(3) @lds, i32 %x
  store i32 %o, ptr addrspace(3) %at
  store i32 %s, ptr addrspace(1) %p
  br label %b
b:
  call void @other()
  ret void
}
!0 = !{!"int*", !"uint", !"short3", !"int*"}
!1 = !{!"none", !"none", !"none", !"none"}
!2 = !{!"const", !"", !"", !"restrict"}
!3 = !{!"p", !"x", !"v", !"l"}
!4 = !{i32 64, i32 1, i32 1}
