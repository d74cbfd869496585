// Vector graph convolution y = activation((A x) w): blocks of 128 rows are aggregated (gather.hpp) and multiplied by w
// (layer_block.hpp). Tasks are those of step_ranges.hpp, of whole blocks: a row has the same place in a tile
// whatever the number of threads, so that it gets the same bits from every compiler. Cost 2 F (nnz + R G) FLOPs; the
// aggregation is written once and never read from memory.
#include "backends/cpu/kernels/sparse/layer_block.hpp"
#include "backends/cpu/kernels/sparse/step_ranges.hpp"

namespace strobe {
namespace {

using namespace cpu;

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    for_step_ranges(a, op.a, op.x, length_block_rows, context, [&](const StepRange& range) {
      bring_in(op.x.data<T>(), op.x.columns(), range);
      convolve_blocks<T>(op, range.begin, range.end, [&](T* sums, std::int64_t first, std::int64_t last) {
        gather_rows(a, op.x.data<T>(), sums, op.x.columns(), false, first, last);
      });
    });
  });
}

const RegisterKernel<GraphConvolution> vector{"cpu", {"vector", 10, nullptr, run_graph_convolution}};

}  // namespace
}  // namespace strobe
