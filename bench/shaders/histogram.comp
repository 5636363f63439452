#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer O { uint bins[256]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
shared uint mine[256];
void main() {
    uint l = gl_LocalInvocationID.x;
    mine[l] = 0;
    barrier();
    uint v = a[gl_GlobalInvocationID.x];
    for (int k = 0; k < 4; k++) atomicAdd(mine[bitfieldExtract(v, 8 * k, 8)], 1);
    barrier();
    if (mine[l] != 0) atomicAdd(bins[l], mine[l]);
}
