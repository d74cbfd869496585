// y += scale * x in vectors of up to 16 bytes where addresses allow. Compulsory bytes: both read once, y written once.
#include "backends/cuda/kernels/pack.hpp"

namespace strobe::cuda {
namespace add_scaled_packs_kernels {

template <class T, int V>
__global__ void add_packs(const Pack<T, V>* __restrict__ x, Pack<T, V>* __restrict__ y, std::int64_t n, T scale) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const Pack<T, V> in = x[i];
    Pack<T, V> sum = y[i];
    for (int v = 0; v < V; ++v) sum.at[v] += scale * in.at[v];
    y[i] = sum;
  }
}

void run_add_scaled(const AddScaled& op, KernelContext& context) {
  constexpr int threads = 256;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto fits = [&](std::size_t bytes) {
      return takes_packs(op.x.raw(), op.x.elements(), sizeof(T), bytes) &&
             takes_packs(op.y.raw(), op.y.elements(), sizeof(T), bytes);
    };
    with_pack<T>(fits, [&](auto length) {
      constexpr int V = decltype(length)::value;
      const std::int64_t packs = op.y.elements() / V;
      launch(context, blocks_for(packs, threads), threads, 0, add_packs<T, V>,
             reinterpret_cast<const Pack<T, V>*>(op.x.raw()), reinterpret_cast<Pack<T, V>*>(op.y.raw()), packs,
             static_cast<T>(op.scale));
    });
  });
}

/// x may be y itself, for which the plain kernel is.
bool is_apart(const AddScaled& op) { return op.x.raw() != op.y.raw(); }

const RegisterKernel<AddScaled> packs{"cuda", {"packs", 10, is_apart, run_add_scaled}};

}  // namespace add_scaled_packs_kernels
}  // namespace strobe::cuda
