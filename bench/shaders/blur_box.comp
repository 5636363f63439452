#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 6, rgba8) uniform writeonly image2D o;
layout(set = 0, binding = 8) uniform sampler2D a;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec4 s = vec4(0);
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++) s += texelFetch(a, p + ivec2(x, y), 0);
    imageStore(o, p, s / 25.0);
}
