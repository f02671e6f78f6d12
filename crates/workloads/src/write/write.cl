// Every element of an array gets a value: nothing but stores.
__kernel void write(__global uint *out, uint value, uint count)
{
    uint i = get_global_id(0);
    if (i < count)
        out[i] = value;
}
