; Attributes that rule out hidden arguments one by one.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %i) #0 {
  %h = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %p = getelementptr i8, ptr addrspace(4) %h, i32 %i
  %x = load i32, ptr addrspace(4) %p
  store i32 %x, ptr addrspace(1) %o
  ret void
}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
attributes #0 = { "amdgpu-no-hostcall-ptr" "amdgpu-no-default-queue" "amdgpu-no-completion-action" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-heap-ptr" }
