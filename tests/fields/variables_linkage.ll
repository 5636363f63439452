; Variables of every linkage and visibility.
@plain = addrspace(1) global i32 1, align 4
@own = internal addrspace(1) global i32 2, align 4
@private = private addrspace(1) global i32 3, align 4
@weak = weak addrspace(1) global i32 4, align 4
@weak_odr = weak_odr addrspace(1) global i32 5, align 4
@hidden = hidden addrspace(1) global i32 6, align 4
@protected = protected addrspace(1) global i32 7, align 4
@common = common addrspace(1) global i32 0, align 4
@other = external addrspace(1) global i32, align 4
@perhaps = extern_weak addrspace(1) global i32, align 4
@set = external protected addrspace(1) externally_initialized global i32, align 4
define amdgpu_kernel void @k() {
  store volatile i32 1, ptr addrspace(1) @plain
  store volatile i32 1, ptr addrspace(1) @own
  store volatile i32 1, ptr addrspace(1) @private
  store volatile i32 1, ptr addrspace(1) @weak
  store volatile i32 1, ptr addrspace(1) @hidden
  store volatile i32 1, ptr addrspace(1) @protected
  store volatile i32 1, ptr addrspace(1) @common
  store volatile i32 1, ptr addrspace(1) @other
  store volatile i32 1, ptr addrspace(1) @perhaps
  store volatile i32 1, ptr addrspace(1) @set
  ret void
}
