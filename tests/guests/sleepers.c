/* Waits in every way that has a limit: with nothing else to do, time passes at once. Ends with a timer armed; with an argument,
   with a wait that nothing can end. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t rung;

static void ring(int signal) {
    (void)signal;
    rung++;
}

static void *sleeper(void *milliseconds) {
    struct timespec length = { 0, (long)milliseconds * 1000000 };
    nanosleep(&length, NULL);
    return milliseconds;
}

int main(int argc, char **argv) {
    (void)argv;
    struct timespec ten_seconds = { 10, 0 };
    nanosleep(&ten_seconds, NULL);
    poll(NULL, 0, 50);

    signal(SIGALRM, ring);
    struct itimerval soon = { { 0, 0 }, { 0, 30000 } };
    setitimer(ITIMER_REAL, &soon, NULL);
    pause();

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&mutex);
    int waited = pthread_cond_timedwait(&never, &mutex, &until);

    pthread_t threads[3];
    long slept = 0;
    for (long n = 0; n < 3; n++)
        pthread_create(&threads[n], NULL, sleeper, (void *)(n + 5));
    for (int n = 0; n < 3; n++) {
        void *milliseconds;
        pthread_join(threads[n], &milliseconds);
        slept += (long)milliseconds;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("rung %d, timed out %d, slept %ld ms, now it is %ld s\n", rung, waited == ETIMEDOUT, slept, now.tv_sec);
    fflush(stdout);
    if (argc > 1)
        pthread_cond_wait(&never, &mutex);
    alarm(100);
    return 0;
}
