#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer O { int o[]; };
shared int t[2][256];
void main() {
    uint l = gl_LocalInvocationID.x;
    int from = 0;
    t[0][l] = o[gl_GlobalInvocationID.x];
    barrier();
    for (uint d = 1; d < 256; d <<= 1) {
        int v = t[from][l];
        if (l >= d) v += t[from][l - d];
        t[1 - from][l] = v;
        from = 1 - from;
        barrier();
    }
    o[gl_GlobalInvocationID.x] = t[from][l];
}
