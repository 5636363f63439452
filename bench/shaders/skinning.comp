#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { vec4 o[]; };
layout(set = 0, binding = 1) readonly buffer V { vec4 position[]; };
layout(set = 0, binding = 2) readonly buffer I { uint joints[]; };
layout(set = 0, binding = 3) readonly buffer W { vec4 weights[]; };
layout(set = 0, binding = 4) readonly buffer M { mat4 bones[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, j = joints[i];
    vec4 w = weights[i], s = vec4(0);
    for (int k = 0; k < 4; k++) s += w[k] * (bones[bitfieldExtract(j, 8 * k, 8)] * position[i]);
    o[i] = s;
}
