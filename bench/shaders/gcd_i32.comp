#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { int o[]; };
layout(set = 0, binding = 1) readonly buffer A { ivec2 a[]; };
void main() {
    ivec2 v = abs(a[gl_GlobalInvocationID.x]);
    while (v.y != 0) v = ivec2(v.y, v.x % v.y);
    o[gl_GlobalInvocationID.x] = v.x;
}
