/* Integer code as compilers make it: a compressor (LZ77 with hash chains, and back), a sort, and a hash. Checks itself:
 * what was compressed comes back, what was sorted is in order and sums up to the same. */
#include "guest.h"

enum { TEXT = 1 << 20, ROUNDS = 6, WINDOW = 1 << 15, HASHES = 1 << 14, CHAIN = 24, LONGEST = 258, NUMBERS = 1 << 18 };

static u8 text[TEXT + LONGEST], packed[2 * TEXT], unpacked[TEXT + LONGEST];
static int head[HASHES], chain[WINDOW];
static u32 numbers[NUMBERS];

static void write_text(u64 seed)
{
    static const char *const words[16] = { "memory ", "cache ", "line ", "the ", "of ", "and ", "processor ", "writes ",
        "reads ", "a ", "shared ", "state ", "in ", "coherent ", "to ", "page\n" };
    for (int at = 0; at < TEXT;) {
        u64 pick = scramble(&seed);
        if ((pick >> 60) == 0)
            text[at++] = 'a' + (pick >> 8) % 26;
        for (const char *c = words[pick & 15]; *c && at < TEXT; c++)
            text[at++] = *c;
    }
}

static u32 hash3(const u8 *p)
{
    return ((p[0] | p[1] << 8 | p[2] << 16) * 2654435761u) >> (32 - 14);
}

static int compress(void)
{
    int out = 0;
    for (int i = 0; i < HASHES; i++)
        head[i] = -1;
    for (int at = 0; at < TEXT;) {
        int best = 0, from = 0;
        u32 h = hash3(text + at);
        int candidate = head[h];
        for (int tries = 0; candidate >= 0 && at - candidate < WINDOW && tries < CHAIN; tries++) {
            if (text[candidate + best] == text[at + best]) {
                int length = 0;
                while (length < LONGEST && at + length < TEXT && text[candidate + length] == text[at + length])
                    length++;
                if (length > best) {
                    best = length;
                    from = candidate;
                    if (best == LONGEST)
                        break;
                }
            }
            candidate = chain[candidate % WINDOW];
        }
        int step = 1;
        if (best >= 4) {
            int distance = at - from;
            packed[out++] = 1;
            packed[out++] = best - 3;
            packed[out++] = distance;
            packed[out++] = distance >> 8;
            step = best;
        } else if (text[at] < 2) {
            packed[out++] = 0;
            packed[out++] = text[at];
        } else {
            packed[out++] = text[at];
        }
        for (; step > 0; step--, at++) {
            u32 place = hash3(text + at);
            chain[at % WINDOW] = head[place];
            head[place] = at;
        }
    }
    return out;
}

static int expand(int length)
{
    int out = 0;
    for (int at = 0; at < length;) {
        u8 c = packed[at++];
        if (c == 1) {
            int count = packed[at] + 3, distance = packed[at + 1] | packed[at + 2] << 8;
            at += 3;
            for (; count > 0; count--, out++)
                unpacked[out] = unpacked[out - distance];
        } else {
            unpacked[out++] = c == 0 ? packed[at++] : c;
        }
    }
    return out;
}

static void sort(u32 *a, long low, long high)
{
    while (high - low > 12) {
        u32 pivot = a[low + (high - low) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                u32 t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        if (j - low < high - i) {
            sort(a, low, j);
            low = i;
        } else {
            sort(a, i, high);
            high = j;
        }
    }
    for (long i = low + 1; i <= high; i++) {
        u32 x = a[i];
        long j = i;
        for (; j > low && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static u32 crc_table[256];

static u64 hash(const u8 *bytes, long length)
{
    u32 crc = ~0u;
    u64 fnv = 0xcbf29ce484222325;
    for (long i = 0; i < length; i++) {
        crc = crc >> 8 ^ crc_table[(crc ^ bytes[i]) & 255];
        fnv = (fnv ^ bytes[i]) * 0x100000001b3;
    }
    return fnv ^ (u64)crc << 16;
}

int run(void)
{
    u64 total = 0;
    for (u32 i = 0; i < 256; i++) {
        u32 c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
        crc_table[i] = c;
    }
    for (int round = 1; round <= ROUNDS; round++) {
        write_text(round * 0x9e3779b97f4a7c15);
        int length = compress();
        if (expand(length) != TEXT)
            return 1;
        for (int i = 0; i < TEXT; i++)
            if (text[i] != unpacked[i])
                return 2;
        u64 seed = round, sum = 0;
        for (int i = 0; i < NUMBERS; i++)
            sum += numbers[i] = scramble(&seed) >> 32;
        sort(numbers, 0, NUMBERS - 1);
        for (int i = 0; i < NUMBERS; i++) {
            if (i && numbers[i - 1] > numbers[i])
                return 3;
            sum -= numbers[i];
        }
        if (sum)
            return 4;
        total = total * 31 + hash(packed, length) + hash((u8 *)numbers, sizeof numbers) + length;
    }
    print_hex("integer ", total);
    return 0;
}
