// Back-propagation in a network with one hidden layer: what the GPU's version and the CPU's have in common.
#ifndef BACKPROP_H
#define BACKPROP_H

#include "guest.h"

#include <math.h>
#include <string.h>

#define HIDDEN 16
#define ROWS 16
static const float RATE = 0.3f, MOMENTUM = 0.3f, TARGET = 0.1f;

// A part of the first layer; weights lead from input i to hidden unit h as weights[i * HIDDEN + h].
typedef struct {
    const float *inputs, *errors;
    float *weights, *changes, *sums;
} Layer;

// For groups of 16 inputs: what they bring to each hidden unit, added in the order of the kernel's tree.
static void forward(void *context, size_t first, size_t end)
{
    const Layer *layer = context;
    for (size_t group = first; group < end; group++) {
        const float *inputs = layer->inputs + group * ROWS, *weights = layer->weights + group * ROWS * HIDDEN;
        float products[ROWS * HIDDEN];
        for (size_t w = 0; w < ROWS * HIDDEN; w++)
            products[w] = inputs[w / HIDDEN] * weights[w];
        for (size_t left = ROWS / 2; left > 0; left /= 2)
            for (size_t i = 0; i < left * HIDDEN; i++)
                products[i] += products[i + left * HIDDEN];
        memcpy(layer->sums + group * HIDDEN, products, HIDDEN * sizeof(float));
    }
}

static void adjust(void *context, size_t first, size_t end)
{
    const Layer *layer = context;
    for (size_t w = first * ROWS * HIDDEN; w < end * ROWS * HIDDEN; w++) {
        float change = RATE * layer->errors[w % HIDDEN] * layer->inputs[w / HIDDEN] + MOMENTUM * layer->changes[w];
        layer->weights[w] += change;
        layer->changes[w] = change;
    }
}

static void add_sums(float totals[HIDDEN], const float *sums, size_t groups)
{
    for (size_t i = 0; i < groups * HIDDEN; i++)
        totals[i % HIDDEN] += sums[i];
}

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The part behind the first layer: the output, its error, the errors of the hidden units.
static void learn(const float totals[HIDDEN], float output_weights[HIDDEN], float errors[HIDDEN])
{
    float hidden[HIDDEN], sum = 0.0f;
    for (int h = 0; h < HIDDEN; h++) {
        hidden[h] = sigmoid(totals[h]);
        sum += hidden[h] * output_weights[h];
    }
    float output = sigmoid(sum), error = output * (1.0f - output) * (TARGET - output);
    for (int h = 0; h < HIDDEN; h++) {
        errors[h] = hidden[h] * (1.0f - hidden[h]) * (output_weights[h] * error);
        output_weights[h] += RATE * error * hidden[h];
    }
}


// Weights of the first layer and of the output.
static void random_weights(Random *random, float *weights, size_t count, float output_weights[HIDDEN])
{
    for (size_t w = 0; w < count; w++)
        weights[w] = random_f32(random, -0.01f, 0.01f);
    for (int h = 0; h < HIDDEN; h++)
        output_weights[h] = random_f32(random, -1.0f, 1.0f);
}

#endif
