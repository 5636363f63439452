#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { double o[]; };
layout(set = 0, binding = 1) readonly buffer A { dvec2 a[]; };
layout(set = 0, binding = 2) readonly buffer B { dvec2 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x * 4;
    double s = 0.0LF;
    for (uint k = 0; k < 4; k++) s += dot(a[i + k], b[i + k]);
    o[gl_GlobalInvocationID.x] = sqrt(abs(s));
}
