// The same for OpenCL C.
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
#define DEVICE static inline
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define GID_X ((uint)get_global_id(0))
#define GID_Y ((uint)get_global_id(1))
#define GID_Z ((uint)get_global_id(2))
#define LID_X ((uint)get_local_id(0))
#define GROUP_X ((uint)get_group_id(0))
#define GROUP_SIZE_X ((uint)get_local_size(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ATOMIC_ADD(at, by) atomic_add((volatile __global int *)(at), (int)(by))
#define FLOOR(x) floor(x)
#define SQRT(x) sqrt(x)
#define RSQRT(x) (1.0f / sqrt(x))
#define EXP2(x) exp2(x)
#define FMIN(a, b) ((a) < (b) ? (a) : (b))
