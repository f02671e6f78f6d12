/* Many small programs in one, so that only one file is committed; the first argument selects. */
#ifndef GUEST_H
#define GUEST_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Unless the condition holds, prints the location and exits with code 1. */
#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      printf("%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);     \
      fflush(stdout);                                                                      \
      _exit(1);                                                                            \
    }                                                                                      \
  } while (0)

int clocks(int argc, char **argv);
int crash(int argc, char **argv);
int deadlock(int argc, char **argv);
int equal(int argc, char **argv);
int escape(int argc, char **argv);
int files(int argc, char **argv);
int fuzz(int argc, char **argv);
int hog(int argc, char **argv);
int memory(int argc, char **argv);
int nested(int argc, char **argv);
int pipes(int argc, char **argv);
int remap(int argc, char **argv);
int signals(int argc, char **argv);
int threads(int argc, char **argv);
int unprotect(int argc, char **argv);
#endif
