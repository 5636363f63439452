#version 450
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer O { uint v[]; };
shared uint t[256];
void main() {
    uint l = gl_LocalInvocationID.x, g = gl_WorkGroupID.x * 256;
    t[l] = v[g + l];
    t[l + 128] = v[g + l + 128];
    for (uint k = 2; k <= 256; k <<= 1)
        for (uint d = k >> 1; d > 0; d >>= 1) {
            barrier();
            uint i = 2 * l - (l & (d - 1)), j = i + d;
            bool up = (i & k) == 0;
            uint a = t[i], b = t[j];
            if ((a > b) == up) { t[i] = b; t[j] = a; }
        }
    barrier();
    v[g + l] = t[l];
    v[g + l + 128] = t[l + 128];
}
