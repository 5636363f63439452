#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer O { uint best; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
shared uint most;
void main() {
    if (gl_LocalInvocationIndex == 0) most = 0;
    barrier();
    uint i = gl_GlobalInvocationID.x;
    uint key = (floatBitsToUint(abs(a[i])) & 0xffff0000u) | (i & 0xffffu);
    atomicMax(most, key);
    barrier();
    if (gl_LocalInvocationIndex == 0) atomicMax(best, most);
}
