#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
void main() {
    uint i = gl_GlobalInvocationID.x * 8, carry = 0;
    for (uint k = 0; k < 8; k++) {
        uint c1, c2, s = uaddCarry(o[i + k], a[i + k], c1);
        o[i + k] = uaddCarry(s, carry, c2);
        carry = c1 | c2;
    }
}
