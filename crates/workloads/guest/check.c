// Is the result right? The rules are those of crates/workloads/src/check.rs.
#include "internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

Verdict verdict;

static const size_t BYTES[] = {[ELEMENT_U8] = 1, [ELEMENT_U32] = 4, [ELEMENT_I32] = 4, [ELEMENT_U64] = 8, [ELEMENT_F32] = 4};

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// The distance from `x` to the next float away from zero.
static double ulp(float x)
{
    x = fabsf(x) < 1.17549435e-38f ? 1.17549435e-38f : fabsf(x);
    return (double)nextafterf(x, INFINITY) - (double)x;
}

static double distance(Element element, uint64_t got, uint64_t expected, float scale)
{
    if (got == expected)
        return 0.0;
    if (element != ELEMENT_F32)
        return INFINITY;
    float g = as_float(got), e = as_float(expected);
    if (g == e || (isnan(g) && isnan(e)))
        return 0.0;
    double error = fabs((double)g - (double)e) / ulp(scale);
    return isnan(error) ? INFINITY : error;
}

static void print_value(char *text, size_t length, Element element, uint64_t bits)
{
    if (element == ELEMENT_F32)
        snprintf(text, length, "%.9g", as_float(bits));
    else if (element == ELEMENT_I32)
        snprintf(text, length, "%" PRId32, (int32_t)bits);
    else
        snprintf(text, length, "%" PRIu64, bits);
}

// The usual case, quickly: musl's memcmp goes byte by byte.
static bool same(const char *a, const char *b, size_t bytes)
{
    uint64_t differences = 0;
    for (; bytes >= 8; a += 8, b += 8, bytes -= 8) {
        uint64_t x, y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        differences |= x ^ y;
    }
    for (; bytes > 0; a++, b++, bytes--)
        differences |= (uint64_t)(*a ^ *b);
    return differences == 0;
}

void check_elements(const char *what, Element element, const void *got, const void *expected, const float *scale,
                    double ulps, size_t count)
{
    size_t bytes = BYTES[element];
    verdict.values += count;
    if (!verdict.corrupt && same(got, expected, count * bytes))
        return;
    size_t wrong = 0, first = 0;
    uint64_t first_got = 0, first_expected = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t g = 0, e = 0;
        memcpy(&g, (const char *)got + i * bytes, bytes);
        memcpy(&e, (const char *)expected + i * bytes, bytes);
        if (verdict.corrupt && i == count / 2) {
            g ^= (uint64_t)0x40 << (8 * bytes - 8);
            verdict.corrupt = false;
        }
        double error = distance(element, g, e, scale ? scale[i] : as_float((uint32_t)e));
        if (error <= ulps) {
            if (error > verdict.worst)
                verdict.worst = error;
        } else if (wrong++ == 0) {
            first = i;
            first_got = g;
            first_expected = e;
        }
    }
    if (wrong == 0 || verdict.wrong[0])
        return;
    char g[32], e[32];
    print_value(g, sizeof g, element, first_got);
    print_value(e, sizeof e, element, first_expected);
    int length = snprintf(verdict.wrong, sizeof verdict.wrong, "%s[%zu] is %s, expected %s", what, first, g, e);
    char *rest = verdict.wrong + length;
    size_t left = sizeof verdict.wrong - (size_t)length;
    if (ulps > 0)
        snprintf(rest, left, " within %g ulps; %zu of %zu values are wrong", ulps, wrong, count);
    else
        snprintf(rest, left, "; %zu of %zu values are wrong", wrong, count);
}
