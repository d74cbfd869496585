// Decides which forms of a sparse matrix are stored with it: the transpose, steps in pairs (paired_matrix.hpp), rows by
// length (length_sorted_matrix.hpp). Devices whose kernels read these forms use it to prepare their matrices, and so
// does `sim` for the device that it simulates. The rules count registers of `narrow_bytes` each, as the kernels do:
// - pairs serve a product whose rows of both steps lie in one (backends/cpu/kernels/sparse/spmm_paired.cpp), and one
//   that computes a layer again for every entry while its outputs of both steps lie in three (pair_layer.hpp), or in
//   one with a weight per step (step_convolution_of_dense_paired.cpp);
// - rows by length serve a product whose rows lie in two (length_sorted_rows.hpp).
#pragma once

#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"

namespace strobe {

class Device;
struct SparseMatrix;

/// The forms that a device's kernels read.
struct FormHabits {
  bool transpose = false;         // Device::wants_transpose
  std::int64_t narrow_bytes = 0;  // Device::narrow_bytes
};

/// Whether the entries of a matrix, and not only its counts, decide which forms are stored or how large they are.
bool entries_decide_forms(const MatrixUse& use, const FormHabits& habits);

/// Adds to `a` the forms that pay for `use`, in the memory of `memory`.
/// - For many passes they are made from `host`. Without entries there, the counts decide: whether steps overlap enough
///   for pairs is not known then, and rows by length are taken instead.
/// - For one pass the device itself makes the transpose of whole snapshots, for gradients of products that read the
///   entries of each column several times. Making it costs about twice the gain for a single narrow product.
/// Cost O(non-zeros + rows). Throws OutOfMemory.
void add_forms(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use, const FormHabits& habits);

}  // namespace strobe
