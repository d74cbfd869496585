// A recurrence of up to 8 units in fp32 over all steps in one launch, its products on tensor cores: a warp has 16
// vertices (recurrent_tensor.hpp). Weights of all gates are a lane's right factors, in registers; x_t is read steps
// ahead, straight into the left factor, and its products are added up a step ahead. No shared memory, no barriers, no
// scratch. Cell is what an LSTM and a GRU differ in: LstmTiles or GruTiles, and of the forward pass
//   Products<Sizes>(own, weights, sums, state): those of a step with h, which begin there, before others use the cores
//     finish(own, weights, state, gate, put): what is left of the step; the states become the next ones, and put(i)
//     stores number i
#pragma once

#include "backends/cuda/kernels/recurrence/tile_cells.hpp"

namespace strobe::cuda {

/// A lane's share of a warp's vertices.
template <class Sizes, class Cell>
struct TileSequence {
  static constexpr int states = Sizes::states;
  const SequenceArrays<float>& op;
  const TileLane<Sizes> own;
  const typename Cell::template Weights<Sizes> weights;
  const std::int64_t first;  // vertex of the tile
  TileInputs<Sizes> inputs;
  bool valid[states];
  unsigned place[states];  // of the states, in bytes from the tile's first one
  TileStates<Sizes, Cell::has_cells> state;
  float x[Sizes::ahead][Sizes::tiles][4];
  TileSums sums[Cell::gate_tiles];  // of the step that is next, without h

  __device__ explicit TileSequence(const SequenceArrays<float>& arrays)
      : op(arrays),
        weights(arrays, own),
        first(static_cast<std::int64_t>(blockIdx.x) * tile_vertices),
        inputs(own, arrays.x + first * Cell::columns(arrays), Cell::columns(arrays), count()) {
#pragma unroll
    for (int i = 0; i < states; ++i) {
      valid[i] = own.unit(i) < op.hidden && own.row(i) < count();
      const int at = own.row(i) * op.hidden + own.unit(i);
      place[i] = static_cast<unsigned>(at) * sizeof(float);
      state.begin(op, i, first * op.hidden + at, valid[i] && op.start != nullptr);
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
  /// Step t, with x of step t + 1; x of the step `ahead` steps later takes its place.
  __device__ void step(int t, float (&next)[Sizes::tiles][4]) {
    typename Cell::template Products<Sizes> products(own, weights, sums, state);
    weights.add_inputs(next, sums);
    if (t + 1 + Sizes::ahead < op.steps) inputs.bring(op.x_step, next);
    const std::int64_t at = t * op.state_step + first * op.hidden;
    Gates<float> gate[states];
    products.finish(own, weights, state, gate, [&](int i) {
      put(op.y + at, i, state.h[i]);
      if constexpr (Cell::has_cells) put(op.cells + at, i, state.c[i]);
    });
    if (op.gates == nullptr) return;
    for (int i = 0; i < states; ++i) {
      float* const to = op.gates + Cell::gates * (at + own.row(i) * op.hidden) + own.unit(i);
      for (int g = 0; g < Cell::gates && valid[i]; ++g) to[g * op.hidden] = gate[i].of[g];
    }
  }
};

template <class Sizes, class Cell>
__global__ void __launch_bounds__(warp_lanes, 12) run_tiles_forward(SequenceArrays<float> op) {
  TileSequence<Sizes, Cell> sequence(op);
  for (int t = 0; t < op.steps; t += Sizes::ahead) {
#pragma unroll
    for (int s = 0; s < Sizes::ahead; ++s) {
      if (t + s < op.steps) sequence.step(t + s, sequence.x[(s + 1) % Sizes::ahead]);
    }
  }
}

template <class Cell, class Op>
void run_tile_sequence(const Op& op, KernelContext& context) {
  const SequenceArrays<float> arrays = sequence_arrays<float>(op);
  const bool pairs = arrays.hidden <= 6 && reads_pairs(arrays.x, arrays.columns);
  Cell::template with_sizes<4>(pairs, arrays.columns, [&](auto sizes) {
    launch(context, divide_up(arrays.n, tile_vertices), warp_lanes, 0, run_tiles_forward<decltype(sizes), Cell>,
           arrays);
  });
}

}  // namespace strobe::cuda
