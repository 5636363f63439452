#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { mat4 m[]; };
void main() { m[gl_GlobalInvocationID.x] = inverse(m[gl_GlobalInvocationID.x]); }
