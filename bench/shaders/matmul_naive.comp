#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
    float s = 0.0;
    for (uint k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    o[y * n + x] = s;
}
