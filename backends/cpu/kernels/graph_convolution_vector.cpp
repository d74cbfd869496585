// Vector graph convolution y = activation((A x) w): blocks of 128 rows are aggregated (gather.hpp) into `aggregated`,
// or into a block that stays in the first-level cache when nobody asked for it, and multiplied by w from there
// (tile.hpp). Tasks are rows of about equal numbers of non-zeros. Cost 2 F (nnz + R G) FLOPs; the aggregation is
// written once and never read from memory.
#include "backends/cpu/kernels/gather.hpp"
#include "backends/cpu/kernels/tile.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t block_rows = 128;

template <class T, bool with_relu>
void convolve_rows(const GraphConvolution& op, const CompressedView<T>& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const T* w = op.w.data<T>();
  std::vector<T> scratch(op.aggregated.defined() ? 0 : static_cast<std::size_t>(block_rows * inner + most_lanes<T>));
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t last = std::min(end, row + block_rows);
    T* sums = op.aggregated.defined() ? op.aggregated.data<T>() + row * inner : scratch.data();
    gather_rows(a, op.x.data<T>(), sums, inner, false, row, last);
    T* y = op.y.data<T>() + row * width;
    multiply(Factors<T>{sums, inner, 1, w, width, inner}, last - row, width,
             [=](std::int64_t i, std::int64_t column, int lanes, auto sum) {
               constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
               if constexpr (with_relu) sum = relu<T, P>(sum);
               store_first<T, P>(y + i * width + column, sum, lanes);
             });
  }
}

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<std::int64_t> bounds = balanced_rows(a);
    run_tasks(context, static_cast<std::int64_t>(bounds.size()) - 1, [&](std::int64_t i) {
      const std::int64_t begin = bounds[static_cast<std::size_t>(i)], end = bounds[static_cast<std::size_t>(i) + 1];
      op.activation == Activation::relu ? convolve_rows<T, true>(op, a, begin, end)
                                        : convolve_rows<T, false>(op, a, begin, end);
    });
  });
}

const RegisterKernel<GraphConvolution> vector{Numerics::cpu, {"vector", 10, nullptr, run_graph_convolution}};

}  // namespace
}  // namespace strobe
