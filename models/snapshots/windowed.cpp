#include "models/snapshots/windowed.hpp"

#include <algorithm>

#include "models/ops/ops.hpp"
#include "models/ops/ops_fading.hpp"

namespace strobe {

TemporalOutput windowed_m_transform(Tape& tape, const TemporalInput& input, std::int64_t window, bool fades) {
  if (input.packed != nullptr) return {spmm(tape, *input.packed->window, input.x), nullptr};
  const std::int64_t n = input.rows_per_step;
  const std::int64_t before = std::min(window - 1, input.first_step);
  TemporalOutput output;
  Var x = input.x;
  if (before > 0) {
    if (!input.state) throw Error("windowed_m_transform: a segment in the middle needs the rows before it");
    x = concat_rows(tape, {input.state, input.x});
  }
  // The rows before either begin at step 0, or are w - 1 many: so every output that is kept has its own denominator
  // min(w, t + 1) when the extended segment is taken for a timeline.
  const std::int64_t steps = before + input.steps;
  const Var y = fades ? fading_sum(tape, x, steps, window) : m_transform(tape, x, steps, window);
  output.y = slice_rows(tape, y, before * n, input.steps * n);
  if (input.want_state) {
    const std::int64_t behind = std::min(window - 1, input.first_step + input.steps);
    output.state = slice_rows(tape, x, (before + input.steps - behind) * n, behind * n);
  }
  return output;
}

}  // namespace strobe
