// LSTM of up to 8 units and 16 inputs in fp32 over all steps in one launch, its products on tensor cores: a warp has 16
// vertices (recurrent_tensor.hpp), so that 16384 vertices are 1024 warps, which an H100 has at once. Weights of all
// gates are a lane's right factors, in registers; x_t is read steps ahead, straight into the left factor, and its
// products are added up a step ahead; those with h_{t-1} follow as soon as it is there. No shared memory, no barriers,
// no scratch. Cost: the compulsory bytes - x, y and cells once; for F = 8, H = 6 by count 24 tile products of 2048
// FLOPs, 30 special functions and some 220 instructions in all a warp and step.
#include "backends/cuda/kernels/recurrence/recurrent_tensor.hpp"

namespace strobe::cuda {
namespace lstm_tensor_kernels {

/// Device arrays and sizes; null where the operation has none.
struct Lstm {
  const float *x, *w_x, *w_h, *bias, *start;
  float *y, *cells, *gates;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, inputs, hidden;
};

/// A lane's share of a warp's vertices.
template <class Sizes>
struct LaneSteps {
  const Lstm& op;
  const TileLane<Sizes> own;
  const LstmTileWeights<Sizes> weights;
  const std::int64_t first;  // vertex of the tile
  TileInputs<Sizes> inputs;
  bool valid[Sizes::states];
  unsigned place[Sizes::states];  // of the states, in bytes from the tile's first one
  float h[Sizes::states], c[Sizes::states], x[Sizes::ahead][Sizes::tiles][4];
  TileSums sums[lstm_gate_tiles];  // of the step that is next, without h

  __device__ explicit LaneSteps(const Lstm& arrays)
      : op(arrays),
        weights(arrays, own),
        first(static_cast<std::int64_t>(blockIdx.x) * tile_vertices),
        inputs(own, arrays.x + first * arrays.inputs, arrays.inputs, count()) {
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count();
      const int at = own.row(i) * op.hidden + own.unit(i);
      place[i] = static_cast<unsigned>(at) * sizeof(float);
      const bool from = valid[i] && op.start != nullptr;
      h[i] = from ? op.start[first * op.hidden + at] : 0.0f;
      c[i] = from ? op.start[op.state_step + first * op.hidden + at] : 0.0f;
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
  __device__ void put(float* to, int i, float value) const {
    if (valid[i]) *reinterpret_cast<float*>(reinterpret_cast<char*>(to) + place[i]) = value;
  }
  /// Step t, with x of step t + 1, whose place the step `ahead` behind that takes.
  __device__ void step(int t, float (&next)[Sizes::tiles][4]) {
    TileSums sum[lstm_gate_tiles];
    for (int j = 0; j < lstm_gate_tiles; ++j) sum[j] = sums[j];
    multiply_tiles(sum, own.left(h), weights.of_h);
    weights.add_inputs(next, sums);
    if (t + 1 + Sizes::ahead < op.steps) inputs.bring(op.x_step, next);
    const std::int64_t at = t * op.state_step + first * op.hidden;
    Gates<float> gate[Sizes::states];
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i] = lstm_gates(own, sum, i);
      c[i] = gate[i].of[1] * c[i] + gate[i].of[0] * gate[i].of[2];
      h[i] = gate[i].of[3] * quick_squash_both(c[i]);
    }
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      put(op.y + at, i, h[i]);
      put(op.cells + at, i, c[i]);
    }
    if (op.gates == nullptr) return;
    for (int i = 0; i < Sizes::states; ++i) {
      float* const to = op.gates + 4 * (at + own.row(i) * op.hidden) + own.unit(i);
      for (int g = 0; g < 4 && valid[i]; ++g) to[g * op.hidden] = gate[i].of[g];
    }
  }
};

template <class Sizes>
__global__ void __launch_bounds__(warp_lanes, 12) forward(Lstm op) {
  LaneSteps<Sizes> lane_steps(op);
  for (int t = 0; t < op.steps; t += Sizes::ahead) {
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      if (t + s < op.steps) lane_steps.step(t + s, lane_steps.x[(s + 1) % Sizes::ahead]);
    }
  }
}

bool supports(const LstmSequence& op) {
  return op.y.type() == ElementType::f32 && op.x.columns() > 0 && op.x.columns() <= narrow_inputs &&
         op.w_h.rows() <= narrow_hidden && !op.x_right.defined() && !op.w_in.defined() && has_tile_products();
}

void run(const LstmSequence& op, KernelContext& context) {
  const std::int64_t n = op.vertices(), inputs = op.x.columns(), hidden = op.w_h.rows();
  const Lstm arrays{op.x.data<float>(),
                    op.w_x.data<float>(),
                    op.w_h.data<float>(),
                    op.bias.data<float>(),
                    op.start.data<float>(),
                    op.y.data<float>(),
                    op.cells.data<float>(),
                    op.gates.data<float>(),
                    n,
                    n * inputs,
                    n * hidden,
                    static_cast<int>(op.steps),
                    static_cast<int>(inputs),
                    static_cast<int>(hidden)};
  const std::int64_t blocks = divide_up(n, tile_vertices);
  const bool fits = hidden <= 6 && reads_pairs(arrays.x, inputs);
  const auto kernel = fits && inputs <= 8    ? forward<TileSizes<1, false, true, 4>>
                      : fits && inputs <= 12 ? forward<TileSizes<2, false, true, 2>>
                                             : forward<TileSizes<2, true, false, 2>>;
  launch(context, blocks, warp_lanes, 0, kernel, arrays);
}

const RegisterKernel<LstmSequence> tensor{Numerics::cuda, {"tensor", 3, supports, run}};

}  // namespace lstm_tensor_kernels
}  // namespace strobe::cuda
