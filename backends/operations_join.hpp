// Column blocks put side by side, and taken apart again: one pass over the wide matrix, however many blocks it has.
#pragma once

#include <vector>

#include "backends/operations.hpp"

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

/// The other way round: parts[i] (+)= its columns of `whole`, added where accumulate[i]. Of the columns of an undefined
/// part, `widths[i]` wide, nothing is read.
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

}  // namespace strobe
