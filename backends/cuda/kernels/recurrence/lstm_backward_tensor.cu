// Backward of the LSTM of up to 8 units and 16 inputs in fp32 through all steps in one launch, its products on tensor
// cores: a warp has 16 vertices (recurrent_tensor.hpp), a block 64. Values of a step are read steps ahead; its gates
// are computed again, also where the operation has them, as soon as those of the step behind are used, and with them
// all that the gradients dz of the gates need beside dh. What is left between one step's dh and that of the next are a
// few multiplications and the products of dz and the weights. Those with [x_t | h_{t-1} | 1], the gradients of the
// weights, are tiles of sums in registers (recurrent_tensor_backward.hpp); a second launch adds the blocks' parts.
// Cost: the compulsory bytes - x, y, cells and dy once, dx once; for F = 8, H = 6 by count 72 tile products of 2048
// FLOPs, 30 special functions and some 600 instructions in all a warp and step. Of scratch (F + h + 1) 4 h doubles for
// each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_tensor_backward.hpp"

namespace strobe::cuda {
namespace lstm_backward_tensor_kernels {

/// Device arrays and sizes; null where the operation has none.
struct Lstm {
  const float *x, *w_x, *w_h, *bias, *start, *y, *cells, *dy, *dlast;
  float *dx, *dstart;
  double* parts;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, inputs, hidden;
  bool add_dx;
};

/// Weights by which gradients of the gates go back: inner terms are i and f of the first units, g and o, and the same
/// of the second ones.
template <class Sizes>
struct BackWeights {
  Parts<2> to_h[4][1], to_x[4][Sizes::tiles];

  __device__ BackWeights(const Lstm& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int k, int u, int g) {
      return k < rows && u < op.hidden ? from[(k * 4 + g) * op.hidden + u] : 0.0f;
    };
    const int state = own.group % 2 == 0 ? own.group / 2 : TileLane<Sizes>::second_unit(own.group / 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int u = own.inner_unit(j / 2), g = j % 2 * 2;
      to_h[j][0] = parts_of(value(op.w_h, op.hidden, state, u, g), value(op.w_h, op.hidden, state, u, g + 1));
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int input = k * tile_inner + own.group;
        to_x[j][k] = parts_of(value(op.w_x, op.inputs, input, u, g), value(op.w_x, op.inputs, input, u, g + 1));
      }
    }
  }
};

/// Halves of the left factor of weight gradients: x, h, and the bias's 1, which has a column behind the states where
/// there is room.
template <class Sizes>
struct Layout {
  static constexpr int h = Sizes::tiles, halves = h + (Sizes::eight ? 2 : 1);
  static constexpr int ones = Sizes::eight ? (h + 1) * tile_inner : h * tile_inner + 7;
  using Rows = TileRows<halves>;
  using Sums = TileWeightSums<Rows, 4>;
  // Registers hold the weights that lead to the gates, where there is room.
  using Weights = LaneParts<LstmTileWeights<Sizes>, !Sizes::eight && Sizes::tiles == 1>;
  using Back = LaneParts<BackWeights<Sizes>, false>;
  static constexpr std::size_t bytes = Rows::bytes + Weights::bytes + Back::bytes;

  /// Where weight k of half `half` lies in a part, or negative.
  __device__ static int place(const Lstm& op, int half, int k, int u, int g) {
    const int column = half * tile_inner + k, unit = column - h * tile_inner;
    if (u >= op.hidden) return -1;
    if (column == ones) return ((op.inputs + op.hidden) * 4 + g) * op.hidden + u;
    if (half < h ? column >= op.inputs : unit >= op.hidden) return -1;
    return ((half < h ? column : op.inputs + unit) * 4 + g) * op.hidden + u;
  }
};

/// What a lane reads of a step t: x_t, and of its states h_{t-1}, c_{t-1} and dy_t.
template <class Sizes>
struct StepValues {
  float x[Sizes::tiles][4], h[Sizes::states], c[Sizes::states], dy[Sizes::states];

  __device__ void clear() {
    for (int e = 0; e < Sizes::tiles * 4; ++e) x[e / 4][e % 4] = 0.0f;
    for (int i = 0; i < Sizes::states; ++i) h[i] = c[i] = dy[i] = 0.0f;
  }
};

/// What a step's gradients are multiples of: dc += dh cell; dz of gate o is dh times its factor, of the others dc times
/// theirs; and dc of the step before is dc keep.
template <int states>
struct Factors {
  float cell[states], gate[4][states], keep[states];
};

/// A lane's share of a warp's vertices.
template <class Sizes>
struct LaneSteps {
  using Rows = typename Layout<Sizes>::Rows;
  static constexpr int states = Sizes::states;
  const Lstm& op;
  const TileLane<Sizes> own;
  const LstmTileWeights<Sizes>& weights;
  const BackWeights<Sizes>& back;
  float* const rows;  // the warp's
  const std::int64_t first;
  const int count;
  TileInputs<Sizes> inputs;
  float* to_dx[2];  // as inputs.next, of the step that is computed
  bool valid[states];
  std::int64_t place[states];  // of the states, in the step that is read next
  StepValues<Sizes> ahead[Sizes::ahead];
  float c[states], dc[states], dh[states];
  Factors<states> factors;
  typename Layout<Sizes>::Sums sums;

  __device__ LaneSteps(const Lstm& arrays, const LstmTileWeights<Sizes>& lane_weights,
                       const BackWeights<Sizes>& lane_back, float* shared, std::int64_t vertex)
      : op(arrays),
        weights(lane_weights),
        back(lane_back),
        rows(shared),
        first(vertex),
        count(op.n - vertex < tile_vertices ? static_cast<int>(op.n > vertex ? op.n - vertex : 0) : tile_vertices),
        inputs(own, arrays.x + (arrays.steps - 1) * arrays.x_step + vertex * arrays.inputs, arrays.inputs, count) {
    sums.clear();
    if (count == 0) return;
    Rows::clear(rows, Layout<Sizes>::ones);
    for (int r = 0; r < 2; ++r) to_dx[r] = op.dx == nullptr ? nullptr : op.dx + (inputs.next[r] - op.x);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count;
      const std::int64_t at = (first + own.row(i)) * op.hidden + own.unit(i);
      place[i] = (op.steps - 1) * op.state_step + at;
      c[i] = valid[i] ? op.cells[place[i]] : 0.0f;
      dc[i] = valid[i] && op.dlast != nullptr ? op.dlast[at] : 0.0f;
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
    const std::int64_t to_start = -t * op.state_step;
    const float* const h = t > 0 ? op.y - op.state_step : op.start + to_start;
    const float* const cells = t > 0 ? op.cells - op.state_step : op.start + op.state_step + to_start;
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (valid[i]) to.dy[i] = op.dy[place[i]];
      to.h[i] = from && valid[i] ? h[place[i]] : 0.0f;
      to.c[i] = from && valid[i] ? cells[place[i]] : 0.0f;
      place[i] -= op.state_step;
    }
  }
  /// The factors of the step with these values; c is its own cell state, and then the one before.
  __device__ void prepare(const StepValues<Sizes>& in) {
    TileSums sum[lstm_gate_tiles];
    weights.add_inputs(in.x, sum);
    multiply_tiles(sum, own.left(in.h), weights.of_h);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const Gates<float> gate = lstm_gates(own, sum, i);
      const float squashed = quick_squash_both(c[i]);
      factors.cell[i] = gate.of[3] * (1.0f - squashed * squashed);
      factors.gate[0][i] = gate.of[2] * gate.of[0] * (1.0f - gate.of[0]);
      factors.gate[1][i] = in.c[i] * gate.of[1] * (1.0f - gate.of[1]);
      factors.gate[2][i] = gate.of[0] * (1.0f - gate.of[2] * gate.of[2]);
      factors.gate[3][i] = squashed * gate.of[3] * (1.0f - gate.of[3]);
      factors.keep[i] = gate.of[1];
      c[i] = in.c[i];
    }
  }
  /// The step's gradients to the warp's rows, beside what they are multiplied with.
  __device__ void stage(const StepValues<Sizes>& in, const float (&dz)[4][states]) const {
    stage_inputs<Sizes, Rows>(own, in.x, rows);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (own.unit(i) >= Sizes::hidden) continue;
      float* const row = rows + own.row(i) * Rows::row;
      row[Rows::factors + Layout<Sizes>::h * tile_inner + own.unit(i)] = in.h[i];
      reinterpret_cast<Gates<float>*>(row)[own.unit(i)] = {{dz[0][i], dz[1][i], dz[2][i], dz[3][i]}};
    }
  }
  /// Step t with its values, whose place the step `ahead` before it takes; `next` are those of the step before it (of
  /// any at the first step: nobody uses what comes of them). Results of products are used last, so that the products
  /// of the weights' gradients and those of the gates are on their way meanwhile.
  __device__ void step(int t, StepValues<Sizes>& in, const StepValues<Sizes>& next) {
    float dz[4][states];
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float d = dh[i] + in.dy[i], dcell = dc[i] + d * factors.cell[i];
      for (int g = 0; g < 4; ++g) dz[g][i] = (g == 3 ? d : dcell) * factors.gate[g][i];
      dc[i] = dcell * factors.keep[i];
    }
    stage(in, dz);
    TileSums of_h[2][1] = {}, of_x[Sizes::tiles] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Parts<4> left = own.left_of(j >= 2, dz[j % 2 * 2], dz[j % 2 * 2 + 1]);
      multiply_tiles(of_h[j % 2], left, back.to_h[j]);
      multiply_tiles(of_x, left, back.to_x[j]);
    }
    __syncwarp();
    bring(t - Sizes::ahead, in);
    sums.template add<Layout<Sizes>::Sums::tiles>(rows);
    prepare(next);
#pragma unroll
    for (int i = 0; i < states; ++i) dh[i] = own.of_state(of_h[0][0], i) + own.of_state(of_h[1][0], i);
    if (op.dx != nullptr) {
      put_inputs<Sizes>(inputs, of_x, to_dx, op.add_dx);
      for (int r = 0; r < 2; ++r) to_dx[r] -= op.x_step;
    }
    __syncwarp();
  }
  __device__ void put_start() const {
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (!valid[i]) continue;
      const std::int64_t at = (first + own.row(i)) * op.hidden + own.unit(i);
      op.dstart[at] = dh[i];
      op.dstart[op.state_step + at] = dc[i];
    }
  }
};

template <class Sizes>
__global__ void __launch_bounds__(tile_threads, 2) backward(Lstm op) {
  using Own = Layout<Sizes>;
  using Rows = typename Own::Rows;
  auto* const memory = dynamic_shared<std::byte>();
  auto* const shared = reinterpret_cast<float*>(memory + Own::Weights::bytes + Own::Back::bytes);
  const TileLane<Sizes> own;
  const typename Own::Weights weights(memory, op, own);
  const typename Own::Back back(memory + Own::Weights::bytes, op, own);
  constexpr std::int64_t vertices = tile_vertices * tile_warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{4} * op.hidden * (op.inputs + op.hidden + 1);
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

bool supports(const LstmSequenceBackward& op) {
  return op.y.type() == ElementType::f32 && op.x.columns() > 0 && op.x.columns() <= narrow_inputs &&
         op.w_h.rows() <= narrow_hidden && !op.x_right.defined() && !op.w_in.defined() && has_tile_products();
}

Lstm arrays_of(const LstmSequenceBackward& op, double* parts) {
  return {op.x.data<float>(),
          op.w_x.data<float>(),
          op.w_h.data<float>(),
          op.bias.data<float>(),
          op.start.data<float>(),
          op.y.data<float>(),
          op.cells.data<float>(),
          op.dy.data<float>(),
          op.dlast.data<float>(),
          op.dx.data<float>(),
          op.dstart.data<float>(),
          parts,
          op.vertices(),
          op.vertices() * op.x.columns(),
          op.vertices() * op.w_h.rows(),
          static_cast<int>(op.steps),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w_h.rows()),
          op.accumulate_dx};
}

template <class Sizes>
void run_sizes(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), tile_vertices * tile_warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  launch(context, blocks, tile_threads, Layout<Sizes>::bytes, backward<Sizes>, arrays_of(op, parts));
  add_recurrent_parts<float>(context, op, parts, blocks);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  const std::int64_t inputs = op.x.columns();
  const bool fits =
      op.w_h.rows() <= 6 && reads_pairs(op.x.data<float>(), inputs) && reads_pairs(op.dx.data<float>(), inputs);
  if (fits && inputs <= 8) return run_sizes<TileSizes<1, false, true, 2>>(op, context);
  if (fits && inputs <= 12) return run_sizes<TileSizes<2, false, true, 2>>(op, context);
  run_sizes<TileSizes<2, true, false, 2>>(op, context);
}

const RegisterKernel<LstmSequenceBackward> tensor{Numerics::cuda, {"tensor", 3, supports, run}};

}  // namespace lstm_backward_tensor_kernels
}  // namespace strobe::cuda
