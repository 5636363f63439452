; A trap, and one for debuggers.
define amdgpu_kernel void @trap(ptr addrspace(1) %o, i32 %x) {
  %c = icmp eq i32 %x, 0
  br i1 %c, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  store i32 %x, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @debug(ptr addrspace(1) %o, i32 %x) {
  call void @llvm.debugtrap()
  store i32 %x, ptr addrspace(1) %o
  ret void
}
declare void @llvm.trap()
declare void @llvm.debugtrap()
