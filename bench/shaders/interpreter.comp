#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { int o[]; };
layout(set = 0, binding = 1) readonly buffer C { uint code[]; };
layout(push_constant) uniform P { uint size; };
void main() {
    int a = int(gl_GlobalInvocationID.x), b = 0;
    for (uint pc = 0; pc < size; pc++) {
        uint c = code[pc];
        int k = int(c >> 8);
        switch (c & 255u) {
        case 0: a += k; break;
        case 1: a *= k; break;
        case 2: b = a; break;
        case 3: a ^= b; break;
        case 4: a = a > b ? a - b : k; break;
        case 5: if (a < k) pc++; break;
        default: a = -a; break;
        }
    }
    o[gl_GlobalInvocationID.x] = a;
}
