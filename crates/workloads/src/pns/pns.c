// Petri nets: the host looks at one number after each of several launches and leaves the rest where it is.
#include "guest.h"

KERNELS(pns);

#define PLACES 32
#define LAUNCHES 8

static void fire(uint32_t *marking, uint32_t *fired, size_t net, size_t nets, size_t steps)
{
    uint32_t random = (uint32_t)net * 2654435761u + fired[net] + 1, count = 0;
    for (size_t step = 0; step < steps; step++) {
        random = random * 1664525u + 1013904223u;
        uint32_t *from = marking + (random >> 8) % PLACES * nets + net;
        if (*from > 0) {
            *from -= 1;
            marking[((random >> 8) + 1) % PLACES * nets + net] += 1;
            count += 1;
        }
    }
    fired[net] += count;
}

static void run(const Options *options)
{
    size_t nets = options->size[0], steps = (options->size[1] ? options->size[1] : 80) / LAUNCHES;
    size_t n = cells(PLACES, nets, 1);
    uint32_t *marking = input_array(uint32_t, n), *fired = input_array(uint32_t, nets), *total = input_array(uint32_t, 1);
    uint32_t *expected = host_array(uint32_t, n), *expected_fired = host_array(uint32_t, nets);
    for (size_t i = 0; i < n; i++)
        marking[i] = expected[i] = 1;
    for (size_t i = 0; i < nets; i++)
        fired[i] = 0;
    *total = 0;

    uint32_t seen[LAUNCHES], expected_seen[LAUNCHES];
    region_begin();
    for (size_t i = 0; i < LAUNCHES; i++) {
        launch("fire", line(nets, 128), svm(marking), svm(fired), svm(total), u32(steps), u32(nets));
        map_to_read(total);
        seen[i] = *total;
        unmap(total);
    }
    map_to_read(fired);
    region_end();

    if (!options->check)
        return;
    map_to_read(marking);
    for (size_t i = 0; i < LAUNCHES; i++) {
        expected_seen[i] = 0;
        for (size_t net = 0; net < nets; net++) {
            fire(expected, expected_fired, net, nets, steps);
            expected_seen[i] += expected_fired[net];
        }
    }
    check_equal("marking", marking, expected, n);
    check_equal("fired", fired, expected_fired, nets);
    check_equal("seen", seen, expected_seen, LAUNCHES);
}

const Program pns_program = {
    .name = "pns",
    .about = "simulates Petri nets, in eight launches after each of which the host looks at what has fired",
    .size_means = "NETSxSTEPS, or nets, and 80 steps; an eighth of the steps in each launch",
    .tiny = {130, 16},
    .full = {40000, 80},
    .presets = {{"paper-gmac", {65536, 4000}}, {"scaled-gmac", {4096, 500}}},
    .kernels = &kernels,
    .run = run,
};
