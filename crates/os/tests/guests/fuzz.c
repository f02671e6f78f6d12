/* System calls with random arguments. argv[1] is the seed. */
#include "guest.h"
#include <sys/syscall.h>

static unsigned long state;

static unsigned long draw(void) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return state >> 33;
}

static char buffer[8192];

static long argument(void) {
  switch (draw() % 12) {
    case 0: return 0;
    case 1: return -1;
    case 2: return draw() % 8;
    case 3: return (long)buffer + draw() % 4096;
    case 4: return 1L << (draw() % 64);
    case 5: return (long)(draw() << 32 | draw());
    case 6: return 0x7fffffffe000 + draw() % 8192;
    case 7: return (long)0x8000000000000000UL + (long)draw();
    case 8: return 4096 * (draw() % 16);
    case 9: return (long)"/dev/zero";
    case 10: return (long)buffer;
    default: return draw() % 100000;
  }
}

int fuzz(int argc, char **argv) {
  state = atol(argv[1]);
  for (int i = 0; i < 1500; i++) {
    long number = draw() % 460;
    switch (number) {
      /* Skip calls that would end the run or block it forever. */
      case SYS_exit: case SYS_exit_group: case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigreturn: continue;
      /* Change the program's own memory only rarely. */
      case SYS_munmap: case SYS_mprotect: case SYS_mremap: case SYS_brk: case SYS_arch_prctl: if (draw() % 16) continue;
    }
    for (unsigned j = 0; j < 256; j += 8) *(long *)(buffer + draw() % 1024 * 8) = argument();
    syscall(number, argument(), argument(), argument(), argument(), argument(), argument());
  }
  return 0;
}
