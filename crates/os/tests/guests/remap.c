/* One thread remaps pages while others read them: the kernel must shoot down stale translations. */
#include "guest.h"
#include <stdatomic.h>

enum { READERS = 3, ROUNDS = 60, PAGE = 4096, PAGES = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned char *area;
static unsigned char expected[PAGES];
static atomic_int over;

/* Checks pages while it holds the lock, and reads one page at any time, which may just have been emptied. */
static void *look(void *argument) {
  volatile unsigned char *loose = argument;
  unsigned page = 0;
  long seen = 0;
  while (!atomic_load(&over)) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 8; i++, page = (page + 7) % PAGES) CHECK(area[page * PAGE + 5] == expected[page]);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 8; i++) {
      unsigned char byte = loose[i * 64];
      CHECK(byte == 0 || byte == 0xa5);
      seen++;
    }
  }
  return (void *)seen;
}

static void fill(unsigned page, unsigned char byte) {
  area[page * PAGE + 5] = byte;
  expected[page] = byte;
}

int remap(int argc, char **argv) {
  const int rw = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
  int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
  area = mmap(0, PAGES * PAGE, rw, anonymous, -1, 0);
  unsigned char *loose = mmap(0, PAGE, rw, anonymous, -1, 0);
  char *spare = mmap(0, PAGE, rw, anonymous, -1, 0);
  CHECK(area != MAP_FAILED && loose != MAP_FAILED && spare != MAP_FAILED);
  for (unsigned page = 0; page < PAGES; page++) fill(page, page);
  pthread_t readers[READERS];
  for (int i = 0; i < READERS; i++) CHECK(!pthread_create(&readers[i], 0, look, loose));
  for (int round = 0; round < rounds; round++) {
    unsigned page = round * 11 % PAGES;
    char *at = (char *)area + page * PAGE;
    pthread_mutex_lock(&lock);
    switch (round % 5) {
      case 0: /* Another page at the same place. */
        CHECK(mmap(at, PAGE, rw, anonymous | MAP_FIXED, -1, 0) == at);
        fill(page, round);
        break;
      case 1: /* The same page, which may not be written for a while. */
        CHECK(!mprotect(at, PAGE, PROT_READ));
        CHECK(at[5] == (char)expected[page]);
        CHECK(!mprotect(at, PAGE, rw));
        fill(page, round);
        break;
      case 2: /* Somewhere else, and back. */
        CHECK(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, spare) == spare);
        CHECK(spare[5] == (char)expected[page]);
        CHECK(mremap(spare, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
        break;
      case 3: /* Unmapped, and mapped again empty. */
        CHECK(!munmap(at, PAGE));
        CHECK(mmap(at, PAGE, rw, anonymous | MAP_FIXED, -1, 0) == at);
        expected[page] = 0;
        break;
      default: /* The page that is read at any time is emptied and written. */
        CHECK(!madvise(loose, PAGE, MADV_DONTNEED));
        memset(loose, 0xa5, PAGE);
    }
    pthread_mutex_unlock(&lock);
  }
  atomic_store(&over, 1);
  for (int i = 0; i < READERS; i++) pthread_join(readers[i], 0);
  puts("pages as they should be");
  return 0;
}
