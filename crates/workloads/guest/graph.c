// Graphs, made or read from a file. The kinds are those of crates/workloads/src/graph.rs: the same seed gives the same graph.
#include "graph.h"

#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES ((size_t)1 << 26)
#define MAX_PAIRS ((size_t)1 << 28)

// Edges as they are found, before they are sorted by node.
typedef struct {
    uint32_t *ends; // two for each
    size_t count, room;
} Pairs;

static void add_pair(Pairs *pairs, uint32_t a, uint32_t b)
{
    if (a == b)
        return;
    if (pairs->count == pairs->room) {
        pairs->room = pairs->room ? 2 * pairs->room : 1024;
        pairs->ends = realloc(pairs->ends, pairs->room * 2 * sizeof *pairs->ends);
        require(pairs->ends != NULL, "no memory for a graph of %zu edges", pairs->room);
    }
    pairs->ends[2 * pairs->count] = a;
    pairs->ends[2 * pairs->count + 1] = b;
    pairs->count++;
}

// --- Kinds -----------------------------------------------------------------------------------------------------

#define PAIRS_PER_NODE 4

static void uniform(Pairs *pairs, size_t nodes, unsigned per_node, Random *random)
{
    for (size_t n = 0; n < nodes; n++)
        for (unsigned i = 0; i < per_node; i++)
            add_pair(pairs, (uint32_t)n, random_below(random, (uint32_t)nodes));
}

// How many pairs a node has in `uniform` or `uniform:EDGES`; 0 for another word.
static unsigned pairs_of_uniform(const char *graph)
{
    static const char name[] = "uniform";
    if (strncmp(graph, name, sizeof name - 1) != 0)
        return 0;
    const char *rest = graph + sizeof name - 1;
    if (*rest == '\0')
        return PAIRS_PER_NODE;
    if (*rest != ':')
        return 0;
    char *end;
    unsigned long edges = strtoul(rest + 1, &end, 10);
    bool number = rest[1] >= '0' && rest[1] <= '9' && *end == '\0';
    require(number && edges >= 2 && edges <= 256 && edges % 2 == 0,
            "--graph %s: an even number of edges at a node from 2 to 256 is needed", graph);
    return (unsigned)edges / 2;
}

// Where an edge lies in the matrix of all nodes: one of four quarters, one of its quarters, and so on.
static void rmat(Pairs *pairs, size_t nodes, Random *random)
{
    for (size_t made = 0; made < nodes * PAIRS_PER_NODE;) {
        size_t a = 0, b = 0;
        for (size_t reach = 1; reach < nodes; reach *= 2) {
            uint32_t percent = random_below(random, 100);
            a = 2 * a + (percent >= 76);
            b = 2 * b + ((percent >= 57 && percent < 76) || percent >= 95);
        }
        if (a >= nodes || b >= nodes)
            continue;
        add_pair(pairs, (uint32_t)a, (uint32_t)b);
        made++;
    }
}

static void road(Pairs *pairs, size_t nodes, Random *random)
{
    size_t side = 1;
    while (side * side < nodes)
        side++;
    for (size_t n = 0; n < nodes; n++) {
        bool right = random_below(random, 8) != 0, down = random_below(random, 8) != 0;
        if (right && n % side + 1 < side && n + 1 < nodes)
            add_pair(pairs, (uint32_t)n, (uint32_t)n + 1);
        if (down && n + side < nodes)
            add_pair(pairs, (uint32_t)n, (uint32_t)(n + side));
    }
}

// --- Files -----------------------------------------------------------------------------------------------------

typedef struct {
    const char *path;
    FILE *file;
    size_t number;   // of the line
    char line[1024]; // without its end
} Text;

static bool next_line(Text *text)
{
    if (!fgets(text->line, sizeof text->line, text->file)) {
        require(!ferror(text->file), "%s: %s", text->path, strerror(errno));
        return false;
    }
    text->number++;
    size_t length = strlen(text->line);
    require(length + 1 < sizeof text->line || text->line[length - 1] == '\n', "%s:%zu: the line is longer than %zu characters",
            text->path, text->number, sizeof text->line - 2);
    while (length > 0 && (text->line[length - 1] == '\n' || text->line[length - 1] == '\r'))
        text->line[--length] = '\0';
    return true;
}

static uint32_t node_in(const Text *text, unsigned long long node, size_t nodes)
{
    require(node >= 1 && node <= nodes, "%s:%zu: node %llu is not one of 1 to %zu", text->path, text->number, node, nodes);
    return (uint32_t)(node - 1);
}

static size_t count_in(const Text *text, const char *what, unsigned long long count, size_t least, size_t most)
{
    require(count >= least && count <= most, "%s:%zu: %llu %s; there can be %zu to %zu", text->path, text->number, count, what,
            least, most);
    return (size_t)count;
}

static void complete(const Text *text, const char *what, size_t found, size_t promised)
{
    require(found == promised, "%s: it has %zu %s, but its head promises %zu", text->path, found, what, promised);
}

// Lines `p sp NODES ARCS` and then `a FROM TO LENGTH`; `c` begins a comment.
static size_t read_dimacs(Text *text, Pairs *pairs)
{
    size_t nodes = 0, arcs = 0, found = 0;
    while (next_line(text)) {
        unsigned long long a, b;
        char kind = text->line[0];
        if (kind == 'c' || kind == '\0')
            continue;
        if (kind == 'p') {
            require(nodes == 0, "%s:%zu: a second line `p`", text->path, text->number);
            require(sscanf(text->line, "p sp %llu %llu", &a, &b) == 2, "%s:%zu: `p sp NODES ARCS` is needed", text->path,
                    text->number);
            nodes = count_in(text, "nodes", a, 1, MAX_NODES);
            arcs = count_in(text, "arcs", b, 0, MAX_PAIRS);
        } else {
            require(kind == 'a', "%s:%zu: a line begins with `c`, `p` or `a`, not `%c`", text->path, text->number, kind);
            require(nodes > 0, "%s:%zu: an arc before the line `p sp NODES ARCS`", text->path, text->number);
            require(sscanf(text->line, "a %llu %llu", &a, &b) == 2, "%s:%zu: `a FROM TO LENGTH` is needed", text->path,
                    text->number);
            add_pair(pairs, node_in(text, a, nodes), node_in(text, b, nodes));
            require(++found <= arcs, "%s:%zu: more than the %zu arcs that line `p` promises", text->path, text->number, arcs);
        }
    }
    require(nodes > 0, "%s: there is no line `p sp NODES ARCS`", text->path);
    complete(text, "arcs", found, arcs);
    return nodes;
}

// `%%MatrixMarket matrix coordinate ...`, then ROWS COLUMNS ENTRIES, then a line for each entry; `%` begins a comment.
static size_t read_matrix_market(Text *text, Pairs *pairs)
{
    char object[32], format[32];
    require(next_line(text) && sscanf(text->line, "%%%%MatrixMarket %31s %31s", object, format) == 2,
            "%s:1: `%%%%MatrixMarket matrix coordinate ...` is needed", text->path);
    require(strcmp(object, "matrix") == 0 && strcmp(format, "coordinate") == 0,
            "%s:1: a `matrix` in `coordinate` format is needed, not a `%s` in `%s`", text->path, object, format);
    size_t nodes = 0, entries = 0, found = 0;
    while (next_line(text)) {
        unsigned long long a, b, c;
        if (text->line[0] == '%' || text->line[0] == '\0')
            continue;
        if (nodes == 0) {
            require(sscanf(text->line, "%llu %llu %llu", &a, &b, &c) == 3, "%s:%zu: `ROWS COLUMNS ENTRIES` is needed",
                    text->path, text->number);
            require(a == b, "%s:%zu: the matrix of a graph is square, not %llu x %llu", text->path, text->number, a, b);
            nodes = count_in(text, "rows", a, 1, MAX_NODES);
            entries = count_in(text, "entries", c, 0, MAX_PAIRS);
            continue;
        }
        require(sscanf(text->line, "%llu %llu", &a, &b) == 2, "%s:%zu: `ROW COLUMN` is needed", text->path, text->number);
        add_pair(pairs, node_in(text, a, nodes), node_in(text, b, nodes));
        require(++found <= entries, "%s:%zu: more than the %zu entries that the head promises", text->path, text->number, entries);
    }
    require(nodes > 0, "%s: there is no line `ROWS COLUMNS ENTRIES`", text->path);
    complete(text, "entries", found, entries);
    return nodes;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), last = strlen(end);
    return length > last && strcmp(text + length - last, end) == 0;
}

static size_t read_file(const char *path, Pairs *pairs)
{
    bool dimacs = ends_with(path, ".gr");
    require(dimacs || ends_with(path, ".mtx"), "--graph %s: `uniform`, `uniform:EDGES`, `rmat`, `road` or a file `*.gr` or `*.mtx` is needed",
            path);
    Text text = {.path = path, .file = fopen(path, "r")};
    require(text.file != NULL, "--graph %s: %s", path, strerror(errno));
    size_t nodes = dimacs ? read_dimacs(&text, pairs) : read_matrix_market(&text, pairs);
    fclose(text.file);
    return nodes;
}

// --- All of them -----------------------------------------------------------------------------------------------

static Graph sorted_by_node(const Pairs *pairs, size_t nodes)
{
    // Without edges an array would be empty.
    Graph graph = {.nodes = nodes, .edge_count = 2 * pairs->count};
    graph.starts = input_array(uint32_t, nodes + 1);
    graph.edges = input_array(uint32_t, graph.edge_count ? graph.edge_count : 1);
    uint32_t *next = host_array(uint32_t, nodes + 1);
    for (size_t i = 0; i < 2 * pairs->count; i++)
        next[pairs->ends[i] + 1]++;
    for (size_t n = 0; n < nodes; n++)
        next[n + 1] += next[n];
    memcpy(graph.starts, next, (nodes + 1) * sizeof *next);
    for (size_t i = 0; i < 2 * pairs->count; i++)
        graph.edges[next[pairs->ends[i]]++] = pairs->ends[i ^ 1];
    return graph;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Files often name an edge in both directions, or twice.
static void drop_doubles(Graph *graph)
{
    size_t kept = 0;
    uint32_t first = 0;
    for (size_t n = 0; n < graph->nodes; n++) {
        uint32_t end = graph->starts[n + 1];
        qsort(graph->edges + first, end - first, sizeof *graph->edges, by_number);
        graph->starts[n] = (uint32_t)kept;
        for (uint32_t i = first; i < end; i++)
            if (i == first || graph->edges[i] != graph->edges[i - 1])
                graph->edges[kept++] = graph->edges[i];
        first = end;
    }
    graph->starts[graph->nodes] = (uint32_t)kept;
    graph->edge_count = kept;
}

Graph make_graph(const Options *options, uint64_t seed)
{
    size_t nodes = options->size[0];
    require(nodes <= MAX_NODES, "--size %zu: a graph can have up to 2^26 nodes", nodes);
    Random random = seeded(seed);
    Pairs pairs = {0};
    bool made = true;
    unsigned per_node = pairs_of_uniform(options->graph);
    if (per_node > 0)
        uniform(&pairs, nodes, per_node, &random);
    else if (strcmp(options->graph, "rmat") == 0)
        rmat(&pairs, nodes, &random);
    else if (strcmp(options->graph, "road") == 0)
        road(&pairs, nodes, &random);
    else
        verdict.nodes = nodes = read_file(options->graph, &pairs), made = false;
    Graph graph = sorted_by_node(&pairs, nodes);
    free(pairs.ends);
    if (!made)
        drop_doubles(&graph);
    return graph;
}
