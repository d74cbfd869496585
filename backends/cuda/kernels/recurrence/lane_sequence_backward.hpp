// The backward pass of a recurrence of up to 8 units through all steps in one launch: a lane has one unit of one vertex
// (recurrent_lanes.hpp), with the sums of its weights' gradients. Rows are staged as in the forward kernel, a step
// ahead. Lanes write products to rows of shared memory; the sums of a vertex's rows are dx_t and the input of dh_{t-1}.
// All of it exists twice. Once for all steps of a warp's vertices, the block adds its lanes' sums in order to its
// part in double; a second launch adds the parts. Cell holds the difference between an LSTM and a GRU: LstmLanes or
// GruLanes, with
//   Layout<T, Sizes>: a warp's shared memory, registers or not, threads
//   Values<T>: the values of a step that a lane reads in addition to x, h first; clear(), bring(op, place, valid, t);
//     for packed sequences bring(op, place, unit, origins)
//   Lane<T, Sizes>: the values that pass from step to step; begin, take(values), differentiate<parity>(op, sequence),
//     put_start; for packed sequences restart(op, values, sequence) after take
//   added_inputs<Own>(op, rows): dx of an element; part_place: where a weight's gradient lies in a part
#pragma once

#include "backends/cuda/kernels/recurrence/lane_cells.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"

namespace strobe::cuda {

/// A column of the products of one vertex's units, added up; rows lie Own::product_row apart.
template <class Own, class T>
__device__ T added_products(const T* from) {
  T even = from[0], odd = from[Own::product_row];
#pragma unroll
  for (int u = 2; u < Own::units; u += 2) {
    even += from[u * Own::product_row];
    odd += from[(u + 1) * Own::product_row];
  }
  return even + odd;
}

/// Where the states before steps come from, as a lane walks back over them; of timelines, from the step before.
template <class Arrays>
struct LaneOrigins {};

/// Packed sequences: each origin is read a step ahead of the values that it leads to.
template <class Base>
struct LaneOrigins<PackedArrays<Base>> {
  using Arrays = PackedArrays<Base>;
  int next, end;   // of the step that is read next: its origin, and its row of dlast or -1
  int ahead, own;  // origins of the step whose values are on their way, and of the current step
  int behind;      // origins of the step after the current one, whose gradient now leaves
  const std::int32_t* from;

  __device__ void begin(const Arrays& op, std::int64_t v, bool valid) {
    from = valid ? op.restarts + (op.steps - 1) * op.n + v : nullptr;
    ahead = own = behind = static_cast<int>(goes_on);
    read(op, op.steps - 1);
  }
  __device__ void read(const Arrays& op, int t) {
    next = static_cast<int>(goes_on), end = -1;
    if (from == nullptr || t < 0) return;
    next = t == 0 && *from == goes_on ? static_cast<int>(from_nothing) : *from;
    if (op.ends != nullptr) end = op.ends[from - op.restarts];
    from -= op.n;
  }
  /// Values of the step of `next` have been asked for.
  __device__ void bring(const Arrays& op, int t) {
    ahead = next;
    read(op, t - 1);
  }
  /// Moves on: the computed step becomes the step after the current one.
  __device__ void pass() {
    behind = own;
    own = ahead;
  }
};

/// A lane's share of a warp's vertices.
template <class Arrays, class Sizes, class Cell>
struct LaneSequenceBackward {
  using T = typename Arrays::Element;
  using Own = typename Cell::template Layout<T, Sizes>;
  const typename Own::Weights& weights;
  typename Own::Sums& sums;
  const LaneUnit<Sizes>& own;
  T* const memory;        // the warp's: rows of steps of one parity, then of the other
  T* const own_vertex;    // there
  T* const own_products;  // of this lane
  const LaneElements<Own::copies> elements;
  T x[Own::copies];                         // of the step ahead: its elements of x_t,
  typename Cell::template Values<T> ahead;  // and of its unit h_{t-1} and more
  const T* next_x;                          // this lane's first element of the step that is read next
  std::int64_t next_state;                  // that step's value of this lane's unit
  T* to_dx;                                 // this lane's first element of the step that is computed
  typename Cell::template Lane<T, Sizes> cell;
  LaneOrigins<Arrays> origins;

  __device__ LaneSequenceBackward(const Arrays& op, const typename Own::Weights& lane_weights,
                                  typename Own::Sums& lane_sums, const LaneUnit<Sizes>& unit, T* shared)
      : weights(lane_weights),
        sums(lane_sums),
        own(unit),
        memory(shared),
        own_vertex(shared + own.vertex * Own::vertex),
        own_products(Own::products_of(unit, shared)),
        elements(Sizes::vertices, Cell::columns(op), op.inputs, Cell::template padded<Sizes>, Own::vertex) {}

  /// Reads step t, the one before that of the last call.
  __device__ void bring(const Arrays& op, int t) {
    if (t < 0) return;
    elements.each(own.count * Cell::columns(op), [&](int j, int) { x[j] = next_x[j * warp_lanes]; });
    if constexpr (Arrays::packed) {
      if (own.valid) ahead.bring(op, next_state, own.unit, origins);
      origins.bring(op, t);
    } else {
      ahead.bring(op, next_state, own.valid, t);
    }
    next_x -= op.x_step;
    next_state -= op.state_step;
  }
  /// The staged row of this lane's vertex for steps of that parity.
  __device__ T* staged(int parity) const { return own_vertex + parity * Own::step + Own::staged; }
  /// x_t and h_{t-1} to the rows of steps of that parity, the other values to this lane.
  __device__ void stage(const Arrays& op, int parity) {
    Cell::template stage_inputs<Sizes>(op, elements, x, memory + parity * Own::step + Own::staged);
    if (!own.spare) staged(parity)[Own::Row::h + own.unit] = ahead.h;
    cell.take(ahead);
    if constexpr (Arrays::packed) {
      origins.pass();
      cell.restart(op, ahead, *this);
    }
  }
  __device__ void begin(const Arrays& op) {
    for (int i = lane(); i < 2 * Own::step; i += warp_lanes) memory[i] = T{0};
#pragma unroll
    for (int k = 0; k < Sizes::rows; ++k) sums[k].clear();
    for (T& value : x) value = T{0};
    ahead.clear();
    const std::int64_t last = (op.steps - 1) * op.x_step + own.first * Cell::columns(op) + lane();
    next_x = op.x + last;
    to_dx = op.dx == nullptr ? nullptr : op.dx + last;
    const std::int64_t place = (own.first + own.vertex) * op.hidden + own.unit;
    next_state = (op.steps - 1) * op.state_step + place;
    cell.begin(op, own.valid, place, next_state);
    if constexpr (Arrays::packed) origins.begin(op, own.first + own.vertex, own.valid);
    bring(op, op.steps - 1);
    __syncwarp();
    stage(op, 0);
    bring(op, op.steps - 2);
    __syncwarp();
  }
  /// The products' sum for the state of this lane's unit: the part of dh that comes through the following step.
  __device__ T state_products(int parity) const {
    return added_products<Own>(own_vertex + parity * Own::step + Own::state_product + own.unit);
  }
  /// The part of a later state's gradient that goes on to the step before: all, or nothing when another sequence begins
  /// there, whose row of dstart gets it. `states` is where that state's block of dstart begins.
  __device__ T leave(const Arrays& op, T gradient, std::int64_t states) const {
    if constexpr (Arrays::packed) {
      if (origins.behind >= 0 && op.dstart != nullptr) {
        op.dstart[states + std::int64_t{origins.behind} * op.hidden + own.unit] = gradient;
      }
      return origins.behind == goes_on ? gradient : T{0};
    }
    return gradient;
  }
  __device__ void put_input_gradient(const Arrays& op, const T* rows) {
    T sum[Own::copies];
#pragma unroll
    for (int j = 0; j < Own::copies; ++j) sum[j] = Cell::template added_inputs<Own>(op, rows + elements.at[j]);
    if (op.add_dx) {
      elements.each(own.count * Cell::columns(op), [&](int j, int) { sum[j] += to_dx[j * warp_lanes]; });
    }
    elements.each(own.count * Cell::columns(op), [&](int j, int) { to_dx[j * warp_lanes] = sum[j]; });
    to_dx -= op.x_step;
  }
  template <int parity>
  __device__ void step(const Arrays& op, int t) {
    cell.template differentiate<parity>(op, *this);
    stage(op, 1 - parity);
    bring(op, t - 2);
    __syncwarp();
    if (op.dx != nullptr) put_input_gradient(op, memory + parity * Own::step);
  }
};

template <class Arrays, class Sizes, class Cell>
__global__ void __launch_bounds__(Cell::template Layout<typename Arrays::Element, Sizes>::threads,
                                  Cell::template Layout<typename Arrays::Element, Sizes>::resident)
    run_lanes_backward(Arrays op) {
  using T = typename Arrays::Element;
  using Own = typename Cell::template Layout<T, Sizes>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return Cell::template weight<Sizes>(op, k, u, g); });
  T* const memory = reinterpret_cast<T*>(shared + Own::Weights::shared_gates);
  T* const of_warp = memory + warp() * Own::of_warp;
  typename Own::Sums sums(reinterpret_cast<Gates<T>*>(of_warp + 2 * Own::step));
  LaneSequenceBackward<Arrays, Sizes, Cell> sequence(op, weights, sums, own, of_warp);
  constexpr std::int64_t vertices = Sizes::vertices * Own::warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{Cell::gates} * op.hidden * (op.inputs + op.hidden + 1);
  for (std::int64_t tile = blockIdx.x; tile * vertices < op.n; tile += gridDim.x) {
    own.begin(tile * vertices + warp() * Sizes::vertices, op.n, op.hidden);
    sequence.begin(op);
    for (int t = op.steps - 1; t >= 0 && own.count > 0; t -= 2) {
      sequence.template step<0>(op, t);
      if (t > 0) sequence.template step<1>(op, t - 1);
    }
    if (op.dstart != nullptr) sequence.cell.put_start(op, sequence);
    flush_sums<Sizes>(sums, memory, Own::of_warp, part, tile == blockIdx.x,
                      [&](int k, int u, int g) { return Cell::template part_place<Sizes>(op, k, u, g); });
  }
}

template <class T, class Sizes, class Cell, class Op>
void run_lane_sizes(const Op& op, const KernelContext& context) {
  using Own = typename Cell::template Layout<T, Sizes>;
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), Sizes::vertices * Own::warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  with_packing(sequence_gradient_arrays<T>(op, parts), op, [&](const auto& arrays) {
    using Arrays = std::remove_cvref_t<decltype(arrays)>;
    launch(context, blocks, Own::threads, Own::bytes, run_lanes_backward<Arrays, Sizes, Cell>, arrays);
  });
  add_recurrent_parts<T>(context, op, parts, blocks);
}

template <class Cell, class Op>
void run_lane_sequence_backward(const Op& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    Cell::template with_sizes<T>(gate_inputs(op), units_of(op),
                                 [&](auto sizes) { run_lane_sizes<T, decltype(sizes), Cell>(op, context); });
  });
}

}  // namespace strobe::cuda
