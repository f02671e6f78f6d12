/* What the benchmark programs share: they need no C library. */
#ifndef GUEST_H
#define GUEST_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

static inline long system_call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static inline void print(const char *text)
{
    long length = 0;
    while (text[length])
        length++;
    system_call(1, 1, (long)text, length);
}

static inline void print_hex(const char *name, u64 value)
{
    char text[20] = "0000000000000000\n";
    for (int i = 15; i >= 0; i--, value >>= 4)
        text[i] = "0123456789abcdef"[value & 15];
    print(name);
    print(text);
}

/* A generator of numbers that look random. */
static inline u64 scramble(u64 *state)
{
    u64 x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

int run(void);

__attribute__((noreturn)) void start(void)
{
    system_call(231, run(), 0, 0);
    __builtin_unreachable();
}

/* The stack is aligned as functions expect it. */
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call start\n");

#endif
