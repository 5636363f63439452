#version 450
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint64_t o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint64_t a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint64_t x = a[i], s = 0;
    for (int k = 0; k < 8; k++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        s ^= x >> (x >> 58);
    }
    o[i] = s;
}
