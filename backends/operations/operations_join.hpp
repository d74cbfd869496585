// Puts column blocks side by side, and takes them apart again, in one pass over the wide matrix however many blocks it
// has. A dense layer of blocks side by side, which never writes the wide matrix. Blocks of rows transposed.
#pragma once

#include <vector>

#include "backends/operations/operations.hpp"

namespace strobe {

/// whole[R, sum of widths] = [parts[0] | parts[1] | ...], each part [R, width].
struct JoinColumns {
  static constexpr std::string_view name = "join_columns";
  std::vector<Tensor> parts;
  Tensor whole;
  Work work() const {
    using namespace operations_detail;
    return {0.0, bytes_of(whole), bytes_of(whole)};
  }
};

/// The inverse: parts[i] (+)= its columns of `whole`, added when accumulate[i]. The columns of an undefined part,
/// `widths[i]` wide, are not read.
struct SplitColumns {
  static constexpr std::string_view name = "split_columns";
  Tensor whole;
  std::vector<Tensor> parts;
  std::vector<std::int64_t> widths;
  std::vector<bool> accumulate;
  Work work() const {
    using namespace operations_detail;
    Work sum;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].defined()) continue;
      const double bytes = bytes_of(parts[i]);
      sum.flops += accumulate[i] ? count(parts[i].elements()) : 0.0;
      sum.bytes_read += accumulate[i] ? 2.0 * bytes : bytes;
      sum.bytes_written += bytes;
    }
    return sum;
  }
};

/// y[R, G] = [parts[0] | parts[1] | ...] w[F, G] + bias[1, G] for parts of F columns in sum; bias may be undefined.
struct JoinedDense {
  static constexpr std::string_view name = "joined_dense";
  std::vector<Tensor> parts;
  Tensor w, bias, y;
  Work work() const {
    using namespace operations_detail;
    Work sum{2.0 * count(y.rows()) * count(w.elements()), bytes_of(w), bytes_of(y)};
    for (const Tensor& part : parts) sum.bytes_read += bytes_of(part);
    return sum;
  }
};

/// Backward of JoinedDense. dparts[i] (+)= its columns of dy w^T, added where accumulate[i], unless it is undefined;
/// dw[F, G] += [parts]^T dy; dbias[1, G] += column sums of dy when defined, in an order that does not depend on the
/// number of threads. No two of `dparts` are the same tensor.
struct JoinedDenseBackward {
  static constexpr std::string_view name = "joined_dense_backward";
  std::vector<Tensor> parts;
  Tensor w, dy;
  std::vector<Tensor> dparts;
  std::vector<bool> accumulate;
  Tensor dw, dbias;
  Work work() const {
    using namespace operations_detail;
    Work sum{2.0 * count(dy.rows()) * count(w.elements()), bytes_of(w) + bytes_of(dy), bytes_of(dw)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double bytes = bytes_of(parts[i]);
      sum.bytes_read += bytes;
      if (!dparts[i].defined()) continue;
      sum.flops += 2.0 * count(parts[i].elements()) * count(w.columns());
      sum.bytes_read += accumulate[i] ? bytes : 0.0;
      sum.bytes_written += bytes;
    }
    return sum;
  }
};

/// y [K C, R] (+)= the K blocks of rows of x [K R, C] transposed, one below the other; added with `accumulate`. The
/// same operation on y with the same K gives x again. Designed for weights: a block is walked along y's rows, across
/// x's.
struct TransposeBlocks {
  static constexpr std::string_view name = "transpose_blocks";
  Tensor x, y;
  std::int64_t blocks = 1;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {accumulate ? count(y.elements()) : 0.0, bytes_of(x) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y)};
  }
};

}  // namespace strobe
