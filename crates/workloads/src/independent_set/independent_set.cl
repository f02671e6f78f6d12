// A maximal independent set after Luby, in rounds: undecided nodes of the lowest priority among their undecided neighbours join it, and
// then their neighbours can't.
#define UNDECIDED 0
#define MEMBER 1
#define OUTSIDE 2

__kernel void choose_members(__global const uint *starts, __global const uint *edges, __global const uint *priorities,
                             __global const uint *states, __global uint *chosen, uint nodes)
{
    uint node = get_global_id(0);
    if (node >= nodes)
        return;
    uint own = priorities[node], smallest = states[node] == UNDECIDED, end = smallest ? starts[node + 1] : 0;
    for (uint i = starts[node]; i < end; i++) {
        uint other = edges[i], theirs = priorities[other];
        if (states[other] == UNDECIDED && (theirs < own || (theirs == own && other < node)))
            smallest = 0;
    }
    chosen[node] = smallest;
}

__kernel void settle(__global const uint *starts, __global const uint *edges, __global const uint *chosen,
                     __global uint *states, __global uint *left, uint nodes)
{
    uint node = get_global_id(0);
    if (node >= nodes || states[node] != UNDECIDED)
        return;
    if (chosen[node]) {
        states[node] = MEMBER;
        return;
    }
    uint state = UNDECIDED, end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++)
        if (chosen[edges[i]])
            state = OUTSIDE;
    states[node] = state;
    if (state == UNDECIDED)
        *left = 1;
}
