; A block that a kernel enqueues, and a kernel that enqueues.
define amdgpu_kernel void @block(ptr addrspace(1) %o) #0 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @caller(ptr addrspace(1) %o) #1 {
  store i32 0, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "runtime-handle"="__block_handle" }
attributes #1 = { "calls-enqueue-kernel" }
!opencl.ocl.version = !{!0}
!0 = !{i32 2, i32 0}
