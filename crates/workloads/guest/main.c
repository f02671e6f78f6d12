// One file for all programs, as busybox does it: `workloads vecadd --size 1000`, or a link called `vecadd`.
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM(module) extern const Program module##_program;
#include "programs.h"
#undef PROGRAM

static const Program *const PROGRAMS[] = {
#define PROGRAM(module) &module##_program,
#include "programs.h"
#undef PROGRAM
};
static const size_t PROGRAM_COUNT = sizeof PROGRAMS / sizeof *PROGRAMS;

static const char *called = "workloads";

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", called);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

size_t cells(size_t a, size_t b, size_t c)
{
    const size_t limit = (size_t)1 << 30;
    require(a <= limit && b <= limit / a && c <= limit / a / b, "%zu x %zu x %zu elements are more than 2^30", a, b, c);
    return a * b * c;
}

// `_` and `-` are the same.
static const Program *find(const char *name)
{
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        const char *theirs = PROGRAMS[i]->name, *ours = name;
        while (*theirs && (*theirs == *ours || (*theirs == '-' && *ours == '_')))
            theirs++, ours++;
        if (!*theirs && !*ours)
            return PROGRAMS[i];
    }
    return NULL;
}

static void print_size(FILE *out, const size_t size[3])
{
    for (int i = 0; i < 3 && size[i]; i++)
        fprintf(out, i ? "x%zu" : "%zu", size[i]);
}

static void help(const Program *program)
{
    printf("Usage: %s [OPTION]...\n%s: %s.\n\nOptions:\n", program->name, program->name, program->about);
    printf("  --size N          %s (default ", program->size_means);
    print_size(stdout, program->full);
    printf("; `tiny` is ");
    print_size(stdout, program->tiny);
    printf(")\n");
    if (program->iterations)
        printf("  --iterations N    how many steps (default %u)\n", program->iterations);
    if (program->chunk) {
        printf("  --cpu-share P     how many per cent of the work the CPU does (default 0)\n");
        printf("  --chunk N         %s that a thread takes at a time (default %zu)\n", program->chunk_means, program->chunk);
    }
    printf("  --threads N       threads of the CPU (default 4)\n"
           "  --no-check        don't compare with the CPU's result\n"
           "  --break           spoil the result, to see that the comparison notices\n"
           "Exit code: 0 if the result is right, 1 if it is wrong, 2 if something failed.\n");
}

static size_t number(const char *option, const char *text, const char **end)
{
    char *rest;
    errno = 0;
    unsigned long value = strtoul(text, &rest, 10);
    require(*text >= '0' && *text <= '9' && errno == 0, "%s %s: a number is needed", option, text);
    *end = rest;
    return value;
}

static size_t whole_number(const char *option, const char *text, size_t limit)
{
    const char *end;
    size_t value = number(option, text, &end);
    require(*end == '\0' && value <= limit, "%s %s: a number up to %zu is needed", option, text, limit);
    return value;
}

static void parse_size(const Program *program, const char *text, size_t size[3])
{
    memset(size, 0, 3 * sizeof *size);
    if (strcmp(text, "tiny") == 0 || strcmp(text, "default") == 0) {
        memcpy(size, *text == 't' ? program->tiny : program->full, 3 * sizeof *size);
        return;
    }
    const char *rest = text;
    for (int i = 0; i < 3; i++) {
        size[i] = number("--size", rest, &rest);
        require(size[i] > 0, "--size %s: it must not be 0", text);
        if (*rest == '\0') {
            require(i == 0 || program->full[i] != 0, "--size %s: too many numbers; %s", text, program->size_means);
            cells(size[0], i > 0 ? size[1] : 1, i > 1 ? size[2] : 1);
            return;
        }
        require(*rest == 'x', "--size %s: `tiny`, `default` or numbers such as 64 or 64x32 are needed", text);
        rest++;
    }
    fail("--size %s: too many numbers; %s", text, program->size_means);
}

static Options parse(const Program *program, char **arguments)
{
    Options options = {.iterations = program->iterations, .threads = 4, .chunk = program->chunk, .check = true};
    memcpy(options.size, program->full, sizeof options.size);
    for (; *arguments; arguments++) {
        const char *option = *arguments;
        if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
            help(program);
            exit(0);
        }
        if (strcmp(option, "--check") == 0) {
            options.check = true;
            continue;
        }
        if (strcmp(option, "--no-check") == 0) {
            options.check = false;
            continue;
        }
        if (strcmp(option, "--break") == 0) {
            options.corrupt = true;
            continue;
        }
        bool shares = strcmp(option, "--cpu-share") == 0 && program->chunk;
        bool chunks = strcmp(option, "--chunk") == 0 && program->chunk;
        bool iterates = strcmp(option, "--iterations") == 0 && program->iterations;
        bool sizes = strcmp(option, "--size") == 0, threads = strcmp(option, "--threads") == 0;
        require(shares || chunks || iterates || sizes || threads, "there is no option '%s'; see --help", option);
        const char *value = *++arguments;
        require(value != NULL, "%s needs a value", option);
        if (sizes)
            parse_size(program, value, options.size);
        else if (shares)
            options.cpu_share = (unsigned)whole_number(option, value, 100);
        else if (chunks)
            options.chunk = whole_number(option, value, 1 << 30);
        else if (iterates)
            options.iterations = (unsigned)whole_number(option, value, 1000000);
        else
            options.threads = (unsigned)whole_number(option, value, 1000);
    }
    require(options.chunk > 0 || !program->chunk, "--chunk must not be 0");
    require(options.iterations > 0 || !program->iterations, "--iterations must not be 0");
    require(options.check || !options.corrupt, "--break without a check makes no sense");
    return options;
}

static int run(const Program *program, const Options *options)
{
    set_threads(options->threads);
    verdict.corrupt = options->corrupt;
    gpu_open(program->kernels);
    program->run(options);
    gpu_close();
    free_host_memory();

    printf("%s size ", program->name);
    print_size(stdout, options->size);
    if (!options->check) {
        printf(": not checked\n");
        return 0;
    }
    require(verdict.values > 0, "nothing was compared");
    if (verdict.wrong[0]) {
        printf(": wrong: %s\n", verdict.wrong);
        return 1;
    }
    printf(": right (max error %g ulp)\n", verdict.worst);
    return 0;
}

int main(int count, char **arguments)
{
    const char *name = count > 0 ? arguments[0] : "";
    const char *slash = strrchr(name, '/');
    const Program *program = find(slash ? slash + 1 : name);
    char **rest = arguments + (count > 0);
    if (!program && *rest)
        program = find(*rest++);
    if (!program) {
        FILE *out = count > 1 ? stderr : stdout;
        if (count > 1)
            fprintf(out, "workloads: there is no program '%s'\n", arguments[1]);
        fprintf(out, "Usage: workloads NAME [OPTION]... (NAME --help says which)\n\n");
        for (size_t i = 0; i < PROGRAM_COUNT; i++)
            fprintf(out, "%-17s %s\n", PROGRAMS[i]->name, PROGRAMS[i]->about);
        return count > 1 ? 2 : 0;
    }
    called = program->name;
    Options options = parse(program, rest);
    return run(program, &options);
}
