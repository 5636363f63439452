// One kernel for each function of images and each type of them; `images.rs` runs them.

#define SHAPE(NAME, TYPE, AT)                                                                                   \
    kernel void sample_##NAME(global float4 *out, read_only TYPE image, sampler_t how, global float4 *at) {    \
        const int n = get_global_id(0);                                                                        \
        out[n] = read_imagef(image, how, at[n] AT);                                                            \
    }                                                                                                          \
    LOADS(NAME, TYPE, AT)

#define LOADS(NAME, TYPE, AT)                                                                                   \
    kernel void load_##NAME(global float4 *out, read_only TYPE image, global int4 *at) {                       \
        const int n = get_global_id(0);                                                                        \
        out[n] = read_imagef(image, at[n] AT);                                                                 \
    }                                                                                                          \
    kernel void loadi_##NAME(global int4 *out, read_write TYPE image, global int4 *at) {                       \
        const int n = get_global_id(0);                                                                        \
        out[n] = read_imagei(image, at[n] AT);                                                                 \
    }                                                                                                          \
    kernel void store_##NAME(global float4 *values, write_only TYPE image, global int4 *at) {                  \
        const int n = get_global_id(0);                                                                        \
        write_imagef(image, at[n] AT, values[n]);                                                              \
    }                                                                                                          \
    kernel void storei_##NAME(global uint4 *values, read_write TYPE image, global int4 *at) {                  \
        const int n = get_global_id(0);                                                                        \
        write_imageui(image, at[n] AT, values[n]);                                                             \
    }

SHAPE(1d, image1d_t, .x)
SHAPE(1d_array, image1d_array_t, .xy)
SHAPE(2d, image2d_t, .xy)
SHAPE(2d_array, image2d_array_t, )
SHAPE(3d, image3d_t, )
LOADS(1d_buffer, image1d_buffer_t, .x)

// Integers as coordinates, and samplers that the program has: coordinates that are constants may take half a register.
kernel void constants_2d(global float4 *out, read_only image2d_t image, sampler_t how, global int4 *at) {
    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    const sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
    out[0] = read_imagef(image, how, at[0].xy);
    out[1] = read_imagef(image, nearest, (int2)(2, 1));
    out[2] = read_imagef(image, linear, (float2)(0.75f, 0.5f));
    out[3] = read_imagef(image, (int2)(1, 2));
}

kernel void query(global ulong *out, read_only image1d_t a, write_only image1d_array_t b, read_write image2d_t c,
                  read_only image2d_array_t d, read_only image3d_t e, read_only image1d_buffer_t f) {
    out[0] = get_image_width(a);
    out[1] = get_image_width(b);
    out[2] = get_image_array_size(b);
    out[3] = get_image_height(c);
    out[4] = get_image_dim(d).y;
    out[5] = get_image_array_size(d);
    out[6] = get_image_dim(e).z;
    out[7] = get_image_depth(e);
    out[8] = get_image_width(f);
    out[9] = get_image_channel_order(c) == CLK_RGBA;
    out[10] = get_image_channel_data_type(c) == CLK_FLOAT;
    out[11] = get_image_channel_order(a) == CLK_R;
    out[12] = get_image_channel_data_type(a) == CLK_SNORM_INT16;
    out[13] = get_image_dim(e).w;
}
