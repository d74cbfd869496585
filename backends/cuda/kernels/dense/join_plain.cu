// Columns put side by side and taken apart, up to `most_parts` parts a launch; a longer list takes several launches. A
// block takes rows in turns of as many as fit its threads, so that row and column come from one short division. Cost:
// each value read and written once (twice read where added).
#include <algorithm>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace join_plain_kernels {

constexpr int most_parts = 16, threads = 256;

/// Adjacent parts from column `first` on of a matrix of `columns` columns; a null part is passed over.
template <class T>
struct Parts {
  T* whole;
  std::int64_t rows, columns, first;
  T* part[most_parts];
  std::int64_t begin[most_parts + 1];  // first column of each, counted from `first`
  bool accumulate[most_parts];
  int count;

  std::int64_t width() const { return begin[count]; }
};

/// Every element of the parts that are there, into the whole (join) or out of it.
template <bool join, class T>
__global__ void move_columns(Parts<T> parts, std::int64_t tile_rows) {
  const std::int64_t width = parts.begin[parts.count];
  for (std::int64_t top = blockIdx.x * tile_rows; top < parts.rows; top += gridDim.x * tile_rows) {
    const auto here = static_cast<std::uint32_t>(min(tile_rows, parts.rows - top) * width);
    for (std::uint32_t i = threadIdx.x; i < here; i += blockDim.x) {
      const std::int64_t row = top + i / static_cast<std::uint32_t>(width);
      const std::int64_t column = i % static_cast<std::uint32_t>(width);
      int p = 0;
      while (column >= parts.begin[p + 1]) ++p;
      if (parts.part[p] == nullptr) continue;
      T& whole = parts.whole[row * parts.columns + parts.first + column];
      T& part = parts.part[p][row * (parts.begin[p + 1] - parts.begin[p]) + column - parts.begin[p]];
      if constexpr (join) {
        whole = part;
      } else {
        part = parts.accumulate[p] ? part + whole : whole;
      }
    }
  }
}

template <bool join, class T>
void launch_parts(const Parts<T>& parts, const KernelContext& context) {
  if (parts.rows == 0 || parts.width() == 0) return;
  constexpr std::int64_t tile_elements = 4096;
  const std::int64_t tile_rows = std::max(std::int64_t{1}, tile_elements / parts.width());
  launch(context, blocks_for(parts.rows, static_cast<int>(tile_rows)), threads, 0, move_columns<join, T>, parts,
         tile_rows);
}

/// Moves the parts in batches; `width_of` and `accumulates` are asked for each part by its number.
template <bool join, class T, class Width, class Accumulates>
void move_parts(const Tensor& whole, const std::vector<Tensor>& tensors, const Width& width_of,
                const Accumulates& accumulates, const KernelContext& context) {
  Parts<T> parts{whole.data<T>(), whole.rows(), whole.columns(), 0, {}, {}, {}, 0};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const int p = parts.count++;
    parts.part[p] = tensors[i].defined() ? tensors[i].data<T>() : nullptr;
    parts.begin[p + 1] = parts.begin[p] + width_of(i);
    parts.accumulate[p] = accumulates(i);
    if (parts.count < most_parts && i + 1 < tensors.size()) continue;
    launch_parts<join>(parts, context);
    parts.first += parts.width();
    parts.count = 0;
  }
}

void run_join(const JoinColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    move_parts<true, decltype(zero)>(
        op.whole, op.parts, [&](std::size_t i) { return op.parts[i].columns(); }, [](std::size_t) { return false; },
        context);
  });
}

void run_split(const SplitColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    move_parts<false, decltype(zero)>(
        op.whole, op.parts, [&](std::size_t i) { return op.widths[i]; },
        [&](std::size_t i) { return static_cast<bool>(op.accumulate[i]); }, context);
  });
}

const RegisterKernel<JoinColumns> plain_join{"cuda", {"plain", 0, nullptr, run_join}};
const RegisterKernel<SplitColumns> plain_split{"cuda", {"plain", 0, nullptr, run_split}};

}  // namespace join_plain_kernels
}  // namespace strobe::cuda
