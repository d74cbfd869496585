// Which forms of a sparse matrix are stored with it: the transpose, steps in pairs (paired_matrix.hpp), rows by
// length (length_sorted_matrix.hpp). Devices whose kernels read these forms prepare their matrices by it; so does
// `sim`, for the device that it simulates. The rules count registers of `narrow_bytes` each, as the kernels
// do that read the forms:
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

/// Whether the entries decide which forms of a matrix are stored, or how large they are, and not the counts alone.
bool entries_decide_forms(const MatrixUse& use, const FormHabits& habits);

/// Adds to `a` the forms that pay for `use`, in the memory of `memory`.
/// - For many passes they are made from `host`. Where it has no entries they are those of the counts: whether steps
///   overlap enough for pairs is not known then, and rows by length stand for them.
/// - For one pass the device itself makes the transpose of whole snapshots for gradients of what reads the entries,
///   which goes over the entries of each column several times. Making it costs about twice what a single narrow product
///   gains by it.
/// Cost O(non-zeros + rows). Throws OutOfMemory.
void add_forms(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use, const FormHabits& habits);

}  // namespace strobe
