// What programs for the CPU alone compute with: its own memory, and OpenMP's threads.
#include "../internal.h"

#include <omp.h>
#include <stdlib.h>

#define MAX_THREADS 128

// A thread that waits at a barrier looks for a while whether the others have come, then sleeps. By itself the library
// would look for milliseconds, which costs nobody anything on a processor of one's own but much time in a simulator.
// Runs before the library reads its environment; a value that is there stays.
__attribute__((constructor(101))) static void wait_politely(void) { setenv("GOMP_SPINCOUNT", "2000", 0); }

void open_program(const Program *program, const Options *options)
{
    (void)program;
    unsigned threads = options->threads;
    require(threads >= 1 && threads <= MAX_THREADS, "--threads %u: a number from 1 to %d is needed", threads, MAX_THREADS);
    omp_set_dynamic(0);
    omp_set_num_threads((int)threads);
}

void close_program(void) {}

void *svm_alloc(size_t count, size_t element_size) { return host_alloc(count, element_size); }
void *input_alloc(size_t count, size_t element_size) { return host_alloc(count, element_size); }
void unmap_all(void) {}
void read_mapped(void) {}
