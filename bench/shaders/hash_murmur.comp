#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
uint rotl(uint x, int n) { return (x << n) | (x >> (32 - n)); }
void main() {
    uint i = gl_GlobalInvocationID.x, h = 0x9747b28cu;
    for (uint k = 0; k < 4; k++) {
        uint v = a[4 * i + k] * 0xcc9e2d51u;
        h ^= rotl(v, 15) * 0x1b873593u;
        h = rotl(h, 13) * 5u + 0xe6546b64u;
    }
    h ^= 16u;
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    o[i] = h ^ (h >> 16);
}
