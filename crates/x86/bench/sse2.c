/* Floating-point code as compilers make it: a product of float matrices, and bodies that attract each other (double).
 * Checks itself: the product against sums by rows and columns, the bodies by their energy. */
#include "guest.h"

enum { N = 192, PRODUCTS = 30, BODIES = 5, STEPS = 1000000 };

static float a[N][N], b[N][N], c[N][N];

static void product(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            float x = a[i][k];
            for (int j = 0; j < N; j++)
                c[i][j] += x * b[k][j];
        }
}

/* The sum of c's elements is the product of a's column sums and b's row sums. */
static int product_is_right(void)
{
    double sum = 0, expected = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += c[i][j];
    for (int k = 0; k < N; k++) {
        double column = 0, row = 0;
        for (int i = 0; i < N; i++) {
            column += a[i][k];
            row += b[k][i];
        }
        expected += column * row;
    }
    double difference = sum - expected;
    if (difference < 0)
        difference = -difference;
    return difference < 1e-4 * (expected < 0 ? -expected : expected) + 1e-3;
}

struct body {
    double x[3], v[3], mass;
};

/* Sun, Jupiter, Saturn, Uranus, Neptune: units of AU, solar masses (times 4 pi^2) and years. */
static struct body bodies[BODIES] = {
    { { 0, 0, 0 }, { 0, 0, 0 }, 39.47841760435743 },
    { { 4.84143144246472090, -1.16032004402742839, -0.103622044471123109 },
        { 0.60632639299583202, 2.81198684491626016, -0.02521836165988763 }, 0.03769367487038949 },
    { { 8.34336671824457987, 4.12479856412430479, -0.403523417114321381 },
        { -1.01077434617879236, 1.82566237123041186, 0.00841576137658415 }, 0.01128632613196877 },
    { { 12.8943695621391310, -15.1111514016986312, -0.223307578892655734 },
        { 1.08279100644153536, 0.86871301816960820, -0.01083263740136364 }, 0.00172372405705971 },
    { { 15.3796971148509165, -25.9193146099879641, 0.179258772950371181 },
        { 0.97909073224389798, 0.59469899864767617, -0.03475595555078104 }, 0.00203368686992463 },
};

static double energy(void)
{
    double e = 0;
    for (int i = 0; i < BODIES; i++) {
        struct body *p = &bodies[i];
        e += 0.5 * p->mass * (p->v[0] * p->v[0] + p->v[1] * p->v[1] + p->v[2] * p->v[2]);
        for (int j = i + 1; j < BODIES; j++) {
            double d2 = 0;
            for (int k = 0; k < 3; k++) {
                double d = p->x[k] - bodies[j].x[k];
                d2 += d * d;
            }
            e -= p->mass * bodies[j].mass / __builtin_sqrt(d2);
        }
    }
    return e;
}

static void step(double dt)
{
    for (int i = 0; i < BODIES; i++)
        for (int j = i + 1; j < BODIES; j++) {
            struct body *p = &bodies[i], *q = &bodies[j];
            double dx = p->x[0] - q->x[0], dy = p->x[1] - q->x[1], dz = p->x[2] - q->x[2];
            double d2 = dx * dx + dy * dy + dz * dz;
            double pull = dt / (d2 * __builtin_sqrt(d2));
            p->v[0] -= dx * q->mass * pull;
            p->v[1] -= dy * q->mass * pull;
            p->v[2] -= dz * q->mass * pull;
            q->v[0] += dx * p->mass * pull;
            q->v[1] += dy * p->mass * pull;
            q->v[2] += dz * p->mass * pull;
        }
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++)
            bodies[i].x[k] += dt * bodies[i].v[k];
}

int run(void)
{
    u64 seed = 1;
    for (int round = 0; round < PRODUCTS; round++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                a[i][j] = (float)(int)(scramble(&seed) >> 48) * (1 / 65536.0f);
                b[i][j] = (float)(int)(scramble(&seed) >> 48) * (1 / 65536.0f) - 0.25f;
            }
        product();
        if (!product_is_right())
            return 1;
    }
    double before = energy();
    for (int i = 0; i < STEPS; i++)
        step(0.001);
    double change = energy() / before - 1;
    if (change > 1e-3 || change < -1e-3)
        return 2;
    union {
        double value;
        u64 bits;
    } last = { bodies[1].x[0] };
    print_hex("sse2 ", last.bits);
    return 0;
}
