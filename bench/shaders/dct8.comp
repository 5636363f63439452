#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { vec4 v[]; };
void main() {
    uint i = gl_GlobalInvocationID.x * 2;
    vec4 a = v[i], b = v[i + 1].wzyx, s = a + b, d = a - b;
    vec2 e = s.xy + s.wz, f = s.xy - s.wz;
    vec4 even = vec4(e.x + e.y, 0.9238795 * f.x + 0.3826834 * f.y, 0.7071068 * (e.x - e.y), 0.3826834 * f.x - 0.9238795 * f.y);
    vec4 odd = vec4(
        dot(d, vec4(0.9807853, 0.8314696, 0.5555702, 0.1950903)), dot(d, vec4(0.8314696, -0.1950903, -0.9807853, -0.5555702)),
        dot(d, vec4(0.5555702, -0.9807853, 0.1950903, 0.8314696)), dot(d, vec4(0.1950903, -0.5555702, 0.8314696, -0.9807853)));
    v[i] = vec4(even.x, odd.x, even.y, odd.y);
    v[i + 1] = vec4(even.z, odd.z, even.w, odd.w);
}
