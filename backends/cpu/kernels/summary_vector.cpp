// Fast choice of a step's best rows: scores of a block of rows by the tiles of tile.hpp, then a comparison with the
// worst score that is still kept; what a row is connected to and which vertex it is are only asked for rows that may
// enter. Steps are the tasks. Cost one pass over x.
#include "backends/cpu/kernels/candidates.hpp"
#include "backends/cpu/kernels/tile.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t block = 256;

template <class T>
void pick_step(const PickCandidates& op, std::int64_t step, double length) {
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const std::int64_t width = op.x.columns();
  Best best(op.k);
  T scores[block];
  for (std::int64_t first = rows[step]; first < rows[step + 1]; first += block) {
    const std::int64_t count = std::min(block, rows[step + 1] - first);
    const T* x = op.x.data<T>() + first * width;
    multiply(Factors<T>{x, width, 1, op.direction.data<T>(), 1, width}, count, 1,
             [&](std::int64_t row, std::int64_t, int lanes, auto sum) {
               store_first<T, sizeof(sum) / sizeof(T)>(scores + row, sum, lanes);
             });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first + i;
      const double score = static_cast<double>(static_cast<T>(static_cast<double>(scores[i]) / length));
      if (score < best.threshold() || (op.only_connected && !is_connected(op.a, row))) continue;
      best.offer({score, op.ids.data<std::int64_t>()[row] % op.vertices, row});
    }
  }
  put_candidates<T>(op, step, best.kept());
}

void run_pick(const PickCandidates& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { pick_step<T>(op, t, length); });
  });
}

const RegisterKernel<PickCandidates> pick{Numerics::cpu, {"vector", 10, nullptr, run_pick}};

}  // namespace
}  // namespace strobe
