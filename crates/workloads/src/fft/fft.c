// The fast Fourier transform: strides that double with every launch.
#include "guest.h"

#include <math.h>
#include <string.h>

KERNELS(fft);

typedef struct {
    float re, im;
} Complex;

// The textbook recursion: the transforms of the even and of the odd samples, combined. `in` has every `stride`-th.
static void transform(const Complex *in, size_t stride, Complex *out, size_t n, const Complex *twiddles)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    transform(in, 2 * stride, out, n / 2, twiddles);
    transform(in + stride, 2 * stride, out + n / 2, n / 2, twiddles);
    for (size_t k = 0; k < n / 2; k++) {
        Complex a = out[k], b = out[k + n / 2], w = twiddles[k * stride];
        Complex turned = {w.re * b.re - w.im * b.im, w.re * b.im + w.im * b.re};
        out[k] = (Complex){a.re + turned.re, a.im + turned.im};
        out[k + n / 2] = (Complex){a.re - turned.re, a.im - turned.im};
    }
}

static void run(const Options *options)
{
    size_t bits = options->size[0], n = (size_t)1 << (bits < 30 ? bits : 0);
    require(bits >= 9 && bits <= 26, "--size %zu: 2^9 to 2^26 points can be computed", bits);
    Random random = seeded(21);
    const float *in = random_floats(&random, 2 * n, -1.0f, 1.0f);
    float *out = svm_array(float, 2 * n);
    Complex *twiddles = input_array(Complex, n / 2);
    for (size_t k = 0; k < n / 2; k++) {
        double angle = -2.0 * 3.14159265358979323846 * (double)k / (double)n;
        twiddles[k] = (Complex){(float)cos(angle), (float)sin(angle)};
    }

    region_begin();
    launch("bit_reverse", line(n, 256), svm(in), svm(out), u32(bits));
    for (size_t stage = 0; stage < bits; stage++)
        launch("butterflies", line(n / 2, 256), svm(out), svm(twiddles), u32((size_t)1 << stage));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(in), map_to_read(twiddles);
    Complex *signal = host_array(Complex, n);
    memcpy(signal, in, n * sizeof *signal);
    float *expected = host_array(float, 2 * n);
    transform(signal, 1, (Complex *)expected, n, twiddles);
    check_equal("spectrum", out, expected, 2 * n);
}

const Program fft_program = {
    .name = "fft",
    .about = "transforms a complex signal, radix 2, one launch per stage",
    .size_means = "N for 2^N points",
    .tiny = {9},
    .full = {19},
    .kernels = &kernels,
    .run = run,
};
