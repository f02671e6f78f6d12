/* Ends while a timer is still armed and another thread still sleeps. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *for_ever(void *unused) {
    for (;;) sleep(100);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, for_ever, NULL);
    alarm(10);
    puts("goodbye");
    return 3;
}
