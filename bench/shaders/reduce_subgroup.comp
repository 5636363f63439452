#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
void main() {
    uint s = subgroupAdd(a[gl_GlobalInvocationID.x]);
    if (subgroupElect()) o[gl_WorkGroupID.x] = s;
}
