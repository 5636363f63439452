; Kernels that call the functions of callee.ll. Uniform arguments are not among them: callers that llc compiles put those elsewhere
; than its own callees look for them.
target triple = "amdgcn-amd-amdhsa"
%S = type { i32, i64, [5 x i32], i8 }
declare i32 @fact(i32)
declare i64 @fib(i32)
declare i32 @many([32 x i32], i64, i32, <3 x half>, double)
declare i32 @byval(i32, ptr addrspace(5) byval(%S) align 8, i32)
declare [40 x i32] @big(i32, i32)
declare void @sret(ptr addrspace(5) sret(%S) align 8, i32)
declare { half, i1, <3 x i16>, double, i8 } @mixed(i1 zeroext, i8 signext, i16, half, <3 x i16>, double, i8 zeroext)
declare i32 @ids(i32)
declare i32 @f_add(i32, i32)
declare i32 @f_mul(i32, i32)
declare i32 @f_ids(i32, i32)
declare i32 @apply(ptr, i32, i32)
declare i32 @unif(i32 inreg, i32, i64 inreg, i32 inreg)
declare i32 @press(i32, ptr addrspace(1))
declare i32 @f_leaf(i32)
declare i32 @useframe(i32)
declare i32 @generic(ptr)
declare i32 @retdiv(i32)
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.memset.p5.i32(ptr addrspace(5), i8, i32, i1)
define amdgpu_kernel void @k_fact(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %m = and i32 %v, 7
 %r = call i32 @fact(i32 %m)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_fib(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %m = and i32 %v, 7
 %f = call i64 @fib(i32 %m)
 %r = trunc i64 %f to i32
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_ids(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %r = call i32 @ids(i32 %v)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_many(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %a0 = insertvalue [32 x i32] zeroinitializer, i32 %v, 0
%a1 = insertvalue [32 x i32] %a0, i32 %w, 1
%a2 = insertvalue [32 x i32] %a1, i32 %w, 2
%a3 = insertvalue [32 x i32] %a2, i32 %w, 3
%a4 = insertvalue [32 x i32] %a3, i32 %w, 4
%a5 = insertvalue [32 x i32] %a4, i32 %w, 5
%a6 = insertvalue [32 x i32] %a5, i32 %w, 6
%a7 = insertvalue [32 x i32] %a6, i32 %w, 7
%a8 = insertvalue [32 x i32] %a7, i32 %w, 8
%a9 = insertvalue [32 x i32] %a8, i32 %w, 9
%a10 = insertvalue [32 x i32] %a9, i32 %w, 10
%a11 = insertvalue [32 x i32] %a10, i32 %w, 11
%a12 = insertvalue [32 x i32] %a11, i32 %w, 12
%a13 = insertvalue [32 x i32] %a12, i32 %w, 13
%a14 = insertvalue [32 x i32] %a13, i32 %w, 14
%a15 = insertvalue [32 x i32] %a14, i32 %w, 15
%a16 = insertvalue [32 x i32] %a15, i32 %w, 16
%a17 = insertvalue [32 x i32] %a16, i32 %w, 17
%a18 = insertvalue [32 x i32] %a17, i32 %w, 18
%a19 = insertvalue [32 x i32] %a18, i32 %w, 19
%a20 = insertvalue [32 x i32] %a19, i32 %w, 20
%a21 = insertvalue [32 x i32] %a20, i32 %w, 21
%a22 = insertvalue [32 x i32] %a21, i32 %w, 22
%a23 = insertvalue [32 x i32] %a22, i32 %w, 23
%a24 = insertvalue [32 x i32] %a23, i32 %w, 24
%a25 = insertvalue [32 x i32] %a24, i32 %w, 25
%a26 = insertvalue [32 x i32] %a25, i32 %w, 26
%a27 = insertvalue [32 x i32] %a26, i32 %w, 27
%a28 = insertvalue [32 x i32] %a27, i32 %w, 28
%a29 = insertvalue [32 x i32] %a28, i32 %w, 29
%a30 = insertvalue [32 x i32] %a29, i32 %w, 30
%a31 = insertvalue [32 x i32] %a30, i32 %v, 31
 %z = zext i32 %v to i64
 %zz = mul i64 %z, 12345678901
 %sv = and i32 %v, 255
 %h = sitofp i32 %sv to half
 %hv = insertelement <3 x half> zeroinitializer, half %h, i32 2
 %dd = sitofp i32 %sv to double
 %r = call i32 @many([32 x i32] %a31, i64 %zz, i32 %w, <3 x half> %hv, double %dd)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_byval(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %s = alloca %S, addrspace(5)
 %p1 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 1
 %p2 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 2, i32 4
 %p3 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 3
 call void @llvm.memset.p5.i32(ptr addrspace(5) %s, i8 0, i32 40, i1 false)
 store i32 %v, ptr addrspace(5) %s
 %z = zext i32 %v to i64
 %zz = mul i64 %z, 12345678901
 store i64 %zz, ptr addrspace(5) %p1
 store i32 %w, ptr addrspace(5) %p2
 store i8 200, ptr addrspace(5) %p3
 %r0 = call i32 @byval(i32 %v, ptr addrspace(5) byval(%S) align 8 %s, i32 %w)
 %keep = load i32, ptr addrspace(5) %s
 %r = add i32 %r0, %keep
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_big(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %bb = call [40 x i32] @big(i32 %v, i32 %w)
 %x0 = extractvalue [40 x i32] %bb, 0
 %x1 = extractvalue [40 x i32] %bb, 39
 %x2 = extractvalue [40 x i32] %bb, 20
 %y0 = mul i32 %x0, %x1
 %r = add i32 %y0, %x2
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_sret(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %s = alloca %S, addrspace(5)
 call void @sret(ptr addrspace(5) sret(%S) align 8 %s, i32 %v)
 %p1 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 1
 %x0 = load i32, ptr addrspace(5) %s
 %x1 = load i64, ptr addrspace(5) %p1
 %x2 = lshr i64 %x1, 20
 %x3 = trunc i64 %x2 to i32
 %r = add i32 %x0, %x3
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_mixed(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %bit = icmp sgt i32 %v, 5
 %t8 = trunc i32 %v to i8
 %t16 = trunc i32 %v to i16
 %sv = and i32 %v, 255
 %h = sitofp i32 %sv to half
 %ev = insertelement <3 x i16> <i16 1, i16 2, i16 3>, i16 %t16, i32 1
 %dd = sitofp i32 %sv to double
 %m = call { half, i1, <3 x i16>, double, i8 } @mixed(i1 zeroext %bit, i8 signext %t8, i16 %t16, half %h, <3 x i16> %ev, double %dd, i8 zeroext %t8)
 %m0 = extractvalue { half, i1, <3 x i16>, double, i8 } %m, 0
 %m1 = extractvalue { half, i1, <3 x i16>, double, i8 } %m, 1
 %m2 = extractvalue { half, i1, <3 x i16>, double, i8 } %m, 2
 %m3 = extractvalue { half, i1, <3 x i16>, double, i8 } %m, 3
 %m4 = extractvalue { half, i1, <3 x i16>, double, i8 } %m, 4
 %i0 = bitcast half %m0 to i16
 %z0 = zext i16 %i0 to i32
 %z1 = zext i1 %m1 to i32
 %e1 = extractelement <3 x i16> %m2, i32 1
 %e2 = extractelement <3 x i16> %m2, i32 2
 %z2 = zext i16 %e1 to i32
 %z22 = zext i16 %e2 to i32
 %z3 = fptosi double %m3 to i32
 %z4 = zext i8 %m4 to i32
 %q0 = mul i32 %z0, 31
 %q1 = add i32 %q0, %z1
 %q2 = mul i32 %q1, 31
 %q3 = add i32 %q2, %z2
 %q4 = mul i32 %q3, 31
 %q5 = add i32 %q4, %z22
 %q6 = xor i32 %q5, %z3
 %r = add i32 %q6, %z4
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_indirect(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %c = and i32 %v, 3
 %c0 = icmp eq i32 %c, 0
 %c1 = icmp eq i32 %c, 1
 %fa = select i1 %c0, ptr @f_add, ptr @f_mul
 %fb = select i1 %c1, ptr @f_ids, ptr %fa
 %r0 = call i32 %fb(i32 %v, i32 %w)
 %r1 = call i32 @apply(ptr @f_mul, i32 %r0, i32 %w)
 %r = call i32 @apply(ptr %fa, i32 %r1, i32 %w)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_press(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %r = call i32 @press(i32 %v, ptr addrspace(1) %pa)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_kpress(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %q0 = getelementptr i32, ptr addrspace(1) %pa, i32 0
 %l0 = load i32, ptr addrspace(1) %q0
%q1 = getelementptr i32, ptr addrspace(1) %pa, i32 1
 %l1 = load i32, ptr addrspace(1) %q1
%q2 = getelementptr i32, ptr addrspace(1) %pa, i32 2
 %l2 = load i32, ptr addrspace(1) %q2
%q3 = getelementptr i32, ptr addrspace(1) %pa, i32 3
 %l3 = load i32, ptr addrspace(1) %q3
%q4 = getelementptr i32, ptr addrspace(1) %pa, i32 4
 %l4 = load i32, ptr addrspace(1) %q4
%q5 = getelementptr i32, ptr addrspace(1) %pa, i32 5
 %l5 = load i32, ptr addrspace(1) %q5
%q6 = getelementptr i32, ptr addrspace(1) %pa, i32 6
 %l6 = load i32, ptr addrspace(1) %q6
%q7 = getelementptr i32, ptr addrspace(1) %pa, i32 7
 %l7 = load i32, ptr addrspace(1) %q7
%q8 = getelementptr i32, ptr addrspace(1) %pa, i32 8
 %l8 = load i32, ptr addrspace(1) %q8
%q9 = getelementptr i32, ptr addrspace(1) %pa, i32 9
 %l9 = load i32, ptr addrspace(1) %q9
%q10 = getelementptr i32, ptr addrspace(1) %pa, i32 10
 %l10 = load i32, ptr addrspace(1) %q10
%q11 = getelementptr i32, ptr addrspace(1) %pa, i32 11
 %l11 = load i32, ptr addrspace(1) %q11
%q12 = getelementptr i32, ptr addrspace(1) %pa, i32 12
 %l12 = load i32, ptr addrspace(1) %q12
%q13 = getelementptr i32, ptr addrspace(1) %pa, i32 13
 %l13 = load i32, ptr addrspace(1) %q13
%q14 = getelementptr i32, ptr addrspace(1) %pa, i32 14
 %l14 = load i32, ptr addrspace(1) %q14
%q15 = getelementptr i32, ptr addrspace(1) %pa, i32 15
 %l15 = load i32, ptr addrspace(1) %q15
%q16 = getelementptr i32, ptr addrspace(1) %pa, i32 16
 %l16 = load i32, ptr addrspace(1) %q16
%q17 = getelementptr i32, ptr addrspace(1) %pa, i32 17
 %l17 = load i32, ptr addrspace(1) %q17
%q18 = getelementptr i32, ptr addrspace(1) %pa, i32 18
 %l18 = load i32, ptr addrspace(1) %q18
%q19 = getelementptr i32, ptr addrspace(1) %pa, i32 19
 %l19 = load i32, ptr addrspace(1) %q19
%q20 = getelementptr i32, ptr addrspace(1) %pa, i32 20
 %l20 = load i32, ptr addrspace(1) %q20
%q21 = getelementptr i32, ptr addrspace(1) %pa, i32 21
 %l21 = load i32, ptr addrspace(1) %q21
%q22 = getelementptr i32, ptr addrspace(1) %pa, i32 22
 %l22 = load i32, ptr addrspace(1) %q22
%q23 = getelementptr i32, ptr addrspace(1) %pa, i32 23
 %l23 = load i32, ptr addrspace(1) %q23
%q24 = getelementptr i32, ptr addrspace(1) %pa, i32 24
 %l24 = load i32, ptr addrspace(1) %q24
%q25 = getelementptr i32, ptr addrspace(1) %pa, i32 25
 %l25 = load i32, ptr addrspace(1) %q25
%q26 = getelementptr i32, ptr addrspace(1) %pa, i32 26
 %l26 = load i32, ptr addrspace(1) %q26
%q27 = getelementptr i32, ptr addrspace(1) %pa, i32 27
 %l27 = load i32, ptr addrspace(1) %q27
%q28 = getelementptr i32, ptr addrspace(1) %pa, i32 28
 %l28 = load i32, ptr addrspace(1) %q28
%q29 = getelementptr i32, ptr addrspace(1) %pa, i32 29
 %l29 = load i32, ptr addrspace(1) %q29
%q30 = getelementptr i32, ptr addrspace(1) %pa, i32 30
 %l30 = load i32, ptr addrspace(1) %q30
%q31 = getelementptr i32, ptr addrspace(1) %pa, i32 31
 %l31 = load i32, ptr addrspace(1) %q31
%q32 = getelementptr i32, ptr addrspace(1) %pa, i32 32
 %l32 = load i32, ptr addrspace(1) %q32
%q33 = getelementptr i32, ptr addrspace(1) %pa, i32 33
 %l33 = load i32, ptr addrspace(1) %q33
%q34 = getelementptr i32, ptr addrspace(1) %pa, i32 34
 %l34 = load i32, ptr addrspace(1) %q34
%q35 = getelementptr i32, ptr addrspace(1) %pa, i32 35
 %l35 = load i32, ptr addrspace(1) %q35
%q36 = getelementptr i32, ptr addrspace(1) %pa, i32 36
 %l36 = load i32, ptr addrspace(1) %q36
%q37 = getelementptr i32, ptr addrspace(1) %pa, i32 37
 %l37 = load i32, ptr addrspace(1) %q37
%q38 = getelementptr i32, ptr addrspace(1) %pa, i32 38
 %l38 = load i32, ptr addrspace(1) %q38
%q39 = getelementptr i32, ptr addrspace(1) %pa, i32 39
 %l39 = load i32, ptr addrspace(1) %q39
%q40 = getelementptr i32, ptr addrspace(1) %pa, i32 40
 %l40 = load i32, ptr addrspace(1) %q40
%q41 = getelementptr i32, ptr addrspace(1) %pa, i32 41
 %l41 = load i32, ptr addrspace(1) %q41
%q42 = getelementptr i32, ptr addrspace(1) %pa, i32 42
 %l42 = load i32, ptr addrspace(1) %q42
%q43 = getelementptr i32, ptr addrspace(1) %pa, i32 43
 %l43 = load i32, ptr addrspace(1) %q43
%q44 = getelementptr i32, ptr addrspace(1) %pa, i32 44
 %l44 = load i32, ptr addrspace(1) %q44
%q45 = getelementptr i32, ptr addrspace(1) %pa, i32 45
 %l45 = load i32, ptr addrspace(1) %q45
%q46 = getelementptr i32, ptr addrspace(1) %pa, i32 46
 %l46 = load i32, ptr addrspace(1) %q46
%q47 = getelementptr i32, ptr addrspace(1) %pa, i32 47
 %l47 = load i32, ptr addrspace(1) %q47
%q48 = getelementptr i32, ptr addrspace(1) %pa, i32 48
 %l48 = load i32, ptr addrspace(1) %q48
%q49 = getelementptr i32, ptr addrspace(1) %pa, i32 49
 %l49 = load i32, ptr addrspace(1) %q49
%q50 = getelementptr i32, ptr addrspace(1) %pa, i32 50
 %l50 = load i32, ptr addrspace(1) %q50
%q51 = getelementptr i32, ptr addrspace(1) %pa, i32 51
 %l51 = load i32, ptr addrspace(1) %q51
%q52 = getelementptr i32, ptr addrspace(1) %pa, i32 52
 %l52 = load i32, ptr addrspace(1) %q52
%q53 = getelementptr i32, ptr addrspace(1) %pa, i32 53
 %l53 = load i32, ptr addrspace(1) %q53
%q54 = getelementptr i32, ptr addrspace(1) %pa, i32 54
 %l54 = load i32, ptr addrspace(1) %q54
%q55 = getelementptr i32, ptr addrspace(1) %pa, i32 55
 %l55 = load i32, ptr addrspace(1) %q55
%q56 = getelementptr i32, ptr addrspace(1) %pa, i32 56
 %l56 = load i32, ptr addrspace(1) %q56
%q57 = getelementptr i32, ptr addrspace(1) %pa, i32 57
 %l57 = load i32, ptr addrspace(1) %q57
%q58 = getelementptr i32, ptr addrspace(1) %pa, i32 58
 %l58 = load i32, ptr addrspace(1) %q58
%q59 = getelementptr i32, ptr addrspace(1) %pa, i32 59
 %l59 = load i32, ptr addrspace(1) %q59
 %x0 = call i32 @f_leaf(i32 %v)
%s0 = add i32 %x0, %l0
%s1 = xor i32 %s0, %l1
%s2 = xor i32 %s1, %l2
%s3 = mul i32 %s2, %l3
%s4 = xor i32 %s3, %l4
%s5 = xor i32 %s4, %l5
%s6 = mul i32 %s5, %l6
%s7 = xor i32 %s6, %l7
%s8 = xor i32 %s7, %l8
%s9 = mul i32 %s8, %l9
%s10 = xor i32 %s9, %l10
%s11 = xor i32 %s10, %l11
%s12 = mul i32 %s11, %l12
%s13 = xor i32 %s12, %l13
%s14 = xor i32 %s13, %l14
%s15 = mul i32 %s14, %l15
%s16 = xor i32 %s15, %l16
%s17 = xor i32 %s16, %l17
%s18 = mul i32 %s17, %l18
%s19 = xor i32 %s18, %l19
%s20 = xor i32 %s19, %l20
%s21 = mul i32 %s20, %l21
%s22 = xor i32 %s21, %l22
%s23 = xor i32 %s22, %l23
%s24 = mul i32 %s23, %l24
%s25 = xor i32 %s24, %l25
%s26 = xor i32 %s25, %l26
%s27 = mul i32 %s26, %l27
%s28 = xor i32 %s27, %l28
%s29 = xor i32 %s28, %l29
%s30 = mul i32 %s29, %l30
%s31 = xor i32 %s30, %l31
%s32 = xor i32 %s31, %l32
%s33 = mul i32 %s32, %l33
%s34 = xor i32 %s33, %l34
%s35 = xor i32 %s34, %l35
%s36 = mul i32 %s35, %l36
%s37 = xor i32 %s36, %l37
%s38 = xor i32 %s37, %l38
%s39 = mul i32 %s38, %l39
%s40 = xor i32 %s39, %l40
%s41 = xor i32 %s40, %l41
%s42 = mul i32 %s41, %l42
%s43 = xor i32 %s42, %l43
%s44 = xor i32 %s43, %l44
%s45 = mul i32 %s44, %l45
%s46 = xor i32 %s45, %l46
%s47 = xor i32 %s46, %l47
%s48 = mul i32 %s47, %l48
%s49 = xor i32 %s48, %l49
%s50 = xor i32 %s49, %l50
%s51 = mul i32 %s50, %l51
%s52 = xor i32 %s51, %l52
%s53 = xor i32 %s52, %l53
%s54 = mul i32 %s53, %l54
%s55 = xor i32 %s54, %l55
%s56 = xor i32 %s55, %l56
%s57 = mul i32 %s56, %l57
%s58 = xor i32 %s57, %l58
%s59 = xor i32 %s58, %l59
 %r = add i32 %s59, 1
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_useframe(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %r = call i32 @useframe(i32 %v)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_generic(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %s = alloca i32, addrspace(5)
 store i32 %v, ptr addrspace(5) %s
 %g = addrspacecast ptr addrspace(5) %s to ptr
 %r0 = call i32 @generic(ptr %g)
 %r1 = load i32, ptr addrspace(5) %s
 %r = mul i32 %r0, %r1
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_retdiv(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %r = call i32 @retdiv(i32 %v)
 store i32 %r, ptr addrspace(1) %po
 ret void
}
define amdgpu_kernel void @k_branchy(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
 %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
 %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
 %v = load i32, ptr addrspace(1) %pa
 %w = load i32, ptr addrspace(1) %pb
 %c = icmp sgt i32 %v, 0
 br i1 %c, label %yes, label %no
yes:
 %r1 = call i32 @retdiv(i32 %v)
 br label %end
no:
 %r2 = call i32 @useframe(i32 %w)
 br label %end
end:
 %r = phi i32 [%r1, %yes], [%r2, %no]
 store i32 %r, ptr addrspace(1) %po
 ret void
}
; Vectors of buffer fat pointers: arithmetic, arguments, results, memory, numbers, gathers and scatters.
define amdgpu_kernel void @k_buffers(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
 %i = call i32 @llvm.amdgcn.workitem.id.x()
 %ra = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 0, i64 1024, i32 159744)
 %rb = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %b, i16 0, i64 1024, i32 159744)
 %ro = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 0, i64 1024, i32 159744)
 %rs.0 = insertelement <2 x ptr addrspace(8)> poison, ptr addrspace(8) %ra, i32 0
 %rs = insertelement <2 x ptr addrspace(8)> %rs.0, ptr addrspace(8) %rb, i32 1
 %starts = addrspacecast <2 x ptr addrspace(8)> %rs to <2 x ptr addrspace(7)>
 %down = sub i32 127, %i
 %at.0 = insertelement <2 x i32> poison, i32 %i, i32 0
 %at = insertelement <2 x i32> %at.0, i32 %down, i32 1
 %p = getelementptr i32, <2 x ptr addrspace(7)> %starts, <2 x i32> %at
 %p.1 = getelementptr i8, <2 x ptr addrspace(7)> %p, i32 256
 %w.0 = insertvalue [2 x <2 x ptr addrspace(7)>] poison, <2 x ptr addrspace(7)> %p.1, 0
 %w = insertvalue [2 x <2 x ptr addrspace(7)>] %w.0, <2 x ptr addrspace(7)> %starts, 1
 %r = call <2 x ptr addrspace(7)> @buffers(<2 x ptr addrspace(7)> %p, i32 %i, [2 x <2 x ptr addrspace(7)>] %w)
 %odd = trunc i32 %i to i1
 %mask = insertelement <2 x i1> <i1 true, i1 poison>, i1 %odd, i32 1
 %x = call <2 x i32> @llvm.masked.gather.v2i32.v2p7(<2 x ptr addrspace(7)> %r, i32 4, <2 x i1> %mask, <2 x i32> <i32 7, i32 8>)
 %n = ptrtoint <2 x ptr addrspace(7)> %r to <2 x i160>
 %moved = add <2 x i160> %n, <i160 4, i160 4>
 %back = inttoptr <2 x i160> %moved to <2 x ptr addrspace(7)>
 %e = extractelement <2 x ptr addrspace(7)> %back, i32 1
 %y = load i32, ptr addrspace(7) %e
 %x.0 = extractelement <2 x i32> %x, i32 0
 %x.1 = extractelement <2 x i32> %x, i32 1
 %offsets = ptrtoint <2 x ptr addrspace(7)> %r to <2 x i32>
 %o = extractelement <2 x i32> %offsets, i32 0
 %s.0 = add i32 %x.0, %x.1
 %s.1 = xor i32 %s.0, %y
 %s = add i32 %s.1, %o
 %t.0 = insertelement <2 x ptr addrspace(8)> poison, ptr addrspace(8) %ro, i32 0
 %t.1 = shufflevector <2 x ptr addrspace(8)> %t.0, <2 x ptr addrspace(8)> poison, <2 x i32> zeroinitializer
 %t = addrspacecast <2 x ptr addrspace(8)> %t.1 to <2 x ptr addrspace(7)>
 %high = add i32 %i, 128
 %to.0 = insertelement <2 x i32> poison, i32 %i, i32 0
 %to.1 = insertelement <2 x i32> %to.0, i32 %high, i32 1
 %to = getelementptr i32, <2 x ptr addrspace(7)> %t, <2 x i32> %to.1
 %values.0 = insertelement <2 x i32> poison, i32 %s, i32 0
 %values = insertelement <2 x i32> %values.0, i32 %y, i32 1
 call void @llvm.masked.scatter.v2i32.v2p7(<2 x i32> %values, <2 x ptr addrspace(7)> %to, i32 4, <2 x i1> %mask)
 ret void
}
declare <2 x ptr addrspace(7)> @buffers(<2 x ptr addrspace(7)>, i32, [2 x <2 x ptr addrspace(7)>])
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare <2 x i32> @llvm.masked.gather.v2i32.v2p7(<2 x ptr addrspace(7)>, i32, <2 x i1>, <2 x i32>)
declare void @llvm.masked.scatter.v2i32.v2p7(<2 x i32>, <2 x ptr addrspace(7)>, i32, <2 x i1>)
