#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { vec2 o[]; };
layout(set = 0, binding = 1) readonly buffer A { vec2 a[]; };
layout(push_constant) uniform P { uint n; uint step; };
vec2 mul(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
void main() {
    uint i = gl_GlobalInvocationID.x, k = i & (step - 1u), q = n / 4;
    float angle = -1.5707963 * float(k) / float(step);
    vec2 w1 = vec2(cos(angle), sin(angle)), w2 = mul(w1, w1), w3 = mul(w2, w1);
    vec2 x0 = a[i], x1 = mul(a[i + q], w1), x2 = mul(a[i + 2 * q], w2), x3 = mul(a[i + 3 * q], w3);
    vec2 s = x0 + x2, d = x0 - x2, t = x1 + x3, u = x1 - x3;
    uint j = (i - k) * 4 + k;
    o[j] = s + t;
    o[j + step] = d + vec2(u.y, -u.x);
    o[j + 2 * step] = s - t;
    o[j + 3 * step] = d - vec2(u.y, -u.x);
}
