// Gated recurrent unit of up to 8 units in fp32 over all steps in one launch, its products on tensor cores: a warp has
// 16 vertices (recurrent_tensor.hpp), so that 16384 vertices are 1024 warps, which an H100 has at once. x_t, of one
// input for all gates or one for each (up to 24 columns together), is one left factor: weights of other gates' inputs
// are zero. It is read steps ahead and its products are added up a step ahead; those of gates r and z with h follow as
// soon as h is there, and those of n with r h behind them. No shared memory, no barriers, no scratch. Cost: the
// compulsory bytes - x and y once; for F = 8, H = 6 by count 18 tile products of 2048 FLOPs, 18 special functions and
// some 180 instructions in all a warp and step.
#include "backends/cuda/kernels/recurrence/recurrent_tensor.hpp"

namespace strobe::cuda {
namespace gru_tensor_kernels {

/// Device arrays and sizes; null where the operation has none.
struct Gru {
  const float *x, *w_x, *w_h, *bias, *start;
  float *y, *gates;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, columns, inputs, hidden;
};

/// A lane's share of a warp's vertices.
template <class Sizes>
struct LaneSteps {
  const Gru& op;
  const TileLane<Sizes> own;
  const GruTileWeights<Sizes> weights;
  const std::int64_t first;  // vertex of the tile
  TileInputs<Sizes> inputs;
  bool valid[Sizes::states];
  unsigned place[Sizes::states];  // of the states, in bytes from the tile's first one
  float h[Sizes::states], x[Sizes::ahead][Sizes::tiles][4];
  TileSums sums[gru_gate_tiles];  // of the step that is next, without h

  __device__ explicit LaneSteps(const Gru& arrays)
      : op(arrays),
        weights(arrays, own),
        first(static_cast<std::int64_t>(blockIdx.x) * tile_vertices),
        inputs(own, arrays.x + first * arrays.columns, arrays.columns, count()) {
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count();
      const int at = own.row(i) * op.hidden + own.unit(i);
      place[i] = static_cast<unsigned>(at) * sizeof(float);
      h[i] = valid[i] && op.start != nullptr ? op.start[first * op.hidden + at] : 0.0f;
    }
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      for (int e = 0; e < Sizes::tiles * 4; ++e) x[s][e / 4][e % 4] = 0.0f;
      if (s < op.steps) inputs.bring(op.x_step, x[s]);
    }
    weights.add_inputs(x[0], sums);
    if (Sizes::ahead < op.steps) inputs.bring(op.x_step, x[0]);
  }
  __device__ int count() const { return op.n - first < tile_vertices ? static_cast<int>(op.n - first) : tile_vertices; }
  /// Step t, with x of step t + 1, whose place the step `ahead` behind that takes.
  __device__ void step(int t, float (&next)[Sizes::tiles][4]) {
    TileSums both[2]{sums[0], sums[1]}, candidate[1]{sums[2]};
    multiply_tiles(both, own.left(h), weights.of_h);
    weights.add_inputs(next, sums);
    if (t + 1 + Sizes::ahead < op.steps) inputs.bring(op.x_step, next);
    Gates<float> gate[Sizes::states];
    float reset[Sizes::states];
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i].of[0] = quick_squash<1>(own.of_state(both[0], both[1], i, 0));
      reset[i] = gate[i].of[0] * h[i];
    }
    multiply_tiles(candidate, own.left(reset), weights.of_reset);
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) gate[i].of[1] = quick_squash<1>(own.of_state(both[0], both[1], i, 1));
    const std::int64_t at = t * op.state_step + first * op.hidden;
    float* const to = op.y + at;
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i].of[2] = quick_squash_both(own.of_state(candidate[0], i));
      h[i] = gate[i].of[1] * h[i] + (1.0f - gate[i].of[1]) * gate[i].of[2];
      if (valid[i]) *reinterpret_cast<float*>(reinterpret_cast<char*>(to) + place[i]) = h[i];
    }
    if (op.gates == nullptr) return;
    for (int i = 0; i < Sizes::states; ++i) {
      float* const all = op.gates + 3 * (at + own.row(i) * op.hidden) + own.unit(i);
      for (int g = 0; g < 3 && valid[i]; ++g) all[g * op.hidden] = gate[i].of[g];
    }
  }
};

template <class Sizes>
__global__ void __launch_bounds__(warp_lanes, 12) forward(Gru op) {
  LaneSteps<Sizes> lane_steps(op);
  for (int t = 0; t < op.steps; t += Sizes::ahead) {
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      if (t + s < op.steps) lane_steps.step(t + s, lane_steps.x[(s + 1) % Sizes::ahead]);
    }
  }
}

bool supports(const GruSequence& op) {
  return op.y.type() == ElementType::f32 && op.x.columns() > 0 && op.x.columns() <= most_gru_tile_columns &&
         op.w_h.columns() <= narrow_hidden && has_tile_products();
}

void run(const GruSequence& op, KernelContext& context) {
  const std::int64_t n = op.vertices(), columns = op.x.columns(), hidden = op.w_h.columns();
  const Gru arrays{op.x.data<float>(),
                   op.w_x.data<float>(),
                   op.w_h.data<float>(),
                   op.bias.data<float>(),
                   op.start.data<float>(),
                   op.y.data<float>(),
                   op.gates.data<float>(),
                   n,
                   n * columns,
                   n * hidden,
                   static_cast<int>(op.steps),
                   static_cast<int>(columns),
                   static_cast<int>(op.w_x.rows() / 3),
                   static_cast<int>(hidden)};
  const bool fits = hidden <= 6 && reads_pairs(arrays.x, columns);
  const auto kernel = fits && columns <= 8 ? forward<TileSizes<1, false, true, 4>>
                      : fits               ? forward<TileSizes<3, false, true, 2>>
                                           : forward<TileSizes<3, true, false, 2>>;
  launch(context, divide_up(n, tile_vertices), warp_lanes, 0, kernel, arrays);
}

const RegisterKernel<GruSequence> tensor{Numerics::cuda, {"tensor", 3, supports, run}};

}  // namespace gru_tensor_kernels
}  // namespace strobe::cuda
