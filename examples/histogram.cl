// 256-bin histogram of bytes: LDS atomics for the group, then global atomics.
kernel void histogram(global const uchar *restrict data, global uint *restrict bins, uint n)
{
    local uint counts[256];
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        if (counts[i] != 0)
            atomic_add(&bins[i], counts[i]);
}
