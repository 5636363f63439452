// Bitonic sort: wide steps in global memory, narrow ones in LDS.
kernel void global_step(global uint *data, uint size, uint stride)
{
    uint i = get_global_id(0);
    uint low = 2 * i - (i & (stride - 1)), high = low + stride;
    bool ascending = (low & size) == 0;
    uint a = data[low], b = data[high];
    if ((a > b) == ascending) {
        data[low] = b;
        data[high] = a;
    }
}

kernel void local_steps(global uint *data, uint size, uint first_stride)
{
    local uint block[256];
    uint lid = get_local_id(0), base = get_group_id(0) * 256;
    block[lid] = data[base + lid];
    block[lid + 128] = data[base + lid + 128];
    for (uint stride = first_stride; stride > 0; stride >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint low = 2 * lid - (lid & (stride - 1)), high = low + stride;
        bool ascending = ((base + low) & size) == 0;
        uint a = block[low], b = block[high];
        if ((a > b) == ascending) {
            block[low] = b;
            block[high] = a;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[base + lid] = block[lid];
    data[base + lid + 128] = block[lid + 128];
}
