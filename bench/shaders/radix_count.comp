#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer O { uint counts[]; };
layout(set = 0, binding = 1) readonly buffer A { uint keys[]; };
layout(push_constant) uniform P { uint shift; };
shared uint digits[16];
void main() {
    uint l = gl_LocalInvocationID.x;
    if (l < 16) digits[l] = 0;
    barrier();
    uint d = (keys[gl_GlobalInvocationID.x] >> shift) & 15u;
    uvec4 peers = uvec4(0xffffffffu);
    for (int b = 0; b < 4; b++) {
        bool set = ((d >> b) & 1u) != 0;
        uvec4 w = subgroupBallot(set);
        peers &= set ? w : ~w;
    }
    uint first = peers.x != 0 ? findLSB(peers.x) : 32 + findLSB(peers.y);
    if (first == gl_SubgroupInvocationID) atomicAdd(digits[d], bitCount(peers.x) + bitCount(peers.y));
    barrier();
    if (l < 16) counts[gl_WorkGroupID.x * 16 + l] = digits[l];
}
