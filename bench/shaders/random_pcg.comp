#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { vec4 o[]; };
layout(push_constant) uniform P { uvec4 seed; };
void main() {
    uvec4 v = seed + uvec4(gl_GlobalInvocationID.x, gl_GlobalInvocationID.y, 1, 2);
    v = v * 1664525u + 1013904223u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    v ^= v >> 16u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    o[gl_GlobalInvocationID.x] = vec4(v) * (1.0 / 4294967296.0);
}
