; Functions of all kinds of arguments and results; see ../calls.rs.
target triple = "amdgcn-amd-amdhsa"
declare i32 @leaf(i32)
define i32 @fact(i32 %n) noinline {
  %c = icmp ult i32 %n, 2
  br i1 %c, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %r = call i32 @fact(i32 %m)
  %p = mul i32 %r, %n
  %q = add i32 %p, %m
  ret i32 %q
}
define i64 @fib(i32 %n) noinline {
  %c = icmp ult i32 %n, 2
  br i1 %c, label %one, label %more
one:
  %z = zext i32 %n to i64
  ret i64 %z
more:
  %m = sub i32 %n, 1
  %r = call i64 @fib(i32 %m)
  %m2 = sub i32 %n, 2
  %r2 = call i64 @fib(i32 %m2)
  %q = add i64 %r, %r2
  ret i64 %q
}
define i32 @many([32 x i32] %a, i64 %b, i32 %c, <3 x half> %h, double %d) noinline {
  %a0 = extractvalue [32 x i32] %a, 0
  %a30 = extractvalue [32 x i32] %a, 30
  %a31 = extractvalue [32 x i32] %a, 31
  %bt = lshr i64 %b, 32
  %bl = trunc i64 %bt to i32
  %h2 = extractelement <3 x half> %h, i32 2
  %hi = fptosi half %h2 to i32
  %di = fptosi double %d to i32
  %1 = mul i32 %a0, 3
  %2 = add i32 %1, %a30
  %3 = mul i32 %2, 5
  %4 = add i32 %3, %a31
  %5 = xor i32 %4, %bl
  %6 = add i32 %5, %c
  %7 = mul i32 %6, 7
  %8 = add i32 %7, %hi
  %9 = add i32 %8, %di
  ret i32 %9
}
%S = type { i32, i64, [5 x i32], i8 }
define i32 @byval(i32 %x, ptr addrspace(5) byval(%S) align 8 %s, i32 %y) noinline {
  %p1 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 1
  %p2 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 2, i32 4
  %p3 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 3
  %v0 = load i32, ptr addrspace(5) %s
  %v1 = load i64, ptr addrspace(5) %p1
  %v2 = load i32, ptr addrspace(5) %p2
  %v3 = load i8, ptr addrspace(5) %p3
  store i32 99, ptr addrspace(5) %s
  %t1 = trunc i64 %v1 to i32
  %h1 = lshr i64 %v1, 32
  %th1 = trunc i64 %h1 to i32
  %z3 = zext i8 %v3 to i32
  %1 = add i32 %v0, %t1
  %2 = mul i32 %1, 3
  %3 = add i32 %2, %th1
  %4 = xor i32 %3, %v2
  %5 = add i32 %4, %z3
  %6 = mul i32 %5, %x
  %7 = add i32 %6, %y
  ret i32 %7
}
define [40 x i32] @big(i32 %a, i32 %b) noinline {
  %r0 = insertvalue [40 x i32] zeroinitializer, i32 %a, 0
  %r1 = insertvalue [40 x i32] %r0, i32 %b, 39
  %c = add i32 %a, %b
  %r2 = insertvalue [40 x i32] %r1, i32 %c, 20
  ret [40 x i32] %r2
}
define void @sret(ptr addrspace(5) sret(%S) align 8 %s, i32 %x) noinline {
  %p1 = getelementptr %S, ptr addrspace(5) %s, i32 0, i32 1
  store i32 %x, ptr addrspace(5) %s
  %z = zext i32 %x to i64
  %m = mul i64 %z, 123456789123
  store i64 %m, ptr addrspace(5) %p1
  ret void
}
define { half, i1, <3 x i16>, double, i8 } @mixed(i1 zeroext %a, i8 signext %b, i16 %c, half %d, <3 x i16> %e, double %f, i8 zeroext %g) noinline {
  %az = zext i1 %a to i32
  %bz = sext i8 %b to i32
  %gz = zext i8 %g to i32
  %s = add i32 %az, %bz
  %s2 = add i32 %s, %gz
  %si = sitofp i32 %s2 to half
  %h = fadd half %d, %si
  %bit = icmp sgt i32 %s2, 100
  %cv = insertelement <3 x i16> zeroinitializer, i16 %c, i32 2
  %ev = add <3 x i16> %e, %cv
  %sd = sitofp i32 %s2 to double
  %fd = fmul double %f, %sd
  %t = trunc i32 %s2 to i8
  %r0 = insertvalue { half, i1, <3 x i16>, double, i8 } undef, half %h, 0
  %r1 = insertvalue { half, i1, <3 x i16>, double, i8 } %r0, i1 %bit, 1
  %r2 = insertvalue { half, i1, <3 x i16>, double, i8 } %r1, <3 x i16> %ev, 2
  %r3 = insertvalue { half, i1, <3 x i16>, double, i8 } %r2, double %fd, 3
  %r4 = insertvalue { half, i1, <3 x i16>, double, i8 } %r3, i8 %t, 4
  ret { half, i1, <3 x i16>, double, i8 } %r4
}
define i32 @ids(i32 %a) noinline {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %gz = call i32 @llvm.amdgcn.workgroup.id.z()
  %d = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %dp = getelementptr i8, ptr addrspace(4) %d, i64 4
  %wg = load i16, ptr addrspace(4) %dp, align 4
  %wz = zext i16 %wg to i32
  %1 = mul i32 %gx, 1000
  %2 = add i32 %1, %x
  %3 = mul i32 %y, 77
  %4 = add i32 %2, %3
  %5 = mul i32 %z, 771
  %6 = add i32 %4, %5
  %7 = mul i32 %gy, 10007
  %8 = add i32 %6, %7
  %9 = mul i32 %gz, 100003
  %10 = add i32 %8, %9
  %11 = xor i32 %10, %wz
  %12 = add i32 %11, %a
  ret i32 %12
}
define i32 @f_add(i32 %a, i32 %b) { 
  %r = add i32 %a, %b
  ret i32 %r
}
define i32 @f_mul(i32 %a, i32 %b) { 
  %r = mul i32 %a, %b
  ret i32 %r
}
define i32 @f_ids(i32 %a, i32 %b) { 
  %r = call i32 @ids(i32 %a)
  ret i32 %r
}
define i32 @apply(ptr %f, i32 %a, i32 %b) noinline {
  %r = call i32 %f(i32 %a, i32 %b)
  %s = add i32 %r, %a
  ret i32 %s
}
define i32 @unif(i32 inreg %a, i32 %b, i64 inreg %c, i32 inreg %d) noinline {
  %t = trunc i64 %c to i32
  %h = lshr i64 %c, 32
  %ht = trunc i64 %h to i32
  %1 = mul i32 %a, %b
  %2 = add i32 %1, %t
  %3 = xor i32 %2, %ht
  %4 = sub i32 %3, %d
  ret i32 %4
}
define i32 @press(i32 %n, ptr addrspace(1) %p) noinline {
entry:
  %v = load <16 x i32>, ptr addrspace(1) %p, align 4
  %p2 = getelementptr i32, ptr addrspace(1) %p, i64 16
  %w = load <16 x i32>, ptr addrspace(1) %p2, align 4
  %p3 = getelementptr i32, ptr addrspace(1) %p, i64 32
  %u = load <16 x i32>, ptr addrspace(1) %p3, align 4
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %s = phi i32 [%n, %entry], [%s1, %loop]
  %s0 = call i32 @f_leaf(i32 %s)
  %s1 = add i32 %s0, %i
  %i1 = add i32 %i, 1
  %lim = and i32 %n, 7
  %c = icmp ugt i32 %i, %lim
  br i1 %c, label %out, label %loop
out:
  %x = add <16 x i32> %v, %w
  %y = mul <16 x i32> %x, %u
  %q = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %y)
  %z = add i32 %q, %s1
  ret i32 %z
}
define i32 @f_leaf(i32 %s) noinline {
  %r = mul i32 %s, 1664525
  %t = add i32 %r, 1013904223
  ret i32 %t
}
define i32 @fill(ptr addrspace(5) %p, i32 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %q = getelementptr i32, ptr addrspace(5) %p, i32 %i
  %v = mul i32 %i, %n
  store i32 %v, ptr addrspace(5) %q
  %i1 = add i32 %i, 1
  %c = icmp eq i32 %i1, 16
  br i1 %c, label %out, label %loop
out:
  ret i32 %n
}
define i32 @useframe(i32 %n) noinline {
  %a = alloca [16 x i32], addrspace(5)
  %b = alloca [16 x i32], addrspace(5)
  %r = call i32 @fill(ptr addrspace(5) %a, i32 %n)
  %m = add i32 %n, 1
  %r2 = call i32 @fill(ptr addrspace(5) %b, i32 %m)
  %k = and i32 %n, 15
  %pa = getelementptr i32, ptr addrspace(5) %a, i32 %k
  %pb = getelementptr i32, ptr addrspace(5) %b, i32 3
  %va = load i32, ptr addrspace(5) %pa
  %vb = load i32, ptr addrspace(5) %pb
  %s = mul i32 %vb, 1000
  %t = add i32 %s, %va
  ret i32 %t
}
define i32 @generic(ptr %p) noinline {
  %v = load i32, ptr %p
  %w = add i32 %v, 5
  store i32 %w, ptr %p
  ret i32 %v
}
define i32 @retdiv(i32 %n) noinline {
  %c = icmp ugt i32 %n, 1000
  br i1 %c, label %a, label %b
a:
  %r = call i32 @f_leaf(i32 %n)
  ret i32 %r
b:
  %c2 = icmp ugt i32 %n, 100
  br i1 %c2, label %d, label %e
d:
  %r2 = call i32 @f_leaf(i32 7)
  %r3 = add i32 %r2, %n
  ret i32 %r3
e:
  ret i32 %n
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
define <2 x ptr addrspace(7)> @buffers(<2 x ptr addrspace(7)> %v, i32 %n, [2 x <2 x ptr addrspace(7)>] %w) noinline {
entry:
  %slot = alloca [2 x <2 x ptr addrspace(7)>], align 64, addrspace(5)
  %first = extractvalue [2 x <2 x ptr addrspace(7)>] %w, 0
  %second = extractvalue [2 x <2 x ptr addrspace(7)>] %w, 1
  %rounds = and i32 %n, 3
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%i1, %loop]
  %p = phi <2 x ptr addrspace(7)> [%v, %entry], [%q, %loop]
  %step = insertelement <2 x i32> <i32 3, i32 poison>, i32 %n, i32 1
  %moved = getelementptr i32, <2 x ptr addrspace(7)> %p, <2 x i32> %step
  %q = shufflevector <2 x ptr addrspace(7)> %moved, <2 x ptr addrspace(7)> poison, <2 x i32> <i32 1, i32 0>
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %rounds
  br i1 %more, label %loop, label %out
out:
  %bit = lshr i32 %n, 2
  %lane = and i32 %bit, 1
  %other = extractelement <2 x ptr addrspace(7)> %second, i32 %lane
  %put = insertelement <2 x ptr addrspace(7)> %q, ptr addrspace(7) %other, i32 %lane
  %wide = shufflevector <2 x ptr addrspace(7)> %put, <2 x ptr addrspace(7)> %first, <4 x i32> <i32 3, i32 0, i32 1, i32 2>
  store <4 x ptr addrspace(7)> %wide, ptr addrspace(5) %slot, align 64
  %again = load <4 x ptr addrspace(7)>, ptr addrspace(5) %slot, align 64
  %front = shufflevector <4 x ptr addrspace(7)> %again, <4 x ptr addrspace(7)> poison, <2 x i32> <i32 0, i32 1>
  %back = shufflevector <4 x ptr addrspace(7)> %again, <4 x ptr addrspace(7)> poison, <2 x i32> <i32 2, i32 3>
  %less = icmp ult <2 x ptr addrspace(7)> %front, %back
  %chosen = select <2 x i1> %less, <2 x ptr addrspace(7)> %front, <2 x ptr addrspace(7)> %back
  %kept = call <2 x ptr addrspace(7)> @llvm.ptrmask.v2p7.v2i32(<2 x ptr addrspace(7)> %chosen, <2 x i32> <i32 1020, i32 1020>)
  ret <2 x ptr addrspace(7)> %kept
}
declare <2 x ptr addrspace(7)> @llvm.ptrmask.v2p7.v2i32(<2 x ptr addrspace(7)>, <2 x i32>)
