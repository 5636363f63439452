#version 450
layout(local_size_x = 64) in;
struct Particle { vec3 x; float age; vec3 v; uint kind; };
layout(set = 0, binding = 0) buffer O { Particle p[]; };
layout(push_constant) uniform P { float dt; float floor_; };
void main() {
    Particle q = p[gl_GlobalInvocationID.x];
    if (q.age <= 0.0) return;
    q.v += dt * (q.kind == 0 ? vec3(0, -9.81, 0) : q.kind == 1 ? -0.5 * q.v : vec3(sin(q.age), 0, cos(q.age)));
    q.x += dt * q.v;
    if (q.x.y < floor_) { q.x.y = 2.0 * floor_ - q.x.y; q.v.y = -0.6 * q.v.y; }
    q.age -= dt;
    p[gl_GlobalInvocationID.x] = q;
}
