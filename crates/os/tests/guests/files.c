/* File operations that are allowed, and attempts that must fail. */
#include "guest.h"
#include <dirent.h>

int files(int argc, char **argv) {
  /* argv[1]: a folder that may be written, argv[2]: a file that may be read. */
  char text[64] = "";
  int fd = open(argv[2], O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text) == 5 && !strcmp(text, "hello"));
  struct stat stat_of;
  CHECK(!fstat(fd, &stat_of) && stat_of.st_size == 5 && S_ISREG(stat_of.st_mode));
  CHECK(lseek(fd, -2, SEEK_END) == 3 && read(fd, text, 64) == 2 && !strncmp(text, "lo", 2));
  CHECK(pread(fd, text, 3, 1) == 3 && !strncmp(text, "ell", 3));
  char *mapped = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  CHECK(mapped != MAP_FAILED && !memcmp(mapped, "hello\0", 6));
  mapped[0] = 'J';
  CHECK(pread(fd, text, 1, 0) == 1 && text[0] == 'h');
  CHECK(write(fd, "x", 1) == -1 && errno == EBADF);
  close(fd);
  CHECK(open(argv[2], O_RDWR) == -1 && errno == EROFS);
  CHECK(unlink(argv[2]) == -1 && errno == EROFS);
  CHECK(access(argv[2], R_OK) == 0 && access(argv[2], W_OK) == -1);

  CHECK(!chdir(argv[1]));
  CHECK(!mkdir("new", 0755) && mkdir("new", 0755) == -1 && errno == EEXIST);
  FILE *file = fopen("new/a", "w");
  CHECK(file);
  for (int i = 0; i < 10000; i++) fprintf(file, "line %d\n", i);
  CHECK(!fclose(file));
  CHECK(!rename("new/a", "b") && access("new/a", F_OK) == -1);
  file = fopen("b", "a+");
  fputs("end\n", file);
  rewind(file);
  int lines = 0;
  while (fgets(text, sizeof text, file)) lines++;
  CHECK(lines == 10001 && !strcmp(text, "end\n"));
  fclose(file);
  CHECK(!truncate("b", 7) && !stat("b", &stat_of) && stat_of.st_size == 7);
  CHECK(!rmdir("new") && rmdir("b") == -1 && errno == ENOTDIR);
  DIR *folder = opendir(".");
  int entries = 0;
  for (struct dirent *entry; (entry = readdir(folder));) entries++;
  closedir(folder);
  CHECK(entries == 3); /* ., .. and b */
  CHECK(!unlink("b"));

  int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDONLY), random = open("/dev/urandom", O_RDONLY);
  CHECK(write(null, "x", 1) == 1 && read(null, text, 1) == 0);
  text[0] = 1;
  CHECK(read(zero, text, 4) == 4 && text[0] == 0 && read(random, text, 16) == 16);
  file = fopen("/proc/self/maps", "r");
  int stack = 0;
  char line[256];
  while (file && fgets(line, sizeof line, file)) stack |= strstr(line, "[stack]") != 0;
  CHECK(stack);
  CHECK(readlink("/proc/self/exe", line, sizeof line) > 0 && line[0] == '/');
  file = fopen("/sys/devices/system/cpu/online", "r");
  CHECK(file && fgets(line, sizeof line, file) && !strcmp(line, "0-3\n"));
  puts("files as they should be");
  return 0;
}

/* A writable folder contains a read-only one, `outer/inner`; no rename may make it writable. */
int nested(int argc, char **argv) {
  CHECK(!chdir(argv[1]));
  CHECK(open("outer/inner/new", O_CREAT | O_WRONLY, 0644) == -1 && errno == EROFS);
  CHECK(rename("outer/inner", "other") == -1 && errno == EBUSY);
  CHECK(rename("outer", "other") == -1 && errno == EBUSY);
  CHECK(rmdir("outer/inner") == -1 && errno == EBUSY);
  CHECK(open("outer/new", O_CREAT | O_WRONLY, 0644) >= 0 && !rename("outer/new", "outer/old"));
  CHECK(open("outer/inner/../inner/new", O_CREAT | O_WRONLY, 0644) == -1 && errno == EROFS);
  puts("still read-only");
  return 0;
}

/* Prints the result of each attempt to leave the folder; all must fail. argv[1]: a folder with the links `absolute`, `relative` and `loop`. */
int escape(int argc, char **argv) {
  CHECK(!chdir(argv[1]));
  const char *paths[] = {
      "/etc/passwd", "../../../../../../../../etc/passwd", "absolute", "relative", "folder-link/passwd", "up/up/up/etc/passwd",
      "/proc/self/root/etc/passwd", "/proc/self/cwd/../../etc/passwd", "/proc/1/root/etc/passwd", "/proc/self/fd/3",
      "/proc/thread-self/root/etc/passwd", "/dev/sda", "/dev/mem", "/dev/tty", "/sys/kernel/notes", "/proc/kcore",
      "./.././../.././../../../../etc/passwd", "loop", "fifo",
  };
  for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
    int fd = open(paths[i], O_RDONLY);
    printf("%s: %s\n", paths[i], fd >= 0 ? "OPEN" : strerror(errno));
  }
  int here = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(openat(here, "../secret", O_RDONLY) == -1);
  CHECK(openat(here, "absolute", O_RDONLY | O_NOFOLLOW) == -1 && errno == ELOOP);
  CHECK(open("made", O_CREAT | O_WRONLY, 0644) == -1 && errno == EROFS);
  CHECK(open("../made", O_CREAT | O_WRONLY, 0644) == -1);
  CHECK(mkdir("/made", 0755) == -1 && errno == EROFS);
  CHECK(symlink("/etc", "writable/link") == -1 && link("file", "writable/link") == -1);
  CHECK(rename("writable/file", "moved") == -1 && errno == EROFS);
  CHECK(rename("writable/inner", "writable/other") == 0);
  CHECK(open("writable/absolute", O_WRONLY | O_TRUNC) == -1);
  for (int i = 0; i < 50; i++) CHECK(!chdir(".."));
  CHECK(open("etc/passwd", O_RDONLY) == -1 && errno == ENOENT);
  char path[4096];
  CHECK(getcwd(path, sizeof path) && !strcmp(path, "/"));
  CHECK(fork() == -1);
  extern char **environ;
  CHECK(execve("/bin/sh", argv, environ) == -1);
  extern int socket(int, int, int);
  CHECK(socket(2, 1, 0) == -1);
  CHECK(kill(1, 9) == -1 && errno == ESRCH);
  puts("no way out");
  return 0;
}
