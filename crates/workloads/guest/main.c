// One file for all programs, as busybox does it: `workloads vecadd --size 1000`, or a link called `vecadd`.
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#define LIST "openmp/programs.h"
#define FILE_NAME "openmp"
#define SUFFIX "-omp" // may be left out
#else
#define LIST "programs.h"
#define FILE_NAME "workloads"
#define SUFFIX ""
#endif

#define PROGRAM(module) extern const Program module##_program;
#include LIST
#undef PROGRAM

static const Program *const PROGRAMS[] = {
#define PROGRAM(module) &module##_program,
#include LIST
#undef PROGRAM
};
static const size_t PROGRAM_COUNT = sizeof PROGRAMS / sizeof *PROGRAMS;

static const char *called = FILE_NAME;

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
        if (!*ours && (!*theirs || strcmp(theirs, SUFFIX) == 0))
            return PROGRAMS[i];
    }
    return NULL;
}

static void print_size(FILE *out, const size_t size[3])
{
    for (int i = 0; i < 3 && size[i]; i++)
        fprintf(out, i ? "x%zu" : "%zu", size[i]);
}

static const size_t *default_size(const Program *program) { return program->full[0] ? program->full : program->small; }

static void print_named_size(const char *name, const size_t size[3])
{
    if (!size[0])
        return;
    printf("; `%s` is ", name);
    print_size(stdout, size);
}

static void help(const Program *program)
{
    printf("Usage: %s [OPTION]...\n%s: %s.\n\nOptions:\n", program->name, program->name, program->about);
    printf("  --size N          %s (default ", program->size_means);
    print_size(stdout, default_size(program));
    print_named_size("tiny", program->tiny);
    print_named_size("small", program->small);
    print_named_size("usual", program->usual);
    for (size_t i = 0; i < MAX_PRESETS && program->presets[i].name; i++)
        print_named_size(program->presets[i].name, program->presets[i].size);
    printf(")\n");
    if (program->iterations)
        printf("  --iterations N    how many steps (default %u)\n", program->iterations);
    if (program->can_stop)
        printf("  --iterations N    do the first N steps alone (default: all of them)\n");
    if (program->chunk) {
        printf("  --cpu-share P     how many per cent of the work the CPU does (default 0)\n");
        printf("  --chunk N         %s that a thread takes at a time (default %zu)\n", program->chunk_means, program->chunk);
    }
    if (program->graph)
        printf("  --graph WHICH     `uniform`, `uniform:EDGES`, `rmat`, `road`, or a file, *.gr of DIMACS or *.mtx of Matrix Market, which\n"
               "                    decides on the nodes (default %s)\n",
               program->graph);
    if (program->kernels)
        printf("  --copies HOW      what lets the GPU use arrays of the CPU: `explicit`, writes and reads of buffers;\n"
               "                    `mapped` (default), maps of shared memory; `none` where both may touch it any time\n"
               "  --read-results    have the CPU read all results, as for a file, before the region of interest ends\n");
    if (program->part)
        printf("  --region %-8s measure that part of the last step alone\n", program->part);
    if (program->variant)
        printf("  --variant %-7s %s\n", program->variant, program->variant_means);
    printf("  --threads N       threads of the CPU (default 4)\n"
           "  --time            print how long the region of interest took\n"
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
    const struct {
        const char *name;
        const size_t *size;
    } named[] = {{"tiny", program->tiny},
                 {"small", program->small},
                 {"default", default_size(program)},
                 {"usual", program->usual}};
    memset(size, 0, 3 * sizeof *size);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(text, named[i].name) == 0 && named[i].size[0]) {
            memcpy(size, named[i].size, 3 * sizeof *size);
            return;
        }
    for (size_t i = 0; i < MAX_PRESETS && program->presets[i].name; i++)
        if (strcmp(text, program->presets[i].name) == 0) {
            memcpy(size, program->presets[i].size, 3 * sizeof *size);
            return;
        }
    bool numeric = *text >= '0' && *text <= '9';
    require(numeric, "--size %s: a number is needed, or one of the names that --help lists", text);
    const char *rest = text;
    for (int i = 0; i < 3; i++) {
        size[i] = number("--size", rest, &rest);
        require(size[i] > 0, "--size %s: it must not be 0", text);
        if (*rest == '\0') {
            require(i == 0 || default_size(program)[i] != 0, "--size %s: too many numbers; %s", text, program->size_means);
            cells(size[0], i > 0 && !program->sizes_apart ? size[1] : 1, i > 1 && !program->sizes_apart ? size[2] : 1);
            return;
        }
        require(*rest == 'x', "--size %s: `tiny`, `default` or numbers such as 64 or 64x32 are needed", text);
        rest++;
    }
    fail("--size %s: too many numbers; %s", text, program->size_means);
}

static Copies parse_copies(const char *text)
{
    static const char *const NAMES[] = {[COPIES_MAPPED] = "mapped", [COPIES_EXPLICIT] = "explicit", [COPIES_NONE] = "none"};
    for (Copies how = COPIES_MAPPED; how <= COPIES_NONE; how++)
        if (strcmp(text, NAMES[how]) == 0)
            return how;
    fail("--copies %s: `explicit`, `mapped` or `none` is needed", text);
}

// Options without a value.
static bool parse_flag(const Program *program, const char *option, Options *options)
{
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        help(program);
        exit(0);
    }
    if (strcmp(option, "--check") == 0)
        options->check = true;
    else if (strcmp(option, "--no-check") == 0)
        options->check = false;
    else if (strcmp(option, "--break") == 0)
        options->corrupt = true;
    else if (strcmp(option, "--time") == 0)
        region.timed = true;
    else if (strcmp(option, "--read-results") == 0 && program->kernels)
        region.reads = true;
    else
        return false;
    return true;
}

static Options parse(const Program *program, char **arguments)
{
    Options options = {.iterations = program->iterations, .threads = 4, .chunk = program->chunk, .check = true};
    options.graph = program->graph;
    memcpy(options.size, default_size(program), sizeof options.size);
    for (; *arguments; arguments++) {
        const char *option = *arguments;
        if (parse_flag(program, option, &options))
            continue;
        bool shares = strcmp(option, "--cpu-share") == 0 && program->chunk;
        bool chunks = strcmp(option, "--chunk") == 0 && program->chunk;
        bool iterates = strcmp(option, "--iterations") == 0 && (program->iterations || program->can_stop);
        bool copies = strcmp(option, "--copies") == 0 && program->kernels;
        bool regions = strcmp(option, "--region") == 0 && program->part;
        bool graphs = strcmp(option, "--graph") == 0 && program->graph;
        bool varies = strcmp(option, "--variant") == 0 && program->variant;
        bool sizes = strcmp(option, "--size") == 0, threads = strcmp(option, "--threads") == 0;
        bool known = shares || chunks || iterates || copies || regions || graphs || varies || sizes || threads;
        require(known, "there is no option '%s'; see --help", option);
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
        else if (copies)
            options.copies = parse_copies(value);
        else if (graphs)
            options.graph = value;
        else if (regions)
            require(options.part_only = strcmp(value, program->part) == 0, "--region %s: only `%s` is known", value,
                    program->part);
        else if (varies)
            require(options.variant = strcmp(value, program->variant) == 0, "--variant %s: only `%s` is known", value,
                    program->variant);
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
    verdict.corrupt = options->corrupt;
    open_program(program, options);
    program->run(options);
    close_program();
    free_host_memory();

    if (region.timed)
        printf("%s region: %.9f s\n", program->name, region.end - region.begin);

    printf("%s size ", program->name);
    size_t size[3] = {verdict.nodes ? verdict.nodes : options->size[0], options->size[1], options->size[2]};
    print_size(stdout, size);
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
            fprintf(out, FILE_NAME ": there is no program '%s'\n", arguments[1]);
        fprintf(out, "Usage: " FILE_NAME " NAME [OPTION]... (NAME --help says which)\n\n");
        for (size_t i = 0; i < PROGRAM_COUNT; i++)
            fprintf(out, "%-17s %s\n", PROGRAMS[i]->name, PROGRAMS[i]->about);
        return count > 1 ? 2 : 0;
    }
    called = program->name;
    Options options = parse(program, rest);
    return run(program, &options);
}
