// Random numbers: PCG XSH RR 64/32, seeded and brought to ranges as crates/workloads/src/input.rs does it.
#include "guest.h"

static const uint64_t MULTIPLIER = 6364136223846793005u;

static uint32_t output(uint64_t state)
{
    uint32_t shifted = (uint32_t)(((state >> 18) ^ state) >> 27);
    uint32_t turn = (uint32_t)(state >> 59);
    return shifted >> turn | shifted << (-turn & 31);
}

// A seed of 64 bits is stretched to state and increment by another generator of the same kind.
static uint64_t stretch(uint64_t *seed)
{
    uint64_t word = 0;
    for (unsigned half = 0; half < 2; half++) {
        *seed = *seed * MULTIPLIER + 11634580027462260723u;
        word |= (uint64_t)output(*seed) << (32 * half);
    }
    return word;
}

Random seeded(uint64_t seed)
{
    uint64_t state = stretch(&seed);
    uint64_t increment = stretch(&seed) | 1;
    return (Random){(state + increment) * MULTIPLIER + increment, increment};
}

uint32_t random_u32(Random *random)
{
    uint64_t state = random->state;
    random->state = state * MULTIPLIER + random->increment;
    return output(state);
}

uint64_t random_u64(Random *random)
{
    uint64_t low = random_u32(random);
    return low | (uint64_t)random_u32(random) << 32;
}

uint32_t random_below(Random *random, uint32_t bound)
{
    return (uint32_t)((uint64_t)random_u32(random) * bound >> 32);
}

float random_f32(Random *random, float low, float high)
{
    return low + (high - low) * ((float)(random_u32(random) >> 8) / (float)(1 << 24));
}

float *random_floats(Random *random, size_t count, float low, float high)
{
    float *numbers = input_array(float, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = random_f32(random, low, high);
    return numbers;
}

uint32_t *random_words(Random *random, size_t count)
{
    uint32_t *numbers = input_array(uint32_t, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = random_u32(random);
    return numbers;
}
