/* Signal handlers: their arguments, the registers they preserve, their stack, and the calls they interrupt. */
#include "guest.h"
#include <sys/time.h>

static volatile int count, depth, deepest;
static sigjmp_buf back;

static void counting(int signal) {
  count++;
  depth++;
  if (depth > deepest) deepest = depth;
  if (count < 3) raise(signal);
  depth--;
}

static void spoil(int signal) {
  /* A handler may use every register; the interrupted code must not notice. */
  double values[8];
  for (int i = 0; i < 8; i++) values[i] = i * 1.5 + signal;
  long double wide = 1;
  for (int i = 0; i < 8; i++) wide *= values[i];
  count = wide > 0;
}

static void on_divide(int signal, siginfo_t *info, void *context) {
  CHECK(info->si_code == 1 /* FPE_INTDIV */);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* over the two bytes of idiv ecx */
}

static void on_illegal(int signal, siginfo_t *info, void *context) {
  CHECK((long long)info->si_addr == ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static char *stack_start;

static void on_overflow(int signal, siginfo_t *info, void *context) {
  char here;
  CHECK(&here >= stack_start && &here < stack_start + SIGSTKSZ);
  siglongjmp(back, 1);
}

static int dive(int level) {
  volatile char room[4096];
  room[0] = level;
  return dive(level + 1) + room[0];
}

static void nothing(int signal) { count++; }

static void *kill_main(void *argument) {
  usleep(1000);
  pthread_kill(*(pthread_t *)argument, SIGUSR2);
  return 0;
}

int signals(int argc, char **argv) {
  struct sigaction action = {.sa_handler = counting};
  sigaction(SIGUSR1, &action, 0);
  raise(SIGUSR1);
  CHECK(count == 3 && deepest == 1);
  count = 0;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &action, 0);
  raise(SIGUSR1);
  CHECK(count == 3 && deepest == 3);

  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  count = 5;
  raise(SIGUSR1);
  CHECK(count == 5);
  sigset_t pending;
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGUSR1));
  sigprocmask(SIG_SETMASK, &old, 0);
  CHECK(count == 6);

  signal(SIGUSR1, spoil);
  long double before = 3.25L;
  double rest = 0.1;
  unsigned short control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  long tid = getpid();
  register long rax __asm__("rax") = 62; /* kill(getpid(), SIGUSR1), with values held in registers */
  long double after;
  double rest_after;
  __asm__ volatile("fldt %3; movsd %4, %%xmm7; syscall; fstpt %1; movsd %%xmm7, %2"
                   : "+r"(rax), "=m"(after), "=m"(rest_after)
                   : "m"(before), "m"(rest), "D"(tid), "S"(10)
                   : "rcx", "r11", "memory", "xmm7");
  CHECK(rax == 0 && count == 1 && after == before && rest_after == rest);

  struct sigaction detailed = {.sa_sigaction = on_divide, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &detailed, 0);
  int quotient = 7, zero = 0;
  __asm__ volatile("xorl %%edx, %%edx; idivl %%ecx" : "+a"(quotient) : "c"(zero) : "edx");
  CHECK(quotient == 7);
  detailed.sa_sigaction = on_illegal;
  sigaction(SIGILL, &detailed, 0);
  __asm__ volatile("ud2");

  stack_start = malloc(SIGSTKSZ);
  stack_t stack = {.ss_sp = stack_start, .ss_size = SIGSTKSZ};
  CHECK(!sigaltstack(&stack, 0));
  detailed.sa_sigaction = on_overflow;
  detailed.sa_flags |= SA_ONSTACK;
  sigaction(SIGSEGV, &detailed, 0);
  if (!sigsetjmp(back, 1)) dive(0);

  signal(SIGALRM, nothing);
  count = 0;
  struct itimerval timer = {{0, 50000}, {0, 50000}};
  setitimer(ITIMER_REAL, &timer, 0);
  while (count < 3) pause();
  struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &none, 0);

  /* A signal interrupts a sleep, which returns the remaining time; a restarted read continues. */
  action = (struct sigaction){.sa_handler = nothing, .sa_flags = SA_RESTART};
  sigaction(SIGUSR2, &action, 0);
  pthread_t self = pthread_self(), other;
  pthread_create(&other, 0, kill_main, &self);
  struct timespec left, length = {10, 0};
  CHECK(nanosleep(&length, &left) == -1 && errno == EINTR && left.tv_sec == 9);
  pthread_join(other, 0);
  int ends[2];
  char byte;
  pipe(ends);
  pthread_create(&other, 0, kill_main, &self);
  signal(SIGALRM, nothing);
  action.sa_flags = 0;
  sigaction(SIGUSR2, &action, 0);
  CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR);
  pthread_join(other, 0);
  puts("signals as they should be");
  return 0;
}

int crash(int argc, char **argv) {
  puts("about to crash");
  fflush(stdout);
  *(volatile int *)16 = 1;
  return 0;
}
