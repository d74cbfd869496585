// y += scale * x, one thread a value. Cost: both read once, y written once.
#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace add_scaled_plain_kernels {

template <class T>
__global__ void add_scaled(const T* x, T* y, std::int64_t n, T scale) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) y[i] += scale * x[i];
}

void run_add_scaled(const AddScaled& op, KernelContext& context) {
  constexpr int threads = 256;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, add_scaled<T>, op.x.data<T>(), op.y.data<T>(),
           op.y.elements(), static_cast<T>(op.scale));
  });
}

const RegisterKernel<AddScaled> plain{"cuda", {"plain", 0, nullptr, run_add_scaled}};

}  // namespace add_scaled_plain_kernels
}  // namespace strobe::cuda
