// Sparse matrix times vector, compressed rows, one row a lane: loops of unequal length.
kernel void spmv(global const int *restrict row_start, global const int *restrict columns,
                 global const float *restrict values, global const float *restrict x, global float *restrict y, int rows)
{
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = row_start[row]; i < row_start[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
