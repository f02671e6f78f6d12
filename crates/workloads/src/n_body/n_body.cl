// One step of gravity, by the sum over all pairs, in many independent clusters of bodies at once: the grid is
// (body, cluster). Bodies are (x, y, z, mass); a workgroup stages as many of them in local memory as it has
// work-items. `softening` keeps the force of a body on itself, and of a near one, finite.
#pragma OPENCL FP_CONTRACT OFF

__kernel void n_body(__global const float4 *bodies, __global const float4 *velocities, __global float4 *new_bodies,
                    __global float4 *new_velocities, __local float4 *tile, float softening, float dt)
{
    uint count = get_global_size(0), group = get_local_size(0), l = get_local_id(0);
    __global const float4 *cluster = bodies + get_global_id(1) * count;
    uint i = get_global_id(1) * count + get_global_id(0);
    float4 me = bodies[i];

    float3 acceleration = (float3)(0.0f);
    for (uint start = 0; start < count; start += group) {
        tile[l] = cluster[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint j = 0; j < group; j++) {
            float3 r = tile[j].xyz - me.xyz;
            float squared = r.x * r.x + r.y * r.y + r.z * r.z + softening;
            float inverse = rsqrt(squared);
            float strength = tile[j].w * inverse * inverse * inverse;
            acceleration += strength * r;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    float3 velocity = velocities[i].xyz + acceleration * dt;
    new_velocities[i] = (float4)(velocity, 0.0f);
    new_bodies[i] = (float4)(me.xyz + velocity * dt, me.w);
}
