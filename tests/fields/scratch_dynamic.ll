; A stack object whose size only the run knows.
define amdgpu_kernel void @k(ptr addrspace(1) %o, i32 %n) {
entry:
  %c = icmp ugt i32 %n, 100
  br i1 %c, label %more, label %end
more:
  %a = alloca i32, i32 %n, align 4, addrspace(5)
  store volatile i32 %n, ptr addrspace(5) %a
  %x = load volatile i32, ptr addrspace(5) %a
  store i32 %x, ptr addrspace(1) %o
  br label %end
end:
  ret void
}
