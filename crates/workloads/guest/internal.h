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
} Verdict;
extern Verdict verdict;

// gpu.c
void gpu_open(const Kernels *);
void gpu_close(void);

// threads.c
void set_threads(unsigned);
void free_host_memory(void);

#endif
