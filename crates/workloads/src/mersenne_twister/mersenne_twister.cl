// SFMT-607, a Mersenne twister on vectors of four words: each work-item has a stream of its own, of which it makes `vectors` vectors.
// The state is five vectors, of which the newest depends on four of those before it.
#define FIRST_MASK ((uint4)(0xfdff37ff, 0xef7f3f7d, 0xff777b7d, 0x7ff7fb2f))

static uint next_word(uint *last, uint i)
{
    *last = 1812433253u * (*last ^ *last >> 30) + i;
    return *last;
}

static uint4 next_vector(uint *last, uint i)
{
    uint4 vector;
    vector.x = next_word(last, i);
    vector.y = next_word(last, i + 1);
    vector.z = next_word(last, i + 2);
    vector.w = next_word(last, i + 3);
    return vector;
}

// A vector taken for a number of 128 bits, shifted by three bytes.
static uint4 up(uint4 v) { return v << 24 | (uint4)(0, v.x, v.y, v.z) >> 8; }
static uint4 down(uint4 v) { return v >> 24 | (uint4)(v.y, v.z, v.w, 0) << 8; }

__kernel void mersenne_twister(__global const uint *seeds, __global uint4 *out, uint streams, uint vectors)
{
    uint stream = get_global_id(0);
    if (stream >= streams)
        return;
    uint last = seeds[stream];
    uint4 a, b, c, d, e;
    a.x = last;
    a.y = next_word(&last, 1);
    a.z = next_word(&last, 2);
    a.w = next_word(&last, 3);
    b = next_vector(&last, 4);
    c = next_vector(&last, 8);
    d = next_vector(&last, 12);
    e = next_vector(&last, 16);
    // Some states have a shorter period; a bit of parity tells, and one that is flipped mends it.
    if (popcount((a.x & 1) ^ (a.w & 0x5986f054)) % 2 == 0)
        a.x ^= 1;

    for (uint i = 0; i < vectors; i++) {
        uint4 next = a ^ up(a) ^ (c >> 13 & FIRST_MASK) ^ down(d) ^ e << 15;
        a = b, b = c, c = d, d = e, e = next;
        out[i * streams + stream] = next;
    }
}
