// Fast Fourier transforms of 512 points, radix 8: arithmetic in registers, exchanges through local memory, and accesses
// in which neighbours stay neighbours.
#include "guest.h"

#include <math.h>
#include <string.h>

KERNELS(fft);

enum { POINTS = 512 };

typedef struct {
    float re, im;
} Complex;

static Complex times(Complex w, Complex a)
{
    return (Complex){w.re * a.re - w.im * a.im, w.re * a.im + w.im * a.re};
}

// The textbook recursion for up to eight points: the transforms of the even and of the odd samples, combined. `in` has
// every `stride`-th.
static void eighth(const Complex *in, size_t stride, Complex *out, size_t n)
{
    const float h = 0.70710678118654752440f;
    const Complex turns[4] = {{1.0f, 0.0f}, {h, -h}, {0.0f, -1.0f}, {-h, -h}};
    if (n == 1) {
        *out = *in;
        return;
    }
    eighth(in, 2 * stride, out, n / 2);
    eighth(in + stride, 2 * stride, out + n / 2, n / 2);
    for (size_t k = 0; k < n / 2; k++) {
        Complex a = out[k], turned = times(turns[k * 8 / n], out[k + n / 2]);
        out[k] = (Complex){a.re + turned.re, a.im + turned.im};
        out[k + n / 2] = (Complex){a.re - turned.re, a.im - turned.im};
    }
}

// The transform of a power of eight points: every n / 8-th together, turned, and the transforms of what is left. Its
// result goes to every `stride`-th of `out`; `in` is used up.
static void transform(Complex *in, Complex *out, size_t stride, size_t n, const Complex *twiddles)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    size_t part = n / 8;
    for (size_t first = 0; first < part; first++) {
        Complex w = twiddles[first * POINTS / n], w2 = times(w, w), w3 = times(w2, w), w4 = times(w2, w2);
        const Complex powers[8] = {{1.0f, 0.0f}, w, w2, w3, w4, times(w4, w), times(w3, w3), times(w4, w3)};
        Complex eight[8];
        eighth(in + first, part, eight, 8);
        for (size_t k = 0; k < 8; k++)
            in[k * part + first] = times(powers[k], eight[k]);
    }
    for (size_t k = 0; k < 8; k++)
        transform(in + k * part, out + k * stride, 8 * stride, part, twiddles);
}

static void run(const Options *options)
{
    size_t bits = options->size[0], n = (size_t)1 << (bits < 30 ? bits : 0);
    require(bits >= 9 && bits <= 26, "--size %zu: 2^9 to 2^26 points can be computed", bits);
    Random random = seeded(21);
    const float *in = random_floats(&random, 2 * n, -1.0f, 1.0f);
    float *out = svm_array(float, 2 * n);
    Complex *twiddles = input_array(Complex, POINTS);
    for (size_t k = 0; k < POINTS; k++) {
        double angle = -2.0 * 3.14159265358979323846 * (double)k / POINTS;
        twiddles[k] = (Complex){(float)cos(angle), (float)sin(angle)};
    }

    region_begin();
    launch("fft", line(n / 8, POINTS / 8), svm(in), svm(out), svm(twiddles));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(in), map_to_read(twiddles);
    Complex *signal = host_array(Complex, n);
    memcpy(signal, in, n * sizeof *signal);
    float *expected = host_array(float, 2 * n);
    for (size_t block = 0; block < n; block += POINTS)
        transform(signal + block, (Complex *)expected + block, 1, POINTS, twiddles);
    check_equal("spectra", out, expected, 2 * n);
}

const Program fft_program = {
    .name = "fft",
    .about = "transforms a complex signal, 512 points at a time, radix 8 through local memory",
    .size_means = "N for 2^N points",
    .tiny = {11},
    .full = {19},
    .kernels = &kernels,
    .run = run,
};
