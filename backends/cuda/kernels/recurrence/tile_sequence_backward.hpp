// The backward pass of a recurrence of up to 8 units in fp32 through all steps in one launch, its products on tensor
// cores: a warp has 16 vertices (recurrent_tensor.hpp), a block 64. Values of a step are read steps ahead; its gates
// are computed again, also where the operation has them, as soon as those of the following step are used. Products with
// the staged rows, the gradients of the weights, are tiles of sums in registers (recurrent_tensor_backward.hpp); a
// second launch adds the blocks' parts. Cell holds the difference between an LSTM and a GRU: LstmTiles or GruTiles,
// with
//   Layout<Sizes>: rows, sums, weights forward and back, in registers or not; place: where a weight's gradient lies
//   Lane<Sizes>: the values that pass from step to step; begin, prepare(values, sequence),
//     differentiate(values, sequence, products), take(products, own), put_start
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_tensor_backward.hpp"
#include "backends/cuda/kernels/recurrence/tile_cells.hpp"

namespace strobe::cuda {

/// A step's gradients of h and x through its gates: tiles of sums.
template <class Sizes>
struct BackProducts {
  TileSums of_h[2][1] = {}, of_x[Sizes::tiles] = {};

  __device__ float of_state(const TileLane<Sizes>& own, int i) const {
    return own.of_state(of_h[0][0], i) + own.of_state(of_h[1][0], i);
  }
};

/// The values of a step t that a lane reads: x_t, and for its states dy_t, h_{t-1} and, in an LSTM, c_{t-1}.
template <class Sizes, bool has_cells>
struct TileValues {
  static constexpr int states = Sizes::states;
  float x[Sizes::tiles][4], h[states], c[has_cells ? states : 1], dy[states];

  __device__ void clear() {
    for (int e = 0; e < Sizes::tiles * 4; ++e) x[e / 4][e % 4] = 0.0f;
    for (int i = 0; i < states; ++i) h[i] = c[has_cells ? i : 0] = dy[i] = 0.0f;
  }
  /// All but x.
  __device__ void bring(const SequenceGradientArrays<float>& op, int t, const std::int64_t (&place)[states],
                        const bool (&valid)[states]) {
    const bool from = t > 0 || op.start != nullptr;
    const std::int64_t to_start = has_cells ? -t * op.state_step : 0;
    const float* const before = t > 0 ? op.y - op.state_step : op.start + to_start;
    const float* const cells = t > 0 ? op.cells - op.state_step : op.start + op.state_step + to_start;
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (valid[i]) dy[i] = op.dy[place[i]];
      h[i] = from && valid[i] ? before[place[i]] : 0.0f;
      if constexpr (has_cells) c[i] = from && valid[i] ? cells[place[i]] : 0.0f;
    }
  }
};

/// A lane's share of a warp's vertices.
template <class Sizes, class Cell>
struct TileSequenceBackward {
  using Layout = typename Cell::template Layout<Sizes>;
  using Rows = typename Layout::Rows;
  using Values = TileValues<Sizes, Cell::has_cells>;
  using Arrays = SequenceGradientArrays<float>;
  static constexpr int states = Sizes::states;
  const Arrays& op;
  const TileLane<Sizes> own;
  const typename Cell::template Weights<Sizes>& weights;
  const typename Cell::template BackWeights<Sizes>& back;
  float* const rows;  // the warp's
  const std::int64_t first;
  const int count;
  TileInputs<Sizes> inputs;
  float* to_dx[2];  // as inputs.next, of the step that is computed
  bool valid[states];
  std::int64_t place[states];  // of the states, in the step that is read next
  Values ahead[Sizes::ahead];
  typename Cell::template Lane<Sizes> cell;
  typename Layout::Sums sums;

  __device__ TileSequenceBackward(const Arrays& arrays, const typename Cell::template Weights<Sizes>& lane_weights,
                                  const typename Cell::template BackWeights<Sizes>& lane_back, float* shared,
                                  std::int64_t vertex)
      : op(arrays),
        weights(lane_weights),
        back(lane_back),
        rows(shared),
        first(vertex),
        count(op.n - vertex < tile_vertices ? static_cast<int>(op.n > vertex ? op.n - vertex : 0) : tile_vertices),
        inputs(own, arrays.x + (arrays.steps - 1) * arrays.x_step + vertex * Cell::columns(arrays),
               Cell::columns(arrays), count) {
    sums.clear();
    if (count == 0) return;
    Rows::clear(rows, Layout::ones);
    for (int r = 0; r < 2; ++r) to_dx[r] = op.dx == nullptr ? nullptr : op.dx + (inputs.next[r] - op.x);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count;
      place[i] = (op.steps - 1) * op.state_step + at(i);
      cell.begin(op, i, place[i], at(i), valid[i]);
    }
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      ahead[s].clear();
      bring(op.steps - 1 - s, ahead[s]);
    }
    cell.prepare(ahead[0], *this);
    __syncwarp();
  }
  /// Where state i lies in a step.
  __device__ std::int64_t at(int i) const { return (first + own.row(i)) * op.hidden + own.unit(i); }
  /// Reads step t, the one before that of the last call.
  __device__ void bring(int t, Values& to) {
    if (t < 0) return;
    inputs.bring(-op.x_step, to.x);
    to.bring(op, t, place, valid);
#pragma unroll
    for (int i = 0; i < states; ++i) place[i] -= op.state_step;
  }
  /// Step t with its values, whose place the step `ahead` before it takes; `next` are those of the step before it (of
  /// any at the first step: nobody uses what comes of them). Results of products are used last, so that the products
  /// of the weights' gradients and those of the gates are on their way meanwhile.
  __device__ void step(int t, Values& in, const Values& next) {
    BackProducts<Sizes> products;
    cell.differentiate(in, *this, products);
    __syncwarp();
    bring(t - Sizes::ahead, in);
    sums.template add<Layout::shared_tiles>(rows);
    cell.prepare(next, *this);
    cell.take(products, own);
    if (op.dx != nullptr) {
      put_inputs<Sizes>(inputs, products.of_x, to_dx, op.add_dx);
      for (int r = 0; r < 2; ++r) to_dx[r] -= op.x_step;
    }
    __syncwarp();
  }
  __device__ void put_start() const {
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (valid[i]) cell.put_start(op, i, at(i));
    }
  }
};

template <class Sizes, class Cell>
__global__ void __launch_bounds__(tile_threads, 2) run_tiles_backward(SequenceGradientArrays<float> op) {
  using Own = typename Cell::template Layout<Sizes>;
  using Rows = typename Own::Rows;
  auto* const memory = dynamic_shared<std::byte>();
  auto* const shared = reinterpret_cast<float*>(memory + Own::Weights::bytes + Own::Back::bytes);
  const TileLane<Sizes> own;
  const typename Own::Weights weights(memory, op, own);
  const typename Own::Back back(memory + Own::Weights::bytes, op, own);
  constexpr std::int64_t vertices = tile_vertices * tile_warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{Cell::gates} * op.hidden * (op.inputs + op.hidden + 1);
  for (std::int64_t tile = blockIdx.x; tile * vertices < op.n; tile += gridDim.x) {
    TileSequenceBackward<Sizes, Cell> sequence(op, weights.own(), back.own(), shared + warp() * Rows::values,
                                               tile * vertices + warp() * tile_vertices);
    for (int t = op.steps - 1; t >= 0 && sequence.count > 0; t -= Sizes::ahead) {
#pragma unroll
      for (int s = 0; s < Sizes::ahead; ++s) {
        if (t >= s) sequence.step(t - s, sequence.ahead[s], sequence.ahead[(s + 1) % Sizes::ahead]);
      }
    }
    if (op.dstart != nullptr && sequence.count > 0) sequence.put_start();
    sequence.sums.flush(shared, part, tile == blockIdx.x,
                        [&](int half, int k, int u, int g) { return Own::place(op, half, k, u, g); });
  }
}

template <class Cell, class Op>
void run_tile_sequence_backward(const Op& op, KernelContext& context) {
  const std::int64_t stride = recurrent_stride(op), columns = op.x.columns();
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), tile_vertices * tile_warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  const SequenceGradientArrays<float> arrays = sequence_gradient_arrays<float>(op, parts);
  const bool pairs = arrays.hidden <= 6 && reads_pairs(arrays.x, columns) && reads_pairs(arrays.dx, columns);
  Cell::template with_sizes<2>(pairs, columns, [&](auto sizes) {
    using Sizes = decltype(sizes);
    launch(context, blocks, tile_threads, Cell::template Layout<Sizes>::bytes, run_tiles_backward<Sizes, Cell>, arrays);
  });
  add_recurrent_parts<float>(context, op, parts, blocks);
}

}  // namespace strobe::cuda
