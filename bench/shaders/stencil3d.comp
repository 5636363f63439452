#version 450
layout(local_size_x = 8, local_size_y = 8, local_size_z = 4) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(push_constant) uniform P { uvec3 size; float k; };
void main() {
    uvec3 p = gl_GlobalInvocationID;
    if (any(equal(p, uvec3(0))) || any(greaterThanEqual(p + 1, size))) return;
    uint sy = size.x, sz = size.x * size.y, i = p.z * sz + p.y * sy + p.x;
    float c = a[i];
    float sum = a[i - 1] + a[i + 1] + a[i - sy] + a[i + sy] + a[i - sz] + a[i + sz];
    o[i] = c + k * (sum - 6.0 * c);
}
