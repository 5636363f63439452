#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
layout(push_constant) uniform P { uint width; };
void main() {
    uint i = gl_GlobalInvocationID.x, alive = 0;
    uint rows[3] = uint[3](a[i], a[i + width], a[i + 2 * width]);
    for (int b = 1; b < 31; b++) {
        uint n = 0;
        for (int r = 0; r < 3; r++) n += bitCount(bitfieldExtract(rows[r], b - 1, 3));
        bool me = bitfieldExtract(rows[1], b, 1) != 0;
        if (n == 3 || (n == 4 && me)) alive |= 1u << b;
    }
    o[i] = alive;
}
