// Litmus tests of the memory model: `litmus SB --runs 1000 --seed 7`.
//
// Runs a test many times on threads that start together but for random delays, counts the outcomes, and fails if one of
// them is forbidden by total store order. Which lines a thread has looked at before is random too: a store to a line that
// others hold takes long, and that is when loads overtake it.
#define _GNU_SOURCE
#include "tests.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("litmus: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

typedef struct {
    size_t runs, delay;
    uint64_t seed;
    bool expect_relaxed, corrupt;
} Options;

// --- Threads that start together -------------------------------------------------------------------------------

typedef struct {
    _Alignas(128) atomic_uint arrived;
    _Alignas(128) atomic_uint round;
} Barrier;

static void meet(Barrier *barrier, unsigned threads)
{
    unsigned round = atomic_load(&barrier->round);
    if (atomic_fetch_add(&barrier->arrived, 1) + 1 == threads) {
        atomic_store(&barrier->arrived, 0);
        atomic_store(&barrier->round, round + 1);
        return;
    }
    for (unsigned looks = 1; atomic_load(&barrier->round) == round; looks++) {
        __builtin_ia32_pause();
        // There may be fewer processors than threads.
        if (looks % 64 == 0)
            sched_yield();
    }
}

typedef struct {
    const Test *test;
    const Options *options;
    unsigned threads;
    size_t counts[81]; // of outcomes: their values are the digits, to base 3
    Barrier barrier;
    Places places[MAX_RUNS_AT_ONCE];
    uint32_t loaded[MAX_THREADS][MAX_RUNS_AT_ONCE][2];
} Trial;

typedef struct {
    Trial *trial;
    unsigned number;
} Runner;

// Of a linear congruential generator, the upper half.
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static size_t below(size_t a, size_t b) { return a < b ? a : b; }

static void look_before(const Places *places, uint32_t which)
{
    if (which & 1)
        (void)*(const volatile uint32_t *)&places->x.value;
    if (which & 2)
        (void)*(const volatile uint32_t *)&places->y.value;
}

static unsigned outcome(const Trial *trial, size_t run)
{
    unsigned digits = 0;
    for (const Watched *w = trial->test->watched; w < trial->test->watched + MAX_WATCHED && w->kind; w++) {
        uint32_t value = w->kind == LOADED   ? trial->loaded[w->thread][run][w->index]
                         : w->kind == LAST_X ? trial->places[run].x.value
                                             : trial->places[run].y.value;
        if (value > 2)
            fail("%s: a load gave %u, which nobody has stored", trial->test->name, value);
        digits = digits * 3 + value;
    }
    return digits;
}

static void *run_thread(void *argument)
{
    const Runner *runner = argument;
    Trial *trial = runner->trial;
    const Options *options = trial->options;
    Thread *thread = trial->test->threads[runner->number];
    uint64_t random = (options->seed * MAX_THREADS + runner->number) * 0x9e3779b97f4a7c15u;
    for (size_t done = 0; done < options->runs; done += MAX_RUNS_AT_ONCE) {
        size_t runs = below(options->runs - done, MAX_RUNS_AT_ONCE);
        if (runner->number == 0)
            memset(trial->places, 0, sizeof trial->places);
        meet(&trial->barrier, trial->threads);
        for (size_t run = 0; run < runs; run++) {
            look_before(&trial->places[run], next_random(&random));
            size_t delay = (size_t)((uint64_t)next_random(&random) * (options->delay + 1) >> 32);
            meet(&trial->barrier, trial->threads);
            for (volatile size_t left = delay; left > 0;)
                left--;
            thread(&trial->places[run], trial->loaded[runner->number][run]);
        }
        meet(&trial->barrier, trial->threads);
        if (runner->number == 0)
            for (size_t run = 0; run < runs; run++)
                trial->counts[outcome(trial, run)]++;
    }
    return NULL;
}

// --- What came out ---------------------------------------------------------------------------------------------

static unsigned weak_outcome(const Test *test)
{
    unsigned digits = 0;
    for (size_t i = 0; i < MAX_WATCHED && test->watched[i].kind; i++)
        digits = digits * 3 + test->weak[i];
    return digits;
}

static void print_outcome(const Test *test, unsigned digits)
{
    unsigned weight = 1;
    for (size_t i = 1; i < MAX_WATCHED && test->watched[i].kind; i++)
        weight *= 3;
    for (const Watched *w = test->watched; w < test->watched + MAX_WATCHED && w->kind; w++, weight /= 3) {
        unsigned value = digits / weight % 3;
        if (w->kind == LOADED)
            printf(" %u:r%u=%u", w->thread, w->index, value);
        else
            printf(" %s=%u", w->kind == LAST_X ? "x" : "y", value);
    }
}

// Whether the outcomes are those that total store order allows, and the one that was expected is among them.
static bool judge(const Trial *trial)
{
    const Test *test = trial->test;
    unsigned weak = weak_outcome(test);
    size_t seen = trial->counts[weak];
    for (unsigned digits = 0; digits < sizeof trial->counts / sizeof *trial->counts; digits++) {
        if (!trial->counts[digits])
            continue;
        printf("%10zu ", trial->counts[digits]);
        print_outcome(test, digits);
        printf("%s\n", digits != weak ? "" : test->allowed ? "  relaxed" : "  FORBIDDEN");
    }
    bool missing = trial->options->expect_relaxed && test->allowed && !seen;
    bool right = !missing && (test->allowed || !seen);
    const char *verdict = missing           ? "wrong: the relaxed outcome was not seen"
                          : !right          ? "wrong: total store order forbids this outcome"
                          : !test->allowed  ? "right: the forbidden outcome was not seen"
                          : seen            ? "right: the relaxed outcome was seen, and is allowed"
                                            : "right: the relaxed outcome was not seen, nor need be";
    printf("%s: %s\n", test->name, verdict);
    return right;
}

static Trial trial;

static bool run_test(const Test *test, const Options *options)
{
    memset(&trial, 0, sizeof trial);
    trial.test = test;
    trial.options = options;
    while (trial.threads < MAX_THREADS && test->threads[trial.threads])
        trial.threads++;
    printf("%s: %zu runs on %u threads, seed %llu\n", test->name, options->runs, trial.threads,
           (unsigned long long)options->seed);
    pthread_t helpers[MAX_THREADS];
    Runner runners[MAX_THREADS];
    for (unsigned i = 0; i < trial.threads; i++)
        runners[i] = (Runner){&trial, i};
    for (unsigned i = 1; i < trial.threads; i++)
        if (pthread_create(&helpers[i], NULL, run_thread, &runners[i]) != 0)
            fail("can't start thread %u", i);
    run_thread(&runners[0]);
    for (unsigned i = 1; i < trial.threads; i++)
        pthread_join(helpers[i], NULL);
    if (options->corrupt)
        trial.counts[weak_outcome(test)]++;
    return judge(&trial);
}

// --- The command -----------------------------------------------------------------------------------------------

static void help(void)
{
    printf("Usage: litmus TEST|all [OPTION]...\n"
           "Runs litmus tests of the memory model and counts what comes out.\n\nTests:\n");
    for (size_t i = 0; i < TEST_COUNT; i++)
        printf("  %-10s %s\n", TESTS[i].name, TESTS[i].about);
    printf("\nOptions:\n"
           "  --runs N          how often each test is run (default 1000)\n"
           "  --seed N          of the random delays (default 1)\n"
           "  --delay N         the longest delay, in turns of an empty loop (default 40)\n"
           "  --expect-relaxed  fail unless the relaxed outcome is seen where it is allowed (SB, R)\n"
           "  --break           count an outcome that no interleaving gives, to see that it is noticed\n"
           "Exit code: 0 if nothing forbidden was seen, 1 if something was, 2 if something failed.\n");
}

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    if (text == NULL)
        fail("%s needs a value", option);
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        fail("%s %s: a number from %llu to %llu is needed", option, text, (unsigned long long)least,
             (unsigned long long)most);
    return value;
}

int main(int count, char **arguments)
{
    if (count < 2 || strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0) {
        help();
        return 0;
    }
    const char *name = arguments[1];
    Options options = {.runs = 1000, .delay = 40, .seed = 1};
    for (char **argument = arguments + 2; *argument; argument++) {
        if (strcmp(*argument, "--expect-relaxed") == 0)
            options.expect_relaxed = true;
        else if (strcmp(*argument, "--break") == 0)
            options.corrupt = true;
        else if (strcmp(*argument, "--runs") == 0)
            argument++, options.runs = number("--runs", *argument, 1, 1000000000);
        else if (strcmp(*argument, "--seed") == 0)
            argument++, options.seed = number("--seed", *argument, 0, UINT64_MAX);
        else if (strcmp(*argument, "--delay") == 0)
            argument++, options.delay = number("--delay", *argument, 0, 1000000);
        else
            fail("there is no option '%s'; see --help", *argument);
    }
    bool all = strcmp(name, "all") == 0, found = false, right = true;
    for (size_t i = 0; i < TEST_COUNT; i++) {
        if (!all && strcasecmp(name, TESTS[i].name) != 0)
            continue;
        found = true;
        right &= run_test(&TESTS[i], &options);
    }
    if (!found)
        fail("there is no test '%s'; see --help", name);
    return right ? 0 : 1;
}
