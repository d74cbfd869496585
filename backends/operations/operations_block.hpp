// Dense products of column blocks: several independent small products side by side, with or without a block that is
// passed through. One pass where concatenating the results would take several.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// y[R, L + K G] = activation([left | x_1 w_1 + b_1 | ... | x_K w_K + b_K]): K blocks of columns x_k of x [R, K F],
/// their matrices one below the other in w [K F, G], bias [K, G] or undefined, left [R, L] or undefined (may be x
/// itself).
struct BlockDense {
  static constexpr std::string_view name = "block_dense";
  Tensor left, x, w, bias, y;
  std::int64_t blocks = 1;
  Activation activation = Activation::none;
  std::int64_t skip() const { return left.defined() ? left.columns() : 0; }
  Work work() const {
    using namespace operations_detail;
    const bool reads_left = left.defined() && left.raw() != x.raw();
    return {2.0 * count(x.rows()) * count(w.elements()),
            bytes_of(x) + bytes_of(w) + (reads_left ? bytes_of(left) : 0.0), bytes_of(y)};
  }
};

/// Backward of BlockDense. dz = dy where y > 0 (relu) or dy (none); dx_k = dz_k w_k^T when dx is defined, then
/// dleft = the first L columns of dz when dleft is defined; dleft may be dx itself with accumulate_dleft. dw and dbias
/// (when defined) accumulate, in an order that does not depend on the number of threads.
struct BlockDenseBackward {
  static constexpr std::string_view name = "block_dense_backward";
  Tensor x, w, y, dy;
  Tensor dleft, dx, dw, dbias;
  std::int64_t blocks = 1;
  Activation activation = Activation::none;
  bool accumulate_dx = false, accumulate_dleft = false;
  std::int64_t skip() const { return dy.columns() - blocks * w.columns(); }
  Work work() const {
    using namespace operations_detail;
    const double products = 2.0 * count(dy.rows()) * count(w.elements());
    return {products * (dx.defined() ? 2.0 : 1.0),
            bytes_of(x) + bytes_of(w) + bytes_of(dy) + (activation == Activation::none ? 0.0 : bytes_of(y)),
            (dx.defined() ? bytes_of(dx) : 0.0) + bytes_of(dw)};
  }
};

}  // namespace strobe
