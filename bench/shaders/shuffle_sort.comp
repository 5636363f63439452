#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { uint v[]; };
void main() {
    uint x = v[gl_GlobalInvocationID.x], l = gl_SubgroupInvocationID;
    for (uint k = 2; k <= 64; k <<= 1)
        for (uint d = k >> 1; d > 0; d >>= 1) {
            uint y = subgroupShuffleXor(x, d);
            bool low = ((l & d) == 0) == ((l & k) == 0);
            x = low ? min(x, y) : max(x, y);
        }
    v[gl_GlobalInvocationID.x] = x;
}
