; Floating-point numbers.
define amdgpu_kernel void @k(half %a, float %b, double %c, ptr addrspace(1) %o) {
  %x = fpext float %b to double
  %y = fadd double %x, %c
  store double %y, ptr addrspace(1) %o
  ret void
}
