// One step of gravity between n bodies; w holds the mass.
kernel void nbody(global const float4 *restrict position, global float4 *restrict velocity,
                  global float4 *restrict moved, float dt, float softening, int n, local float4 *shared_bodies)
{
    int i = get_global_id(0), lid = get_local_id(0), size = get_local_size(0);
    float4 self = position[i];
    float3 acceleration = (float3)(0.0f);
    for (int tile = 0; tile < n; tile += size) {
        shared_bodies[lid] = position[tile + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++) {
            float4 other = shared_bodies[j];
            float3 d = other.xyz - self.xyz;
            float distance2 = d.x * d.x + d.y * d.y + d.z * d.z + softening;
            float inverse = 1.0f / sqrt(distance2);
            acceleration += d * (other.w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 v = velocity[i];
    v.xyz += acceleration * dt;
    velocity[i] = v;
    moved[i] = (float4)(self.xyz + v.xyz * dt, self.w);
}
