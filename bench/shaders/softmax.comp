#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { float o[]; };
layout(push_constant) uniform P { uint width; };
shared float t[64];
void main() {
    uint l = gl_LocalInvocationID.x, row = gl_WorkGroupID.x * width;
    float most = -1e30;
    for (uint i = l; i < width; i += 64) most = max(most, o[row + i]);
    t[l] = most;
    barrier();
    for (uint s = 32; s > 0; s >>= 1) { if (l < s) t[l] = max(t[l], t[l + s]); barrier(); }
    most = t[0];
    barrier();
    float sum = 0.0;
    for (uint i = l; i < width; i += 64) { float e = exp(o[row + i] - most); o[row + i] = e; sum += e; }
    t[l] = sum;
    barrier();
    for (uint s = 32; s > 0; s >>= 1) { if (l < s) t[l] += t[l + s]; barrier(); }
    for (uint i = l; i < width; i += 64) o[row + i] /= t[0];
}
