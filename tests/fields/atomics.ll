; Atomic operations and a barrier.
@l = internal addrspace(3) global i32 undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %x) {
  %a = atomicrmw add ptr addrspace(1) %o, i32 %x syncscope("agent") seq_cst
  %b = atomicrmw umax ptr addrspace(3) @l, i32 %a syncscope("workgroup") acq_rel
  call void @llvm.amdgcn.s.barrier()
  store i32 %b, ptr addrspace(1) %o
  ret void
}
declare void @llvm.amdgcn.s.barrier()
