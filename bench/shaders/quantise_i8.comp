#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) writeonly buffer O { int8_t o[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(push_constant) uniform P { float scale; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = int8_t(clamp(round(a[i] * scale), -128.0, 127.0));
}
