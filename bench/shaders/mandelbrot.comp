#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(push_constant) uniform P { vec2 corner; float scale; uint limit; uint width; };
void main() {
    vec2 c = corner + vec2(gl_GlobalInvocationID.xy) * scale, z = vec2(0);
    uint n = 0;
    while (n < limit && dot(z, z) <= 4.0) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        n++;
    }
    o[gl_GlobalInvocationID.y * width + gl_GlobalInvocationID.x] = n;
}
