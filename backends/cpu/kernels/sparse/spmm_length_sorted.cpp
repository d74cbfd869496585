// Sparse products on a matrix whose rows lie by length (length_sorted_rows.hpp). Tasks are whole blocks of rows
// (step_ranges.hpp).
#include "backends/cpu/kernels/sparse/layer_block.hpp"
#include "backends/cpu/kernels/sparse/length_sorted_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// out (+)= A in.
void product(const LengthSortedMatrix& sorted, const SparseMatrix& a, const Tensor& in, const Tensor& out,
             bool accumulate, const KernelContext& context) {
  for_sorted_ranges(sorted, a, in, context, [&](const auto& view, const auto& from, const StepRange& range) {
    using T = std::remove_cvref_t<decltype(*view.values)>;
    gather_sorted_rows(view, from, out.data<T>() + range.begin * from.width, accumulate, range.begin, range.end);
  });
}

void run_spmm(const Spmm& op, KernelContext& context) {
  product(*op.a.by_length, op.a, op.x, op.y, op.accumulate, context);
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  product(*op.a.transpose_by_length, op.a, op.y, op.x, op.accumulate, context);
}

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  for_sorted_ranges(
      *op.a.by_length, op.a, op.x, context, [&](const auto& view, const auto& from, const StepRange& range) {
        using T = std::remove_cvref_t<decltype(*view.values)>;
        convolve_blocks<T>(op, range.begin, range.end, [&](T* sums, std::int64_t first, std::int64_t last) {
          gather_sorted_rows(view, from, sums, false, first, last);
        });
      });
}

const RegisterKernel<Spmm> spmm{
    "cpu", {"length_sorted", 15, [](const Spmm& op) { return serves(op.a.by_length, op.x); }, run_spmm}};
const RegisterKernel<SpmmTransposed> spmm_transposed{
    "cpu",
    {"length_sorted", 15, [](const SpmmTransposed& op) { return serves(op.a.transpose_by_length, op.y); },
     run_spmm_transposed}};
const RegisterKernel<GraphConvolution> graph_convolution{
    "cpu",
    {"length_sorted", 15, [](const GraphConvolution& op) { return serves(op.a.by_length, op.x); },
     run_graph_convolution}};

}  // namespace
}  // namespace strobe
