// Backward of the gated recurrent unit of up to 8 units in fp32 through all steps in one launch, its products on tensor
// cores: a warp has 16 vertices (recurrent_tensor.hpp), a block 64. Inputs are one for all gates or one for each, up to
// 24 columns together. Values of a step are read steps ahead; its gates are computed again, also where the operation
// has them, as soon as those of the step behind are used, and with them all that the gradients dz of the gates need
// beside dh. Between one step's dh and that of the next are the products of dz_n and the weights of r h, which give the
// gradient of r h and dz_r, and those of dz_r and dz_z. Products with [x_t | h_{t-1} | r h | 1], the gradients of the
// weights, are tiles of sums in registers (recurrent_tensor_backward.hpp); a second launch adds the blocks' parts.
// Cost: the compulsory bytes - x, y and dy once, dx once; for F = 8, H = 6 by count 60 tile products of 2048 FLOPs, 18
// special functions and some 510 instructions in all a warp and step. Of scratch 3 (F + h + 1) h doubles for each of
// at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_tensor_backward.hpp"

namespace strobe::cuda {
namespace gru_backward_tensor_kernels {

/// Device arrays and sizes; null where the operation has none.
struct Gru {
  const float *x, *w_x, *w_h, *bias, *start, *y, *dy;
  float *dx, *dstart;
  double* parts;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, columns, inputs, hidden;
  bool add_dx;

  /// Which of gate g's inputs a column of x is, or what is none of them.
  __device__ int input(int column, int g) const { return columns > inputs ? column - g * inputs : column; }
};

/// Weights by which gradients of the gates go back: inner terms are r and z of the first units, the same of the second
/// ones, and n of both.
template <class Sizes>
struct BackWeights {
  Parts<2> to_h[2][1], to_reset[1], to_x[3][Sizes::tiles];

  __device__ BackWeights(const Gru& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int g, int k, int u) {
      return k >= 0 && k < rows && u < op.hidden ? from[(g * rows + k) * op.hidden + u] : 0.0f;
    };
    const int state = own.group % 2 == 0 ? own.group / 2 : TileLane<Sizes>::second_unit(own.group / 2);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const auto unit = [&](int i) { return own.inner_unit(j < 2 ? j : i); };
      const auto gate = [&](int i) { return j < 2 ? i : 2; };
      (j < 2 ? to_h[j][0] : to_reset[0]) = parts_of(value(op.w_h, op.hidden, gate(0), state, unit(0)),
                                                    value(op.w_h, op.hidden, gate(1), state, unit(1)));
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int column = k * tile_inner + own.group;
        to_x[j][k] = parts_of(value(op.w_x, op.inputs, gate(0), op.input(column, gate(0)), unit(0)),
                              value(op.w_x, op.inputs, gate(1), op.input(column, gate(1)), unit(1)));
      }
    }
  }
};

/// Halves of the left factor of weight gradients: x, h, r h, and the bias's 1, which has a column behind those of h
/// where there is room.
template <class Sizes>
struct Layout {
  static constexpr int h = Sizes::tiles, reset = h + 1, halves = h + (Sizes::eight ? 3 : 2);
  static constexpr int ones = Sizes::eight ? (h + 2) * tile_inner : h * tile_inner + 7;
  static constexpr int shared_tiles = Sizes::eight ? (halves + 1) / 2 : reset / 2;  // that more than gate n has
  using Rows = TileRows<halves>;
  using Sums = TileWeightSums<Rows, 3>;
  static constexpr bool registers = !Sizes::eight && Sizes::tiles == 1;  // hold the weights
  using Weights = LaneParts<GruTileWeights<Sizes>, registers>;
  using Back = LaneParts<BackWeights<Sizes>, registers>;
  static constexpr std::size_t bytes = Rows::bytes + Weights::bytes + Back::bytes;

  /// Where weight k of half `half` lies in a part, or negative.
  __device__ static int place(const Gru& op, int half, int k, int u, int g) {
    const int column = half * tile_inner + k, input = op.input(column, g);
    if (u >= op.hidden) return -1;
    if (column == ones) return (3 * (op.inputs + op.hidden) + g) * op.hidden + u;
    if (half < h) return input >= 0 && input < op.inputs ? (g * op.inputs + input) * op.hidden + u : -1;
    if (k >= op.hidden || half != (g < 2 ? h : reset)) return -1;
    return (3 * op.inputs + g * op.hidden + k) * op.hidden + u;
  }
};

/// What a lane reads of a step t: x_t, and of its states h_{t-1} and dy_t.
template <class Sizes>
struct StepValues {
  float x[Sizes::tiles][4], h[Sizes::states], dy[Sizes::states];

  __device__ void clear() {
    for (int e = 0; e < Sizes::tiles * 4; ++e) x[e / 4][e % 4] = 0.0f;
    for (int i = 0; i < Sizes::states; ++i) h[i] = dy[i] = 0.0f;
  }
};

/// What a step's gradients are multiples of: dz of gates z and n are dh times their factors, dz of r the gradient of
/// r h times its own, which is also times r a share of dh before, as dh times z is. And r h itself.
template <int states>
struct Factors {
  float gate[3][states], r[states], z[states], reset[states];
};

/// A lane's share of a warp's vertices.
template <class Sizes>
struct LaneSteps {
  using Own = Layout<Sizes>;
  using Rows = typename Own::Rows;
  static constexpr int states = Sizes::states;
  const Gru& op;
  const TileLane<Sizes> own;
  const GruTileWeights<Sizes>& weights;
  const BackWeights<Sizes>& back;
  float* const rows;  // the warp's
  const std::int64_t first;
  const int count;
  TileInputs<Sizes> inputs;
  float* to_dx[2];  // as inputs.next, of the step that is computed
  bool valid[states];
  std::int64_t place[states];  // of the states, in the step that is read next
  StepValues<Sizes> ahead[Sizes::ahead];
  float dh[states];
  Factors<states> factors;
  typename Own::Sums sums;

  __device__ LaneSteps(const Gru& arrays, const GruTileWeights<Sizes>& lane_weights,
                       const BackWeights<Sizes>& lane_back, float* shared, std::int64_t vertex)
      : op(arrays),
        weights(lane_weights),
        back(lane_back),
        rows(shared),
        first(vertex),
        count(op.n - vertex < tile_vertices ? static_cast<int>(op.n > vertex ? op.n - vertex : 0) : tile_vertices),
        inputs(own, arrays.x + (arrays.steps - 1) * arrays.x_step + vertex * arrays.columns, arrays.columns, count) {
    sums.clear();
    if (count == 0) return;
    Rows::clear(rows, Own::ones);
    for (int r = 0; r < 2; ++r) to_dx[r] = op.dx == nullptr ? nullptr : op.dx + (inputs.next[r] - op.x);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count;
      place[i] = (op.steps - 1) * op.state_step + (first + own.row(i)) * op.hidden + own.unit(i);
      dh[i] = 0.0f;
    }
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      ahead[s].clear();
      bring(op.steps - 1 - s, ahead[s]);
    }
    prepare(ahead[0]);
    __syncwarp();
  }
  /// Reads step t, the one before that of the last call.
  __device__ void bring(int t, StepValues<Sizes>& to) {
    if (t < 0) return;
    inputs.bring(-op.x_step, to.x);
    const bool from = t > 0 || op.start != nullptr;
    const float* const h = t > 0 ? op.y - op.state_step : op.start;
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (valid[i]) to.dy[i] = op.dy[place[i]];
      to.h[i] = from && valid[i] ? h[place[i]] : 0.0f;
      place[i] -= op.state_step;
    }
  }
  /// The factors of the step with these values.
  __device__ void prepare(const StepValues<Sizes>& in) {
    TileSums sum[gru_gate_tiles];
    weights.add_inputs(in.x, sum);
    TileSums both[2]{sum[0], sum[1]}, candidate[1]{sum[2]};
    multiply_tiles(both, own.left(in.h), weights.of_h);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float r = quick_squash<1>(own.of_state(both[0], both[1], i, 0));
      factors.r[i] = r;
      factors.reset[i] = r * in.h[i];
      factors.gate[0][i] = factors.reset[i] * (1.0f - r);
    }
    multiply_tiles(candidate, own.left(factors.reset), weights.of_reset);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float z = quick_squash<1>(own.of_state(both[0], both[1], i, 1)),
                  n = quick_squash_both(own.of_state(candidate[0], i));
      factors.z[i] = z;
      factors.gate[1][i] = (in.h[i] - n) * z * (1.0f - z);
      factors.gate[2][i] = (1.0f - z) * (1.0f - n * n);
    }
  }
  /// The step's gradients to the warp's rows, beside what they are multiplied with.
  __device__ void stage(const StepValues<Sizes>& in, const float (&dz)[3][states]) const {
    stage_inputs<Sizes, Rows>(own, in.x, rows);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      float* const row = rows + own.row(i) * Rows::row;
      row[Rows::factors + Own::h * tile_inner + own.unit(i)] = in.h[i];
      row[Rows::factors + Own::reset * tile_inner + own.unit(i)] = factors.reset[i];
      reinterpret_cast<Gates<float>*>(row)[own.unit(i)] = {{dz[0][i], dz[1][i], dz[2][i], 0.0f}};
    }
  }
  /// Gradients of the gates from dh, which becomes that of the step before but for the products of_h.
  __device__ void multiply_back(const StepValues<Sizes>& in, float (&dz)[3][states], TileSums (&of_h)[2][1],
                                TileSums (&of_x)[Sizes::tiles]) {
#pragma unroll
    for (int i = 0; i < states; ++i) {
      dh[i] += in.dy[i];
      for (int g = 1; g < 3; ++g) dz[g][i] = dh[i] * factors.gate[g][i];
    }
    TileSums of_reset[1] = {};
    const Parts<4> left = own.left(dz[2]);
    multiply_tiles(of_reset, left, back.to_reset);
    multiply_tiles(of_x, left, back.to_x[2]);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float reset = own.of_state(of_reset[0], i);
      dz[0][i] = reset * factors.gate[0][i];
      dh[i] = dh[i] * factors.z[i] + reset * factors.r[i];
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const Parts<4> both = own.left_of(j == 1, dz[0], dz[1]);
      multiply_tiles(of_h[j], both, back.to_h[j]);
      multiply_tiles(of_x, both, back.to_x[j]);
    }
  }
  /// Step t with its values, whose place the step `ahead` before it takes; `next` are those of the step before it (of
  /// any at the first step: nobody uses what comes of them). Results of products are used last, so that the products
  /// of the weights' gradients and those of the gates are on their way meanwhile.
  __device__ void step(int t, StepValues<Sizes>& in, const StepValues<Sizes>& next) {
    float dz[3][states];
    TileSums of_h[2][1] = {}, of_x[Sizes::tiles] = {};
    multiply_back(in, dz, of_h, of_x);
    stage(in, dz);
    __syncwarp();
    bring(t - Sizes::ahead, in);
    sums.template add<Own::shared_tiles>(rows);
    prepare(next);
#pragma unroll
    for (int i = 0; i < states; ++i) dh[i] += own.of_state(of_h[0][0], i) + own.of_state(of_h[1][0], i);
    if (op.dx != nullptr) {
      put_inputs<Sizes>(inputs, of_x, to_dx, op.add_dx);
      for (int r = 0; r < 2; ++r) to_dx[r] -= op.x_step;
    }
    __syncwarp();
  }
  __device__ void put_start() const {
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (valid[i]) op.dstart[(first + own.row(i)) * op.hidden + own.unit(i)] = dh[i];
    }
  }
};

template <class Sizes>
__global__ void __launch_bounds__(tile_threads, 2) backward(Gru op) {
  using Own = Layout<Sizes>;
  using Rows = typename Own::Rows;
  auto* const memory = dynamic_shared<std::byte>();
  auto* const shared = reinterpret_cast<float*>(memory + Own::Weights::bytes + Own::Back::bytes);
  const TileLane<Sizes> own;
  const typename Own::Weights weights(memory, op, own);
  const typename Own::Back back(memory + Own::Weights::bytes, op, own);
  constexpr std::int64_t vertices = tile_vertices * tile_warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{3} * op.hidden * (op.inputs + op.hidden + 1);
  for (std::int64_t tile = blockIdx.x; tile * vertices < op.n; tile += gridDim.x) {
    LaneSteps<Sizes> lane_steps(op, weights.own(), back.own(), shared + warp() * Rows::values,
                                tile * vertices + warp() * tile_vertices);
    for (int t = op.steps - 1; t >= 0 && lane_steps.count > 0; t -= Sizes::ahead) {
#pragma unroll
      for (int s = 0; s < Sizes::ahead; ++s) {
        if (t >= s) lane_steps.step(t - s, lane_steps.ahead[s], lane_steps.ahead[(s + 1) % Sizes::ahead]);
      }
    }
    if (op.dstart != nullptr && lane_steps.count > 0) lane_steps.put_start();
    lane_steps.sums.flush(shared, part, tile == blockIdx.x,
                          [&](int half, int k, int u, int g) { return Own::place(op, half, k, u, g); });
  }
}

bool supports(const GruSequenceBackward& op) {
  return op.y.type() == ElementType::f32 && op.x.columns() > 0 && op.x.columns() <= most_gru_tile_columns &&
         op.w_h.columns() <= narrow_hidden && has_tile_products();
}

Gru arrays_of(const GruSequenceBackward& op, double* parts) {
  return {op.x.data<float>(),
          op.w_x.data<float>(),
          op.w_h.data<float>(),
          op.bias.data<float>(),
          op.start.data<float>(),
          op.y.data<float>(),
          op.dy.data<float>(),
          op.dx.data<float>(),
          op.dstart.data<float>(),
          parts,
          op.vertices(),
          op.vertices() * op.x.columns(),
          op.vertices() * op.w_h.columns(),
          static_cast<int>(op.steps),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w_x.rows() / 3),
          static_cast<int>(op.w_h.columns()),
          op.accumulate_dx};
}

template <class Sizes>
void run_sizes(const GruSequenceBackward& op, const KernelContext& context) {
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), tile_vertices * tile_warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  launch(context, blocks, tile_threads, Layout<Sizes>::bytes, backward<Sizes>, arrays_of(op, parts));
  add_recurrent_parts<float>(context, op, parts, blocks);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  const std::int64_t columns = op.x.columns();
  const bool fits =
      op.w_h.columns() <= 6 && reads_pairs(op.x.data<float>(), columns) && reads_pairs(op.dx.data<float>(), columns);
  if (fits && columns <= 8) return run_sizes<TileSizes<1, false, true, 2>>(op, context);
  if (fits) return run_sizes<TileSizes<3, false, true, 2>>(op, context);
  run_sizes<TileSizes<3, true, false, 2>>(op, context);
}

const RegisterKernel<GruSequenceBackward> tensor{Numerics::cuda, {"tensor", 3, supports, run}};

}  // namespace gru_backward_tensor_kernels
}  // namespace strobe::cuda
