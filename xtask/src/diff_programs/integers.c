/* Integers of every width: arithmetic, shifts, rotates, 128 bits, bit tricks, atomics, jump tables, non-local jumps. */
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t state = 42;

static uint64_t scramble(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t all;

static void mix(uint64_t value)
{
    all = (all ^ value) * 0x9e3779b97f4a7c15 + (all >> 29);
}

#define WIDTH(U, S)                                                                                                    \
    static void width_##U(void)                                                                                        \
    {                                                                                                                  \
        U a = scramble() >> (scramble() % 50), b = scramble() >> (scramble() % 60), r;                                 \
        S s = (S)a, t = (S)b, q;                                                                                       \
        unsigned n = scramble() % (8 * sizeof(U));                                                                     \
        mix(a + b), mix(a - b), mix((U)(a * b)), mix(a & b), mix(a | b), mix(a ^ b), mix((U)~a);                       \
        mix((U)(a << n)), mix(a >> n), mix((uint64_t)(s >> n));                                                        \
        mix((U)(a << n | a >> ((8 * sizeof(U) - n) % (8 * sizeof(U)))));                                               \
        mix(b ? a / b : 0), mix(b ? a % b : 0);                                                                        \
        mix(t != 0 && t != -1 ? (uint64_t)(s / t) : 0), mix(t != 0 && t != -1 ? (uint64_t)(s % t) : 0);                \
        mix(a < b), mix(s < t), mix(a <= b), mix(s <= t), mix(a == b), mix(s > 0), mix(t < 0);                         \
        mix(__builtin_add_overflow(a, b, &r)), mix(r), mix(__builtin_add_overflow(s, t, &q)), mix(q);                  \
        mix(__builtin_sub_overflow(a, b, &r)), mix(r), mix(__builtin_sub_overflow(s, t, &q)), mix(q);                  \
        mix(__builtin_mul_overflow(a, b, &r)), mix(r), mix(__builtin_mul_overflow(s, t, &q)), mix(q);                  \
        static _Atomic U shared;                                                                                       \
        mix(atomic_fetch_add(&shared, a)), mix(atomic_fetch_sub(&shared, b)), mix(atomic_exchange(&shared, (U)(a ^ b))); \
        U expected = n & 1 ? (U)(a ^ b) : b;                                                                           \
        mix(atomic_compare_exchange_strong(&shared, &expected, a)), mix(expected), mix(shared);                        \
        mix(atomic_fetch_or(&shared, b)), mix(atomic_fetch_and(&shared, a)), mix(atomic_fetch_xor(&shared, b));        \
    }

WIDTH(uint8_t, int8_t)
WIDTH(uint16_t, int16_t)
WIDTH(uint32_t, int32_t)
WIDTH(uint64_t, int64_t)

static void wide(void)
{
    unsigned __int128 a = (unsigned __int128)scramble() << 64 | scramble();
    unsigned __int128 b = (unsigned __int128)(scramble() >> (scramble() % 64)) << 64 | scramble() | 1;
    unsigned n = scramble() % 128;
    unsigned __int128 values[] = { a + b, a - b, a * b, a / b, a % b, a << n, a >> n, (__int128)a >> n, (__int128)a / 7 };
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++)
        mix(values[i]), mix(values[i] >> 64);
    mix(a < b), mix((__int128)a < (__int128)b);
}

static void bits(void)
{
    uint64_t a = scramble() >> (scramble() % 63) | 1;
    mix(__builtin_clzl(a)), mix(__builtin_ctzl(a)), mix(__builtin_popcountl(a)), mix(__builtin_parityl(a));
    mix(__builtin_ffsl(a)), mix(__builtin_clz((uint32_t)a | 1)), mix(__builtin_ctz((uint32_t)a | 8));
    mix(__builtin_bswap64(a)), mix(__builtin_bswap32(a)), mix(__builtin_bswap16(a));
    uint64_t set[4] = { 0 };
    for (int i = 0; i < 20; i++) {
        unsigned at = scramble() % 256;
        set[at / 64] ^= 1ul << (at % 64);
        mix(set[at / 64] >> (at % 64) & 1);
    }
}

static int table(unsigned n)
{
    switch (n % 12) {
    case 0: return 5;
    case 1: return n * 3;
    case 2: return n - 7;
    case 3: return -1;
    case 4: return n ^ 0x55;
    case 5: return n << 2;
    case 6: return 1000 / (n + 1);
    case 8: return table(n + 1);
    case 9: return n & 3;
    case 11: return table(n / 2);
    default: return 77;
    }
}

static jmp_buf back;

static void deep(int n)
{
    volatile char room[100];
    room[n % 100] = n;
    if (n == 0)
        longjmp(back, room[0] + 3);
    deep(n - 1);
    mix(room[n % 100]);
}

int main(void)
{
    for (int i = 0; i < 3000; i++) {
        width_uint8_t(), width_uint16_t(), width_uint32_t(), width_uint64_t();
        wide();
        bits();
        mix(table(scramble() % 1000));
        if (i % 300 == 0)
            printf("%d %016lx\n", i, all);
    }
    int code = setjmp(back);
    if (!code)
        deep(200);
    printf("%d %016lx\n", code, all);
    return 0;
}
