#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; };
shared float ta[16][16];
shared float tb[16][17];
void main() {
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
    uint lx = gl_LocalInvocationID.x, ly = gl_LocalInvocationID.y;
    float s = 0.0;
    for (uint t = 0; t < n; t += 16) {
        ta[ly][lx] = a[y * n + t + lx];
        tb[ly][lx] = b[(t + ly) * n + x];
        barrier();
        for (uint k = 0; k < 16; k++) s = fma(ta[ly][k], tb[k][lx], s);
        barrier();
    }
    o[y * n + x] = s;
}
