// Matrix transpose through a padded LDS tile, so that both sides are contiguous.
#define TILE 16

kernel void transpose(global const float *restrict in, global float *restrict out, int width, int height)
{
    local float tile[TILE][TILE + 1];
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        tile[get_local_id(1)][get_local_id(0)] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + get_local_id(0);
    y = get_group_id(0) * TILE + get_local_id(1);
    if (x < height && y < width)
        out[y * height + x] = tile[get_local_id(0)][get_local_id(1)];
}
