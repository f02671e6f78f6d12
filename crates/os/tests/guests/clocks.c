/* Clocks run in simulated time, the same in every run. */
#include "guest.h"
#include <sys/time.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sched.h>

int clocks(int argc, char **argv) {
  struct timespec before, after, day = {86400 / 24, 0};
  clock_gettime(CLOCK_MONOTONIC, &before);
  CHECK(!nanosleep(&day, 0));
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK(after.tv_sec - before.tv_sec == 3600);
  struct timeval now;
  gettimeofday(&now, 0);
  struct timespec until = {now.tv_sec + 5, 0};
  CHECK(!clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, 0));
  CHECK(time(0) == until.tv_sec);
  struct rusage usage;
  CHECK(!getrusage(RUSAGE_SELF, &usage) && usage.ru_utime.tv_sec == 0);
  struct utsname name;
  CHECK(!uname(&name) && !strcmp(name.machine, "x86_64"));
  struct sysinfo info;
  CHECK(!sysinfo(&info) && info.totalram * info.mem_unit == 4L << 30);
  cpu_set_t cpus;
  CHECK(!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) == 4);
  struct rlimit limit;
  CHECK(!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur == 8 << 20);
  unsigned long random;
  CHECK(getrandom(&random, 8, 0) == 8);
  printf("%lx at %ld.%09ld\n", random, (long)time(0), after.tv_nsec);
  return 0;
}
