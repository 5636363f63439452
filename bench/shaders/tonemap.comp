#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, rgba8) uniform writeonly image2D o;
layout(set = 0, binding = 7, rgba16f) uniform readonly image2D a;
layout(push_constant) uniform P { float exposure; };
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec3 x = imageLoad(a, p).rgb * exposure;
    x = clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
    imageStore(o, p, vec4(pow(x, vec3(1.0 / 2.2)), 1));
}
