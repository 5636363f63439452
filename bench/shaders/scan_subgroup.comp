#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
shared uint sums[16];
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint v = a[i];
    uint before = subgroupExclusiveAdd(v);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1) sums[gl_SubgroupID] = before + v;
    barrier();
    uint base = 0;
    for (uint k = 0; k < gl_SubgroupID; k++) base += sums[k];
    o[i] = base + before;
}
