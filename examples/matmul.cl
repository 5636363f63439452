// C = A * B for square matrices, 16 x 16 tiles staged in LDS.
#define TILE 16

kernel void matmul(global const float *restrict a, global const float *restrict b, global float *restrict c, int n)
{
    local float tile_a[TILE][TILE];
    local float tile_b[TILE][TILE + 1];
    int column = get_global_id(0), row = get_global_id(1);
    int x = get_local_id(0), y = get_local_id(1);
    float sum = 0.0f;
    for (int step = 0; step < n; step += TILE) {
        tile_a[y][x] = a[row * n + step + x];
        tile_b[y][x] = b[(step + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum = fma(tile_a[y][k], tile_b[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
