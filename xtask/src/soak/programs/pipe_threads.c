/* A line of threads with pipes between them, poll, and the end of a pipe. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int ends[4][2];

static void *pass(void *argument) {
    long own = (long)argument;
    char bytes[64];
    for (ssize_t got; (got = read(ends[own][0], bytes, sizeof bytes)) > 0;) {
        for (ssize_t i = 0; i < got; i++) bytes[i]++;
        for (ssize_t done = 0; done < got;) done += write(ends[own + 1][1], bytes + done, got - done);
    }
    close(ends[own + 1][1]);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 4; i++)
        if (pipe(ends[i]) != 0) return 1;
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, pass, (void *)i);
    long sum = 0, got = 0;
    for (int i = 0; i < 40; i++) {
        char bytes[100];
        for (int n = 0; n < 100; n++) bytes[n] = (char)(i + n);
        write(ends[0][1], bytes, sizeof bytes);
        struct pollfd wait = {ends[3][0], POLLIN, 0};
        if (poll(&wait, 1, 1000) != 1) return puts("nothing came"), 1;
        ssize_t more = read(ends[3][0], bytes, sizeof bytes);
        for (ssize_t n = 0; n < more; n++) sum += bytes[n];
        got += more;
    }
    close(ends[0][1]);
    char rest[256];
    for (ssize_t more; (more = read(ends[3][0], rest, sizeof rest)) > 0; got += more)
        for (ssize_t n = 0; n < more; n++) sum += rest[n];
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    signal(SIGPIPE, SIG_IGN);
    close(ends[3][0]);
    int broken = write(ends[3][1], "x", 1) < 0 && (errno == EPIPE || errno == EBADF);
    printf("%ld bytes, sum %ld, %s\n", got, sum, broken ? "broken in the end" : "still whole");
    return 0;
}
