#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uvec2 a[]; };
layout(push_constant) uniform P { uint modulus; };
void main() {
    uint i = gl_GlobalInvocationID.x, b = a[i].x % modulus, e = a[i].y, r = 1;
    while (e != 0) {
        if ((e & 1u) != 0) r = (r * b) % modulus;
        b = (b * b) % modulus;
        e >>= 1;
    }
    o[i] = r;
}
