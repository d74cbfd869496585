// Distances between rows, one thread a row, each summed in double in the order of its columns. Cost: both matrices read
// once; one launch.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_distance.hpp"

namespace strobe::cuda {
namespace row_distances_plain_kernels {

template <class T>
__global__ void row_distances(const T* x, const T* y, double* distance, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = grid_thread(); r < rows; r += grid_threads()) {
    double squares = 0;
    for (std::int64_t f = 0; f < width; ++f) {
      const double moved = static_cast<double>(x[r * width + f]) - static_cast<double>(y[r * width + f]);
      squares += moved * moved;
    }
    distance[r] = std::sqrt(squares);
  }
}

void run_row_distances(const RowDistances& op, KernelContext& context) {
  constexpr int threads = 128;
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.x.rows(), threads), threads, 0, row_distances<T>, op.x.data<T>(), op.y.data<T>(),
           op.distance.data<double>(), op.x.rows(), op.x.columns());
  });
}

const RegisterKernel<RowDistances> plain{"cuda", {"plain", 0, nullptr, run_row_distances}};

}  // namespace row_distances_plain_kernels
}  // namespace strobe::cuda
