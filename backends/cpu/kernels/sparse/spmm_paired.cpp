// Sparse products on a matrix stored two steps at a time (paired_rows.hpp says how); x is read once from memory.
#include "backends/cpu/kernels/sparse/layer_block.hpp"
#include "backends/cpu/kernels/sparse/paired_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
bool fits(const std::shared_ptr<const PairedMatrix>& paired, std::int64_t width) {
  return paired != nullptr && paired->values.type() == element_type_of<T> && width > 0 && 2 * width <= most_lanes<T>;
}

bool supported(const std::shared_ptr<const PairedMatrix>& paired, const Tensor& x) {
  return x.type() == ElementType::f32 ? fits<float>(paired, x.columns()) : fits<double>(paired, x.columns());
}

/// out (+)= A in.
template <class T, class Column>
void product(const PairedMatrix& a, const T* in, T* out, std::int64_t width, bool accumulate,
             const KernelContext& context) {
  for_pairs<T, Column>(a, in, width, context, [&](std::int64_t p, const auto& view, auto lanes) {
    const StepPair<T> rows(a, out, width, p);
    gather_pair<T, Column, decltype(lanes)::value>(view, rows.first, rows.second, width, accumulate, 0, a.step_rows);
  });
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_types(*op.a.paired, [&](auto zero, auto column) {
    using T = decltype(zero);
    product<T, decltype(column)>(*op.a.paired, op.x.data<T>(), op.y.data<T>(), op.x.columns(), op.accumulate, context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_types(*op.a.paired_transpose, [&](auto zero, auto column) {
    using T = decltype(zero);
    product<T, decltype(column)>(*op.a.paired_transpose, op.y.data<T>(), op.x.data<T>(), op.y.columns(), op.accumulate,
                                 context);
  });
}

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t inner = op.x.columns();
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    T* kept = op.aggregated.defined() ? op.aggregated.data<T>() : nullptr;
    gather_blocks<T, Column>(a, op.x.data<T>(), inner, kept, context,
                             [&](std::int64_t step, const T* sums, std::int64_t begin, std::int64_t end) {
                               multiply_block<T>(op, sums, step * a.step_rows + begin, end - begin);
                             });
  });
}

const RegisterKernel<Spmm> spmm_paired{
    "cpu", {"paired", 20, [](const Spmm& op) { return supported(op.a.paired, op.x); }, run_spmm}};
const RegisterKernel<SpmmTransposed> spmm_transposed_paired{
    "cpu",
    {"paired", 20, [](const SpmmTransposed& op) { return supported(op.a.paired_transpose, op.y); },
     run_spmm_transposed}};
const RegisterKernel<GraphConvolution> graph_convolution_paired{
    "cpu",
    {"paired", 20, [](const GraphConvolution& op) { return supported(op.a.paired, op.x); }, run_graph_convolution}};

}  // namespace
}  // namespace strobe
