#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer O { vec4 o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { vec4 b[]; };
layout(push_constant) uniform P { uint n; };
void main() {
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y * 4;
    vec4 s[4] = vec4[4](vec4(0), vec4(0), vec4(0), vec4(0));
    for (uint k = 0; k < n; k++) {
        vec4 row = b[k * (n / 4) + x];
        for (uint r = 0; r < 4; r++) s[r] += a[(y + r) * n + k] * row;
    }
    for (uint r = 0; r < 4; r++) o[(y + r) * (n / 4) + x] = s[r];
}
