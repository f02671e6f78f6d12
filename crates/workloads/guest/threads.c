// The threads of the CPU.
#include "internal.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_THREADS 64

static unsigned thread_count = 1;

void set_threads(unsigned count)
{
    require(count >= 1 && count <= MAX_THREADS, "--threads %u: a number from 1 to %d is needed", count, MAX_THREADS);
    thread_count = count;
}

typedef struct {
    size_t count, chunk;
    void (*work)(void *, size_t, size_t);
    void *context;
    atomic_size_t next; // the first that nobody has taken
} Job;

static void *work_on(void *argument)
{
    Job *job = argument;
    for (;;) {
        size_t first = atomic_fetch_add(&job->next, job->chunk);
        if (first >= job->count)
            return NULL;
        size_t end = job->count - first < job->chunk ? job->count : first + job->chunk;
        job->work(job->context, first, end);
    }
}

void parallel(size_t count, size_t chunk, void (*work)(void *, size_t, size_t), void *context)
{
    if (count == 0)
        return;
    if (chunk == 0)
        chunk = (count + thread_count - 1) / thread_count;
    size_t parts = (count + chunk - 1) / chunk;
    unsigned helpers = (unsigned)(parts < thread_count ? parts : thread_count) - 1;
    Job job = {.count = count, .chunk = chunk, .work = work, .context = context};
    pthread_t threads[MAX_THREADS];
    for (unsigned i = 0; i < helpers; i++)
        require(pthread_create(&threads[i], NULL, work_on, &job) == 0, "can't start thread %u", i + 1);
    work_on(&job);
    for (unsigned i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
}

size_t share_of_cpu(const Options *options, size_t count, size_t unit)
{
    size_t units = count / unit;
    return (units * options->cpu_share + 50) / 100 * unit;
}
