#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { uint lists[]; };
layout(set = 0, binding = 1) readonly buffer L { vec4 lights[]; };
layout(push_constant) uniform P { vec4 low; vec4 high; uint count; };
shared uint found;
shared uint list[128];
void main() {
    uint l = gl_LocalInvocationID.x;
    if (l == 0) found = 0;
    barrier();
    vec3 cell = vec3(gl_WorkGroupID), a = low.xyz + cell * high.w, b = a + high.xyz;
    for (uint i = l; i < count; i += 64) {
        vec3 d = lights[i].xyz - clamp(lights[i].xyz, a, b);
        if (dot(d, d) <= lights[i].w * lights[i].w) {
            uint at = atomicAdd(found, 1);
            if (at < 128) list[at] = i;
        }
    }
    barrier();
    uint base = gl_WorkGroupID.x * 129;
    if (l == 0) lists[base] = min(found, 128);
    for (uint i = l; i < min(found, 128); i += 64) lists[base + 1 + i] = list[i];
}
