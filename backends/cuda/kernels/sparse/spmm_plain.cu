// Plain sparse products: one thread per value of the result, entries in stored order. The transposed product takes the
// stored transpose where there is one; else one thread per (snapshot, feature) adds rows in order, which is slow and
// always the same. Cost: 2 nnz F FLOPs; per value of the result the row's indices and values once more (from the first
// level cache where F > 1) and one value of the input per entry.
#include "backends/cuda/kernels/sparse/compressed.hpp"

namespace strobe::cuda {
namespace spmm_plain_kernels {

void run_spmm(const Spmm& op, KernelContext& context) {
  constexpr int threads = 256;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, gather_values<T>, compressed<T>(op.a),
           op.x.data<T>(), op.y.data<T>(), op.y.columns(), op.accumulate);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    plain_transposed_product<T>(op.a, op.y.data<T>(), op.x.data<T>(), op.x.columns(), op.accumulate, context);
  });
}

const RegisterKernel<Spmm> plain{"cuda", {"plain", 0, nullptr, run_spmm}};
const RegisterKernel<SpmmTransposed> plain_transposed{"cuda", {"plain", 0, nullptr, run_spmm_transposed}};

}  // namespace spmm_plain_kernels
}  // namespace strobe::cuda
