constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void images(read_only image2d_t in, write_only image2d_t out, read_only image3d_t volume) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 c = read_imagef(in, nearest, p) + read_imagef(volume, nearest, (int4)(p, 3, 0));
    write_imagef(out, p, c * 0.5f);
}
