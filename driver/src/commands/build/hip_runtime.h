// HIP's device side for gcnc, where ROCm's headers are not there: qualifiers, built-in variables, barriers, atomics, lanes, mathematics.
// Mathematics that the processors have no instruction for comes from libclc, by its names of OpenCL.
#ifndef GCNC_HIP_RUNTIME_H
#define GCNC_HIP_RUNTIME_H

#define __GCNC_HIP_RUNTIME__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__

#define __GCNC_DEVICE static __device__ inline __attribute__((always_inline))

typedef __SIZE_TYPE__ size_t;

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Built-in variables: reading a member calls a builtin of clang, which knows the code object version.
#define __GCNC_MEMBER(axis, value)                            \
  __declspec(property(get = get_##axis)) unsigned axis;       \
  __GCNC_DEVICE unsigned get_##axis() { return (value); }
#define __GCNC_VARIABLE(name, vx, vy, vz)                             \
  struct __gcnc_##name {                                              \
    __GCNC_MEMBER(x, vx)                                              \
    __GCNC_MEMBER(y, vy)                                              \
    __GCNC_MEMBER(z, vz)                                              \
    __device__ operator dim3() const { return dim3(vx, vy, vz); }     \
  };                                                                  \
  extern const __device__ __attribute__((weak)) __gcnc_##name name;

__GCNC_VARIABLE(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
__GCNC_VARIABLE(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
__GCNC_VARIABLE(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
__GCNC_VARIABLE(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
#undef __GCNC_VARIABLE
#undef __GCNC_MEMBER

static const __device__ int warpSize = 64;

extern "C" __device__ int printf(const char *, ...);

// Barriers and fences.
__GCNC_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__GCNC_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__GCNC_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__GCNC_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// Atomic operations of the device, relaxed.
#define __GCNC_ATOMIC(name, op, type)                                                               \
  __GCNC_DEVICE type name(type *at, type value) {                                                   \
    return __hip_atomic_##op(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                \
  }
#define __GCNC_ATOMIC_INTEGERS(name, op) \
  __GCNC_ATOMIC(name, op, int)           \
  __GCNC_ATOMIC(name, op, unsigned)      \
  __GCNC_ATOMIC(name, op, unsigned long long)
__GCNC_ATOMIC_INTEGERS(atomicAdd, fetch_add)
__GCNC_ATOMIC(atomicAdd, fetch_add, float)
__GCNC_ATOMIC(atomicAdd, fetch_add, double)
__GCNC_ATOMIC_INTEGERS(atomicAnd, fetch_and)
__GCNC_ATOMIC_INTEGERS(atomicOr, fetch_or)
__GCNC_ATOMIC_INTEGERS(atomicXor, fetch_xor)
__GCNC_ATOMIC_INTEGERS(atomicMin, fetch_min)
__GCNC_ATOMIC_INTEGERS(atomicMax, fetch_max)
__GCNC_ATOMIC_INTEGERS(atomicExch, exchange)
__GCNC_ATOMIC(atomicExch, exchange, float)
#undef __GCNC_ATOMIC_INTEGERS
#undef __GCNC_ATOMIC
__GCNC_DEVICE int atomicSub(int *at, int value) { return atomicAdd(at, (int)(0u - (unsigned)value)); }
__GCNC_DEVICE unsigned atomicSub(unsigned *at, unsigned value) { return atomicAdd(at, 0u - value); }
#define __GCNC_CAS(type)                                                                                        \
  __GCNC_DEVICE type atomicCAS(type *at, type expected, type value) {                                           \
    __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,              \
                                         __HIP_MEMORY_SCOPE_AGENT);                                             \
    return expected;                                                                                            \
  }
__GCNC_CAS(int)
__GCNC_CAS(unsigned)
__GCNC_CAS(unsigned long long)
#undef __GCNC_CAS
__GCNC_DEVICE unsigned atomicInc(unsigned *at, unsigned limit) {
  return __builtin_amdgcn_atomic_inc32(at, limit, __ATOMIC_RELAXED, "agent");
}
__GCNC_DEVICE unsigned atomicDec(unsigned *at, unsigned limit) {
  return __builtin_amdgcn_atomic_dec32(at, limit, __ATOMIC_RELAXED, "agent");
}

// Lanes of a wave.
__GCNC_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
__GCNC_DEVICE unsigned long long __ballot(int condition) { return __builtin_amdgcn_ballot_w64(condition != 0); }
__GCNC_DEVICE int __any(int condition) { return __ballot(condition) != 0; }
__GCNC_DEVICE int __all(int condition) { return __ballot(condition == 0) == 0; }
__GCNC_DEVICE unsigned long long __activemask() { return __ballot(1); }
__GCNC_DEVICE int __gcnc_from_lane(int value, int lane) { return __builtin_amdgcn_ds_bpermute(lane << 2, value); }
__GCNC_DEVICE int __shfl(int value, int lane, int width = 64) {
  int own = (int)__lane_id();
  return __gcnc_from_lane(value, (lane & (width - 1)) + (own & ~(width - 1)));
}
__GCNC_DEVICE int __shfl_up(int value, unsigned delta, int width = 64) {
  int own = (int)__lane_id(), lane = own - (int)delta;
  return __gcnc_from_lane(value, lane < (own & ~(width - 1)) ? own : lane);
}
__GCNC_DEVICE int __shfl_down(int value, unsigned delta, int width = 64) {
  int own = (int)__lane_id();
  return __gcnc_from_lane(value, (own & (width - 1)) + (int)delta >= width ? own : own + (int)delta);
}
__GCNC_DEVICE int __shfl_xor(int value, int mask, int width = 64) {
  int own = (int)__lane_id(), lane = own ^ mask;
  return __gcnc_from_lane(value, lane >= ((own + width) & ~(width - 1)) ? own : lane);
}
#define __GCNC_SHUFFLE(type)                                                                                                   \
  __GCNC_DEVICE type __shfl(type v, int lane, int width = 64) { return __builtin_bit_cast(type, __shfl(__builtin_bit_cast(int, v), lane, width)); }          \
  __GCNC_DEVICE type __shfl_up(type v, unsigned delta, int width = 64) { return __builtin_bit_cast(type, __shfl_up(__builtin_bit_cast(int, v), delta, width)); }   \
  __GCNC_DEVICE type __shfl_down(type v, unsigned delta, int width = 64) { return __builtin_bit_cast(type, __shfl_down(__builtin_bit_cast(int, v), delta, width)); } \
  __GCNC_DEVICE type __shfl_xor(type v, int mask, int width = 64) { return __builtin_bit_cast(type, __shfl_xor(__builtin_bit_cast(int, v), mask, width)); }
__GCNC_SHUFFLE(unsigned)
__GCNC_SHUFFLE(float)
#undef __GCNC_SHUFFLE

// Bits.
__GCNC_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
__GCNC_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__GCNC_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
__GCNC_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
__GCNC_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
__GCNC_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
__GCNC_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__GCNC_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__GCNC_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
__GCNC_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__GCNC_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__GCNC_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__GCNC_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__GCNC_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }

// Smaller and larger of two.
#define __GCNC_MINMAX(type)                                                              \
  __host__ __device__ static inline type min(type a, type b) { return b < a ? b : a; }   \
  __host__ __device__ static inline type max(type a, type b) { return a < b ? b : a; }
__GCNC_MINMAX(int)
__GCNC_MINMAX(unsigned)
__GCNC_MINMAX(long)
__GCNC_MINMAX(unsigned long)
__GCNC_MINMAX(long long)
__GCNC_MINMAX(unsigned long long)
#undef __GCNC_MINMAX

#if defined(__HIP_DEVICE_COMPILE__)
__GCNC_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
__GCNC_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
__GCNC_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
__GCNC_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }

// Mathematics that is an instruction, or a few.
#define __GCNC_BUILTIN1(name)                                               \
  __GCNC_DEVICE float name##f(float x) { return __builtin_##name##f(x); }   \
  __GCNC_DEVICE double name(double x) { return __builtin_##name(x); }
#define __GCNC_BUILTIN2(name)                                                           \
  __GCNC_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); }   \
  __GCNC_DEVICE double name(double x, double y) { return __builtin_##name(x, y); }
__GCNC_BUILTIN1(sqrt)
__GCNC_BUILTIN1(fabs)
__GCNC_BUILTIN1(floor)
__GCNC_BUILTIN1(ceil)
__GCNC_BUILTIN1(trunc)
__GCNC_BUILTIN1(rint)
__GCNC_BUILTIN1(nearbyint)
__GCNC_BUILTIN2(fmin)
__GCNC_BUILTIN2(fmax)
__GCNC_BUILTIN2(copysign)
__GCNC_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__GCNC_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
#undef __GCNC_BUILTIN1
#undef __GCNC_BUILTIN2

// Mathematics that is a function of libclc.
#define __GCNC_LIBRARY1(name, mangled)                                                        \
  extern "C" __device__ float __gcnc_##name##_f32(float) __asm__("_Z" mangled "f");           \
  extern "C" __device__ double __gcnc_##name##_f64(double) __asm__("_Z" mangled "d");         \
  __GCNC_DEVICE float name##f(float x) { return __gcnc_##name##_f32(x); }                     \
  __GCNC_DEVICE double name(double x) { return __gcnc_##name##_f64(x); }
#define __GCNC_LIBRARY2(name, mangled)                                                        \
  extern "C" __device__ float __gcnc_##name##_f32(float, float) __asm__("_Z" mangled "ff");   \
  extern "C" __device__ double __gcnc_##name##_f64(double, double) __asm__("_Z" mangled "dd");\
  __GCNC_DEVICE float name##f(float x, float y) { return __gcnc_##name##_f32(x, y); }         \
  __GCNC_DEVICE double name(double x, double y) { return __gcnc_##name##_f64(x, y); }
__GCNC_LIBRARY1(sin, "3sin")
__GCNC_LIBRARY1(cos, "3cos")
__GCNC_LIBRARY1(tan, "3tan")
__GCNC_LIBRARY1(asin, "4asin")
__GCNC_LIBRARY1(acos, "4acos")
__GCNC_LIBRARY1(atan, "4atan")
__GCNC_LIBRARY1(sinh, "4sinh")
__GCNC_LIBRARY1(cosh, "4cosh")
__GCNC_LIBRARY1(tanh, "4tanh")
__GCNC_LIBRARY1(exp, "3exp")
__GCNC_LIBRARY1(exp2, "4exp2")
__GCNC_LIBRARY1(expm1, "5expm1")
__GCNC_LIBRARY1(log, "3log")
__GCNC_LIBRARY1(log2, "4log2")
__GCNC_LIBRARY1(log10, "5log10")
__GCNC_LIBRARY1(log1p, "5log1p")
__GCNC_LIBRARY1(cbrt, "4cbrt")
__GCNC_LIBRARY1(erf, "3erf")
__GCNC_LIBRARY1(erfc, "4erfc")
__GCNC_LIBRARY1(rsqrt, "5rsqrt")
__GCNC_LIBRARY1(round, "5round")
__GCNC_LIBRARY2(pow, "3pow")
__GCNC_LIBRARY2(atan2, "5atan2")
__GCNC_LIBRARY2(fmod, "4fmod")
__GCNC_LIBRARY2(hypot, "5hypot")
#undef __GCNC_LIBRARY1
#undef __GCNC_LIBRARY2
__GCNC_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504088896340736f); }
__GCNC_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.69314718055994530942f; }
__GCNC_DEVICE float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
#endif

#endif
