// y = a * x + y, the smallest useful kernel.
kernel void saxpy(global float *restrict y, global const float *restrict x, float a, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
