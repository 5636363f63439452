#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, rgba8) uniform writeonly image2D o;
layout(set = 0, binding = 8) uniform sampler2D a;
layout(push_constant) uniform P { vec2 scale; float lod; };
void main() {
    vec2 p = (vec2(gl_GlobalInvocationID.xy) + 0.5) * scale;
    vec4 near = textureLod(a, p, lod), far = textureLod(a, p, lod + 1.0);
    imageStore(o, ivec2(gl_GlobalInvocationID.xy), mix(near, far, 0.5));
}
