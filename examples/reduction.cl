// Sum of an array: a tree in LDS for each group, one partial sum out.
kernel void reduce(global const uint *restrict in, global uint *restrict partial, uint n, local uint *scratch)
{
    uint lid = get_local_id(0), size = get_local_size(0);
    uint sum = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    scratch[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            scratch[lid] += scratch[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        partial[get_group_id(0)] = scratch[0];
}
