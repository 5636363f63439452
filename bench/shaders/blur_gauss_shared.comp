#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 10) uniform W { vec4 w[4]; };
shared float t[64 + 14];
void main() {
    uint l = gl_LocalInvocationID.x, g = gl_WorkGroupID.x * 64;
    t[l] = a[g + l];
    if (l < 14) t[64 + l] = a[g + 64 + l];
    barrier();
    float s = 0.0;
    for (int k = 0; k < 15; k++) s += w[k / 4][k % 4] * t[l + k];
    o[g + l] = s;
}
