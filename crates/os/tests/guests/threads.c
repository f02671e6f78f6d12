/* Threads that count under a lock, alternate, exit while holding a lock, and store equal bytes to one place. */
#include "guest.h"

enum { THREADS = 4, ROUNDS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long sum;
static int turn;
static __thread int own;

static void *add(void *argument) {
  for (int i = 0; i < ROUNDS; i++) {
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    own++;
  }
  return (void *)(long)own;
}

static void *play(void *argument) {
  int me = (int)(long)argument;
  for (int i = 0; i < 200; i++) {
    pthread_mutex_lock(&lock);
    while (turn != me) pthread_cond_wait(&turned, &lock);
    turn = !me;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static void *leave_locked(void *argument) {
  pthread_mutex_lock(argument);
  return 0;
}

/* A line to which both threads store equal bytes, and a private line for each. */
static _Alignas(64) volatile long lines[3][8];
static volatile int ready;

static void *store_equal(void *argument) {
  volatile long *mine = argument;
  __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
  while (ready < 2) {
  }
  for (long i = 0; i < 200; i++) {
    lines[0][0] = 7;
    mine[0] = i;
    if (mine == lines[2]) mine[1] = i;
  }
  return 0;
}

int equal(int argc, char **argv) {
  pthread_t other;
  CHECK(!pthread_create(&other, 0, store_equal, (void *)lines[1]));
  store_equal((void *)lines[2]);
  CHECK(!pthread_join(other, 0));
  printf("%ld %ld %ld %ld\n", lines[0][0], lines[1][0], lines[2][0], lines[2][1]);
  return 0;
}

int threads(int argc, char **argv) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], 0, add, 0));
  for (int i = 0; i < THREADS; i++) {
    void *result;
    CHECK(!pthread_join(t[i], &result));
    CHECK((long)result == ROUNDS);
  }
  CHECK(sum == THREADS * ROUNDS);
  CHECK(own == 0);
  CHECK(!pthread_create(&t[0], 0, play, (void *)0));
  CHECK(!pthread_create(&t[1], 0, play, (void *)1));
  CHECK(!pthread_join(t[0], 0) && !pthread_join(t[1], 0));

  pthread_mutex_t robust;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  CHECK(!pthread_create(&t[0], 0, leave_locked, &robust));
  CHECK(!pthread_join(t[0], 0));
  CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);

  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 2;
  pthread_mutex_lock(&lock);
  CHECK(pthread_cond_timedwait(&turned, &lock, &soon) == ETIMEDOUT);
  printf("sum %ld\n", sum);
  return 0;
}

static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

static void *other_way(void *argument) {
  pthread_mutex_lock(&other);
  usleep(1000);
  pthread_mutex_lock(&lock);
  return 0;
}

int deadlock(int argc, char **argv) {
  pthread_t t;
  pthread_create(&t, 0, other_way, 0);
  pthread_mutex_lock(&lock);
  usleep(1000);
  pthread_mutex_lock(&other);
  return 0;
}
