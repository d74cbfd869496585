// The product by its definition; sums in double, whose rounding is below any library's. The workspace is written, so
// that one that is too small is found.
#include "backends/cuda/sparse_library.hpp"

#include <cstring>

#include "backends/cuda/emulated/device_memory.hpp"
#include "core/errors.hpp"

namespace strobe::cuda::runtime {
namespace {

constexpr std::size_t workspace = 1000;

template <class T>
void multiply_rows(const CsrProduct<T>& p, std::byte* space) {
  if (p.rows < 1 || p.columns < 1 || p.nonzeros < 1 || p.width < 1) throw Error("cusparseSpMM: a dimension is 0");
  const emulated::DeviceAccess access;
  std::memset(space, 0xFF, workspace);
  if (p.offsets[0] != 0 || p.offsets[p.rows] != p.nonzeros) throw Error("cusparseSpMM: other offsets than entries");
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t f = 0; f < p.width; ++f) {
      double sum = 0;
      for (std::int64_t k = p.offsets[row]; k < p.offsets[row + 1]; ++k) {
        if (p.indices[k] < 0 || p.indices[k] >= p.columns) throw Error("cusparseSpMM: a column is out of range");
        sum += static_cast<double>(p.values[k]) * static_cast<double>(p.b[p.indices[k] * p.width + f]);
      }
      T& to = p.c[row * p.width + f];
      to = static_cast<T>(p.beta == T{0} ? sum : sum + static_cast<double>(p.beta) * static_cast<double>(to));
    }
  }
}

}  // namespace

bool has_sparse_library() { return true; }
std::size_t workspace_bytes(StreamHandle, const CsrProduct<float>&) { return workspace; }
std::size_t workspace_bytes(StreamHandle, const CsrProduct<double>&) { return workspace; }
void multiply(StreamHandle, const CsrProduct<float>& product, std::byte* space) { multiply_rows(product, space); }
void multiply(StreamHandle, const CsrProduct<double>& product, std::byte* space) { multiply_rows(product, space); }

}  // namespace strobe::cuda::runtime
