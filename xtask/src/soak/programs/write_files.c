/* Writes, appends, renames, cuts and removes files in the folder argv[1], which it may write. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **words) {
    if (chdir(words[1]) != 0) return perror(words[1]), 1;
    char name[32];
    long bytes = 0;
    mkdir("inner", 0700);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "inner/file%d", i);
        FILE *file = fopen(name, "w");
        for (int line = 0; line < 50; line++) fprintf(file, "line %d of file %d\n", line, i);
        fclose(file);
        file = fopen(name, "a");
        fputs("the end\n", file);
        fclose(file);
        if (i % 3 == 0) rename(name, "inner/other");
        if (i % 3 == 1) truncate(name, 100 * i);
        if (i % 3 == 2) unlink(name);
    }
    struct stat about;
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "inner/file%d", i);
        if (stat(name, &about) == 0) bytes += about.st_size, unlink(name);
    }
    stat("inner/other", &about);
    printf("%ld bytes, and %ld in the one that was renamed\n", bytes, (long)about.st_size);
    unlink("inner/other");
    printf("folder removed: %d\n", rmdir("inner"));
    return 0;
}
