#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
shared float part[256];
void main() {
    uint l = gl_LocalInvocationID.x;
    part[l] = a[gl_GlobalInvocationID.x];
    barrier();
    for (uint s = 128; s > 0; s >>= 1) {
        if (l < s) part[l] += part[l + s];
        barrier();
    }
    if (l == 0) o[gl_WorkGroupID.x] = part[0];
}
