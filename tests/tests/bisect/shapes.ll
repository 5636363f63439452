; Kernels in which mutations of every kind find a place; see mutation/mod.rs. All take out, in (256 dwords each) and a number below 256, and run in
; groups of 128.
target triple = "amdgcn-amd-amdhsa"

@slots = internal addrspace(3) global [128 x i32] poison, align 4

declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i64 @llvm.ctpop.i64(i64)
declare float @llvm.fabs.f32(float)
declare float @llvm.fma.f32(float, float, float)

; An edge that leaves an inner loop leads to the header of the outer one; one block goes on with either.
define amdgpu_kernel void @shared_latch(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %limit = and i32 %x, 15
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %again ]
  %a = phi i32 [ %x, %entry ], [ %v, %again ]
  %s = phi i32 [ 0, %entry ], [ %t1, %again ]
  %a1 = add i32 %a, %i
  br label %inner
inner:
  %j = phi i32 [ %n, %outer ], [ %j1, %again ]
  %b = phi i32 [ %a1, %outer ], [ %v, %again ]
  %t = phi i32 [ %s, %outer ], [ %t1, %again ]
  %e = and i32 %b, 1
  %c = icmp eq i32 %e, 0
  br i1 %c, label %left, label %right
left:
  %p = mul i32 %b, 3
  store i32 %p, ptr addrspace(1) %po
  br label %latch
right:
  %q = sub i32 %b, %j
  br label %latch
latch:
  %v = phi i32 [ %p, %left ], [ %q, %right ]
  %t1 = add i32 %t, 1
  %stop = icmp ugt i32 %t1, %limit
  br i1 %stop, label %exit, label %again
again:
  %i1 = add i32 %i, 1
  %j1 = add i32 %j, 7
  %o = and i32 %v, 2
  %up = icmp ne i32 %o, 0
  br i1 %up, label %outer, label %inner
exit:
  %r = xor i32 %v, %j
  %w = add i32 %r, %i
  store i32 %w, ptr addrspace(1) %po
  ret void
}

; A loop that is left for three places, each of which looks at other values of it.
define amdgpu_kernel void @several_exits(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %limit = and i32 %x, 15
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %more ]
  %k = phi i32 [ %n, %entry ], [ %k1, %more ]
  %acc = phi i32 [ %x, %entry ], [ %acc1, %more ]
  %e = and i32 %acc, 31
  %c1 = icmp eq i32 %e, 5
  br i1 %c1, label %a, label %middle
middle:
  %c2 = icmp ugt i32 %i, %limit
  br i1 %c2, label %b, label %rest
rest:
  %m = mul i32 %acc, 5
  %acc1 = add i32 %m, %i
  %c3 = icmp slt i32 %acc1, -1500000000
  br i1 %c3, label %c, label %more
more:
  %i1 = add i32 %i, 1
  %k1 = add i32 %k, 3
  br label %loop
a:
  %va = add i32 %i, 100
  store i32 %va, ptr addrspace(1) %po
  br label %join
b:
  %vb = xor i32 %acc, %k
  br label %join
c:
  %vc = sub i32 %acc1, %k
  br label %join
join:
  %v = phi i32 [ %k, %a ], [ %vb, %b ], [ %vc, %c ]
  %p4 = getelementptr i32, ptr addrspace(1) %po, i32 128
  store i32 %v, ptr addrspace(1) %p4
  ret void
}

; Conditions that travel from one iteration to the next, out of the loop, and through a join.
define amdgpu_kernel void @conditions(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %limit = and i32 %x, 7
  %start = icmp slt i32 %x, 0
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %flag = phi i1 [ %start, %entry ], [ %flag1, %next ]
  %last = phi i1 [ false, %entry ], [ %c, %next ]
  %acc = phi i32 [ %x, %entry ], [ %acc1, %next ]
  %h = lshr i32 %x, %i
  %e = and i32 %h, 1
  %c = icmp ne i32 %e, 0
  %flag1 = xor i1 %flag, %c
  br i1 %flag, label %work, label %next
work:
  %m = mul i32 %acc, 3
  %big = icmp ugt i32 %m, 2000000000
  br label %next
next:
  %acc1 = phi i32 [ %m, %work ], [ %acc, %loop ]
  %w = phi i1 [ %big, %work ], [ %last, %loop ]
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 %w)
  %count = call i64 @llvm.ctpop.i64(i64 %b)
  %count32 = trunc i64 %count to i32
  %i1 = add i32 %i, 1
  %done = icmp ugt i32 %i1, %limit
  br i1 %done, label %exit, label %loop
exit:
  %s = select i1 %flag1, i32 %acc1, i32 %n
  %s1 = select i1 %w, i32 %s, i32 %i1
  %r = add i32 %s1, %count32
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; Conditions of lanes mixed with one of the wave, which sets the bits of lanes that are elsewhere.
define amdgpu_kernel void @mixed_conditions(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %small = icmp ult i32 %n, 100
  %neg = icmp slt i32 %x, 0
  br i1 %neg, label %inside, label %join
inside:
  %e = and i32 %x, 1
  %odd = icmp ne i32 %e, 0
  %m = xor i1 %odd, %small
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 %m)
  %count = call i64 @llvm.ctpop.i64(i64 %b)
  %count32 = trunc i64 %count to i32
  br i1 %m, label %yes, label %no
yes:
  %p = mul i32 %x, 3
  br label %join
no:
  %q = sub i32 %x, %count32
  br label %join
join:
  %v = phi i32 [ %n, %entry ], [ %p, %yes ], [ %q, %no ]
  %k = phi i32 [ 1, %entry ], [ %count32, %yes ], [ 2, %no ]
  %r = mul i32 %v, %k
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; Branches and loops of the wave where only some lanes are.
define amdgpu_kernel void @uniform_inside(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %odd = and i32 %n, 1
  %c = icmp ne i32 %odd, 0
  %small = icmp ult i32 %n, 40
  %neg = icmp slt i32 %x, 0
  br i1 %neg, label %some, label %join
some:
  br i1 %c, label %one, label %two
one:
  %k = and i32 %n, 3
  %v1 = sub i32 %x, %n
  br label %loop
loop:
  %i = phi i32 [ 0, %one ], [ %i1, %loop ]
  %f = phi i32 [ 1, %one ], [ %g, %loop ]
  %g = phi i32 [ 3, %one ], [ %fg, %loop ]
  %v = phi i32 [ %v1, %one ], [ %v2, %loop ]
  %fg = add i32 %f, %g
  %v2 = xor i32 %v, %fg
  %i1 = add i32 %i, 1
  %go = icmp ule i32 %i1, %k
  br i1 %go, label %loop, label %join
two:
  br i1 %small, label %three, label %join
three:
  %y = mul i32 %x, %n
  store i32 %y, ptr addrspace(1) %po
  br label %join
join:
  %w = phi i32 [ %x, %entry ], [ %v2, %loop ], [ %n, %two ], [ %y, %three ]
  %u = phi i32 [ 1, %entry ], [ %g, %loop ], [ 5, %two ], [ 6, %three ]
  %r = mul i32 %w, %u
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; What is loaded before a store to the same place, what after it.
define amdgpu_kernel void @exchange(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %slot = getelementptr [128 x i32], ptr addrspace(3) @slots, i32 0, i32 %l
  %x = load volatile i32, ptr addrspace(1) %pi
  store i32 %x, ptr addrspace(3) %slot
  store volatile i32 %n, ptr addrspace(1) %pi
  %y = load volatile i32, ptr addrspace(1) %pi
  %old = atomicrmw sub ptr addrspace(3) %slot, i32 %y syncscope("workgroup") monotonic
  %top = atomicrmw umax ptr addrspace(3) %slot, i32 %l syncscope("workgroup") monotonic
  %z = load i32, ptr addrspace(3) %slot
  store i32 %old, ptr addrspace(3) %slot
  %a = load volatile i32, ptr addrspace(3) %slot
  %before = atomicrmw xor ptr addrspace(1) %po, i32 %a syncscope("agent") monotonic
  %s = add i32 %z, %before
  %t = mul i32 %s, 3
  %u = xor i32 %t, %top
  %after = atomicrmw add ptr addrspace(1) %po, i32 %u syncscope("agent") monotonic
  %p4 = getelementptr i32, ptr addrspace(1) %po, i32 128
  store i32 %after, ptr addrspace(1) %p4
  ret void
}

; Floating-point numbers with signs, and bytes and half-words of memory.
define amdgpu_kernel void @signs(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %ph = getelementptr i8, ptr addrspace(1) %pi, i32 2
  %h = load i16, ptr addrspace(1) %ph
  %pb = getelementptr i8, ptr addrspace(1) %pi, i32 1
  %b = load i8, ptr addrspace(1) %pb
  %x = load i32, ptr addrspace(1) %pi
  %hs = sext i16 %h to i32
  %bu = zext i8 %b to i32
  %f = sitofp i32 %hs to float
  %g = uitofp i32 %bu to float
  %minus = fneg float %g
  %d = fsub float %f, %g
  %a = call float @llvm.fabs.f32(float %d)
  %m = call float @llvm.fma.f32(float %a, float %minus, float %f)
  %c = fcmp olt float %m, %d
  %q = select i1 %c, float %m, float %a
  %k = fcmp une float %q, %f
  %bits = bitcast float %q to i32
  %sh = ashr i32 %x, 3
  %s = sub i32 %bits, %sh
  %e = select i1 %k, i32 %s, i32 %n
  store i32 %e, ptr addrspace(1) %po
  %p4 = getelementptr i32, ptr addrspace(1) %po, i32 128
  %tr = trunc i32 %s to i16
  store i16 %tr, ptr addrspace(1) %p4
  ret void
}

; Integers of two dwords.
define amdgpu_kernel void @wide(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %e = and i32 %l, 126
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %e
  %po = getelementptr i64, ptr addrspace(1) %out, i32 %l
  %x = load i64, ptr addrspace(1) %pi, align 8
  %u = load i64, ptr addrspace(1) %in, align 8
  %z = zext i32 %n to i64
  %w = sub i64 %u, %z
  %w1 = shl i64 %w, 3
  %wc = icmp ult i64 %w1, %u
  %ws = select i1 %wc, i64 %w, i64 %w1
  %a = add i64 %x, %ws
  %s = sub i64 %a, %z
  %c = icmp slt i64 %s, %x
  %m = mul i64 %s, %x
  %r = lshr i64 %m, 5
  %k = and i32 %l, 31
  %k64 = zext i32 %k to i64
  %t = ashr i64 %r, %k64
  %v = select i1 %c, i64 %t, i64 %a
  store i64 %v, ptr addrspace(1) %po
  ret void
}

; More values than registers of both files, through a loop in which lanes part.
define amdgpu_kernel void @spilling_loop(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #1 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %q = and i32 %l, 112
  %pv = getelementptr i32, ptr addrspace(1) %in, i32 %q
  %v = load <8 x i32>, ptr addrspace(1) %pv, align 4
  %v0 = extractelement <8 x i32> %v, i32 0
  %v1 = extractelement <8 x i32> %v, i32 1
  %v2 = extractelement <8 x i32> %v, i32 2
  %v3 = extractelement <8 x i32> %v, i32 3
  %v4 = extractelement <8 x i32> %v, i32 4
  %v5 = extractelement <8 x i32> %v, i32 5
  %v6 = extractelement <8 x i32> %v, i32 6
  %v7 = extractelement <8 x i32> %v, i32 7
  %u0 = mul i32 %n, 3
  %u1 = mul i32 %n, 5
  %u2 = mul i32 %n, 7
  %u3 = mul i32 %n, 11
  %u4 = mul i32 %n, 13
  %u5 = mul i32 %n, 17
  %u6 = mul i32 %n, 19
  %u7 = mul i32 %n, 23
  %u8 = mul i32 %n, 29
  %limit = and i32 %x, 3
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %k = phi i32 [ %n, %entry ], [ %k1, %next ]
  %a = phi i32 [ %x, %entry ], [ %a4, %next ]
  %b = phi i32 [ %v0, %entry ], [ %a, %next ]
  %e = and i32 %a, 1
  %c = icmp ne i32 %e, 0
  br i1 %c, label %odd, label %next
odd:
  %b0 = add i32 %u0, %a
  %b1 = xor i32 %u1, %b0
  %b2 = add i32 %u2, %b1
  %b3 = xor i32 %v1, %b2
  %b4 = add i32 %v2, %b3
  br label %next
next:
  %w = phi i32 [ %b, %loop ], [ %b4, %odd ]
  %a1 = add i32 %w, %v3
  %a2 = xor i32 %a1, %u3
  %a3 = sub i32 %a2, %v4
  %a4 = mul i32 %a3, %u4
  %k1 = add i32 %k, %u8
  %i1 = add i32 %i, 1
  %done = icmp ugt i32 %i1, %limit
  br i1 %done, label %exit, label %loop
exit:
  %r0 = add i32 %a4, %v5
  %r1 = xor i32 %r0, %v6
  %r2 = add i32 %r1, %v7
  %r3 = xor i32 %r2, %u5
  %r4 = add i32 %r3, %u6
  %r5 = xor i32 %r4, %u7
  %r6 = add i32 %r5, %k
  %r7 = xor i32 %r6, %b
  %r8 = add i32 %r7, %v1
  %r9 = xor i32 %r8, %u1
  store i32 %r9, ptr addrspace(1) %po
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="128,128" }
attributes #1 = { "amdgpu-flat-work-group-size"="128,128" "amdgpu-num-sgpr"="24" "amdgpu-num-vgpr"="12" }
