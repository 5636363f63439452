#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { float o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = o[i];
    o[i] = sin(x) * exp2(x) + log2(abs(x) + 1.0) / (1.0 + x * x) + atan(x, 2.0) + pow(abs(x), 1.7);
}
