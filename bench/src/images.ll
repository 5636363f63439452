; OpenCL's functions on images, which libclc does not have for amdgcn: the descriptor is behind the image's pointer, that of the sampler
; behind the sampler's. Coordinates go to the sampler as floating-point numbers, integers too. Nothing runs this code: a sampler that
; the program itself has is at an address made of its value.
target triple = "amdgcn-amd-amdhsa"

define ptr addrspace(4) @__translate_sampler_initializer(i32 %value) alwaysinline {
  %wide = zext i32 %value to i64
  %offset = shl i64 %wide, 4
  %address = add i64 %offset, 65536
  %pointer = inttoptr i64 %address to ptr addrspace(4)
  ret ptr addrspace(4) %pointer
}

define <4 x float> @_Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_f(ptr addrspace(4) %image, ptr addrspace(4) %sampler, <2 x float> %at) alwaysinline {
  %x = extractelement <2 x float> %at, i32 0
  %y = extractelement <2 x float> %at, i32 1
  %t = load <8 x i32>, ptr addrspace(4) %image, align 32
  %s = load <4 x i32>, ptr addrspace(4) %sampler, align 16
  %v = call <4 x float> @llvm.amdgcn.image.sample.lz.2d.v4f32.f32(i32 15, float %x, float %y, <8 x i32> %t, <4 x i32> %s, i1 false, i32 0, i32 0)
  ret <4 x float> %v
}

define <4 x float> @_Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_i(ptr addrspace(4) %image, ptr addrspace(4) %sampler, <2 x i32> %at) alwaysinline {
  %float = sitofp <2 x i32> %at to <2 x float>
  %v = call <4 x float> @_Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_f(ptr addrspace(4) %image, ptr addrspace(4) %sampler, <2 x float> %float)
  ret <4 x float> %v
}

define <4 x i32> @_Z12read_imageui14ocl_image2d_ro11ocl_samplerDv2_i(ptr addrspace(4) %image, ptr addrspace(4) %sampler, <2 x i32> %at) alwaysinline {
  %v = call <4 x float> @_Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_i(ptr addrspace(4) %image, ptr addrspace(4) %sampler, <2 x i32> %at)
  %i = bitcast <4 x float> %v to <4 x i32>
  ret <4 x i32> %i
}

define void @_Z12write_imagef14ocl_image2d_woDv2_iDv4_f(ptr addrspace(4) %image, <2 x i32> %at, <4 x float> %value) alwaysinline {
  %x = extractelement <2 x i32> %at, i32 0
  %y = extractelement <2 x i32> %at, i32 1
  %t = load <8 x i32>, ptr addrspace(4) %image, align 32
  call void @llvm.amdgcn.image.store.2d.v4f32.i32(<4 x float> %value, i32 15, i32 %x, i32 %y, <8 x i32> %t, i32 0, i32 0)
  ret void
}

define void @_Z13write_imageui14ocl_image2d_woDv2_iDv4_j(ptr addrspace(4) %image, <2 x i32> %at, <4 x i32> %value) alwaysinline {
  %f = bitcast <4 x i32> %value to <4 x float>
  call void @_Z12write_imagef14ocl_image2d_woDv2_iDv4_f(ptr addrspace(4) %image, <2 x i32> %at, <4 x float> %f)
  ret void
}

declare <4 x float> @llvm.amdgcn.image.sample.lz.2d.v4f32.f32(i32 immarg, float, float, <8 x i32>, <4 x i32>, i1 immarg, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.image.store.2d.v4f32.i32(<4 x float>, i32 immarg, i32, i32, <8 x i32>, i32 immarg, i32 immarg)
