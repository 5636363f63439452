#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer O { uint o[]; };
layout(set = 0, binding = 1) readonly buffer A { uint a[]; };
layout(push_constant) uniform P { uint w; uint h; };
shared uint t[32][33];
void main() {
    uvec2 l = gl_LocalInvocationID.xy, g = gl_WorkGroupID.xy * 32;
    for (uint k = 0; k < 32; k += 8) t[l.y + k][l.x] = a[(g.y + l.y + k) * w + g.x + l.x];
    barrier();
    for (uint k = 0; k < 32; k += 8) o[(g.x + l.y + k) * h + g.y + l.x] = t[l.x][l.y + k];
}
