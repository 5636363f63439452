#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { vec4 v[]; };
layout(set = 0, binding = 1) readonly buffer Q { vec4 q[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec4 r = normalize(q[i]);
    vec3 t = 2.0 * cross(r.xyz, v[i].xyz);
    v[i].xyz += r.w * t + cross(r.xyz, t);
}
