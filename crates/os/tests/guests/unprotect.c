/* A page-protection runtime: pages are closed until touched, and the handler of SIGSEGV opens them. */
#include "guest.h"

enum { PAGES = 64, PAGE = 4096 };

static char *area;
static volatile int reads, writes;

static void on_fault(int signal, siginfo_t *info, void *context) {
  ucontext_t *user = context;
  char *address = info->si_addr;
  int write = (user->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  CHECK(signal == SIGSEGV && info->si_signo == SIGSEGV && info->si_code == 2 /* SEGV_ACCERR */);
  CHECK(user->uc_mcontext.gregs[REG_TRAPNO] == 14);
  CHECK((char *)user->uc_mcontext.gregs[REG_CR2] == address);
  CHECK(address >= area && address < area + PAGES * PAGE);
  *(write ? &writes : &reads) += 1;
  char *page = (char *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
  CHECK(!mprotect(page, PAGE, write ? PROT_READ | PROT_WRITE : PROT_READ));
}

int unprotect(int argc, char **argv) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  CHECK(!sigaction(SIGSEGV, &action, 0));
  area = mmap(0, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(area != MAP_FAILED);
  double product = 1;
  for (int round = 0; round < 3; round++) {
    for (int page = 0; page < PAGES; page++) {
      CHECK(area[page * PAGE + 5] == round);
      product *= 1.0000001;
      area[page * PAGE + 5]++;
    }
    CHECK(!mprotect(area, PAGES * PAGE, PROT_NONE));
  }
  CHECK(product > 1.0000191 && product < 1.0000193);
  printf("%d reads and %d writes repaired\n", reads, writes);
  return 0;
}
