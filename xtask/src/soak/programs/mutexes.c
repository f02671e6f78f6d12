/* Eight threads, one counter, a mutex; then a queue with condition variables. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static long counter, queue[4], in, out, sum;

static void *count(void *unused) {
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *produce(void *unused) {
    for (long i = 1; i <= 200; i++) {
        pthread_mutex_lock(&lock);
        while (in - out == 4) pthread_cond_wait(&empty, &lock);
        queue[in++ % 4] = i;
        pthread_cond_signal(&full);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *unused) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&lock);
        while (in == out) pthread_cond_wait(&full, &lock);
        sum += queue[out++ % 4];
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[8], producer, consumer;
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    printf("counter %ld\n", counter);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    printf("sum %ld\n", sum);
    return 0;
}
