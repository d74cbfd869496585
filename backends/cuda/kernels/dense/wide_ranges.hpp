// Ranges of rows of a wide layer, and what its blocks work on.
#pragma once

#include "backends/cuda/kernels/dense/wide_layer.hpp"

namespace strobe::cuda {

/// Row ranges of batches: `parts` of each, which are those of a step or of all rows.
struct WideRanges {
  StepParts steps;  // step_rows null: ranges of `rows`
  RowParts rows;
  std::int64_t batches;

  __host__ __device__ std::int64_t parts() const { return steps.step_rows == nullptr ? rows.count : steps.parts; }
  __device__ std::int64_t begin(std::int64_t batch, std::int64_t part) const {
    return steps.step_rows == nullptr ? rows.begin(part) : steps.begin(batch, part);
  }
  __device__ std::int64_t end(std::int64_t batch, std::int64_t part) const {
    return steps.step_rows == nullptr ? rows.end(part) : steps.end(batch, part);
  }
};

/// Ranges of about `grain` rows.
template <class T>
WideRanges ranges_of(const WideLayer<T>& p, std::int64_t grain) {
  if (p.step_rows == nullptr) return {{nullptr, 1, 1}, {p.rows, grain, divide_up(p.rows, grain)}, p.batches};
  const std::int64_t parts = divide_up(divide_up(p.rows, p.batches > 0 ? p.batches : 1), grain);
  return {{p.step_rows, p.batches, parts < 1 ? 1 : parts}, {}, p.batches};
}

/// The work of a block: a tile of columns of a batch, and a range of its rows.
struct WideBlock {
  std::int64_t tile, batch, part, begin, end;

  __device__ WideBlock(const WideRanges& ranges, std::int64_t tiles, std::int64_t number)
      : tile(number % tiles),
        batch(number / tiles % ranges.batches),
        part(number / tiles / ranges.batches),
        begin(ranges.begin(batch, part)),
        end(ranges.end(batch, part)) {}
};

}  // namespace strobe::cuda
