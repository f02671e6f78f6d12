// AES-128 in counter mode: table look-ups in constant memory and bit operations.
#include "guest.h"

#include <string.h>

KERNELS(aes);

#define ROUNDS 10

// --- The reference: byte by byte, as FIPS 197 writes it ---------------------------------------------------------

typedef struct {
    uint8_t sbox[256], twice[256];
    uint8_t round_keys[ROUNDS + 1][16];
} Cipher;

// The field of 256 elements modulo x^8 + x^4 + x^3 + x + 1.
static uint8_t times(unsigned a, unsigned b)
{
    unsigned product = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            product ^= a;
        a = a << 1 ^ (a & 0x80 ? 0x11b : 0);
    }
    return (uint8_t)product;
}

static unsigned rotate_left(unsigned byte, unsigned by) { return (byte << by | byte >> (8 - by)) & 0xff; }

// The inverse in the field (x^254), followed by an affine map.
static uint8_t substitute(uint8_t byte)
{
    unsigned i = 1;
    for (int power = 0; power < 254; power++)
        i = times(i, byte);
    return (uint8_t)(i ^ rotate_left(i, 1) ^ rotate_left(i, 2) ^ rotate_left(i, 3) ^ rotate_left(i, 4) ^ 0x63);
}

static void expand(Cipher *cipher, const uint8_t key[16])
{
    for (unsigned byte = 0; byte < 256; byte++) {
        cipher->sbox[byte] = substitute((uint8_t)byte);
        cipher->twice[byte] = times(byte, 2);
    }
    uint8_t *words = cipher->round_keys[0], constant = 1;
    memcpy(words, key, 16);
    for (unsigned i = 4; i < 4 * (ROUNDS + 1); i++) {
        const uint8_t *last = words + 4 * (i - 1);
        for (unsigned b = 0; b < 4; b++) {
            uint8_t next = i % 4 ? last[b] : (uint8_t)(cipher->sbox[last[(b + 1) % 4]] ^ (b == 0 ? constant : 0));
            words[4 * i + b] = words[4 * (i - 4) + b] ^ next;
        }
        if (i % 4 == 0)
            constant = times(constant, 2);
    }
}

// Byte i is row i % 4 of column i / 4. Row r moves r columns to the left; then columns are mixed, but for the last.
static void encrypt(const Cipher *cipher, uint8_t state[16])
{
    for (unsigned i = 0; i < 16; i++)
        state[i] ^= cipher->round_keys[0][i];
    for (unsigned round = 1; round <= ROUNDS; round++) {
        uint8_t shifted[16];
        for (unsigned i = 0; i < 16; i++)
            shifted[i] = cipher->sbox[state[(i + 4 * (i % 4)) % 16]];
        for (unsigned i = 0; i < 16; i++) {
            const uint8_t *column = shifted + i / 4 * 4;
            uint8_t a = column[i % 4], b = column[(i + 1) % 4], c = column[(i + 2) % 4], d = column[(i + 3) % 4];
            uint8_t mixed = cipher->twice[a] ^ cipher->twice[b] ^ b ^ c ^ d;
            state[i] = (round < ROUNDS ? mixed : a) ^ cipher->round_keys[round][i];
        }
    }
}

typedef struct {
    const Cipher *cipher;
    const uint8_t *plain, *nonce;
    uint8_t *out;
} Message;

static void encrypt_blocks(void *context, size_t first, size_t end)
{
    const Message *m = context;
    for (size_t block = first; block < end; block++) {
        uint8_t counter[16] = {[12] = (uint8_t)(block >> 24), (uint8_t)(block >> 16), (uint8_t)(block >> 8), (uint8_t)block};
        memcpy(counter, m->nonce, 12);
        encrypt(m->cipher, counter);
        for (size_t b = 0; b < 16; b++)
            m->out[16 * block + b] = m->plain[16 * block + b] ^ counter[b];
    }
}

// --- The program ------------------------------------------------------------------------------------------------

static void run(const Options *options)
{
    size_t blocks = options->size[0], n = cells(blocks, 16, 1);
    Random random = seeded(8);
    uint8_t key[16], nonce[12];
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)random_u32(&random);
    for (int i = 0; i < 12; i++)
        nonce[i] = (uint8_t)random_u32(&random);
    Cipher cipher;
    expand(&cipher, key);

    uint8_t *plain = input_array(uint8_t, n), *out = svm_array(uint8_t, n);
    uint8_t *round_keys = input_array(uint8_t, sizeof cipher.round_keys);
    for (size_t i = 0; i < n; i++)
        plain[i] = (uint8_t)(random_u32(&random) >> 24);
    memcpy(round_keys, cipher.round_keys, sizeof cipher.round_keys);
    uint32_t nonce_words[3];
    memcpy(nonce_words, nonce, sizeof nonce);

    region_begin();
    launch("aes_ctr", line(blocks, 256), svm(plain), svm(out), svm(round_keys), u32(blocks), u32(nonce_words[0]),
           u32(nonce_words[1]), u32(nonce_words[2]));
    map_to_read(out);
    region_end();

    if (!options->check)
        return;
    map_to_read(plain);
    uint8_t *expected = host_array(uint8_t, n);
    parallel(blocks, 0, encrypt_blocks, &(Message){&cipher, plain, nonce, expected});
    check_equal("encrypted", out, expected, n);
}

const Program aes_program = {
    .name = "aes",
    .about = "encrypts with AES-128 in counter mode",
    .size_means = "blocks of 16 bytes",
    .tiny = {200},
    .full = {200000},
    .presets = {{"paper-halcone", {2218750}}, {"scaled-halcone", {138672}}},
    .kernels = &kernels,
    .run = run,
};
