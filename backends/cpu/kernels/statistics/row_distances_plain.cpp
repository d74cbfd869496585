// Distances between rows, each summed in double in the order of its columns. Cost: both matrices read once.
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_distance.hpp"

namespace strobe {
namespace {

void run_row_distances(const RowDistances& op, KernelContext& context) {
  constexpr std::int64_t rows_per_task = 4096;
  cpu::with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.x.columns();
    const T *const x = op.x.data<T>(), *const y = op.y.data<T>();
    double* const to = op.distance.data<double>();
    cpu::for_ranges(context, op.x.rows(), rows_per_task, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) to[r] = row_distance(x + r * width, y + r * width, width);
    });
  });
}

const RegisterKernel<RowDistances> row_distances_plain{"cpu", {"plain", 0, nullptr, run_row_distances}};

}  // namespace
}  // namespace strobe
