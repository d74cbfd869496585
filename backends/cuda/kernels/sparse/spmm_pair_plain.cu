// Pairs of sparse products by the plain kernels, one after the other. Launches: 2.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_pair.hpp"

namespace strobe::cuda {
namespace spmm_pair_plain_kernels {

template <class Pair>
void run(const Pair& op, KernelContext& context) {
  Kernels<decltype(op.first)>::choose(context.numerics, op.first, "plain").run(op.first, context);
  Kernels<decltype(op.second)>::choose(context.numerics, op.second, "plain").run(op.second, context);
}

const RegisterKernel<SpmmPair> plain{"cuda", {"plain", 0, nullptr, run<SpmmPair>}};
const RegisterKernel<SpmmTransposedPair> plain_transposed{"cuda", {"plain", 0, nullptr, run<SpmmTransposedPair>}};

}  // namespace spmm_pair_plain_kernels
}  // namespace strobe::cuda
