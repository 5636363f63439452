// What OpenCL C says of sub-groups, and of products of packed bytes, which libclc does not have for amdgcn: waves of 64 lanes.
// Included in front of sources that use it (`scripts/corpus`).
#define INTEL_GPU 1
#define cl_intel_required_subgroup_size 1
#define intel_reqd_sub_group_size(x) annotate("sub-group")
#define cl_khr_subgroups 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_integer_dot_product 1
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OVERLOADED static inline __attribute__((overloadable, always_inline))

OVERLOADED uint get_sub_group_local_id(void) {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
OVERLOADED uint get_sub_group_size(void) { return 64; }
OVERLOADED uint get_max_sub_group_size(void) { return 64; }
OVERLOADED uint get_num_sub_groups(void) {
    return (get_local_size(0) * get_local_size(1) * get_local_size(2) + 63) / 64;
}
OVERLOADED uint get_sub_group_id(void) {
    return (get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))) / 64;
}
OVERLOADED void sub_group_barrier(uint fence) { barrier(CLK_LOCAL_MEM_FENCE); }

#define SUB_GROUPS(T)                                                                                                     \
    OVERLOADED T sub_group_shuffle(T x, uint lane) { return as_##T(__builtin_amdgcn_ds_bpermute(lane << 2, as_int(x))); } \
    OVERLOADED T sub_group_shuffle_xor(T x, uint mask) { return sub_group_shuffle(x, get_sub_group_local_id() ^ mask); }  \
    OVERLOADED T sub_group_broadcast(T x, uint lane) { return as_##T(__builtin_amdgcn_readlane(as_int(x), lane)); }       \
    OVERLOADED T sub_group_reduce_add(T x) {                                                                              \
        for (uint m = 1; m < 64; m *= 2)                                                                                  \
            x += sub_group_shuffle_xor(x, m);                                                                             \
        return x;                                                                                                         \
    }                                                                                                                     \
    OVERLOADED T sub_group_reduce_max(T x) {                                                                              \
        for (uint m = 1; m < 64; m *= 2)                                                                                  \
            x = max(x, sub_group_shuffle_xor(x, m));                                                                      \
        return x;                                                                                                         \
    }                                                                                                                     \
    OVERLOADED T sub_group_scan_inclusive_add(T x) {                                                                      \
        for (uint m = 1; m < 64; m *= 2) {                                                                                \
            T below = sub_group_shuffle(x, get_sub_group_local_id() - m);                                                 \
            if (get_sub_group_local_id() >= m)                                                                            \
                x += below;                                                                                               \
        }                                                                                                                 \
        return x;                                                                                                         \
    }                                                                                                                     \
    OVERLOADED T sub_group_scan_exclusive_add(T x) { return sub_group_scan_inclusive_add(x) - x; }
SUB_GROUPS(int)
SUB_GROUPS(uint)
SUB_GROUPS(float)

OVERLOADED half sub_group_broadcast(half x, uint lane) {
    return as_half((short)__builtin_amdgcn_readlane((int)as_short(x), lane));
}
OVERLOADED half sub_group_shuffle(half x, uint lane) {
    return as_half((short)__builtin_amdgcn_ds_bpermute(lane << 2, (int)as_short(x)));
}
OVERLOADED half4 sub_group_shuffle(half4 x, uint lane) {
    int2 parts = as_int2(x);
    return as_half4((int2)(__builtin_amdgcn_ds_bpermute(lane << 2, parts.x), __builtin_amdgcn_ds_bpermute(lane << 2, parts.y)));
}
OVERLOADED half sub_group_reduce_add(half x) { return (half)sub_group_reduce_add((float)x); }

OVERLOADED int dot_acc_sat_4x8packed_ss_int(uint a, uint b, int sum) {
    char4 x = as_char4(a), y = as_char4(b);
    return sum + x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3;
}
OVERLOADED int dot_4x8packed_ss_int(uint a, uint b) { return dot_acc_sat_4x8packed_ss_int(a, b, 0); }
