/* Threads in step by barriers, a lock for readers and a writer, and atomic operations without locks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 6, STEPS = 20 };
static pthread_barrier_t barrier;
static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static atomic_long total;
static long cells[THREADS], shared_value;
static atomic_int wrong;

static void *step(void *argument) {
    long own = (long)argument;
    for (int i = 1; i <= STEPS; i++) {
        cells[own] = i;
        pthread_barrier_wait(&barrier);
        for (int other = 0; other < THREADS; other++) wrong += cells[other] != i;
        atomic_fetch_add(&total, own + 1);
        if (own == 0) {
            pthread_rwlock_wrlock(&guard);
            shared_value++;
            pthread_rwlock_unlock(&guard);
        } else {
            pthread_rwlock_rdlock(&guard);
            wrong += shared_value > i;
            pthread_rwlock_unlock(&guard);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, step, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("total %ld, value %ld, %d wrong\n", total, shared_value, wrong);
    return wrong;
}
