#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { uint count; uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
layout(push_constant) uniform P { uint least; };
void main() {
    uint v = a[gl_GlobalInvocationID.x];
    bool keep = v >= least;
    uvec4 mask = subgroupBallot(keep);
    uint base = 0;
    if (subgroupElect()) base = atomicAdd(count, subgroupBallotBitCount(mask));
    base = subgroupBroadcastFirst(base);
    if (keep) o[base + subgroupBallotExclusiveBitCount(mask)] = v;
}
