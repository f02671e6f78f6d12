/* Reads a file of the working folder in every way; argv[1] is its name. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **words) {
    int file = open(words[1], O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) return perror(words[1]), 1;
    unsigned long sums[4] = {0};
    char *mapped = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    for (long i = 0; i < about.st_size; i++) sums[0] += (unsigned char)mapped[i];
    unsigned char bytes[1000];
    for (ssize_t got; (got = read(file, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got; i++) sums[1] += bytes[i];
    for (long at = about.st_size; at > 0;) {
        long from = at > 777 ? at - 777 : 0;
        ssize_t got = pread(file, bytes, at - from, from);
        for (ssize_t i = 0; i < got; i++) sums[2] += bytes[i];
        at = from;
    }
    FILE *stream = fopen(words[1], "r");
    for (int letter; (letter = getc(stream)) != EOF;) sums[3] += letter;
    fclose(stream);
    int same = sums[0] == sums[1] && sums[1] == sums[2] && sums[2] == sums[3];
    printf("%ld bytes, sum %lu, %s\n", (long)about.st_size, sums[0], same ? "the same each time" : "not the same");
    DIR *folder = opendir(".");
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder));) found += strcmp(entry->d_name, words[1]) == 0;
    printf("found %d time in the folder\n", found);
    printf("written: %s\n", open("not-allowed", O_CREAT | O_WRONLY, 0600) < 0 ? "refused" : "allowed");
    return !same;
}
