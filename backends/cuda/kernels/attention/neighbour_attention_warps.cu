// Attention over sampled neighbours with a warp per root and head, for heads of up to 128 columns. A group of lanes has
// a slot at a time, each lane up to four of the head's columns, so that the gathered rows are read in whole sectors;
// narrow heads leave room for several groups, which take the slots in turns. A group looks at some slots together: the
// loads of their keys and values are on their way at once, and their products are added up over the lanes beside each
// other. Forward keeps a running maximum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018),
// so keys and values are read once; the coefficients hold the scores until the root's sum is known. Backward reads the
// values for the gradients of the coefficients, which lie in scratch until their mean is known, and then the keys.
// Weights are powers of 2. Sums are trees over lane distance of what a lane adds up in slot order: the order depends on
// shapes only. Cost 6 S F FLOPs forward and 14 S F backward; rows of vertices are gathered, everything else is streamed
// once, beside a value per slot and head of scratch.
#include <algorithm>

#include "backends/cuda/kernels/attention/neighbour_parts.hpp"

namespace strobe::cuda {
namespace neighbour_attention_warps_kernels {

constexpr int threads = 128;
constexpr int most_columns = 4;  // of a lane
constexpr unsigned all_lanes = 0xffffffffu;

/// Slots that a group looks at together, with K columns a lane.
template <int K>
constexpr int together = K <= 2 ? 4 : 2;

/// The root and head of a warp, and the part of a lane: columns at, at + lanes, ... of slots group, group + groups, ...
template <class T>
struct Part {
  const NeighbourArrays<T>& op;
  int lanes, groups, at, group;
  std::int64_t root = 0, begin = 0;
  int head = 0, count = 0;
  T scale{1};  // of products that are positive

  __device__ Part(const NeighbourArrays<T>& arrays, int lanes_of_slot)
      : op(arrays),
        lanes(lanes_of_slot),
        groups(warp_lanes / lanes_of_slot),
        at(lane() % lanes_of_slot),
        group(lane() / lanes_of_slot) {}
  __device__ void enter(std::int64_t item) {
    root = item / op.heads;
    head = static_cast<int>(item % op.heads);
    begin = op.offsets[root];
    count = static_cast<int>(op.offsets[root + 1] - begin);
    scale = static_cast<T>(op.factor(1.0, count));
  }
  __device__ T factor(T product) const {
    return op.scale == AttentionScale::leaky && !(product > T{0}) ? static_cast<T>(leaky_slope) : scale;
  }
  /// The lane's columns of `row`, which begins with the head's; zero behind the last one.
  template <int K>
  __device__ void load(const T* row, T (&to)[K]) const {
#pragma unroll
    for (int i = 0; i < K; ++i) to[i] = at + i * lanes < op.depth ? row[at + i * lanes] : T{0};
  }
  template <int K>
  __device__ void store(const T (&from)[K], T* row) const {
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (at + i * lanes < op.depth) row[at + i * lanes] = from[i];
    }
  }
  /// Where the head's columns of a row of [., F] begin.
  __device__ std::int64_t of_root() const { return root * op.width() + head * op.depth; }
  /// The lane's columns of the keys (part 0) or values (part 1) of slot `slot` of the root.
  template <int K>
  __device__ void load_slot(int slot, int part, T (&to)[K]) const {
    const std::int64_t s = begin + slot;
    const int first = part * op.width() + head * op.depth;
    T own[K];
    load(op.of_vertex(s) + first, to);
    load(op.of_slot(s) + first, own);
#pragma unroll
    for (int i = 0; i < K; ++i) to[i] += own[i];
  }
  /// The j-th slot that the group looks at together with `first`; where there is none, the last one.
  __device__ int slot_at(int first, int j) const { return min(first + j * groups, count - 1); }
  /// sums[j] over the lanes of the group.
  template <int N>
  __device__ void add_lanes(T (&sums)[N]) const {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int j = 0; j < N; ++j) sums[j] += __shfl_xor_sync(all_lanes, sums[j], distance);
    }
  }
  __device__ T dropped(T value, int slot) const {
    return op.dropout.numbers == nullptr ? value : value * static_cast<T>(op.dropout.of(root, slot, head));
  }
};

template <class T, int K>
__device__ T product_of(const T (&x)[K], const T (&y)[K]) {
  T sum{0};
#pragma unroll
  for (int i = 0; i < K; ++i) sum += x[i] * y[i];
  return sum;
}

/// Softmax-weighted sums of a lane's columns over some slots, relative to 2^largest.
template <class T, int K>
struct Running {
  T largest{-1e30}, sum{0}, y[K] = {};

  __device__ void rise_to(T most) {
    const T factor = power_of_two(largest - most);
    largest = most;
    sum *= factor;
#pragma unroll
    for (int i = 0; i < K; ++i) y[i] *= factor;
  }
  /// Joins with the lane at `distance`, which does the same; every lane of the warp calls it.
  __device__ void join(int distance) {
    Running other;
    other.largest = __shfl_xor_sync(all_lanes, largest, distance);
    other.sum = __shfl_xor_sync(all_lanes, sum, distance);
#pragma unroll
    for (int i = 0; i < K; ++i) other.y[i] = __shfl_xor_sync(all_lanes, y[i], distance);
    const T most = max(largest, other.largest);
    rise_to(most);
    other.rise_to(most);
    sum += other.sum;
#pragma unroll
    for (int i = 0; i < K; ++i) y[i] += other.y[i];
  }
};

/// The slots from `first` on that the group looks at together; their scores go to `kept` where it is not null.
template <class T, int K>
__device__ void look(const Part<T>& part, const T (&q)[K], int first, T* kept, Running<T, K>& running) {
  constexpr int N = together<K>;
  T keys[N][K], values[N][K], scores[N];
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 0, keys[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 1, values[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) scores[j] = product_of(q, keys[j]);
  part.add_lanes(scores);
  T most = running.largest;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int slot = first + j * part.groups;
    scores[j] *= part.factor(scores[j]) * static_cast<T>(log2_e);
    if (slot >= part.count) scores[j] = T{-1e30};
    if (kept != nullptr && part.at == 0 && slot < part.count) kept[(part.begin + slot) * part.op.heads] = scores[j];
    most = max(most, scores[j]);
  }
  running.rise_to(most);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const T weight = first + j * part.groups < part.count ? power_of_two(scores[j] - most) : T{0},
            kept_weight = part.dropped(weight, part.slot_at(first, j));
    running.sum += weight;
#pragma unroll
    for (int i = 0; i < K; ++i) running.y[i] += kept_weight * values[j][i];
  }
}

template <class T, int K>
__global__ void __launch_bounds__(threads) attend(NeighbourArrays<T> op, int lanes, T* coefficients, T* y) {
  Part<T> part(op, lanes);
  for (std::int64_t i = grid_thread() / warp_lanes; i < op.roots * op.heads; i += grid_threads() / warp_lanes) {
    part.enter(i);
    T* const kept = coefficients == nullptr ? nullptr : coefficients + part.head;
    T q[K];
    part.load(op.q + part.of_root(), q);
    Running<T, K> running;
    for (int first = 0; first < part.count; first += part.groups * together<K>) {
      look(part, q, first + part.group, kept, running);
    }
    for (int distance = warp_lanes / 2; distance >= lanes; distance /= 2) running.join(distance);
    const T norm = running.sum > T{0} ? T{1} / running.sum : running.sum;
#pragma unroll
    for (int c = 0; c < K; ++c) running.y[c] *= norm;
    if (part.group == 0) part.store(running.y, y + part.of_root());
    __syncwarp();  // the scores that other lanes left
    for (int slot = lane(); kept != nullptr && slot < part.count; slot += warp_lanes) {
      T& coefficient = kept[(part.begin + slot) * op.heads];
      coefficient = power_of_two(coefficient - running.largest) * norm;
    }
  }
}

/// What the backward pass reads and writes besides; `changes` [S, H] is scratch for the gradients of the coefficients.
template <class T>
struct Gradients {
  const T *coefficients, *dy;
  T *dq, *dslot, *changes;
};

/// Leaves the gradients of the coefficients and returns their mean.
template <class T, int K>
__device__ T changes_of(const Part<T>& part, const Gradients<T>& to, const T (&dy)[K]) {
  constexpr int N = together<K>;
  T mean{0};
  for (int begin = 0; begin < part.count; begin += part.groups * N) {
    const int first = begin + part.group;
    T values[N][K], changes[N];
#pragma unroll
    for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 1, values[j]);
#pragma unroll
    for (int j = 0; j < N; ++j) changes[j] = product_of(dy, values[j]);
    part.add_lanes(changes);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int slot = part.slot_at(first, j);
      const std::int64_t at = (part.begin + slot) * part.op.heads + part.head;
      const T change = part.dropped(changes[j], slot);
      if (first + j * part.groups >= part.count) continue;
      mean += to.coefficients[at] * change;
      if (part.at == 0) to.changes[at] = change;
    }
  }
  for (int distance = warp_lanes / 2; distance >= part.lanes; distance /= 2) {
    mean += __shfl_xor_sync(all_lanes, mean, distance);
  }
  return mean;
}

/// The slots from `first` on that the group looks at together: their rows of dslot, and their part of dq.
template <class T, int K>
__device__ void look_back(const Part<T>& part, const Gradients<T>& to, const T (&q)[K], const T (&dy)[K], T mean,
                          int first, T (&dq)[K]) {
  constexpr int N = together<K>;
  T keys[N][K], products[N];
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 0, keys[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) products[j] = product_of(q, keys[j]);
  if (part.op.scale == AttentionScale::leaky) part.add_lanes(products);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int slot = first + j * part.groups;
    if (slot >= part.count) continue;
    const std::int64_t s = part.begin + slot, at = s * part.op.heads + part.head;
    const T p = to.coefficients[at], down = p * (to.changes[at] - mean) * part.factor(products[j]),
            kept = part.dropped(p, slot);
    T of_key[K], of_value[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      dq[i] += down * keys[j][i];
      of_key[i] = down * q[i];
      of_value[i] = kept * dy[i];
    }
    T* const dslot = to.dslot + s * 2 * part.op.width() + part.head * part.op.depth;
    part.store(of_key, dslot);
    part.store(of_value, dslot + part.op.width());
  }
}

template <class T, int K>
__global__ void __launch_bounds__(threads) attend_back(NeighbourArrays<T> op, int lanes, Gradients<T> to) {
  Part<T> part(op, lanes);
  for (std::int64_t i = grid_thread() / warp_lanes; i < op.roots * op.heads; i += grid_threads() / warp_lanes) {
    part.enter(i);
    T q[K], dy[K], dq[K] = {};
    part.load(op.q + part.of_root(), q);
    part.load(to.dy + part.of_root(), dy);
    const T mean = changes_of(part, to, dy);
    __syncwarp();  // the changes that other lanes left
    for (int first = 0; first < part.count; first += part.groups * together<K>) {
      look_back(part, to, q, dy, mean, first + part.group, dq);
    }
    for (int distance = warp_lanes / 2; distance >= lanes; distance /= 2) {
#pragma unroll
      for (int c = 0; c < K; ++c) dq[c] += __shfl_xor_sync(all_lanes, dq[c], distance);
    }
    if (part.group == 0) part.store(dq, to.dq + part.of_root());
  }
}

template <class Op>
bool supports(const Op& op) {
  return op.q.columns() / op.heads <= most_columns * warp_lanes;
}

/// Calls body(K) with the columns of a lane as a constant: 1, 2 or 4, where a slot has `lanes` lanes.
template <class Body>
void with_columns(int depth, int lanes, const Body& body) {
  if (depth <= lanes) return body(std::integral_constant<int, 1>{});
  if (depth <= 2 * lanes) return body(std::integral_constant<int, 2>{});
  body(std::integral_constant<int, most_columns>{});
}

/// Lanes of a slot for heads of `depth` columns.
int lanes_for(int depth) {
  int lanes = 1;
  while (lanes < depth && lanes < warp_lanes) lanes *= 2;
  return lanes;
}

void run_forward(const NeighbourAttention& op, KernelContext& context) {
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    const int lanes = lanes_for(arrays.depth);
    T* const kept = op.coefficients.defined() ? op.coefficients.data<T>() : nullptr;
    with_columns(arrays.depth, lanes, [&](auto columns) {
      launch(context, blocks_for(arrays.roots * arrays.heads * warp_lanes, threads), threads, 0,
             attend<T, decltype(columns)::value>, arrays, lanes, kept, op.y.data<T>());
    });
  });
}

void run_backward(const NeighbourAttentionBackward& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    const int lanes = lanes_for(arrays.depth);
    auto* const changes =
        reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(op.coefficients.elements()) * sizeof(T)));
    const Gradients<T> to{op.coefficients.data<T>(), op.dy.data<T>(), op.dq.data<T>(), op.dslot.data<T>(), changes};
    with_columns(arrays.depth, lanes, [&](auto columns) {
      launch(context, blocks_for(arrays.roots * arrays.heads * warp_lanes, threads), threads, 0,
             attend_back<T, decltype(columns)::value>, arrays, lanes, to);
    });
  });
}

const RegisterKernel<NeighbourAttention> forward{Numerics::cuda,
                                                 {"warps", 10, supports<NeighbourAttention>, run_forward}};
const RegisterKernel<NeighbourAttentionBackward> backward{
    Numerics::cuda, {"warps", 10, supports<NeighbourAttentionBackward>, run_backward}};

}  // namespace neighbour_attention_warps_kernels
}  // namespace strobe::cuda
