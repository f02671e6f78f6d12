/* Mappings. */
#include "guest.h"
#include <sys/syscall.h>

int memory(int argc, char **argv) {
  const long page = 4096;
  char *sparse = mmap(0, 1L << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(sparse != MAP_FAILED);
  CHECK(!mprotect(sparse + (1L << 39), page, PROT_READ | PROT_WRITE));
  sparse[1L << 39] = 1;
  CHECK(mmap(sparse + page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == sparse + page);
  sparse[page] = 2;
  CHECK(!munmap(sparse, 1L << 40));
  CHECK(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);

  char *area = mmap(0, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; i++) area[i * page] = i + 1;
  CHECK(!madvise(area + page, page, MADV_DONTNEED) && area[page] == 0 && area[2 * page] == 3);
  area = mremap(area, 4 * page, 64 * page, MREMAP_MAYMOVE);
  CHECK(area != MAP_FAILED && area[0] == 1 && area[3 * page] == 4 && area[63 * page] == 0);

  /* Code that is written, run, changed and run again. */
  unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */
  unsigned char *page_of_code = mmap(0, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int (*run)(void) = (int (*)(void))page_of_code;
  for (int i = 1; i < 5; i++) {
    code[1] = i;
    memcpy(page_of_code, code, sizeof code);
    CHECK(run() == i);
  }

  char *heap = (char *)syscall(SYS_brk, 0);
  CHECK((char *)syscall(SYS_brk, heap + (1 << 20)) == heap + (1 << 20));
  memset(heap, 7, 1 << 20);
  CHECK((char *)syscall(SYS_brk, heap) == heap && (char *)syscall(SYS_brk, 1) == heap);
  puts("memory as it should be");
  return 0;
}

int hog(int argc, char **argv) {
  for (long total = 0;; total += 1 << 20) {
    char *more = malloc(1 << 20);
    if (!more) return 3;
    memset(more, 1, 1 << 20);
  }
}
