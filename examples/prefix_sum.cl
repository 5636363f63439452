// Exclusive prefix sum within each group (Blelloch's up and down sweep), and the sums of the groups.
#define SIZE 128

kernel void scan(global const int *restrict in, global int *restrict out, global int *restrict totals)
{
    local int data[2 * SIZE];
    int lid = get_local_id(0);
    int base = get_group_id(0) * 2 * SIZE;
    data[2 * lid] = in[base + 2 * lid];
    data[2 * lid + 1] = in[base + 2 * lid + 1];
    int offset = 1;
    for (int d = SIZE; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            int low = offset * (2 * lid + 1) - 1, high = offset * (2 * lid + 2) - 1;
            data[high] += data[low];
        }
        offset *= 2;
    }
    if (lid == 0) {
        totals[get_group_id(0)] = data[2 * SIZE - 1];
        data[2 * SIZE - 1] = 0;
    }
    for (int d = 1; d < 2 * SIZE; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < d) {
            int low = offset * (2 * lid + 1) - 1, high = offset * (2 * lid + 2) - 1;
            int t = data[low];
            data[low] = data[high];
            data[high] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + 2 * lid] = data[2 * lid];
    out[base + 2 * lid + 1] = data[2 * lid + 1];
}

kernel void add_offsets(global int *restrict out, global const int *restrict offsets)
{
    int group = get_group_id(0), base = group * 2 * SIZE + get_local_id(0);
    out[base] += offsets[group];
    out[base + SIZE] += offsets[group];
}
