#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, r32f) uniform writeonly image2D o;
layout(set = 0, binding = 7, r32f) uniform readonly image2D a;
float at(ivec2 p) { return imageLoad(a, clamp(p, ivec2(0), imageSize(a) - 1)).x; }
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    float nw = at(p + ivec2(-1, -1)), n = at(p + ivec2(0, -1)), ne = at(p + ivec2(1, -1));
    float w = at(p + ivec2(-1, 0)), e = at(p + ivec2(1, 0));
    float sw = at(p + ivec2(-1, 1)), s = at(p + ivec2(0, 1)), se = at(p + ivec2(1, 1));
    float gx = ne + 2.0 * e + se - nw - 2.0 * w - sw;
    float gy = sw + 2.0 * s + se - nw - 2.0 * n - ne;
    imageStore(o, p, vec4(sqrt(gx * gx + gy * gy)));
}
