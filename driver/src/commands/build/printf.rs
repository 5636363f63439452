//! `__printf_alloc`, of which LLVM's passes in clang make calls of OpenCL's and HIP's `printf`: ROCm's device libraries have it, libclc does not.
//!
//! The runtime's buffer begins with how many bytes behind its header are taken and how large it is, both in 32 bits. Room is taken by moving the first
//! number; where there is none the result is null, and the call prints nothing.
//!
//! Source: what LLVM makes of such calls, and the AMDGPU usage guide, "amdhsa.printf" and hidden arguments (`hidden_printf_buffer`).

/// Bytes of the buffer's header.
const HEADER: u32 = 8;

/// The function as text of LLVM IR for a code object version. It stays although nothing calls it yet.
pub fn text(version: u8) -> String {
    let argument = if version >= 5 { 72 } else { 24 };
    format!(
        r#"source_filename = "printf"
target datalayout = "{layout}"
target triple = "amdgcn-amd-amdhsa"

define weak_odr hidden ptr addrspace(1) @__printf_alloc(i32 %bytes) #0 {{
entry:
  %arguments = call align 8 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %place = getelementptr inbounds i8, ptr addrspace(4) %arguments, i64 {argument}
  %buffer = load ptr addrspace(1), ptr addrspace(4) %place, align 8, !invariant.load !0
  %size.place = getelementptr inbounds i8, ptr addrspace(1) %buffer, i64 4
  %size = load i32, ptr addrspace(1) %size.place, align 4
  %size.wide = zext i32 %size to i64
  %bytes.wide = zext i32 %bytes to i64
  %start = load atomic i32, ptr addrspace(1) %buffer syncscope("agent") monotonic, align 4
  br label %try
try:
  %taken = phi i32 [ %start, %entry ], [ %seen, %take ]
  %taken.wide = zext i32 %taken to i64
  %with.header = add i64 %taken.wide, {HEADER}
  %end = add i64 %with.header, %bytes.wide
  %is.full = icmp ugt i64 %end, %size.wide
  br i1 %is.full, label %full, label %take
take:
  %more = add i32 %taken, %bytes
  %answer = cmpxchg ptr addrspace(1) %buffer, i32 %taken, i32 %more syncscope("agent") monotonic monotonic, align 4
  %seen = extractvalue {{ i32, i1 }} %answer, 0
  %is.ours = extractvalue {{ i32, i1 }} %answer, 1
  br i1 %is.ours, label %done, label %try
done:
  %room = getelementptr inbounds i8, ptr addrspace(1) %buffer, i64 %with.header
  ret ptr addrspace(1) %room
full:
  ret ptr addrspace(1) null
}}
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
attributes #0 = {{ nounwind norecurse }}
!0 = !{{}}
"#,
        layout = frontend::DATA_LAYOUT
    )
}

/// Whether bitcode may call `printf`: its table of names holds names as they are.
pub fn is_used(bitcode: &[u8]) -> bool {
    bitcode.windows(b"printf".len()).any(|window| window == b"printf")
}
