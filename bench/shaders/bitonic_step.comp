#version 450
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer O { uint v[]; };
layout(push_constant) uniform P { uint block; uint distance; };
void main() {
    uint i = gl_GlobalInvocationID.x, j = i ^ distance;
    if (j > i) {
        uint a = v[i], b = v[j];
        bool up = (i & block) == 0;
        if ((a > b) == up) { v[i] = b; v[j] = a; }
    }
}
