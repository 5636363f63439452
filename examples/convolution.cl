// 5 x 5 convolution of an 8-bit image with clamped borders.
kernel void convolve(global const uchar *restrict in, global uchar *restrict out, constant float *weights, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            int sx = clamp(x + dx, 0, width - 1), sy = clamp(y + dy, 0, height - 1);
            sum += weights[(dy + 2) * 5 + dx + 2] * in[sy * width + sx];
        }
    out[y * width + x] = (uchar)clamp(sum + 0.5f, 0.0f, 255.0f);
}
