// Kernels that the simulator runs as compiled by LLVM, each against a reference on the CPU.

__kernel void saxpy(__global float *y, __global const float *x, float a, uint n) {
  uint i = get_global_id(0);
  if (i < n)
    y[i] = a * x[i] + y[i];
}

__kernel void matmul(__global float *c, __global const float *a, __global const float *b, uint n) {
  __local float ta[16][16], tb[16][16];
  uint x = get_local_id(0), y = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  float s = 0;
  for (uint t = 0; t < n; t += 16) {
    ta[y][x] = a[gy * n + t + x];
    tb[y][x] = b[(t + y) * n + gx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; k++)
      s = fma(ta[y][k], tb[k][x], s);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[gy * n + gx] = s;
}

__kernel void reduce(__global uint *out, __global const uint *in, __local uint *tmp) {
  uint l = get_local_id(0);
  tmp[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s)
      tmp[l] += tmp[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = tmp[0];
}

__kernel void histogram(__global uint *bins, __global const uchar *in, uint n) {
  __local uint tmp[256];
  uint l = get_local_id(0);
  tmp[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_inc(&tmp[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tmp[l])
    atomic_add(&bins[l], tmp[l]);
}

__kernel void mandelbrot(__global uint *out, float x0, float y0, float step, uint width) {
  uint x = get_global_id(0), y = get_global_id(1);
  float cr = x0 + x * step, ci = y0 + y * step, zr = 0, zi = 0;
  uint i = 0;
  while (i < 200) {
    float a = zr * zr, b = zi * zi;
    if (a + b > 4.0f)
      break;
    zi = 2.0f * zr * zi + ci;
    zr = a - b + cr;
    i++;
  }
  out[y * width + x] = i;
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void stencil(__global double *out, __global const double *in, uint n) {
  uint i = get_global_id(0);
  double l = i > 0 ? in[i - 1] : 0.0, r = i + 1 < n ? in[i + 1] : 0.0;
  out[i] = in[i] + 0.25 * (l - 2.0 * in[i] + r) / (1.0 + in[i] * in[i]);
}

__kernel void hash(__global ulong *out, ulong seed) {
  uint i = get_global_id(0);
  ulong h = seed + i * 0x9E3779B97F4A7C15ul;
  for (uint k = 0; k < 10; k++) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdul;
    h = rotate(h, 7 + (ulong)(k & 3)) + (uint)(h % 1000003u) / (k + 3);
    h ^= (ulong)popcount((uint)h) << 40 | clz((uint)(h >> 32));
  }
  out[i] = h;
}

__kernel void privates(__global int *out, __global const int *in, uint n) {
  uint i = get_global_id(0);
  int a[32];
  for (uint k = 0; k < 32; k++)
    a[k] = in[(i * 7 + k) % n];
  for (uint k = 1; k < 32; k++) {
    int v = a[k];
    int j = k;
    while (j > 0 && a[j - 1] > v) {
      a[j] = a[j - 1];
      j--;
    }
    a[j] = v;
  }
  int s = 0;
  for (uint k = 0; k < 32; k++)
    s = s * 31 + a[(k * (i | 1)) & 31];
  out[i] = s;
}

__kernel void bytes(__global uchar *o8, __global ushort *o16, __global const char *in) {
  uint i = get_global_id(0);
  char c = in[i];
  o8[i] = (uchar)(c * 3 + 1);
  o16[i] = (ushort)(c * c - i);
}

__kernel void divide(__global float *q, __global int *r, __global const float *a, __global const int *b) {
  uint i = get_global_id(0);
  q[i] = a[i] / (float)b[i] + sqrt(fabs(a[i]));
  r[i] = b[i] / (int)(i % 13 + 1) + b[i] % (int)(i + 1);
}

struct pair { float4 a; int b[3]; };
__kernel void structs(__global float *out, struct pair p, __global const float4 *in) {
  uint i = get_global_id(0);
  float4 v = in[i] * p.a;
  out[i] = v.x + v.y + v.z + v.w + p.b[i % 3];
}

__kernel void generic_pointers(__global uint *out, __global const uint *in) {
  __local uint l[64];
  uint p[4];
  uint i = get_local_id(0);
  l[i] = in[get_global_id(0)] * 3;
  p[i & 3] = i;
  p[(i + 1) & 3] = 5;
  p[(i + 2) & 3] = 7;
  p[(i + 3) & 3] = 9;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint *q = (i & 1) ? (const uint *)&l[63 - i] : (i & 2) ? (const uint *)&p[i & 3] : (const uint *)&in[i];
  out[get_global_id(0)] = *q;
}
