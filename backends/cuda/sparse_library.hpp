// The sparse product of cuSPARSE, which the emulation provides as well (emulated/sparse_library.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/runtime.hpp"

namespace strobe::cuda::runtime {

/// C [rows, width] = A B + beta C for row-major B [columns, width] and C, and A in compressed rows: `offsets` [rows +
/// 1], `indices` [nonzeros], `values` [nonzeros], all on the device. No dimension is 0.
template <class T>
struct CsrProduct {
  std::int64_t rows, columns, nonzeros, width;
  const std::int32_t *offsets, *indices;
  const T* values;
  const T* b;
  T* c;
  T beta;
};

/// Whether this program was built with cuSPARSE.
bool has_sparse_library();
/// Bytes of workspace that `multiply` needs; `offsets` may still be undetermined.
std::size_t workspace_bytes(StreamHandle stream, const CsrProduct<float>& product);
std::size_t workspace_bytes(StreamHandle stream, const CsrProduct<double>& product);
/// In the order of the stream; the same bits in every run. Throws SystemError.
void multiply(StreamHandle stream, const CsrProduct<float>& product, std::byte* workspace);
void multiply(StreamHandle stream, const CsrProduct<double>& product, std::byte* workspace);

}  // namespace strobe::cuda::runtime
