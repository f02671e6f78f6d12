// Two-electron repulsion integrals (ab|cd) of s-type Gaussians (x, y, z, exponent): b and d are the work-item's, c runs over the first
// `primitives` shells, and each launch adds the integrals of one a.
#pragma OPENCL FP_CONTRACT OFF
#define LOG2_E 1.4426950f
#define TERMS 48

// Boys' function of order 0 by a series, or by its limit for a large argument. `factors` holds 2 / (2 k + 1).
static float boys(float t, __constant float *factors)
{
    if (t > 12.0f)
        return 0.88622693f * rsqrt(t);
    float term = 1.0f, sum = 1.0f;
    for (uint k = 1; k < TERMS; k++) {
        term *= t * factors[k];
        sum += term;
    }
    return sum * exp2(-LOG2_E * t);
}

static float squared(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z; }

__kernel void add_integrals(__global const float4 *shells, __constant float *factors, __global float *integrals, uint count,
                            uint primitives, uint a)
{
    uint d = get_global_id(0), b = get_global_id(1);
    if (b >= count || d >= count)
        return;
    float4 sa = shells[a], sb = shells[b], sd = shells[d];
    float p = sa.w + sb.w, ab = squared(sa - sb), sum = integrals[b * count + d];
    for (uint c = 0; c < primitives; c++) {
        float4 sc = shells[c];
        float q = sc.w + sd.w, cd = squared(sc - sd);
        float pq = squared((sa * sa.w + sb * sb.w) / p - (sc * sc.w + sd * sd.w) / q);
        float decay = exp2(-LOG2_E * (sa.w * sb.w / p * ab + sc.w * sd.w / q * cd));
        sum += 34.986836f / (p * q * sqrt(p + q)) * decay * boys(p * q / (p + q) * pq, factors);
    }
    integrals[b * count + d] = sum;
}
