// Pairs of sparse products, one after the other: either fills a CPU's threads. Plain by plain products, else each by
// the kernel that it takes alone. Cost: that of both.
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_pair.hpp"

namespace strobe {
namespace {

template <class Pair>
void run_each(const Pair& op, KernelContext& context, const char* variant) {
  Kernels<decltype(op.first)>::choose(context.numerics, op.first, variant).run(op.first, context);
  Kernels<decltype(op.second)>::choose(context.numerics, op.second, variant).run(op.second, context);
}

template <class Pair>
void run_plain(const Pair& op, KernelContext& context) {
  run_each(op, context, "plain");
}

template <class Pair>
void run_best(const Pair& op, KernelContext& context) {
  run_each(op, context, "");
}

const RegisterKernel<SpmmPair> plain{"cpu", {"plain", 0, nullptr, run_plain<SpmmPair>}};
const RegisterKernel<SpmmPair> each{"cpu", {"each", 10, nullptr, run_best<SpmmPair>}};
const RegisterKernel<SpmmTransposedPair> plain_transposed{"cpu", {"plain", 0, nullptr, run_plain<SpmmTransposedPair>}};
const RegisterKernel<SpmmTransposedPair> each_transposed{"cpu", {"each", 10, nullptr, run_best<SpmmTransposedPair>}};

}  // namespace
}  // namespace strobe
