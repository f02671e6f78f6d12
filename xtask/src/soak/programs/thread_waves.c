/* Threads that come and go, more of them than a machine has cores, with stacks and storage of their own. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char own[5000];

static void *fill(void *argument) {
    long number = (long)argument;
    memset(own, (int)number, sizeof own);
    char stack[3000];
    memcpy(stack, own, sizeof stack);
    long sum = 0;
    for (int i = 0; i < 3000; i += 100) sum += stack[i];
    return (void *)sum;
}

int main(void) {
    long all = 0;
    for (int wave = 0; wave < 4; wave++) {
        pthread_t threads[16];
        for (long i = 0; i < 16; i++) pthread_create(&threads[i], NULL, fill, (void *)(i + wave));
        for (int i = 0; i < 16; i++) {
            void *sum;
            pthread_join(threads[i], &sum);
            all += (long)sum;
        }
    }
    printf("%ld\n", all);
    return 0;
}
