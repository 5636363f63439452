; Kernels of one kind of difficulty each; see main.rs. All take out, in (256 dwords each) and a number, and run in groups of 128.
target triple = "amdgcn-amd-amdhsa"

@tile = internal addrspace(3) global [128 x i32] poison, align 4
@bins = internal addrspace(3) global [16 x i32] poison, align 4
@table = internal addrspace(4) constant [8 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5, i32 9, i32 2, i32 6]

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane(i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i64 @llvm.ctpop.i64(i64)

; Lanes leave a loop one by one; what the loop counted is used outside.
define amdgpu_kernel void @divergent_loop(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %b = shl i32 %g, 7
  %t = or i32 %b, %l
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %x = load i32, ptr addrspace(1) %pi
  %limit = and i32 %x, 15
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %acc = phi i32 [ %x, %entry ], [ %acc2, %next ]
  %odd = and i32 %acc, 1
  %c = icmp eq i32 %odd, 0
  br i1 %c, label %even, label %uneven
even:
  %h = lshr i32 %acc, 1
  br label %next
uneven:
  %m = mul i32 %acc, 3
  %m1 = add i32 %m, %i
  br label %next
next:
  %acc2 = phi i32 [ %h, %even ], [ %m1, %uneven ]
  %i1 = add i32 %i, 1
  %done = icmp ugt i32 %i1, %limit
  br i1 %done, label %exit, label %loop
exit:
  %r = xor i32 %acc2, %i1
  %s = add i32 %r, %n
  store i32 %s, ptr addrspace(1) %po
  ret void
}

; Two loops in each other, left from the inner one to the end as well.
define amdgpu_kernel void @nested_loops(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %rows = and i32 %x, 3
  %columns = lshr i32 %x, 29
  br label %row
row:
  %r = phi i32 [ 0, %entry ], [ %r1, %row.end ]
  %sum = phi i32 [ 0, %entry ], [ %sum.c, %row.end ]
  br label %column
column:
  %c = phi i32 [ 0, %row ], [ %c1, %more ]
  %sum.r = phi i32 [ %sum, %row ], [ %sum.c, %more ]
  %p = mul i32 %r, %c
  %sum.c = add i32 %sum.r, %p
  %big = icmp ugt i32 %sum.c, 9
  br i1 %big, label %leave, label %more
more:
  %c1 = add i32 %c, 1
  %last = icmp ugt i32 %c1, %columns
  br i1 %last, label %row.end, label %column
row.end:
  %r1 = add i32 %r, 1
  %end = icmp ugt i32 %r1, %rows
  br i1 %end, label %leave, label %row
leave:
  %v = phi i32 [ %sum.c, %column ], [ %r1, %row.end ]
  %k = phi i32 [ 1000, %column ], [ %n, %row.end ]
  %w = add i32 %v, %k
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %w, ptr addrspace(1) %po
  ret void
}

; Lanes of different waves exchange values through LDS, between barriers.
define amdgpu_kernel void @barriers(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %slot = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %l
  store i32 %x, ptr addrspace(3) %slot
  br label %step
step:
  %d = phi i32 [ 64, %entry ], [ %half, %after ]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %low = icmp ult i32 %l, %d
  br i1 %low, label %add, label %after
add:
  %o = add i32 %l, %d
  %other = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %o
  %y = load i32, ptr addrspace(3) %other
  %z = load i32, ptr addrspace(3) %slot
  %s = add i32 %y, %z
  store i32 %s, ptr addrspace(3) %slot
  br label %after
after:
  %half = lshr i32 %d, 1
  %go = icmp ne i32 %half, 0
  br i1 %go, label %step, label %end
end:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %total = load i32, ptr addrspace(3) @tile
  %r = add i32 %total, %n
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; Counting with atomic operations in LDS, under a branch.
define amdgpu_kernel void @atomics(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = icmp ult i32 %l, 16
  br i1 %first, label %clear, label %begin
clear:
  %pc = getelementptr [16 x i32], ptr addrspace(3) @bins, i32 0, i32 %l
  store i32 0, ptr addrspace(3) %pc
  br label %begin
begin:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %bin = and i32 %x, 15
  %skip = icmp eq i32 %bin, 7
  br i1 %skip, label %join, label %count
count:
  %pb = getelementptr [16 x i32], ptr addrspace(3) @bins, i32 0, i32 %bin
  %old = atomicrmw add ptr addrspace(3) %pb, i32 1 syncscope("workgroup") monotonic
  br label %join
join:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %first, label %flush, label %end
flush:
  %pf = getelementptr [16 x i32], ptr addrspace(3) @bins, i32 0, i32 %l
  %f = load i32, ptr addrspace(3) %pf
  %k = add i32 %l, %g
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %u = atomicrmw umax ptr addrspace(1) %po, i32 %f syncscope("agent") monotonic
  %pa = getelementptr i32, ptr addrspace(1) %out, i32 %n
  %a = atomicrmw add ptr addrspace(1) %pa, i32 %k syncscope("agent") monotonic
  br label %end
end:
  ret void
}

; Operations of which it matters which lanes take part. GFX6 cannot exchange values of lanes so: it drops the kernel.
define amdgpu_kernel void @ballots(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #2 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %c = icmp sgt i32 %x, 0
  %all = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  %lo = trunc i64 %all to i32
  br i1 %c, label %positive, label %negative
positive:
  %e = and i32 %x, 1
  %odd = icmp ne i32 %e, 0
  %b = call i64 @llvm.amdgcn.ballot.i64(i1 %odd)
  %count = call i64 @llvm.ctpop.i64(i64 %b)
  %cp = trunc i64 %count to i32
  %fp = call i32 @llvm.amdgcn.readfirstlane(i32 %x)
  %sp = add i32 %cp, %fp
  br label %join
negative:
  %m0 = call i32 @llvm.amdgcn.mbcnt.lo(i32 %lo, i32 0)
  %m1 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %m0)
  %fn = call i32 @llvm.amdgcn.readfirstlane(i32 %m1)
  %sn = sub i32 %m1, %fn
  br label %join
join:
  %v = phi i32 [ %sp, %positive ], [ %sn, %negative ]
  %a = xor i32 %l, 5
  %a4 = shl i32 %a, 2
  %w = call i32 @llvm.amdgcn.ds.bpermute(i32 %a4, i32 %v)
  %r = add i32 %w, %n
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; An array on the stack, indexed differently by each lane.
define amdgpu_kernel void @scratch(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %array = alloca [12 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %rot = add i32 %i, %l
  %k = urem i32 %rot, 12
  %p = getelementptr [12 x i32], ptr addrspace(5) %array, i32 0, i32 %k
  %v = mul i32 %i, %x
  store volatile i32 %v, ptr addrspace(5) %p
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 12
  br i1 %more, label %fill, label %read
read:
  %y = urem i32 %x, 12
  %q = getelementptr [12 x i32], ptr addrspace(5) %array, i32 0, i32 %y
  %w = load volatile i32, ptr addrspace(5) %q
  %r = add i32 %w, %n
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; A table in memory, indexed by a value of the wave, a vector by one of the wave and by one of each lane.
define amdgpu_kernel void @indices(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %k = and i32 %n, 7
  %pt = getelementptr [8 x i32], ptr addrspace(4) @table, i32 0, i32 %k
  %c = load i32, ptr addrspace(4) %pt
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %v = load <8 x i32>, ptr addrspace(1) %in, align 4
  %x = load i32, ptr addrspace(1) %pi
  %w = insertelement <8 x i32> %v, i32 %x, i32 %k
  %y = and i32 %x, 7
  %e = extractelement <8 x i32> %w, i32 %y
  %u = extractelement <8 x i32> %w, i32 %k
  %s = add i32 %e, %u
  %r = mul i32 %s, %c
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; A switch in a loop, with an exit in the middle.
define amdgpu_kernel void @switches(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  br label %loop
loop:
  %s = phi i32 [ %x, %entry ], [ %s1, %next ]
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  %k = and i32 %s, 7
  switch i32 %k, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 5, label %leave
    i32 6, label %one
  ]
zero:
  %z = add i32 %s, 13
  br label %next
one:
  %o = mul i32 %s, 5
  store i32 %o, ptr addrspace(1) %po
  br label %next
other:
  %t = xor i32 %s, %i
  %t1 = lshr i32 %t, 1
  br label %next
next:
  %s1 = phi i32 [ %z, %zero ], [ %o, %one ], [ %t1, %other ]
  %i1 = add i32 %i, 1
  %c = icmp ult i32 %i1, 20
  br i1 %c, label %loop, label %leave
leave:
  %v = phi i32 [ %s, %loop ], [ %s1, %next ]
  %r = add i32 %v, %n
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; More values of the wave than SGPRs, and more of the lanes than VGPRs.
define amdgpu_kernel void @spills(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #1 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %a = load volatile <16 x i32>, ptr addrspace(1) %in, align 64
  %q = getelementptr <16 x i32>, ptr addrspace(1) %in, i32 1
  %b = load volatile <16 x i32>, ptr addrspace(1) %q, align 64
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %u0 = mul i32 %n, 3
  %u1 = mul i32 %n, 5
  %u2 = mul i32 %n, 7
  %u3 = mul i32 %n, 11
  %u4 = mul i32 %n, 13
  %u5 = mul i32 %n, 17
  %u6 = mul i32 %n, 19
  %u7 = mul i32 %n, 23
  %u8 = mul i32 %n, 29
  %u9 = mul i32 %n, 31
  %c = icmp sgt i32 %x, 0
  br i1 %c, label %yes, label %join
yes:
  %p0 = add i32 %u0, %x
  %p1 = xor i32 %u1, %p0
  %p2 = add i32 %u2, %p1
  %p3 = xor i32 %u3, %p2
  %p4 = add i32 %u4, %p3
  br label %join
join:
  %v = phi i32 [ %x, %entry ], [ %p4, %yes ]
  %w5 = mul i32 %u5, %v
  %w6 = add i32 %u6, %w5
  %w7 = mul i32 %u7, %w6
  %w8 = add i32 %u8, %w7
  %w9 = xor i32 %u9, %w8
  %w0 = add i32 %u0, %w9
  %w1 = add i32 %u1, %w0
  %ab = add <16 x i32> %a, %b
  %sum = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %ab)
  %mix = call i32 @llvm.vector.reduce.xor.v16i32(<16 x i32> %a)
  %s = add i32 %sum, %mix
  %r = add i32 %s, %w1
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %r, ptr addrspace(1) %po
  ret void
}
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
declare i32 @llvm.vector.reduce.xor.v16i32(<16 x i32>)

; Functions that stay functions: one that calls itself, one reached through a pointer, each with divergent control flow.
define i32 @power(i32 %x, i32 %n) noinline {
entry:
  %z = icmp eq i32 %n, 0
  br i1 %z, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %r = call i32 @power(i32 %x, i32 %m)
  %p = mul i32 %r, %x
  ret i32 %p
}
define i32 @double(i32 %x) noinline {
  %r = shl i32 %x, 1
  ret i32 %r
}
define i32 @negate(i32 %x) noinline {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %r = sub i32 %l, %x
  ret i32 %r
}
define amdgpu_kernel void @calls(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %l
  %x = load i32, ptr addrspace(1) %pi
  %e = and i32 %x, 3
  %c = icmp sgt i32 %x, 0
  br i1 %c, label %yes, label %join
yes:
  %p = call i32 @power(i32 %x, i32 %e)
  br label %join
join:
  %v = phi i32 [ %x, %entry ], [ %p, %yes ]
  %f = select i1 %c, ptr @double, ptr @negate
  %r = call i32 %f(i32 %v)
  %s = add i32 %r, %n
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %s, ptr addrspace(1) %po
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="128,128" }
attributes #1 = { "amdgpu-flat-work-group-size"="128,128" "amdgpu-num-sgpr"="24" "amdgpu-num-vgpr"="14" }
attributes #2 = { "amdgpu-flat-work-group-size"="128,128" "target-features"="+gfx8-insts" }
