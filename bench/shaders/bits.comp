#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { ivec4 o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, v = a[i];
    uint r = bitfieldReverse(v), m = bitfieldInsert(v, r, 4, 12);
    o[i] = ivec4(bitCount(v), findLSB(r), findMSB(m), bitfieldExtract(int(m), 3, 9));
}
