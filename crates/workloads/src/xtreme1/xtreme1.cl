// The Xtreme programs of `[halcone 4.3.2]`. There is one workgroup for each compute unit, and one slice of the vectors for
// each workgroup. `arrived` is 0 at first.
// Lanes of a wavefront and work-items of a workgroup.
#define WAVE 64
#define GROUP 256

#ifdef __AMDGCN__
#define RELEASE __builtin_amdgcn_fence(__ATOMIC_RELEASE, "")
#define ACQUIRE __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "")
#define PAUSE __builtin_amdgcn_s_sleep(4)
#else
#define RELEASE mem_fence(CLK_GLOBAL_MEM_FENCE)
#define ACQUIRE mem_fence(CLK_GLOBAL_MEM_FENCE)
#define PAUSE
#endif

// Waits until all wavefronts of `target` workgroups have arrived. Every workgroup must be resident, or those that are wait for ever. Only
// atomic accesses decide, so that it works where caches hold stale data, too.
static void grid_barrier(__global uint *arrived, uint target)
{
    RELEASE;
    if (get_local_id(0) % WAVE == 0) {
        atomic_inc(arrived);
        // Reads, since the count is never that large: of an atomic access that can change nothing compilers make a load.
        while (atomic_cmpxchg(arrived, ~0u, 0) < target * (GROUP / WAVE))
            PAUSE;
    }
    ACQUIRE;
}

// Elements of a slice, in whole lines of 128 bytes.
static uint slice_length(uint count, uint units) { return ((count + units - 1) / units + 31) / 32 * 32; }

// The slice of this workgroup: workgroups are dealt over GPUs in turn, slices are numbered GPU by GPU.
static uint own_slice(uint units, uint gpus)
{
    uint group = get_group_id(0);
    return group % gpus * (units / gpus) + group / gpus;
}

// to = x + y in a slice.
static void add(__global float *to, __global const float *x, __global const float *y, uint slice, uint length,
                uint count)
{
    uint end = min((slice + 1) * length, count);
    for (uint i = slice * length + get_local_id(0); i < end; i += GROUP)
        to[i] = x[i] + y[i];
}

// Brings a slice of all three vectors into the caches.
static float read_all(__global const float *a, __global const float *b, __global const float *c, uint slice,
                      uint length, uint count)
{
    float sum = 0.0f;
    uint end = min((slice + 1) * length, count);
    for (uint i = slice * length + get_local_id(0); i < end; i += GROUP)
        sum += a[i] + b[i] + c[i];
    return sum;
}

// Xtreme1: each compute unit writes the same places again and again, and nothing is shared.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void xtreme1(__global float *a, __global float *b, __global float *c, __global float *seen, __global uint *arrived,
             uint count, uint units, uint gpus, uint repeats)
{
    uint slice = own_slice(units, gpus), length = slice_length(count, units);
    seen[get_global_id(0)] = read_all(a, b, c, slice, length, count);
    grid_barrier(arrived, units);

    add(c, a, b, slice, length, count); // step 1
    grid_barrier(arrived, 2 * units);
    for (uint repeat = 0; repeat < repeats; repeat++) { // step 2
        add(c, a, b, slice, length, count);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    grid_barrier(arrived, 3 * units);
    add(a, c, b, slice, length, count); // step 3
    grid_barrier(arrived, 4 * units);
    for (uint repeat = 0; repeat < repeats; repeat++) { // step 4
        add(a, c, b, slice, length, count);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

// Xtreme2 and Xtreme3: a compute unit writes what another one, of its GPU or of another, has read and reads again. The unit
// of each `step`-th of the first `writers` slices also writes the slice `distance` further on.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void write_others(__global float *a, __global float *b, __global float *c, __global float *seen, __global uint *arrived,
             uint count, uint units, uint gpus, uint repeats, uint writers, uint step, uint distance)
{
    uint slice = own_slice(units, gpus), length = slice_length(count, units);
    bool writes = slice < writers && slice % step == 0;
    seen[get_global_id(0)] = read_all(a, b, c, slice, length, count);
    grid_barrier(arrived, units);

    add(c, a, b, slice, length, count); // step 1
    grid_barrier(arrived, 2 * units);
    if (writes)
        add(a, c, b, slice + distance, length, count); // step 2
    grid_barrier(arrived, 3 * units);
    for (uint repeat = 0; repeat < repeats && writes; repeat++) { // step 3
        add(a, c, b, slice + distance, length, count);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    grid_barrier(arrived, 4 * units);
    add(c, a, b, slice, length, count); // step 4
}
