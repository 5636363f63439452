// 256-point complex FFT, one group each: radix-2, bit reversal first, twiddles by sincos.
#define POINTS 256

kernel void fft(global const float2 *restrict in, global float2 *restrict out)
{
    local float2 data[POINTS];
    int lid = get_local_id(0);
    size_t base = get_group_id(0) * POINTS;
    for (int k = 0; k < 2; k++) {
        uint i = lid + k * POINTS / 2, r = 0;
        for (int bit = 0; bit < 8; bit++)
            r |= ((i >> bit) & 1) << (7 - bit);
        data[r] = in[base + i];
    }
    for (int half_size = 1; half_size < POINTS; half_size *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int position = lid & (half_size - 1);
        int low = (lid - position) * 2 + position, high = low + half_size;
        float angle = -3.14159265358979f * position / half_size;
        float c = cos(angle), s = sin(angle);
        float2 a = data[low], b = data[high];
        float2 t = (float2)(c * b.x - s * b.y, c * b.y + s * b.x);
        data[low] = a + t;
        data[high] = a - t;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + lid] = data[lid];
    out[base + lid + POINTS / 2] = data[lid + POINTS / 2];
}
