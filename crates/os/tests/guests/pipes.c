/* Pipes between threads, and waiting for several of them. */
#include "guest.h"
#include <poll.h>
#include <sys/select.h>

static int ends[2];

static void *feed(void *argument) {
  static char bytes[200000];
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = i * 7;
  for (unsigned done = 0; done < sizeof bytes;) {
    ssize_t n = write(ends[1], bytes + done, sizeof bytes - done);
    CHECK(n > 0);
    done += n;
  }
  close(ends[1]);
  return 0;
}

int pipes(int argc, char **argv) {
  CHECK(!pipe(ends));
  struct pollfd wait = {.fd = ends[0], .events = POLLIN};
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  CHECK(poll(&wait, 1, 250) == 0);
  clock_gettime(CLOCK_MONOTONIC, &after);
  long waited = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
  CHECK(waited >= 249 && waited <= 251);

  pthread_t feeder;
  pthread_create(&feeder, 0, feed, 0);
  unsigned total = 0;
  char bytes[1000];
  for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0; total += n)
    for (ssize_t i = 0; i < n; i++) CHECK(bytes[i] == (char)((total + i) * 7));
  CHECK(total == 200000);
  pthread_join(feeder, 0);
  CHECK(poll(&wait, 1, -1) == 1 && wait.revents == POLLHUP);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  CHECK(select(ends[0] + 1, &set, 0, 0, 0) == 1 && FD_ISSET(ends[0], &set));
  close(ends[0]);

  CHECK(!pipe(ends));
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
  CHECK(dup2(1, 100) == 100 && write(100, "through a copy\n", 15) == 15);
  CHECK(fcntl(100, F_GETFL) >= 0 && close(100) == 0 && close(100) == -1 && errno == EBADF);
  puts("pipes as they should be");
  return 0;
}
