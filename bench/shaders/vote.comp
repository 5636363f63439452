#version 450
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = o[i];
    float dx = subgroupQuadSwapHorizontal(x) - x, dy = subgroupQuadSwapVertical(x) - x;
    if (subgroupAll(dx * dx + dy * dy < 0.25)) x = 0.5 * (subgroupQuadSwapDiagonal(x) + x);
    o[i] = x;
}
