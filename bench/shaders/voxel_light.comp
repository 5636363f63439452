#version 450
layout(local_size_x = 4, local_size_y = 4, local_size_z = 4) in;
layout(set = 0, binding = 6, rgba16f) uniform writeonly image3D o;
layout(set = 0, binding = 8) uniform sampler3D a;
layout(push_constant) uniform P { vec4 light; vec3 texel; };
void main() {
    vec3 p = (vec3(gl_GlobalInvocationID) + 0.5) * texel, d = (light.xyz - p) / 16.0;
    float through = 1.0;
    for (int k = 0; k < 16 && through > 0.01; k++) {
        through *= 1.0 - textureLod(a, p, 0.0).a;
        p += d;
    }
    imageStore(o, ivec3(gl_GlobalInvocationID), vec4(light.w * through));
}
