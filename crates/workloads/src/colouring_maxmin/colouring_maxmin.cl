// A graph's colouring, two colours a round: nodes with the highest priority among their neighbours without colour get one of them, those
// with the lowest the other.
#define NO_COLOUR 0xffffffffu
#define LARGEST 1
#define SMALLEST 2

__kernel void choose_maxmin(__global const uint *starts, __global const uint *edges, __global const uint *priorities,
                            __global const uint *colours, __global uint *chosen, uint nodes)
{
    uint node = get_global_id(0);
    if (node >= nodes || colours[node] != NO_COLOUR)
        return;
    uint own = priorities[node], largest = LARGEST, smallest = SMALLEST, end = starts[node + 1];
    for (uint i = starts[node]; i < end; i++) {
        uint other = edges[i];
        if (colours[other] != NO_COLOUR)
            continue;
        uint theirs = priorities[other];
        if (theirs > own || (theirs == own && other > node))
            largest = 0;
        else
            smallest = 0;
    }
    chosen[node] = largest ? largest : smallest;
}

__kernel void colour_maxmin(__global const uint *chosen, __global uint *colours, __global uint *left, uint nodes,
                            uint colour)
{
    uint node = get_global_id(0);
    if (node >= nodes || colours[node] != NO_COLOUR)
        return;
    if (chosen[node])
        colours[node] = colour + (chosen[node] == SMALLEST);
    else
        *left = 1;
}
