#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { double o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    double a = o[i], x = 1.0LF;
    for (int k = 0; k < 4; k++) x = x - (x * x * x - a) / (3.0LF * x * x);
    o[i] = x;
}
