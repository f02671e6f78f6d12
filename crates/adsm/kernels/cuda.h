// What the kernels need of CUDA C, so that clang compiles them without the toolkit.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device)) inline
#define GLOBAL
#define LOCAL __attribute__((shared))
#define CONSTANT const
#define GID_X (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define GID_Y (__nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y())
#define GID_Z (__nvvm_read_ptx_sreg_ctaid_z() * __nvvm_read_ptx_sreg_ntid_z() + __nvvm_read_ptx_sreg_tid_z())
#define LID_X __nvvm_read_ptx_sreg_tid_x()
#define GROUP_X __nvvm_read_ptx_sreg_ctaid_x()
#define GROUP_SIZE_X __nvvm_read_ptx_sreg_ntid_x()
#define BARRIER() __nvvm_barrier0()
#define ATOMIC_ADD(at, by) __nvvm_atom_add_gen_i((int *)(at), (int)(by))
#define FLOOR(x) __builtin_floorf(x)
#define SQRT(x) __nvvm_sqrt_rn_f(x)
#define RSQRT(x) (1.0f / __nvvm_sqrt_rn_f(x))
#define EXP2(x) __nvvm_ex2_approx_f(x)
#define FMIN(a, b) ((a) < (b) ? (a) : (b))
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
