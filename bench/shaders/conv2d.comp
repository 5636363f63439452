#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer W { float w[]; };
layout(push_constant) uniform P { uint width; uint height; uint channels; };
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    uint filter_ = gl_WorkGroupID.z;
    float s = 0.0;
    for (uint c = 0; c < channels; c++)
        for (uint y = 0; y < 3; y++)
            for (uint x = 0; x < 3; x++)
                s += a[(c * height + p.y + y) * width + p.x + x] * w[((filter_ * channels + c) * 3 + y) * 3 + x];
    o[(filter_ * height + p.y) * width + p.x] = max(s, 0.0);
}
