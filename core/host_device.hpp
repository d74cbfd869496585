// Marks functions that both the host and GPU kernels call. The mark is empty without a CUDA compiler.
#pragma once

#if defined(__CUDACC__)
#define STROBE_HOST_DEVICE __host__ __device__
#else
#define STROBE_HOST_DEVICE
#endif
