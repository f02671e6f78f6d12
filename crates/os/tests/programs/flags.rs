//! Flags of system calls: known flags take effect, others are rejected. Needs a compiler, like `compiled.rs`.

use crate::{
    compiled::compile,
    support::{Folder, run_program},
};

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int wrong;
/* A call must return a value, or -1 with an error. */
static void is(const char *what, long got, long expected, int error) {
    if (got != expected || (expected == -1 && errno != error)) {
        printf("%s: %ld, errno %d\n", what, got, errno);
        wrong = 1;
    }
}
static void put(const char *path, const char *text) {
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (write(fd, text, strlen(text)) < 0) wrong = 1;
    close(fd);
}
static void holds(const char *path, const char *text) {
    char bytes[16] = {0};
    int fd = open(path, O_RDONLY);
    long count = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    close(fd);
    if (text ? count < 0 || strcmp(bytes, text) : count >= 0) {
        printf("%s holds '%s', not '%s'\n", path, bytes, text ? text : "(nothing)");
        wrong = 1;
    }
}
static long rename2(const char *a, const char *b, unsigned flags) {
    return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, flags);
}

int main(void) {
    struct stat st;
    struct statx sx;
    char bytes[8] = {0};
    struct iovec part = {bytes, 3};
    put("/out/a", "a"), put("/out/b", "b");
    is("noreplace over a file", rename2("/out/a", "/out/b", 1), -1, EEXIST);
    holds("/out/a", "a"), holds("/out/b", "b");
    is("noreplace", rename2("/out/a", "/out/c", 1), 0, 0);
    holds("/out/a", NULL), holds("/out/c", "a");
    is("exchange", rename2("/out/b", "/out/c", 2), 0, 0);
    holds("/out/b", "a"), holds("/out/c", "b");
    is("exchange with nothing", rename2("/out/b", "/out/none", 2), -1, ENOENT);
    is("noreplace and exchange", rename2("/out/b", "/out/c", 3), -1, EINVAL);
    is("whiteout", rename2("/out/b", "/out/c", 4), -1, EINVAL);
    is("an unknown flag of rename", rename2("/out/b", "/out/c", 64), -1, EINVAL);
    holds("/out/b", "a"), holds("/out/c", "b");
    is("exchange out of what is read-only", rename2("/in/text", "/out/b", 2), -1, EROFS);
    is("rename", rename2("/out/b", "/out/c", 0), 0, 0);
    holds("/out/b", NULL), holds("/out/c", "a");

    is("unlinkat", syscall(SYS_unlinkat, AT_FDCWD, "/out/c", 0x1), -1, EINVAL);
    is("unlinkat of a file as a folder", syscall(SYS_unlinkat, AT_FDCWD, "/out/c", AT_REMOVEDIR), -1, ENOTDIR);
    is("newfstatat", syscall(SYS_newfstatat, AT_FDCWD, "/out/c", &st, 0x1), -1, EINVAL);
    is("statx", syscall(SYS_statx, AT_FDCWD, "/out/c", 0x1, 0x7ff, &sx), -1, EINVAL);
    is("statx with a reserved field", syscall(SYS_statx, AT_FDCWD, "/out/c", 0, 0x80000000, &sx), -1, EINVAL);
    is("faccessat2", syscall(439, AT_FDCWD, "/out/c", R_OK, 0x1), -1, EINVAL);
    is("faccessat2 of effective IDs", syscall(439, AT_FDCWD, "/out/c", R_OK, AT_EACCESS), 0, 0);
    is("linkat", syscall(SYS_linkat, AT_FDCWD, "/out/c", AT_FDCWD, "/out/d", 0x1), -1, EINVAL);
    is("fchmodat2", syscall(452, AT_FDCWD, "/out/c", 0600, 0x1), -1, EINVAL);
    is("utimensat", syscall(SYS_utimensat, AT_FDCWD, "/out/c", NULL, 0x1), -1, EINVAL);
    is("utimensat of nothing", syscall(SYS_utimensat, AT_FDCWD, "/out/none", NULL, 0), -1, ENOENT);
    is("getrandom", syscall(SYS_getrandom, bytes, 1, 8), -1, EINVAL);
    is("membarrier", syscall(SYS_membarrier, 8, 1), -1, EINVAL);
    is("msync", msync(bytes, 0, 8), -1, EINVAL);
    is("exclusive creation", open("/out/c", O_CREAT | O_EXCL | O_RDWR, 0600), -1, EEXIST);
    is("a folder that is created by open", open("/out/e", O_CREAT | O_DIRECTORY | O_RDWR, 0600), -1, EINVAL);

    int fd = open("/out/c", O_RDWR);
    is("fallocate", syscall(SYS_fallocate, fd, 0x100, 0, 1), -1, EOPNOTSUPP);
    is("pwritev2", syscall(328, fd, &part, 1, 0L, 0L, 0), 3, 0);
    is("preadv2 where the file is", syscall(327, fd, &part, 1, -1L, -1L, 0), 3, 0);
    is("an unknown flag of preadv2", syscall(327, fd, &part, 1, 0L, 0L, 0x400), -1, EOPNOTSUPP);
    is("dup3", syscall(SYS_dup3, fd, 100, 1), -1, EINVAL);
    is("pipe2", syscall(SYS_pipe2, bytes, 1), -1, EINVAL);
    is("close_range", syscall(436, fd, fd, 1), -1, EINVAL);
    is("close_range that only marks", syscall(436, fd, fd, 4), 0, 0);
    is("what was marked", fcntl(fd, F_GETFD), FD_CLOEXEC, 0);
    is("close_range", syscall(436, fd, fd, 0), 0, 0);
    is("what was closed", fcntl(fd, F_GETFD), -1, EBADF);
    is("a shared mapping with an unknown flag",
       (long)mmap(0, 4096, PROT_READ, MAP_SHARED_VALIDATE | MAP_ANONYMOUS | 0x200000, -1, 0), -1, EOPNOTSUPP);
    is("a low mapping", (unsigned long)mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0) >> 31, 0, 0);
    for (long number = 0; number < 100000; number++) syscall(1000000 + number);
    if (!wrong) puts("flags as they should be");
    return wrong;
}
"#;

#[test]
fn flags_do_what_they_say_or_are_refused() {
    let (out, folder, source) = (Folder::new("flags-out"), Folder::new("flags"), ("flags.c", SOURCE));
    let Some(program) = compile(&folder, "gcc", source, &["-static", "-w"]) else { return };
    let shown = Folder::new("flags-in");
    shown.write("text", "hello");
    let outcome = run_program(&program, &[], |options| {
        options.mounts = vec![shown.mount("/in", false), out.mount("/out", true)];
        options.folder = "/in".into();
    });
    assert_eq!(outcome.good(), "flags as they should be\n");
}
