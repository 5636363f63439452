#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, rgba16f) uniform writeonly image2D o;
layout(set = 0, binding = 8) uniform sampler2D a;
layout(push_constant) uniform P { float space; float range; };
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec3 centre = texelFetch(a, p, 0).rgb, sum = vec3(0);
    float weight = 0.0;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            vec3 c = texelFetch(a, p + ivec2(x, y), 0).rgb, d = c - centre;
            float w = exp(-float(x * x + y * y) * space - dot(d, d) * range);
            sum += w * c;
            weight += w;
        }
    imageStore(o, p, vec4(sum / weight, 1));
}
