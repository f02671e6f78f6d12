// Option prices after Black and Scholes: exponentials, logarithms, square roots and divisions.
#include "guest.h"

#include <math.h>

KERNELS(black_scholes);

static const float RATE = 0.02f, VOLATILITY = 0.3f;

typedef struct {
    const float *prices, *strikes, *years;
    float *calls, *puts, *scales;
} Market;

// The same polynomial as the kernel's: its own error (7.5e-8) is part of the definition.
static double normal(double d)
{
    static const double COEFFICIENTS[] = {1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530};
    double k = 1.0 / (1.0 + 0.2316419 * fabs(d)), poly = 0.0;
    for (int i = 0; i < 5; i++)
        poly = k * (COEFFICIENTS[i] + poly);
    double tail = 0.39894228040143267794 * exp(-0.5 * d * d) * poly;
    return d > 0.0 ? 1.0 - tail : tail;
}

// In double precision: exact, as far as floats can tell.
static void price(void *context, size_t first, size_t end)
{
    const Market *m = context;
    double rate = (double)RATE, volatility = (double)VOLATILITY;
    for (size_t i = first; i < end; i++) {
        double s = (double)m->prices[i], x = (double)m->strikes[i], t = (double)m->years[i];
        double spread = volatility * sqrt(t);
        double d1 = (log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread, d2 = d1 - spread;
        double discounted = x * exp(-rate * t);
        m->calls[i] = (float)(s * normal(d1) - discounted * normal(d2));
        m->puts[i] = (float)(discounted * normal(-d2) - s * normal(-d1));
        m->scales[i] = m->prices[i] + m->strikes[i];
    }
}

static void run(const Options *options)
{
    size_t n = options->size[0];
    Random random = seeded(14);
    const float *prices = random_floats(&random, n, 5.0f, 30.0f);
    const float *strikes = random_floats(&random, n, 1.0f, 100.0f);
    const float *years = random_floats(&random, n, 0.25f, 10.0f);
    float *calls = svm_array(float, n), *puts = svm_array(float, n);

    region_begin();
    launch("black_scholes", line(n, 256), svm(prices), svm(strikes), svm(years), svm(calls), svm(puts), u32(n),
           f32(RATE), f32(VOLATILITY));
    map_to_read(calls), map_to_read(puts);
    region_end();

    if (!options->check)
        return;
    map_to_read(prices), map_to_read(strikes), map_to_read(years);
    Market expected = {prices, strikes, years, host_array(float, n), host_array(float, n), host_array(float, n)};
    parallel(n, 0, price, &expected);
    // A price is a difference of two products, so errors count on the scale s + x. By OpenCL's limits (log and sqrt 3
    // ulps, division 2.5, exp 3), d1 is off by some 9 ulps of at most 8, which the normal density turns into 4 ulps;
    // the tail's exp and division, the polynomial's 10 roundings and the products add at most 20.
    check_within("calls", calls, expected.calls, expected.scales, 24.0, n);
    check_within("puts", puts, expected.puts, expected.scales, 24.0, n);
}

const Program black_scholes_program = {
    .name = "black-scholes",
    .about = "prices European options",
    .size_means = "options",
    .tiny = {500},
    .full = {500000},
    .presets = {{"paper-umh", {1 << 21}}, {"scaled-umh", {1 << 17}}},
    .kernels = &kernels,
    .run = run,
};
