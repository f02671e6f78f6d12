// Graphs, made or read from a file: `--graph`.
#ifndef GRAPH_H
#define GRAPH_H

#include "guest.h"

// Node `n` has an edge to each of edges[starts[n] .. starts[n + 1]]. Every edge goes both ways, and none from a node to itself.
typedef struct {
    size_t nodes, edge_count;
    uint32_t *starts, *edges; // inputs (see `input_array`)
} Graph;

// The graph that `--graph` asks for. Kinds, of about `--size` nodes, the same from the same seed:
//   uniform  any two nodes are as likely to have an edge as any other two; 8 edges at a node on average,
//            or EDGES of them with `uniform:EDGES`
//   rmat     few nodes have very many edges (Chakrabarti, Zhan, Faloutsos: R-MAT, 2004); 8 edges at a node on average
//   road     a grid from which some streets are missing; up to 4 edges at a node
// Any other word is the name of a file: of the 9th DIMACS challenge (`.gr`) or Matrix Market coordinates (`.mtx`).
Graph make_graph(const Options *, uint64_t seed);

// A number for each node, to decide between neighbours; where two are equal, the node with the higher number counts as larger.
static inline bool is_larger(const uint32_t *priorities, size_t a, size_t b)
{
    return priorities[a] != priorities[b] ? priorities[a] > priorities[b] : a > b;
}

#endif
