// The matrix product of cuBLAS, which the emulation also provides (emulated/blas.cpp).
#pragma once

#include <cstdint>

#include "backends/cuda/runtime.hpp"

namespace strobe::cuda::runtime {

/// C = A B + beta C for column-major matrices, as BLAS defines it: A [m, k], B [k, n], C [m, n] with the distances
/// `lda`, `ldb`, `ldc` between columns. In the order of the stream; fp32 without reduced precision. Throws SystemError.
void gemm(StreamHandle stream, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float beta,
          float* c, int ldc);
void gemm(StreamHandle stream, int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
          double* c, int ldc);

}  // namespace strobe::cuda::runtime
