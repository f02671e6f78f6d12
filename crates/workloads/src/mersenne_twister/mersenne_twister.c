// Random numbers of many Mersenne twisters: bit operations, and one large result.
#include "guest.h"

KERNELS(mersenne_twister);

typedef struct {
    uint32_t word[4];
} Vector;

static const Vector MASK = {{0xfdff37ff, 0xef7f3f7d, 0xff777b7d, 0x7ff7fb2f}};

// One step of SFMT-607: the state's oldest vector gives way to the newest, which it returns.
static Vector next(Vector state[5])
{
    Vector a = state[0], c = state[2], d = state[3], e = state[4], newest;
    for (int i = 0; i < 4; i++) {
        uint32_t up = a.word[i] << 24 | (i > 0 ? a.word[i - 1] >> 8 : 0);
        uint32_t down = d.word[i] >> 24 | (i < 3 ? d.word[i + 1] << 8 : 0);
        newest.word[i] = a.word[i] ^ up ^ (c.word[i] >> 13 & MASK.word[i]) ^ down ^ e.word[i] << 15;
    }
    for (int i = 0; i < 4; i++)
        state[i] = state[i + 1];
    return state[4] = newest;
}

static void start_stream(uint32_t seed, Vector state[5])
{
    uint32_t last = seed;
    for (uint32_t i = 0; i < 20; i++) {
        last = i == 0 ? seed : 1812433253u * (last ^ last >> 30) + i;
        state[i / 4].word[i % 4] = last;
    }
    uint32_t parity = (state[0].word[0] & 1) ^ (state[0].word[3] & 0x5986f054);
    if (__builtin_popcount(parity) % 2 == 0)
        state[0].word[0] ^= 1;
}

static void run(const Options *options)
{
    size_t streams = options->size[0], vectors = options->size[1] ? options->size[1] : 4;
    size_t n = cells(streams, vectors, 4);
    Random random = seeded(34);
    const uint32_t *seeds = random_words(&random, streams);
    uint32_t *out = svm_array(uint32_t, n);

    region_begin();
    launch("mersenne_twister", line(streams, 256), svm(seeds), svm(out), u32(streams), u32(vectors));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(seeds);
    uint32_t *expected = host_array(uint32_t, n);
    for (size_t stream = 0; stream < streams; stream++) {
        Vector state[5];
        start_stream(seeds[stream], state);
        for (size_t i = 0; i < vectors; i++)
            ((Vector *)expected)[i * streams + stream] = next(state);
    }
    check_equal("out", out, expected, n);
}

const Program mersenne_twister_program = {
    .name = "mersenne-twister",
    .about = "makes random numbers with a Mersenne twister (SFMT-607) for each work-item",
    .size_means = "STREAMSxVECTORS of four numbers each, or streams of 4 vectors",
    .tiny = {500, 4},
    .full = {120000, 16},
    .presets = {{"paper-umh", {131072, 4}}, {"scaled-umh", {8192, 4}}},
    .kernels = &kernels,
    .run = run,
};
