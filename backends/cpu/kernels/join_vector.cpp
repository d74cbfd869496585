// Vector joining and splitting of columns: row by row over all blocks, so that each line of the wide matrix passes the
// cache once however many blocks share it; a block's row takes as few registers as hold it. Ranges of rows are tasks.
// Cost: each value read and written once, a partial load and store per block's row.
#include <vector>

#include "backends/cpu/kernels/column_parts.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 1 << 11;

template <class T>
void split_rows(const std::vector<Part<T>>& parts, const T* whole, std::int64_t columns, std::int64_t begin,
                std::int64_t end) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t r = begin; r < end; ++r) {
    for (const Part<T>& part : parts) {
      T* to = part.data + r * part.width;
      const T* from = whole + r * columns + part.first;
      for (std::int64_t c = 0; c < part.width; c += P) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, part.width - c));
        Lanes<T, P> value = load_first<T, P>(from + c, lanes);
        if (part.accumulate) value += load_first<T, P>(to + c, lanes);
        store_first<T, P>(to + c, value, lanes);
      }
    }
  }
}

void run_join(const JoinColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<Part<T>> parts = column_parts<T>(op.parts);
    for_ranges(context, op.whole.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      join_rows<T>(parts, op.whole.data<T>() + begin * op.whole.columns(), op.whole.columns(), begin, end);
    });
  });
}

void run_split(const SplitColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<Part<T>> parts;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < op.parts.size(); first += op.widths[i], ++i) {
      if (op.parts[i].defined()) parts.push_back({op.parts[i].data<T>(), op.widths[i], first, op.accumulate[i]});
    }
    for_ranges(context, op.whole.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      split_rows<T>(parts, op.whole.data<T>(), op.whole.columns(), begin, end);
    });
  });
}

const RegisterKernel<JoinColumns> vector_join{Numerics::cpu, {"vector", 10, nullptr, run_join}};
const RegisterKernel<SplitColumns> vector_split{Numerics::cpu, {"vector", 10, nullptr, run_split}};

}  // namespace
}  // namespace strobe
