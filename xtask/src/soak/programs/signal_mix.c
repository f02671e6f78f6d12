/* Signals of all sorts: sent, held back, waited for, to one thread, out of a fault by a long jump. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t seen[65];
static sigjmp_buf back;

static void note(int signal) { seen[signal]++; }
static void leap(int signal) { siglongjmp(back, signal); }

static void *waiter(void *unused) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &signal);
    return (void *)(long)signal;
}

int main(void) {
    signal(SIGUSR1, note);
    for (int i = 0; i < 5; i++) raise(SIGUSR1);
    printf("raised %d\n", (int)seen[SIGUSR1]);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR1);
    printf("held back %d\n", (int)seen[SIGUSR1]);
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_kill(thread, SIGUSR2);
    void *signal_seen;
    pthread_join(thread, &signal_seen);
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("let through %d, waited for %ld\n", (int)seen[SIGUSR1], (long)signal_seen);
    signal(SIGSEGV, leap);
    signal(SIGFPE, leap);
    volatile int one = 1, zero = 0, faults = 0;
    for (int i = 0; i < 6; i++) {
        if (sigsetjmp(back, 1)) {
            faults++;
            continue;
        }
        if (i % 2) *(volatile int *)8 = 1;
        else zero = one / zero;
    }
    printf("%d faults survived\n", faults);
    signal(SIGTERM, SIG_DFL);
    fflush(stdout);
    raise(SIGTERM);
    puts("not reached");
    return 0;
}
