// The product by its definition; sums in double, whose rounding is below any library's.
#include "backends/cuda/blas.hpp"

#include "backends/cuda/emulated/device_memory.hpp"
#include "core/errors.hpp"

namespace strobe::cuda::runtime {
namespace {

template <class T>
void multiply(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  if (m < 0 || n < 0 || k < 0 || lda < m || ldb < k || ldc < m) throw Error("gemm: a column distance is too small");
  const emulated::DeviceAccess access;
  for (std::int64_t column = 0; column < n; ++column) {
    for (std::int64_t row = 0; row < m; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += static_cast<double>(a[row + i * lda]) * static_cast<double>(b[i + column * ldb]);
      }
      T& to = c[row + column * ldc];
      // BLAS does not read C when beta is 0.
      to = static_cast<T>(beta == T{0} ? sum : sum + static_cast<double>(beta) * static_cast<double>(to));
    }
  }
}

}  // namespace

void gemm(StreamHandle, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float beta, float* c,
          int ldc) {
  multiply(m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void gemm(StreamHandle, int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta, double* c,
          int ldc) {
  multiply(m, n, k, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace strobe::cuda::runtime
