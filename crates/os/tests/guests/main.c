#include "guest.h"

static int hello(int argc, char **argv) {
  puts("hello, world");
  return 0;
}

static int arguments(int argc, char **argv) {
  extern char **environ;
  for (int i = 0; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
  for (char **e = environ; *e; e++) printf("variable: %s\n", *e);
  return argc;
}

static int floats(int argc, char **argv) {
  printf("%.15g %Lg %a\n", 1.0 / 3, 2.5L, 1e-310);
  return 0;
}

static int echo(int argc, char **argv) {
  char bytes[4096];
  for (ssize_t n; (n = read(0, bytes, sizeof bytes)) > 0;)
    if (write(1, bytes, n) != n) return 1;
  return 0;
}

static int open_one(int argc, char **argv) { return open(argv[1], O_RDONLY) < 0; }

static int spin(int argc, char **argv) {
  for (volatile unsigned i = 0;; i++) {
  }
}

static int doze(int argc, char **argv) {
  for (;;) sleep(1);
}

static int split(int argc, char **argv) {
  static _Alignas(64) char bytes[128];
  __asm__ volatile("lock addl $1, (%0)" : : "r"(bytes + 62) : "memory");
  puts("added across two lines");
  return 0;
}

static int unknown(int argc, char **argv) {
  extern long syscall(long, ...);
  for (int i = 0; i < 3; i++) CHECK(syscall(250, 0, 0, 0) == -1 && errno == ENOSYS);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(int, char **);
} guests[] = {
    {"arguments", arguments}, {"clocks", clocks}, {"crash", crash}, {"deadlock", deadlock}, {"doze", doze},
    {"echo", echo}, {"equal", equal}, {"escape", escape}, {"files", files}, {"floats", floats}, {"fuzz", fuzz}, {"hello", hello},
    {"hog", hog}, {"memory", memory}, {"nested", nested}, {"open", open_one}, {"pipes", pipes}, {"remap", remap},
    {"signals", signals},
    {"spin", spin}, {"split", split}, {"threads", threads}, {"unknown", unknown}, {"unprotect", unprotect},
};

int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof guests / sizeof *guests; i++)
    if (argc > 1 && !strcmp(argv[1], guests[i].name)) return guests[i].run(argc - 1, argv + 1);
  printf("no such guest\n");
  return 2;
}
