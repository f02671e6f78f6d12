/* adsm: one pointer for CPU and GPU. See adsm(3).
 *
 * Functions that return int return ADSM_OK or an error's number; those that return a pointer return NULL on an error.
 * adsm_error() then has the words for it. Every function may be called from any thread. */
#ifndef ADSM_H
#define ADSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ADSM_OK = 0,
    ADSM_DEVICE = 1,      /* the device failed, is lost, or has no room */
    ADSM_SYSTEM = 2,      /* the operating system refused something */
    ADSM_FOREIGN = 3,     /* not the address of a shared object, or one that was freed before */
    ADSM_IN_FLIGHT = 4,   /* a kernel that uses the object has not been synchronised */
    ADSM_INVALID = 5,     /* an argument is not valid */
    ADSM_UNSUPPORTED = 6, /* not possible on this device */
    ADSM_FORKED = 7       /* this process was forked from the one that has the objects */
};

/* What went wrong in the last call of this thread that failed. */
const char *adsm_error(void);

/* Finds the devices and settings that the ADSM_* variables name. Optional: the first other call does it. */
int adsm_init(void);

/* How many devices there are, numbered from 0; -1 on an error. */
int adsm_devices(void);

/* Shared memory: zeroes that CPU and kernels know by one address. */
void *adsm_alloc(size_t bytes);
int adsm_free(void *object);

/* The same with its home on a device of the program's choice. Kernels on any device may be given it; inside other objects its
 * address means its home. */
void *adsm_alloc_on(int device, size_t bytes);

/* The same where one address is not possible: the CPU's address, and what a kernel is given for it. */
void *adsm_safe_alloc(size_t bytes);
uint64_t adsm_safe(const void *address);

/* Kernels. Give the code for every kind of device that the program should run on. */
typedef struct adsm_kernel adsm_kernel;

/* What a kernel written in C, for the simulated device, is given. */
typedef struct adsm_native {
    uint32_t grid[3], block[3];
    size_t memory_count;
    void *const *memory;
    const size_t *memory_bytes;
    size_t value_count;
    const void *const *value;
} adsm_native;

adsm_kernel *adsm_kernel_new(const char *name);
int adsm_kernel_ptx(adsm_kernel *kernel, const char *text);
int adsm_kernel_opencl(adsm_kernel *kernel, const char *text);
int adsm_kernel_native(adsm_kernel *kernel, void (*code)(const adsm_native *call));
void adsm_kernel_free(adsm_kernel *kernel);

/* Tells that the kernel uses the object through other objects, whatever its arguments are. */
int adsm_bind(adsm_kernel *kernel, void *object);

/* An argument: a shared address that the kernel reads, or may write, or of which nothing is known; or a plain value. */
typedef struct adsm_arg {
    int kind;
    const void *pointer;
    size_t bytes;
} adsm_arg;

#define ADSM_READ(address) ((adsm_arg){1, (address), 0})
#define ADSM_WRITE(address) ((adsm_arg){2, (address), 0})
#define ADSM_SHARED(address) ((adsm_arg){3, (address), 0})
#define ADSM_VALUE(lvalue) ((adsm_arg){4, &(lvalue), sizeof(lvalue)})

typedef struct adsm_dim {
    uint32_t x, y, z;
} adsm_dim;

/* Starts a kernel where the schedule says. With an ADSM_SHARED argument and nothing bound it runs at that object's home, and may
 * use every shared object that has its home there. */
int adsm_call(adsm_kernel *kernel, adsm_dim grid, adsm_dim block, const adsm_arg *arguments, size_t count);

/* Starts a kernel on a device of the program's choice. */
int adsm_call_on(int device, adsm_kernel *kernel, adsm_dim grid, adsm_dim block, const adsm_arg *arguments, size_t count);

/* Where kernels go from now on: "affinity" (where the fewest bytes are missing), "round-robin", "least-loaded", or a device's
 * number. */
int adsm_schedule(const char *policy);

/* Waits for every kernel so far, and tells the first error of any. */
int adsm_sync(void);

/* Bulk operations, without page faults: either address may be shared or not. */
int adsm_memcpy(void *to, const void *from, size_t bytes);
int adsm_memset(void *to, int byte, size_t bytes);

/* Opens shared memory for a system call where faults inside the kernel are not served. */
int adsm_touch(void *address, size_t bytes, int write);

typedef struct adsm_totals {
    uint64_t load_faults, store_faults, fault_nanoseconds, fault_transfer_nanoseconds, trust_nanoseconds, uploads, upload_bytes,
        downloads, download_bytes, evictions, failed_evictions, calls, implicit_syncs, coarsened, early_downloads, migrations,
        migration_bytes, call_nanoseconds, wait_nanoseconds;
} adsm_totals;

/* Totals since the start. */
int adsm_stats(adsm_totals *totals);

#ifdef __cplusplus
}
#endif
#endif
