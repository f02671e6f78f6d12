// Memory of the CPU alone.
#include "internal.h"

#include <stdlib.h>

// Every piece starts with the address of the one before it.
typedef union Piece {
    union Piece *before;
    max_align_t align;
} Piece;

static Piece *pieces;

void *host_alloc(size_t count, size_t element_size)
{
    Piece *piece = calloc(1, sizeof(Piece) + count * element_size);
    require(piece != NULL, "no memory for %zu bytes", count * element_size);
    piece->before = pieces;
    pieces = piece;
    return piece + 1;
}

void free_host_memory(void)
{
    while (pieces) {
        Piece *before = pieces->before;
        free(pieces);
        pieces = before;
    }
}
