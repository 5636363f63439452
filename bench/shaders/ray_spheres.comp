#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, rgba8) uniform writeonly image2D o;
layout(set = 0, binding = 10) uniform S { vec4 spheres[16]; };
layout(push_constant) uniform P { vec4 eye; vec2 size; };
void main() {
    vec2 uv = (vec2(gl_GlobalInvocationID.xy) * 2.0 - size) / size.y;
    vec3 d = normalize(vec3(uv, -1.5)), colour = vec3(0);
    float best = 1e30;
    int hit = -1;
    for (int i = 0; i < 16; i++) {
        vec3 c = eye.xyz - spheres[i].xyz;
        float b = dot(c, d), h = b * b - dot(c, c) + spheres[i].w * spheres[i].w;
        if (h < 0.0) continue;
        float t = -b - sqrt(h);
        if (t > 0.0 && t < best) { best = t; hit = i; }
    }
    if (hit >= 0) {
        vec3 n = normalize(eye.xyz + best * d - spheres[hit].xyz);
        colour = vec3(max(dot(n, normalize(vec3(1, 2, 3))), 0.1));
    }
    imageStore(o, ivec2(gl_GlobalInvocationID.xy), vec4(colour, 1));
}
