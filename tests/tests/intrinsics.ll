; Kernels over intrinsics of the target: out, a, b of i32; each work-item writes out[i]. The letters behind `k` are the generations that have what the
; kernel needs; the test makes a module of those for each processor.

define amdgpu_kernel void @k6789_raw_buffer(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 0, i64 1024, i32 159744)
  %o = shl i32 %i, 2
  %o1 = add i32 %o, 64
  %x = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %y = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o1, i32 4, i32 1)
  %z8 = call i8 @llvm.amdgcn.raw.ptr.buffer.load.i8(ptr addrspace(8) %r, i32 %i, i32 3, i32 0)
  %z16 = call i16 @llvm.amdgcn.raw.ptr.buffer.load.i16(ptr addrspace(8) %r, i32 %o, i32 2, i32 0)
  %z = zext i8 %z8 to i32
  %w = sext i16 %z16 to i32
  %v = call <3 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v3i32(ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %v2 = extractelement <3 x i32> %v, i32 2
  %s1 = add i32 %x, %y
  %s2 = xor i32 %s1, %z
  %s3 = sub i32 %s2, %w
  %s4 = add i32 %s3, %v2
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s4, ptr addrspace(1) %q
  ret void
}

; So many records that all are inside whether a generation counts them or their bytes.
define amdgpu_kernel void @k6789_struct_buffer(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 16, i64 1024, i32 159744)
  %w = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 4, i64 256, i32 159744)
  %x = call <4 x i32> @llvm.amdgcn.struct.ptr.buffer.load.v4i32(ptr addrspace(8) %r, i32 %i, i32 0, i32 0, i32 0)
  %y = call i32 @llvm.amdgcn.struct.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %i, i32 12, i32 0, i32 0)
  %c = and i32 %i, 1
  %o = shl i32 %c, 2
  %z = call i32 @llvm.amdgcn.struct.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %c, i32 %o, i32 4, i32 0)
  %e0 = extractelement <4 x i32> %x, i32 0
  %e3 = extractelement <4 x i32> %x, i32 3
  %s0 = xor i32 %e0, %y
  %s1 = add i32 %s0, %e3
  %s2 = add i32 %s1, %z
  call void @llvm.amdgcn.struct.ptr.buffer.store.i32(i32 %s2, ptr addrspace(8) %w, i32 %i, i32 0, i32 0, i32 0)
  ret void
}

define amdgpu_kernel void @k6789_waterfall(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %ra = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 0, i64 1024, i32 159744)
  %rb = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %b, i16 0, i64 1024, i32 159744)
  %third = urem i32 %i, 3
  %c = icmp eq i32 %third, 0
  %r = select i1 %c, ptr addrspace(8) %ra, ptr addrspace(8) %rb
  %so = and i32 %i, 4
  %o = shl i32 %i, 2
  %x = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o, i32 %so, i32 0)
  %y = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %s = sub i32 %x, %y
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k6789_buffer_atomics(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 0, i64 4096, i32 159744)
  %o = shl i32 %i, 2
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %old = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 %x, ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %u1 = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.umax.i32(i32 7, ptr addrspace(8) %r, i32 %o, i32 512, i32 0)
  %old2 = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.cmpswap.i32(i32 99, i32 %x, ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %old3 = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.swap.i32(i32 %old2, ptr addrspace(8) %r, i32 %o, i32 1024, i32 0)
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %q2 = getelementptr i32, ptr addrspace(1) %q, i32 512
  %s = add i32 %old, %old2
  store i32 %s, ptr addrspace(1) %q2
  ret void
}

define amdgpu_kernel void @k6789_s_buffer(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %r8 = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a, i16 0, i64 1024, i32 159744)
  %ri = ptrtoint ptr addrspace(8) %r8 to i128
  %r = bitcast i128 %ri to <4 x i32>
  %x = call i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32> %r, i32 20, i32 0)
  %v = call <3 x i32> @llvm.amdgcn.s.buffer.load.v3i32(<4 x i32> %r, i32 32, i32 0)
  %o = shl i32 %i, 2
  %y = call i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32> %r, i32 %o, i32 0)
  %w = call <8 x i32> @llvm.amdgcn.s.buffer.load.v8i32(<4 x i32> %r, i32 %o, i32 0)
  %v2 = extractelement <3 x i32> %v, i32 2
  %w7 = extractelement <8 x i32> %w, i32 7
  %s1 = add i32 %x, %v2
  %s2 = xor i32 %s1, %y
  %s3 = add i32 %s2, %w7
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s3, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k89_wwm(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %c = icmp slt i32 %x, 0
  br i1 %c, label %then, label %done
then:
  %all = call i32 @llvm.amdgcn.set.inactive.i32(i32 %i, i32 1000)
  %sh = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %all, i32 312, i32 15, i32 15, i1 false)
  %sum = add i32 %all, %sh
  %up = call i32 @llvm.amdgcn.readlane(i32 %sum, i32 63)
  %mixed = add i32 %sum, %up
  %res = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %mixed)
  store i32 %res, ptr addrspace(1) %q
  br label %done
done:
  %kept = phi i32 [ 5, %0 ], [ %x, %then ]
  %q2 = getelementptr i32, ptr addrspace(1) %q, i32 512
  store i32 %kept, ptr addrspace(1) %q2
  ret void
}

define amdgpu_kernel void @k6789_wave_reduce(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %c = icmp slt i32 %x, 0
  br i1 %c, label %then, label %else
then:
  %m = call i32 @llvm.amdgcn.wave.reduce.umin.i32(i32 %x, i32 1)
  store i32 %m, ptr addrspace(1) %q
  br label %done
else:
  %n = call i32 @llvm.amdgcn.wave.reduce.umax.i32(i32 %x, i32 1)
  store i32 %n, ptr addrspace(1) %q
  br label %done
done:
  ret void
}

define amdgpu_kernel void @k6789_icmp(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %y = load i32, ptr addrspace(1) %pb
  %x16 = trunc i32 %x to i16
  %y16 = trunc i32 %y to i16
  %m1 = call i64 @llvm.amdgcn.icmp.i64.i32(i32 %x, i32 %y, i32 40)
  %m2 = call i64 @llvm.amdgcn.icmp.i64.i16(i16 %x16, i16 %y16, i32 38)
  %f = bitcast i32 %x to float
  %g = bitcast i32 %y to float
  %m3 = call i64 @llvm.amdgcn.fcmp.i64.f32(float %f, float %g, i32 4)
  %c = icmp eq i32 %x, 7
  %m4 = call i64 @llvm.amdgcn.ballot.i64(i1 %c)
  %s1 = xor i64 %m1, %m2
  %s2 = add i64 %s1, %m3
  %s3 = sub i64 %s2, %m4
  store i64 %s3, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k6789_arithmetic(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr i32, ptr addrspace(1) %b, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %y = load i32, ptr addrspace(1) %pb
  %s1 = call i32 @llvm.amdgcn.lerp(i32 %x, i32 %y, i32 16843009)
  %s2 = call i32 @llvm.amdgcn.sad.u8(i32 %x, i32 %y, i32 %s1)
  %s3 = call i32 @llvm.amdgcn.sad.hi.u8(i32 %s2, i32 %y, i32 %x)
  %s4 = call i32 @llvm.amdgcn.msad.u8(i32 %x, i32 %s3, i32 %y)
  %s5 = call i32 @llvm.amdgcn.alignbyte(i32 %s4, i32 %x, i32 %y)
  %s6 = call i32 @llvm.amdgcn.ubfe.i32(i32 %s5, i32 %x, i32 %y)
  %s7 = call i32 @llvm.amdgcn.sbfe.i32(i32 %y, i32 3, i32 11)
  %s8 = call i32 @llvm.amdgcn.mulhi.u24(i32 %x, i32 %y)
  %s9 = call i32 @llvm.amdgcn.mul.i24.i32(i32 %x, i32 %y)
  %u1 = add i32 %s6, %s7
  %u2 = xor i32 %u1, %s8
  %u3 = sub i32 %u2, %s9
  store i32 %u3, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k789_sad_quad(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %x = load i32, ptr addrspace(1) %pa
  %w = zext i32 %x to i64
  %w2 = shl i64 %w, 29
  %w3 = call i64 @llvm.amdgcn.qsad.pk.u16.u8(i64 %w2, i32 %i, i64 %w)
  store i64 %w3, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k6789_dpp_free_lanes(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i64, ptr addrspace(1) %a, i32 %i
  %x = load i64, ptr addrspace(1) %pa
  %f = bitcast i64 %x to double
  %l = call double @llvm.amdgcn.readlane.f64(double %f, i32 5)
  %k = call i64 @llvm.amdgcn.readfirstlane.i64(i64 %x)
  %li = bitcast double %l to i64
  %h = trunc i64 %x to i16
  %w16 = call i16 @llvm.amdgcn.writelane.i16(i16 77, i32 9, i16 %h)
  %w = zext i16 %w16 to i64
  %s1 = add i64 %li, %k
  %s2 = xor i64 %s1, %w
  store i64 %s2, ptr addrspace(1) %q
  ret void
}

define amdgpu_kernel void @k89_lanes(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %i
  %pa = getelementptr i64, ptr addrspace(1) %a, i32 %i
  %x = load i64, ptr addrspace(1) %pa
  %y = call i64 @llvm.amdgcn.update.dpp.i64(i64 3, i64 %x, i32 273, i32 15, i32 15, i1 false)
  %t = trunc i64 %x to i32
  %rev = sub i32 63, %i
  %rev4 = shl i32 %rev, 2
  %p = call i32 @llvm.amdgcn.ds.bpermute(i32 %rev4, i32 %t)
  %z = zext i32 %p to i64
  %s = add i64 %y, %z
  store i64 %s, ptr addrspace(1) %q
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
