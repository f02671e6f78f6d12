// OpenMP with four threads: static and dynamic loops, a reduction, a critical section, tasks, barriers and single.
#include <math.h>
#include <omp.h>
#include <stdio.h>

#define N 20000

static double values[N];

static unsigned fibonacci(unsigned n)
{
    unsigned a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 8)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_num_threads(4);
    int threads = 0, seen[4] = {0};
    double sum = 0.0;

#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp critical
        seen[omp_get_thread_num()]++;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            values[i] = sqrt((double)i) * sin(i * 0.001);
#pragma omp for schedule(dynamic, 64) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += floor(values[i] * 1024.0);
    }

    unsigned fib = 0;
#pragma omp parallel
#pragma omp single
    fib = fibonacci(18);

    long counter = 0;
#pragma omp parallel for
    for (int i = 0; i < 4000; i++)
#pragma omp atomic
        counter += i;

    printf("threads %d, each once: %d%d%d%d\n", threads, seen[0], seen[1], seen[2], seen[3]);
    printf("sum %.1f, fibonacci %u, counter %ld\n", sum, fib, counter);
    return !(threads == 4 && fib == 2584 && counter == 4000L * 3999 / 2);
}
