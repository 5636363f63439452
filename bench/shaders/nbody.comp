#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer V { vec4 v[]; };
layout(set = 0, binding = 1) readonly buffer X { vec4 x[]; };
layout(push_constant) uniform P { uint n; float dt; };
shared vec4 tile[64];
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 me = x[i].xyz, a = vec3(0);
    for (uint t = 0; t < n; t += 64) {
        tile[gl_LocalInvocationID.x] = x[t + gl_LocalInvocationID.x];
        barrier();
        for (uint k = 0; k < 64; k++) {
            vec3 d = tile[k].xyz - me;
            float r = inversesqrt(dot(d, d) + 0.01);
            a += d * (tile[k].w * r * r * r);
        }
        barrier();
    }
    v[i].xyz += dt * a;
}
