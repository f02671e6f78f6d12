// Kernels on images, built as kernels.cl is with -mcode-object-version=5 and -cl-std=CL1.2.

// Reads by whole coordinates through a sampler in the source, writes by whole coordinates.
__kernel void twice(read_only image2d_t in, write_only image2d_t out) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    write_imagef(out, p, read_imagef(in, nearest, p - 1) * 2.0f);
}

// Samples along the middle of the first row, through a sampler that is an argument.
__kernel void sample(read_only image2d_t in, sampler_t sampler, float step, __global float4 *out) {
    int i = get_global_id(0);
    out[i] = read_imagef(in, sampler, (float2)((i - 2) * step, 0.5f));
}

__kernel void size(read_only image2d_t in, __global int *out) {
    out[0] = get_image_width(in);
    out[1] = get_image_height(in);
}
