// The litmus tests: what each thread does to x and y, what to look at, and what total store order says about it.
//
// Under TSO (x86) a thread's loads stay in order, its stores stay in order, and all threads agree on the order of stores;
// only a load may overtake an earlier store to another place. So of the outcomes that no interleaving of whole
// instructions can give, those of SB and R may happen, unless a fence or a locked instruction stands between.
#ifndef TESTS_H
#define TESTS_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_THREADS 4
#define MAX_RUNS_AT_ONCE 64

// Each in a line of its own, and in no other's neighbour.
typedef struct {
    _Alignas(128) uint32_t value;
} Place;

typedef struct {
    Place x, y;
} Places;

// What a thread has loaded: the first into r[0].
typedef void Thread(Places *, uint32_t r[2]);

#define STORE(place, value) "movl $" #value ", %[" #place "]\n\t"
#define LOAD(index, place) "movl %[" #place "], %[r" #index "]\n\t"
#define FENCE "mfence\n\t"
#define LOCKED "lock orl $0, (%%rsp)\n\t"

#define THREAD(name, code)                                                                                             \
    static void name(Places *places, uint32_t r[2])                                                                    \
    {                                                                                                                  \
        uint32_t r0 = 0, r1 = 0;                                                                                       \
        __asm__ volatile(code                                                                                          \
                         : [r0] "+r"(r0), [r1] "+r"(r1), [x] "+m"(places->x.value), [y] "+m"(places->y.value)          \
                         :                                                                                             \
                         : "memory");                                                                                  \
        r[0] = r0;                                                                                                     \
        r[1] = r1;                                                                                                     \
    }

THREAD(set_x, STORE(x, 1))
THREAD(set_y, STORE(y, 1))
THREAD(set_x_then_y, STORE(x, 1) STORE(y, 1))
THREAD(set_x_then_y_2, STORE(x, 1) STORE(y, 2))
THREAD(set_y_then_x_2, STORE(y, 1) STORE(x, 2))
THREAD(set_x_2_then_y, STORE(x, 2) STORE(y, 1))
THREAD(look_x_then_y, LOAD(0, x) LOAD(1, y))
THREAD(look_y_then_x, LOAD(0, y) LOAD(1, x))
THREAD(look_x_then_set_y, LOAD(0, x) STORE(y, 1))
THREAD(look_y_then_set_x, LOAD(0, y) STORE(x, 1))
THREAD(set_x_then_look_y, STORE(x, 1) LOAD(0, y))
THREAD(set_y_then_look_x, STORE(y, 1) LOAD(0, x))
THREAD(set_y_2_then_look_x, STORE(y, 2) LOAD(0, x))
THREAD(set_x_fence_look_y, STORE(x, 1) FENCE LOAD(0, y))
THREAD(set_y_fence_look_x, STORE(y, 1) FENCE LOAD(0, x))
THREAD(set_y_2_fence_look_x, STORE(y, 2) FENCE LOAD(0, x))
THREAD(set_x_locked_look_y, STORE(x, 1) LOCKED LOAD(0, y))
THREAD(set_y_locked_look_x, STORE(y, 1) LOCKED LOAD(0, x))

// What is looked at after a run.
typedef enum { NOTHING, LOADED, LAST_X, LAST_Y } Kind;
typedef struct {
    Kind kind;
    uint8_t thread, index; // of LOADED
} Watched;
#define R(thread, index) {LOADED, thread, index}
#define X {LAST_X, 0, 0}
#define Y {LAST_Y, 0, 0}

#define MAX_WATCHED 4
typedef struct {
    const char *name, *about;
    Thread *threads[MAX_THREADS];
    Watched watched[MAX_WATCHED];
    uint32_t weak[MAX_WATCHED]; // the outcome that no interleaving gives
    bool allowed;               // by TSO
} Test;

static const Test TESTS[] = {
    {"SB", "each sets one place and looks at the other: both may see nothing yet", //
     {set_x_then_look_y, set_y_then_look_x}, {R(0, 0), R(1, 0)}, {0, 0}, true},
    {"SB+mfence", "the same with fences between: one must see the other", //
     {set_x_fence_look_y, set_y_fence_look_x}, {R(0, 0), R(1, 0)}, {0, 0}, false},
    {"SB+lock", "the same with locked instructions between", //
     {set_x_locked_look_y, set_y_locked_look_x}, {R(0, 0), R(1, 0)}, {0, 0}, false},
    {"MP", "data, then a flag: who sees the flag sees the data", //
     {set_x_then_y, look_y_then_x}, {R(1, 0), R(1, 1)}, {1, 0}, false},
    {"LB", "each looks, then sets what the other looks at: not both see it", //
     {look_x_then_set_y, look_y_then_set_x}, {R(0, 0), R(1, 0)}, {1, 1}, false},
    {"IRIW", "two that look see two independent stores in the same order", //
     {set_x, set_y, look_x_then_y, look_y_then_x}, {R(2, 0), R(2, 1), R(3, 0), R(3, 1)}, {1, 0, 1, 0}, false},
    {"2+2W", "both set both, each in its order: the first stores of both can't come last", //
     {set_x_then_y_2, set_y_then_x_2}, {X, Y}, {1, 1}, false},
    {"R", "as SB, with a last store instead of a look: the load may overtake", //
     {set_x_then_y, set_y_2_then_look_x}, {R(1, 0), Y}, {0, 2}, true},
    {"R+mfence", "the same with a fence between: it may not", //
     {set_x_then_y, set_y_2_fence_look_x}, {R(1, 0), Y}, {0, 2}, false},
    {"S", "who sees a store sees what came before it overwritten by its own", //
     {set_x_2_then_y, look_y_then_set_x}, {R(1, 0), X}, {1, 2}, false},
};
#define TEST_COUNT (sizeof TESTS / sizeof *TESTS)

#endif
