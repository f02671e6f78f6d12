// Petri nets: each work-item fires random transitions of a net of its own, a ring of places with tokens, for some steps. All of them
// add what they fired to `total`.
#define PLACES 32

__kernel void fire(__global uint *marking, __global uint *fired, __global uint *total, uint steps, uint nets)
{
    uint net = get_global_id(0);
    if (net >= nets)
        return;
    uint random = net * 2654435761u + fired[net] + 1, count = 0;
    for (uint step = 0; step < steps; step++) {
        random = random * 1664525u + 1013904223u;
        uint from = (random >> 8) % PLACES * nets + net, to = ((random >> 8) + 1) % PLACES * nets + net;
        if (marking[from] > 0) {
            marking[from] -= 1;
            marking[to] += 1;
            count += 1;
        }
    }
    fired[net] += count;
    atomic_add(total, count);
}
