/* Numbers to text and back, and the functions of the mathematics library, in three precisions. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long state = 88172645463325252;

static unsigned long scramble(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Any bits, or a number of moderate size. */
static double number(void)
{
    unsigned long bits = scramble();
    double value;
    if (bits & 1)
        return (double)(long)scramble() / (1l << (bits >> 58));
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define SHOW(name) printf(#name " %.17g %.9g %.17Lg\n", name(x), name##f((float)x), name##l((long double)x))

static void functions(double x)
{
    printf("x %a\n", x);
    SHOW(sqrt), SHOW(floor), SHOW(ceil), SHOW(trunc), SHOW(rint), SHOW(round), SHOW(fabs), SHOW(cbrt);
    SHOW(exp), SHOW(expm1), SHOW(log), SHOW(log2), SHOW(log1p), SHOW(sin), SHOW(cos), SHOW(tan), SHOW(atan);
    SHOW(sinh), SHOW(tanh), SHOW(asinh), SHOW(erf), SHOW(tgamma), SHOW(lgamma), SHOW(logb);
    printf("%.17g %.17g %.17g\n", pow(fabs(x), 1.7), fmod(x, 0.3), hypot(x, 3));
    printf("%.17g %.17g %.21Lg\n", remainder(x, 7), fma(x, 1.1, -x), fmodl(x, 0.7l));
    int exponent = 0;
    double fraction = frexp(x, &exponent);
    printf("%.17g %d %.17g\n", fraction, x - x == 0 ? exponent : 0, ldexp(x, -30));
}

static void conversions(double x)
{
    printf("%g %e %f %a | %La %.30Lf\n", x, x, fabs(x) < 1e30 ? x : 0, x, (long double)x, fabs(x) < 1e30 ? (long double)x / 3 : 0);
    char text[64];
    snprintf(text, sizeof text, "%.17g", x);
    double back = strtod(text, NULL);
    printf("%d %a %La\n", memcmp(&back, &x, sizeof x) == 0 || x != x, strtof(text, NULL), strtold(text, NULL));
    if (fabs(x) < 9e18)
        printf("%d %ld %u %lu %ld %lld\n", fabs(x) < 2e9 ? (int)x : 0, (long)x, fabs(x) < 4e9 ? (unsigned)fabs(x) : 0,
            (unsigned long)fabs(x), lrint(x), llroundl(x));
}

static void rounding(void)
{
    static const int modes[4] = { FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO };
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        volatile double one = 1, three = 3;
        volatile long double lone = 1, lthree = 3;
        volatile float fone = 1, fthree = 3;
        printf("%a %La %a %ld %ld\n", one / three, lone / lthree, fone / fthree, lrint(2.5), lrint(-2.5));
    }
    fesetround(FE_TONEAREST);
    feclearexcept(FE_ALL_EXCEPT);
    volatile double zero = 0, big = DBL_MAX, small = DBL_MIN;
    volatile double result = 1 / zero;
    printf("%d", fetestexcept(FE_DIVBYZERO) != 0);
    result = zero / zero;
    printf("%d", fetestexcept(FE_INVALID) != 0);
    result = big * big;
    printf("%d", fetestexcept(FE_OVERFLOW) != 0);
    result = small * small;
    printf("%d %d\n", fetestexcept(FE_UNDERFLOW) != 0, result == 0);
}

int main(void)
{
    static const double special[] = { 0.0, -0.0, 1, -1, 0.5, 1e-310, DBL_MIN, DBL_MAX, INFINITY, -INFINITY, NAN, 3.14159,
        1e22, 123456789.125, 0x1p-1074 };
    for (unsigned i = 0; i < sizeof special / sizeof *special; i++)
        functions(special[i]), conversions(special[i]);
    for (int i = 0; i < 60; i++) {
        double x = number();
        functions(x), conversions(x);
    }
    rounding();
    return 0;
}
