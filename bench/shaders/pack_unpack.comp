#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uvec4 o[]; };
layout(set = 0, binding = 1) readonly buffer A { vec4 a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 v = a[i];
    o[i] = uvec4(packHalf2x16(v.xy), packUnorm4x8(v), packSnorm2x16(v.zw), floatBitsToUint(unpackHalf2x16(floatBitsToUint(v.x)).y));
}
