// Fast Fourier transforms of 512 points, radix 8: arithmetic in registers, exchanges through local memory, and accesses
// in which neighbours stay neighbours.
#include "guest.h"

#include <math.h>
#include <string.h>

KERNELS(fft);

enum { POINTS = 512 };

#define PI 3.14159265358979323846

typedef struct {
    double re, im;
} Complex;

// The textbook recursion: the transforms of the even and of the odd samples, combined. `in` has every `stride`-th.
static void transform(const float *in, size_t stride, Complex *out, size_t n, const Complex *twiddles)
{
    if (n == 1) {
        *out = (Complex){in[0], in[1]};
        return;
    }
    transform(in, 2 * stride, out, n / 2, twiddles);
    transform(in + 2 * stride, 2 * stride, out + n / 2, n / 2, twiddles);
    for (size_t k = 0; k < n / 2; k++) {
        Complex a = out[k], b = out[k + n / 2], w = twiddles[k * stride];
        Complex turned = {w.re * b.re - w.im * b.im, w.re * b.im + w.im * b.re};
        out[k] = (Complex){a.re + turned.re, a.im + turned.im};
        out[k + n / 2] = (Complex){a.re - turned.re, a.im - turned.im};
    }
}

// The spectra of all blocks, and how large a line of them is, on average.
static void reference(const float *signal, size_t n, float *spectra, float *scales)
{
    static Complex twiddles[POINTS / 2], spectrum[POINTS];
    for (size_t k = 0; k < POINTS / 2; k++)
        twiddles[k] = (Complex){cos(-2.0 * PI * (double)k / POINTS), sin(-2.0 * PI * (double)k / POINTS)};
    for (size_t block = 0; block < n; block += POINTS) {
        const float *in = signal + 2 * block;
        transform(in, 1, spectrum, POINTS, twiddles);
        double squares = 0.0;
        for (size_t i = 0; i < 2 * POINTS; i++)
            squares += (double)in[i] * (double)in[i];
        for (size_t i = 0; i < POINTS; i++) {
            spectra[2 * (block + i)] = (float)spectrum[i].re;
            spectra[2 * (block + i) + 1] = (float)spectrum[i].im;
            scales[2 * (block + i)] = scales[2 * (block + i) + 1] = (float)sqrt(squares);
        }
    }
}

static void run(const Options *options)
{
    size_t bits = options->size[0], n = (size_t)1 << (bits < 30 ? bits : 0);
    require(bits >= 9 && bits <= 26, "--size %zu: 2^9 to 2^26 points can be computed", bits);
    Random random = seeded(21);
    float *data = random_floats(&random, 2 * n, -1.0f, 1.0f);
    float *signal = host_array(float, 2 * n);
    memcpy(signal, data, 2 * n * sizeof *signal);

    region_begin();
    launch("fft", line(n / 8, POINTS / 8), svm(data));
    map_to_read(data);
    region_end();

    if (!options->check)
        return;
    float *expected = host_array(float, 2 * n), *scales = host_array(float, 2 * n);
    reference(signal, n, expected, scales);
    // Nine sums and two products with twiddles, which OpenCL lets be wrong by four units in the last place.
    check_within("spectra", data, expected, scales, 8.0, 2 * n);
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
