declare void @llvm.amdgcn.cs.chain.v4i32(ptr, i32, <4 x i32>, <2 x i32>, i32, ...) noreturn
declare void @llvm.amdgcn.cs.chain.s(ptr, i32, {ptr addrspace(1), i32}, {i32}, i32, ...) noreturn
define amdgpu_cs_chain void @last({ptr addrspace(1), i32} inreg %s, {i32} %v) {
  %p = extractvalue {ptr addrspace(1), i32} %s, 0
  %k = extractvalue {ptr addrspace(1), i32} %s, 1
  %x = extractvalue {i32} %v, 0
  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %l
  %y = add i32 %x, %k
  store i32 %y, ptr addrspace(1) %q
  ret void
}
define amdgpu_cs_chain void @middle(<4 x i32> inreg %s, <2 x i32> %v) {
  %lo = extractelement <4 x i32> %s, i32 0
  %hi = extractelement <4 x i32> %s, i32 1
  %k = extractelement <4 x i32> %s, i32 2
  %i0 = insertelement <2 x i32> poison, i32 %lo, i32 0
  %i1 = insertelement <2 x i32> %i0, i32 %hi, i32 1
  %i = bitcast <2 x i32> %i1 to i64
  %p = inttoptr i64 %i to ptr addrspace(1)
  %a = extractelement <2 x i32> %v, i32 0
  %b = extractelement <2 x i32> %v, i32 1
  %m = mul i32 %a, %b
  %s0 = insertvalue {ptr addrspace(1), i32} poison, ptr addrspace(1) %p, 0
  %s1 = insertvalue {ptr addrspace(1), i32} %s0, i32 %k, 1
  %v0 = insertvalue {i32} poison, i32 %m, 0
  call void(ptr, i32, {ptr addrspace(1), i32}, {i32}, i32, ...) @llvm.amdgcn.cs.chain.s(ptr @last, i32 -1, {ptr addrspace(1), i32} inreg %s1, {i32} %v0, i32 0)
  unreachable
}
define amdgpu_cs void @first(ptr addrspace(1) inreg %p, i32 inreg %k, i32 %a) {
  %i = ptrtoint ptr addrspace(1) %p to i64
  %w = bitcast i64 %i to <2 x i32>
  %s = shufflevector <2 x i32> %w, <2 x i32> poison, <4 x i32> <i32 0, i32 1, i32 poison, i32 poison>
  %s1 = insertelement <4 x i32> %s, i32 %k, i32 2
  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %v0 = insertelement <2 x i32> poison, i32 %a, i32 0
  %v1 = insertelement <2 x i32> %v0, i32 %l, i32 1
  call void(ptr, i32, <4 x i32>, <2 x i32>, i32, ...) @llvm.amdgcn.cs.chain.v4i32(ptr @middle, i32 -1, <4 x i32> inreg %s1, <2 x i32> %v1, i32 0)
  unreachable
}
define amdgpu_cs void @choose(ptr addrspace(1) inreg %p, i32 inreg %k, i32 %a) {
  %s0 = insertvalue {ptr addrspace(1), i32} poison, ptr addrspace(1) %p, 0
  %s1 = insertvalue {ptr addrspace(1), i32} %s0, i32 %k, 1
  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %c = icmp slt i32 %k, 0
  br i1 %c, label %x, label %y
x:
  %v0 = insertvalue {i32} poison, i32 %l, 0
  call void(ptr, i32, {ptr addrspace(1), i32}, {i32}, i32, ...) @llvm.amdgcn.cs.chain.s(ptr @last, i32 21, {ptr addrspace(1), i32} inreg %s1, {i32} %v0, i32 0)
  unreachable
y:
  %i = ptrtoint ptr addrspace(1) %p to i64
  %w = bitcast i64 %i to <2 x i32>
  %s = shufflevector <2 x i32> %w, <2 x i32> poison, <4 x i32> <i32 0, i32 1, i32 poison, i32 poison>
  %s2 = insertelement <4 x i32> %s, i32 %k, i32 2
  %v2 = insertelement <2 x i32> poison, i32 %a, i32 0
  %v1 = insertelement <2 x i32> %v2, i32 %l, i32 1
  call void(ptr, i32, <4 x i32>, <2 x i32>, i32, ...) @llvm.amdgcn.cs.chain.v4i32(ptr @middle, i32 -1, <4 x i32> inreg %s2, <2 x i32> %v1, i32 0)
  unreachable
}
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
