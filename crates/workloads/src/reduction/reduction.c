// Summation: a tree in local memory in which ever fewer lanes have work, launched until one number is left.
#include "guest.h"

KERNELS(reduction);

#define GROUP 256

static void run(const Options *options)
{
    size_t n = options->size[0];
    require(n >= 2, "--size %zu: at least 2 elements are needed", n);
    Random random = seeded(4);
    const uint32_t *numbers = random_words(&random, n), *input = numbers;

    region_begin();
    for (size_t left = n; left > 1;) {
        size_t groups = (left + 2 * GROUP - 1) / (2 * GROUP);
        uint32_t *sums = svm_array(uint32_t, groups);
        launch("reduction", line(groups * GROUP, GROUP), svm(input), svm(sums), u32(left));
        input = sums;
        left = groups;
    }
    map_to_read(input);
    region_end();

    if (!options->check)
        return;
    map_to_read(numbers);
    uint32_t expected = 0;
    for (size_t i = 0; i < n; i++)
        expected += numbers[i];
    check_equal("sum", input, &expected, 1);
}

const Program reduction_program = {
    .name = "reduction",
    .about = "adds up all elements of a vector of integers",
    .size_means = "elements",
    .tiny = {3000},
    .full = {(1 << 22) + 77},
    .presets = {{"paper-umh", {1 << 21}}, {"scaled-umh", {1 << 17}}},
    .kernels = &kernels,
    .run = run,
};
