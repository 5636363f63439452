#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer R { uint rows[]; };
layout(set = 0, binding = 2) readonly buffer C { uint columns[]; };
layout(set = 0, binding = 3) readonly buffer V { float values[]; };
layout(set = 0, binding = 4) readonly buffer X { float x[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint r = gl_GlobalInvocationID.x;
    if (r >= n) return;
    float s = 0.0;
    for (uint k = rows[r]; k < rows[r + 1]; k++) s += values[k] * x[columns[k]];
    o[r] = s;
}
