#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { vec4 o[]; };
layout(set = 0, binding = 1) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 2) readonly buffer B { vec4 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = a[i] + b[i];
}
