// The prices of European call and put options after Black and Scholes. The cumulative normal distribution is
// Abramowitz and Stegun's polynomial 26.2.17.
#pragma OPENCL FP_CONTRACT OFF

static float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float poly = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228040143267794f * exp(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float *prices, __global const float *strikes, __global const float *years,
                            __global float *calls, __global float *puts, uint count, float rate, float volatility)
{
    uint i = get_global_id(0);
    if (i >= count)
        return;
    float s = prices[i], x = strikes[i], t = years[i];

    float spread = volatility * sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
    float d2 = d1 - spread;
    float discounted = x * exp(-rate * t);
    calls[i] = s * normal(d1) - discounted * normal(d2);
    puts[i] = discounted * normal(-d2) - s * normal(-d1);
}
