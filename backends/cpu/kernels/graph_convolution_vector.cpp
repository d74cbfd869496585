// Vector graph convolution y = activation((A x) w): blocks of 128 rows are aggregated (gather.hpp) and multiplied by w
// (layer_block.hpp). Tasks are rows of about equal numbers of non-zeros. Cost 2 F (nnz + R G) FLOPs; the aggregation is
// written once and never read from memory.
#include "backends/cpu/kernels/gather.hpp"
#include "backends/cpu/kernels/layer_block.hpp"

namespace strobe {
namespace {

using namespace cpu;

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<std::int64_t> bounds = balanced_rows(a);
    run_tasks(context, static_cast<std::int64_t>(bounds.size()) - 1, [&](std::int64_t i) {
      const std::int64_t begin = bounds[static_cast<std::size_t>(i)], end = bounds[static_cast<std::size_t>(i) + 1];
      convolve_blocks<T>(op, begin, end, [&](T* sums, std::int64_t first, std::int64_t last) {
        gather_rows(a, op.x.data<T>(), sums, op.x.columns(), false, first, last);
      });
    });
  });
}

const RegisterKernel<GraphConvolution> vector{Numerics::cpu, {"vector", 10, nullptr, run_graph_convolution}};

}  // namespace
}  // namespace strobe
