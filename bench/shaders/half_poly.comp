#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O { f16vec4 o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    f16vec4 x = o[i];
    o[i] = ((x * float16_t(0.25) + float16_t(0.5)) * x + float16_t(1.5)) * x + float16_t(2.0);
}
