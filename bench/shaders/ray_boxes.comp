#version 450
layout(local_size_x = 64) in;
struct Node { vec4 low; vec4 high; };
layout(set = 0, binding = 0) writeonly buffer O { int o[]; };
layout(set = 0, binding = 1) readonly buffer N { Node nodes[]; };
layout(set = 0, binding = 2) readonly buffer R { vec4 rays[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 p = rays[2 * i].xyz, r = 1.0 / rays[2 * i + 1].xyz;
    int stack[16], top = 0, found = -1;
    float nearest = 1e30;
    stack[top++] = 0;
    while (top > 0) {
        int n = stack[--top];
        vec3 a = (nodes[n].low.xyz - p) * r, b = (nodes[n].high.xyz - p) * r;
        vec3 s = min(a, b), l = max(a, b);
        float enter = max(max(s.x, s.y), s.z), leave = min(min(l.x, l.y), l.z);
        if (enter > leave || leave < 0.0 || enter > nearest) continue;
        int child = floatBitsToInt(nodes[n].low.w);
        if (child < 0) { nearest = enter; found = ~child; }
        else if (top < 15) { stack[top++] = child; stack[top++] = child + 1; }
    }
    o[i] = found;
}
