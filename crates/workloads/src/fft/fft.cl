// Fast Fourier transforms of a signal in place, 512 complex numbers at a time. 512 = 8 * 8 * 8: every work-item transforms
// eight numbers by itself, three times, and in between all 64 of a workgroup exchange them through local memory.
// Neighbours load, store and exchange neighbouring numbers.
#pragma OPENCL FP_CONTRACT OFF
#define POINTS 512
#define ROW 72 // 64 numbers, and a gap that leads rows to other banks

static float2 times(float2 w, float2 a)
{
    return (float2)(w.x * a.x - w.y * a.y, w.x * a.y + w.y * a.x);
}

// Sum and difference of *a and w * *b.
static void butterfly(float2 *a, float2 *b, float2 w)
{
    float2 turned = times(w, *b);
    *b = *a - turned;
    *a = *a + turned;
}

static void butterfly_1(float2 *a, float2 *b)
{
    float2 turned = *b;
    *b = *a - turned;
    *a = *a + turned;
}

// With w = -i.
static void butterfly_i(float2 *a, float2 *b)
{
    float2 turned = (float2)(b->y, -b->x);
    *b = *a - turned;
    *a = *a + turned;
}

// The transform of eight numbers, by halves; the result comes in the order of `ORDER`.
#define ORDER(k) (((k) & 1) << 2 | ((k) & 2) | (k) >> 2)
static void transform(float2 a[8])
{
    const float h = 0.70710678118654752440f;
    for (uint i = 0; i < 4; i++)
        butterfly_1(&a[i], &a[i + 4]);
    for (uint i = 0; i < 2; i++) {
        butterfly_1(&a[i], &a[i + 2]);
        butterfly_i(&a[i + 4], &a[i + 6]);
    }
    butterfly_1(&a[0], &a[1]);
    butterfly_i(&a[2], &a[3]);
    butterfly(&a[4], &a[5], (float2)(h, -h));
    butterfly(&a[6], &a[7], (float2)(-h, -h));
}

// Multiplies number k of a transform by exp(-2 pi i k turn).
static void turn(float2 a[8], float turn)
{
#pragma unroll
    for (uint k = 1; k < 8; k++) {
        float half_turns = 2.0f * turn * (float)k;
        a[ORDER(k)] = times((float2)(cospi(half_turns), -sinpi(half_turns)), a[ORDER(k)]);
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void fft(__global float2 *data)
{
    __local float2 row[8 * ROW];
    uint me = get_local_id(0), first = get_group_id(0) * POINTS + me;
    uint high = me / 8, low = me % 8;
    float2 a[8];

    for (uint i = 0; i < 8; i++)
        a[i] = data[first + 64 * i];
    transform(a);
    turn(a, (float)me / 512.0f);
    for (uint k = 0; k < 8; k++)
        row[ROW * k + me] = a[ORDER(k)];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = 0; i < 8; i++)
        a[i] = row[ROW * high + 8 * i + low];
    transform(a);
    turn(a, (float)low / 64.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 8; k++)
        row[ROW * low + 8 * k + high] = a[ORDER(k)];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint i = 0; i < 8; i++)
        a[i] = row[ROW * i + me];
    transform(a);
    for (uint k = 0; k < 8; k++)
        data[first + 64 * k] = a[ORDER(k)];
}
