#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { float o[]; };
layout(set = 0, binding = 1) readonly buffer A { f16vec2 a[]; };
layout(set = 0, binding = 2) readonly buffer B { f16vec2 b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    f16vec2 s = f16vec2(0);
    for (uint k = 0; k < 16; k++) s += a[i * 16 + k] * b[i * 16 + k];
    o[i] = float(s.x) + float(s.y);
}
