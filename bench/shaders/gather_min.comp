#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 6, r32f) uniform writeonly image2D o;
layout(set = 0, binding = 8) uniform sampler2D a;
layout(push_constant) uniform P { vec2 texel; };
void main() {
    vec4 v = textureGather(a, (vec2(gl_GlobalInvocationID.xy) * 2.0 + 1.0) * texel);
    imageStore(o, ivec2(gl_GlobalInvocationID.xy), vec4(min(min(v.x, v.y), min(v.z, v.w))));
}
