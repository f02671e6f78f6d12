// What the host programs of the workloads share: a GPU behind a few short calls, random inputs, comparison, threads.
//
// A program (src/NAME/NAME.c) makes its inputs in shared virtual memory, launches kernels, computes the same on the
// CPU and compares. It is written to OpenCL 2.0's coarse-grained SVM: whoever touches shared memory on the CPU maps it
// first. That is the one interface under which a driver may copy, migrate, flush or do nothing at all; `--copies` has
// the same calls copy by themselves, or do nothing.
//
// Programs for the CPU alone (src/NAME/NAME_omp.c) see the same, less all that is about a GPU.
//
// All calls end the program with a message when something fails, so that a program is the story of its computation.
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- What a program is -----------------------------------------------------------------------------------------

// Kernels as they are linked into the program: OpenCL C, and the same built for gfx803.
typedef struct {
    const char *source, *source_end;
    const unsigned char *object, *object_end;
} Kernels;

// What it takes to let a kernel use an array of the CPU's, and the other way round.
typedef enum {
    COPIES_MAPPED,   // shared virtual memory, mapped and unmapped: the driver decides whether that copies
    COPIES_EXPLICIT, // buffers, written and read
    COPIES_NONE,     // fine-grained shared virtual memory: nothing
} Copies;

typedef struct {
    size_t size[3];      // what `--size AxBxC` said; 0 for what it left out
    const char *graph;   // what `--graph` said: a kind of graph or a file
    unsigned iterations; // steps of a program that repeats itself
    unsigned threads;    // of the CPU's share and of the reference
    unsigned cpu_share;  // per cent of the work that the CPU does itself
    size_t chunk;        // how much a CPU thread takes at a time
    bool part_only;      // the region of interest is the program's `part` alone
    bool variant;        // the program's `variant` of its kernels
    Copies copies;
    bool check;          // compare with the reference
    bool corrupt;        // flip a bit of the result first: the comparison must notice
} Options;

// A size with a name of its own. `paper-KEY` is what the paper with that key in docs/papers.md has, `scaled-KEY` a part of it for
// quick runs; README.md says which part, and which caches go with it.
typedef struct {
    const char *name;
    size_t size[3];
} Preset;
#define MAX_PRESETS 6

typedef struct {
    const char *name;
    const char *about;
    const char *size_means; // for people: the numbers of --size
    bool sizes_apart;       // they are no sides of a box: only the first counts elements
    // `tiny` is for tests; `small` for a CPU in time, a few million instructions of it; `full` for a GPU in time; `usual` is
    // what the suite that the program comes from is run with. Without `full`, `small` is the default.
    size_t tiny[3], small[3], full[3], usual[3];
    Preset presets[MAX_PRESETS]; // the others
    unsigned iterations; // the default; 0 if the program does not repeat itself
    bool can_stop;       // `--iterations` ends it after its first steps; without, it runs to its end
    size_t chunk;        // the default, in what `chunk_means` says; 0 if the CPU does not share the work
    const char *chunk_means;
    const char *graph;      // the kind of graph that it is made for, the default of `--graph`; NULL if it uses none
    const char *part;       // what `--region` can be told: a part that is worth measuring by itself
    const char *variant;    // what `--variant` can be told: another way to do the same on the GPU
    const char *variant_means;
    const Kernels *kernels; // NULL if the program has no work for a GPU
    void (*run)(const Options *);
} Program;

#define INCLUDE_FILE(symbol, path)                                                                                     \
    __asm__(".pushsection .rodata\n.balign 16\n.globl " symbol ", " symbol "_end\n" symbol ":\n.incbin \"" path        \
            "\"\n" symbol "_end:\n.byte 0\n.popsection\n")

// Links src/MODULE/MODULE.cl and .hsaco into the program as `kernels`.
#define KERNELS(module)                                                                                                \
    INCLUDE_FILE(#module "_source", "src/" #module "/" #module ".cl");                                                 \
    INCLUDE_FILE(#module "_object", "src/" #module "/" #module ".hsaco");                                              \
    KERNELS_OF(module)

// The `kernels` of a module that another program links in.
#define KERNELS_OF(module)                                                                                             \
    extern const char module##_source[], module##_source_end[];                                                        \
    extern const unsigned char module##_object[], module##_object_end[];                                               \
    static const Kernels kernels = {module##_source, module##_source_end, module##_object, module##_object_end}

// Ends the program with a message in the manner of printf; exit code 2.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Ends the program if `--size` is none it can compute.
#define require(condition, ...) ((condition) ? (void)0 : fail(__VA_ARGS__))

// a * b * c, which must be few enough for 32-bit indices.
size_t cells(size_t a, size_t b, size_t c);

// --- The GPU ---------------------------------------------------------------------------------------------------

// Compute units of the device.
size_t compute_units(void);

// Shared virtual memory: the CPU and kernels use the same pointers. Freed when the program ends.
void *svm_alloc(size_t count, size_t element_size);
#define svm_array(type, count) ((type *)svm_alloc((count), sizeof(type)))

// The same, mapped for the CPU to write until the region of interest begins.
void *input_alloc(size_t count, size_t element_size);
#define input_array(type, count) ((type *)input_alloc((count), sizeof(type)))

// An array of which the GPU writes the first part and the CPU the rest, both at once. Where the device allows that
// (fine-grained SVM) it is one allocation, elsewhere the CPU has its part in memory of its own. A part without elements
// is NULL.
typedef struct {
    void *gpu, *cpu;
} Split;
Split svm_split(size_t gpu_count, size_t cpu_count, size_t element_size);

// The CPU may read (or write: what was there is lost; or both) until `unmap`. Waits for the kernels launched so far.
// Kernels may read meanwhile what is mapped to read. NULL is nothing to map.
void map_to_read(const void *);
void map_to_write(void *);
void map_to_update(void *);
void unmap(const void *);
void unmap_all(void);

// The work-items of a launch; the grid is rounded up to whole workgroups.
typedef struct {
    unsigned dimensions;
    size_t grid[3], group[3];
} Range;

Range line(size_t items, size_t group);
Range plane(size_t width, size_t height, size_t group_width, size_t group_height);
Range space(size_t width, size_t height, size_t depth, size_t group_width, size_t group_height, size_t group_depth);

// Arguments of a kernel.
typedef struct {
    enum { ARG_SVM, ARG_VALUE, ARG_LOCAL } kind;
    const void *pointer;
    size_t bytes;
    uint32_t word;
} Arg;

Arg svm(const void *pointer);
Arg u32(size_t value);
Arg i32(int value);
Arg f32(float value);
Arg local_memory(size_t bytes);

// Launches a kernel; launches are performed in order. `finish` waits for them.
#define launch(kernel, range, ...)                                                                                     \
    launch_with(kernel, range, (Arg[]){__VA_ARGS__}, sizeof((Arg[]){__VA_ARGS__}) / sizeof(Arg))
void launch_with(const char *kernel, Range, const Arg *, size_t count);
void start(void); // hands what was launched to the GPU without waiting, so that the CPU can work meanwhile
void finish(void);

// Between these lies what a program is about: the region of interest of a measurement. It begins by unmapping all that
// is mapped (the inputs) and should end when the results are mapped to read: so it has the copies both ways, where
// there are any. The marks are no-operations with a memory operand of a known displacement, which cost nothing and
// which a simulator can recognise.
void region_begin(void);
void region_end(void);

// --- Inputs ----------------------------------------------------------------------------------------------------

// The generator of crates/workloads/src/input.rs: the same seed gives the same numbers.
typedef struct {
    uint64_t state, increment;
} Random;

Random seeded(uint64_t seed);
uint32_t random_u32(Random *);
uint64_t random_u64(Random *);
uint32_t random_below(Random *, uint32_t bound);
float random_f32(Random *, float low, float high);

// Inputs (see `input_array`) filled with random numbers.
float *random_floats(Random *, size_t count, float low, float high);
uint32_t *random_words(Random *, size_t count);

// --- The CPU's part --------------------------------------------------------------------------------------------

// Memory of the CPU alone, zeroed. Freed when the program ends.
void *host_alloc(size_t count, size_t element_size);
#define host_array(type, count) ((type *)host_alloc((count), sizeof(type)))

// Calls `work(context, first, end)` for parts of 0..count on `--threads` threads: an even share for each, or, if
// `chunk` is not 0, that much to whoever is free.
void parallel(size_t count, size_t chunk, void (*work)(void *context, size_t first, size_t end), void *context);

// The part of `count` that is left to the CPU by `--cpu-share`, in whole multiples of `unit`.
size_t share_of_cpu(const Options *, size_t count, size_t unit);

// --- Comparison ------------------------------------------------------------------------------------------------

// Every value equals the reference's; floats to the last bit, though -0 equals 0 and any NaN any other.
#define check_equal(what, got, expected, count)                                                                        \
    check_elements(what,                                                                                               \
                   _Generic(*(expected), uint8_t: ELEMENT_U8, uint32_t: ELEMENT_U32, int32_t: ELEMENT_I32,             \
                                         uint64_t: ELEMENT_U64, float: ELEMENT_F32),                                   \
                   got, expected, NULL, 0.0, count)

// Every float lies within `ulps` units in the last place of `scale[i]`, the size of what was added up to get it.
#define check_within(what, got, expected, scale, ulps, count)                                                          \
    check_elements(what, ELEMENT_F32, got, expected, scale, ulps, count)

typedef enum { ELEMENT_U8, ELEMENT_U32, ELEMENT_I32, ELEMENT_U64, ELEMENT_F32 } Element;
void check_elements(const char *what, Element, const void *got, const void *expected, const float *scale, double ulps,
                    size_t count);

#endif
