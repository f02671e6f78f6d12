// The programs' kernels, in what CUDA C and OpenCL C have in common (cuda.h and opencl.h say the rest).

// c = a + b.
KERNEL vecadd(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, uint n) {
    uint i = GID_X;
    if (i < n)
        c[i] = a[i] + b[i];
}

// Every element moves a little: all of x is read and written.
KERNEL drift(GLOBAL float *x, uint n) {
    uint i = GID_X;
    if (i < n)
        x[i] = x[i] * 0.5f + 1.0f;
}

// For tests: every third byte of `to` takes up its neighbour in `from`.
KERNEL stir(GLOBAL const uchar *from, GLOBAL uchar *to, uint n) {
    uint i = GID_X;
    if (i < n && i % 3 == 0)
        to[i] = (uchar)(to[i] + from[i] + 1);
}

// A step of the heat equation in n x n x n points; the rim stays as it is.
KERNEL stencil(GLOBAL const float *in, GLOBAL float *out, uint n) {
    uint x = GID_X, y = GID_Y, z = GID_Z;
    if (x >= n || y >= n || z >= n)
        return;
    uint at = (z * n + y) * n + x;
    float here = in[at];
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) {
        out[at] = here;
        return;
    }
    float around = in[at - 1] + in[at + 1] + in[at - n] + in[at + n] + in[at - n * n] + in[at + n * n];
    out[at] = here + 0.1f * (around - 6.0f * here);
}

// Coulombic potential: of each charge (x, y, z, q) at each point of a plane.
KERNEL cp(GLOBAL const float *atoms, GLOBAL float *plane, uint count, uint width, float spacing) {
    uint x = GID_X, y = GID_Y;
    if (x >= width || y >= width)
        return;
    float px = spacing * (float)x, py = spacing * (float)y, potential = 0.0f;
    for (uint i = 0; i < count; i++) {
        float dx = px - atoms[4 * i], dy = py - atoms[4 * i + 1], dz = atoms[4 * i + 2];
        potential += atoms[4 * i + 3] * RSQRT(dx * dx + dy * dy + dz * dz);
    }
    plane[y * width + x] += potential;
}

// Sine of 2 pi t, for any t of moderate size: a polynomial in the distance to the nearest quarter.
DEVICE float sine_turn(float t) {
    t = t - FLOOR(t + 0.5f);
    if (t > 0.25f)
        t = 0.5f - t;
    if (t < -0.25f)
        t = -0.5f - t;
    float x = 6.2831853f * t, xx = x * x;
    return x * (1.0f + xx * (-0.16666667f + xx * (0.0083333310f + xx * (-0.00019840874f + xx * 0.0000027525562f))));
}

// MRI: the matrix Q, of samples (kx, ky, kz, magnitude) at points (x, y, z).
KERNEL mri_q(GLOBAL const float *samples, GLOBAL const float *points, GLOBAL float *q, uint count, uint n) {
    uint i = GID_X;
    if (i >= n)
        return;
    float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2], re = 0.0f, im = 0.0f;
    for (uint k = 0; k < count; k++) {
        float turn = samples[4 * k] * x + samples[4 * k + 1] * y + samples[4 * k + 2] * z;
        re += samples[4 * k + 3] * sine_turn(turn + 0.25f);
        im += samples[4 * k + 3] * sine_turn(turn);
    }
    q[2 * i] = re;
    q[2 * i + 1] = im;
}

// MRI: F^H d, of samples (kx, ky, kz, real, imaginary) at points (x, y, z).
KERNEL mri_fhd(GLOBAL const float *samples, GLOBAL const float *points, GLOBAL float *fhd, uint count, uint n) {
    uint i = GID_X;
    if (i >= n)
        return;
    float x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2], re = 0.0f, im = 0.0f;
    for (uint k = 0; k < count; k++) {
        float turn = samples[5 * k] * x + samples[5 * k + 1] * y + samples[5 * k + 2] * z;
        float c = sine_turn(turn + 0.25f), s = sine_turn(turn), a = samples[5 * k + 3], b = samples[5 * k + 4];
        re += a * c + b * s;
        im += b * c - a * s;
    }
    fhd[2 * i] = re;
    fhd[2 * i + 1] = im;
}

// Petri nets: each thread fires random transitions of its own ring of places for some steps.
KERNEL pns(GLOBAL uint *marking, GLOBAL uint *fired, uint places, uint steps, uint n) {
    uint i = GID_X;
    if (i >= n)
        return;
    GLOBAL uint *own = marking + i * places;
    uint random = i * 2654435761u + fired[i] + 1u, count = 0;
    for (uint s = 0; s < steps; s++) {
        random = random * 1664525u + 1013904223u;
        uint from = (random >> 8) % places, to = from + 1 == places ? 0 : from + 1;
        if (own[from] > 0) {
            own[from] -= 1;
            own[to] += 1;
            count += 1;
        }
    }
    fired[i] += count;
}

// Boys' function of order 0 by a series, or by its limit for a large argument.
DEVICE float boys(float t) {
    if (t > 12.0f)
        return 0.88622693f * RSQRT(t);
    float term = 1.0f, sum = 1.0f;
    for (int k = 1; k < 48; k++) {
        term *= 2.0f * t / (float)(2 * k + 1);
        sum += term;
    }
    return sum * EXP2(-1.4426950f * t);
}

// Two-electron repulsion integrals (ab|cd) of s-type Gaussians (x, y, z, exponent): b, d fixed by the thread, a, c summed over.
KERNEL rpes(GLOBAL const float *shells, GLOBAL float *integrals, uint count) {
    uint b = GID_X, d = GID_Y;
    if (b >= count || d >= count)
        return;
    float sum = 0.0f;
    for (uint a = 0; a < count; a++) {
        for (uint c = 0; c < count; c++) {
            float ea = shells[4 * a + 3], eb = shells[4 * b + 3], ec = shells[4 * c + 3], ed = shells[4 * d + 3];
            float p = ea + eb, q = ec + ed, ab = 0.0f, cd = 0.0f, pq = 0.0f;
            for (int k = 0; k < 3; k++) {
                float xa = shells[4 * a + k], xb = shells[4 * b + k], xc = shells[4 * c + k], xd = shells[4 * d + k];
                float centre = (ea * xa + eb * xb) / p - (ec * xc + ed * xd) / q;
                ab += (xa - xb) * (xa - xb);
                cd += (xc - xd) * (xc - xd);
                pq += centre * centre;
            }
            float decay = EXP2(-1.4426950f * (ea * eb / p * ab + ec * ed / q * cd));
            sum += 34.986836f / (p * q * SQRT(p + q)) * decay * boys(p * q / (p + q) * pq);
        }
    }
    integrals[b * count + d] = sum;
}

// Sums of absolute differences of each 4 x 4 block of a frame with 17 x 17 places around it in the other.
KERNEL sad(GLOBAL const uchar *frame, GLOBAL const uchar *other, GLOBAL ushort *sums, uint width, uint height) {
    uint block = GID_X, place = GID_Y, across = width / 4;
    if (block >= across * (height / 4) || place >= 289)
        return;
    int bx = (int)(block % across) * 4, by = (int)(block / across) * 4;
    int dx = (int)(place % 17) - 8, dy = (int)(place / 17) - 8;
    uint sum = 0;
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 4; x++) {
            int ox = bx + x + dx, oy = by + y + dy;
            ox = ox < 0 ? 0 : ox >= (int)width ? (int)width - 1 : ox;
            oy = oy < 0 ? 0 : oy >= (int)height ? (int)height - 1 : oy;
            int difference = (int)frame[(by + y) * (int)width + bx + x] - (int)other[oy * (int)width + ox];
            sum += (uint)(difference < 0 ? -difference : difference);
        }
    }
    sums[block * 289 + place] = (ushort)sum;
}

// Two-point angular correlation: a histogram of the angles between points (x, y, z) of two sets, by bounds on the cosine.
KERNEL tpacf(GLOBAL const float *one, GLOBAL const float *two, GLOBAL const float *bounds, GLOBAL uint *histogram, uint n, uint bins) {
    uint i = GID_X;
    if (i >= n)
        return;
    uint own[32];
    for (uint bin = 0; bin < 32; bin++)
        own[bin] = 0;
    float x = one[3 * i], y = one[3 * i + 1], z = one[3 * i + 2];
    for (uint j = 0; j < n; j++) {
        float cosine = x * two[3 * j] + y * two[3 * j + 1] + z * two[3 * j + 2];
        uint bin = 0;
        while (bin < bins - 1 && cosine < bounds[bin])
            bin++;
        own[bin]++;
    }
    for (uint bin = 0; bin < bins; bin++)
        if (own[bin] > 0)
            ATOMIC_ADD(&histogram[bin], own[bin]);
}
