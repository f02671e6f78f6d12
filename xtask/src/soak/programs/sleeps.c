/* Sleeps of all lengths, by every call for it: longer than any machine does nothing, one after another and at once. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void *doze(void *length) {
    usleep((long)length);
    return NULL;
}

int main(void) {
    const long lengths[] = {1, 100, 999, 1001, 2000, 5000};
    for (int i = 0; i < 6; i++) {
        double before = now();
        usleep(lengths[i]);
        printf("%ld us: %s\n", lengths[i], now() - before >= lengths[i] ? "slept" : "woken too early");
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 3000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    printf("until then: %d\n", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, doze, (void *)(1500 * (i + 1)));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    puts("all awake");
    return 0;
}
