// The mark of functions that kernels of a GPU call as the host does. It says nothing where no CUDA compiler reads it.
#pragma once

#if defined(__CUDACC__)
#define STROBE_HOST_DEVICE __host__ __device__
#else
#define STROBE_HOST_DEVICE
#endif
