// What the files of this folder say to each other; programs see guest.h only.
#ifndef INTERNAL_H
#define INTERNAL_H

#include "guest.h"

// What the comparisons so far have found.
typedef struct {
    bool corrupt;    // spoil the next value in the middle of a result
    size_t values;   // compared
    double worst;    // error that was still right, in units in the last place
    char wrong[200]; // the first comparison that failed; empty if none did
    size_t nodes;    // of a graph from a file, where `--size` does not say it
} Verdict;
extern Verdict verdict;

// The time of the region of interest, if it is asked for.
typedef struct {
    bool timed;
    bool reads; // the results that are mapped at its end are read
    double begin, end; // in seconds; 0 before they are known
} Region;
extern Region region;

// gpu.c or openmp/openmp.c: what a program computes with.
void open_program(const Program *, const Options *);
void close_program(void);

// arrays.c, or openmp/openmp.c, where there are none: reads all that is mapped to read, as for a file that it is written to.
void read_mapped(void);

// threads.c
void set_threads(unsigned);

// memory.c
void free_host_memory(void);

#endif
