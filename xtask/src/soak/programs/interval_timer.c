/* A timer that ticks, while the program computes and while it waits. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void tick(int signal) { ticks++; }

int main(void) {
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 80}, {0, 60}};
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 3) pause();
    puts("three ticks while it waited");
    volatile unsigned long sum = 0;
    for (int before = ticks; ticks < before + 2;) sum++;
    puts("two ticks while it computed");
    struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    int before = ticks;
    usleep(3000);
    puts(ticks == before ? "none when it is off" : "a tick of a timer that is off");
    return 0;
}
