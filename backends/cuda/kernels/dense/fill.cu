// y = value everywhere. Every thread writes elements one grid apart. Cost: each byte written once.
#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace fill_kernels {

template <class T>
__global__ void fill(T* y, std::int64_t n, T value) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) y[i] = value;
}

void run_fill(const Fill& op, KernelContext& context) {
  constexpr int threads = 256;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, fill<T>, op.y.data<T>(), n, static_cast<T>(op.value));
  });
}

const RegisterKernel<Fill> plain{"cuda", {"plain", 0, nullptr, run_fill}};

}  // namespace fill_kernels
}  // namespace strobe::cuda
