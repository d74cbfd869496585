// Attention over sampled neighbours with a warp per root and head, for heads of up to 128 columns. A group of lanes has
// a slot at a time, each lane up to four of the head's columns, so that the gathered rows are read in whole sectors;
// narrow heads leave room for several groups, which take the slots in turns. A group looks at some slots together: the
// loads of their keys and values are on their way at once, and their products are added up
// over adjacent lanes. Forward keeps a running maximum (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018), so keys and values are read once; scores lie in scratch until the root's sum is known, and then the
// weights by which the codes are summed, each lane columns of its own. Backward reads the values for the gradients of
// the coefficients, which lie in scratch until their mean is known, and then the keys; a last launch with a warp per
// root makes the gradients of the codes, to which all heads add. Weights are powers of 2. Sums are trees over lane
// distance of what a lane adds up in slot order: the order depends on shapes only. Cost per slot 4 (F + H C) FLOPs
// forward and 6 F + 8 H C backward; rows of vertices are gathered, everything else is streamed once, codes twice (then
// from a cache), plus one or three values per slot and head of scratch.
#include "backends/cuda/kernels/attention/neighbour_lanes.hpp"

namespace strobe::cuda {
namespace neighbour_attention_warps_kernels {

constexpr int threads = 128;

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

/// The slots from `first` on that the group looks at together; their scores go to `scratch` [S, H].
template <class T, int K>
__device__ void look(const Part<T>& part, const T (&q)[K], int first, T* scratch, Running<T, K>& running) {
  constexpr int N = together<K>;
  T keys[N][K], values[N][K], scores[N];
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 0, keys[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 1, values[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) scores[j] = product_of(q, keys[j]);
  part.add_codes(part.op.code_query + part.op.of_codes(part.root, part.head), first, scores);
  part.add_lanes(scores);
  T most = running.largest;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int slot = first + j * part.groups;
    scores[j] *= part.factor(scores[j]) * static_cast<T>(log2_e);
    if (slot >= part.count) scores[j] = T{-1e30};
    if (part.at == 0 && slot < part.count) scratch[(part.begin + slot) * part.op.heads + part.head] = scores[j];
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

/// Where the forward pass writes; `scratch` [S, H] holds the scores, and then the coefficients with dropout.
template <class T>
struct Results {
  T *coefficients, *y, *mixed, *scratch;
};

template <class T, int K>
__global__ void __launch_bounds__(threads) attend(NeighbourArrays<T> op, int lanes, Results<T> to) {
  Part<T> part(op, lanes);
  for (std::int64_t i = grid_thread() / warp_lanes; i < op.roots * op.heads; i += grid_threads() / warp_lanes) {
    part.enter(i);
    T q[K];
    part.load(op.q + part.of_root(), q);
    Running<T, K> running;
    for (int first = 0; first < part.count; first += part.groups * together<K>) {
      look(part, q, first + part.group, to.scratch, running);
    }
    for (int distance = warp_lanes / 2; distance >= lanes; distance /= 2) running.join(distance);
    const T norm = running.sum > T{0} ? T{1} / running.sum : running.sum;
#pragma unroll
    for (int c = 0; c < K; ++c) running.y[c] *= norm;
    if (part.group == 0) part.store(running.y, to.y + part.of_root());
    __syncwarp();  // the scores that other lanes left
    for (int slot = lane(); slot < part.count; slot += warp_lanes) {
      const std::int64_t at = (part.begin + slot) * op.heads + part.head;
      const T coefficient = power_of_two(to.scratch[at] - running.largest) * norm;
      if (to.coefficients != nullptr) to.coefficients[at] = coefficient;
      to.scratch[at] = part.dropped(coefficient, slot);
    }
    __syncwarp();  // the weights that other lanes left
    part.sum_codes(to.scratch, to.mixed);
  }
}

/// Additional arrays of the backward pass. Scratch [S, H]: `changes`, the gradients of the coefficients, `down`, those
/// of the products, and `weights`, the coefficients with dropout.
template <class T>
struct Gradients {
  const T *coefficients, *dy, *dmixed;
  T *dq, *dseen, *dcode, *dcode_query;
  T *changes, *down, *weights;
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
    part.add_codes(to.dmixed + part.op.of_codes(part.root, part.head), first, changes);
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

/// The slots from `first` on that the group looks at together: their rows of dseen, and their part of dq.
template <class T, int K>
__device__ void look_back(const Part<T>& part, const Gradients<T>& to, const T (&q)[K], const T (&dy)[K], T mean,
                          int first, T (&dq)[K]) {
  constexpr int N = together<K>;
  T keys[N][K], products[N];
#pragma unroll
  for (int j = 0; j < N; ++j) part.load_slot(part.slot_at(first, j), 0, keys[j]);
#pragma unroll
  for (int j = 0; j < N; ++j) products[j] = product_of(q, keys[j]);
  if (part.op.scale == AttentionScale::leaky) {
    part.add_codes(part.op.code_query + part.op.of_codes(part.root, part.head), first, products);
    part.add_lanes(products);
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int slot = first + j * part.groups;
    if (slot >= part.count) continue;
    const std::int64_t s = part.begin + slot, at = s * part.op.heads + part.head;
    const T p = to.coefficients[at], down = p * (to.changes[at] - mean) * part.factor(products[j]),
            kept = part.dropped(p, slot);
    if (part.at == 0) to.down[at] = down, to.weights[at] = kept;
    T of_key[K], of_value[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      dq[i] += down * keys[j][i];
      of_key[i] = down * q[i];
      of_value[i] = kept * dy[i];
    }
    T* const dseen = to.dseen + s * 2 * part.op.width() + part.head * part.op.depth;
    part.store(of_key, dseen);
    part.store(of_value, dseen + part.op.width());
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
    __syncwarp();  // the gradients of products that other lanes left
    part.sum_codes(to.down, to.dcode_query);
  }
}

/// dcode: a warp has a root and takes columns in turns.
template <class T>
__global__ void __launch_bounds__(threads) codes_back(NeighbourArrays<T> op, Gradients<T> to) {
  for (std::int64_t root = grid_thread() / warp_lanes; root < op.roots; root += grid_threads() / warp_lanes) {
    for (std::int64_t s = op.offsets[root]; s < op.offsets[root + 1]; ++s) {
      for (int c = lane(); c < op.codes; c += warp_lanes) {
        T sum{0};
        for (int head = 0; head < op.heads; ++head) {
          const std::int64_t at = op.of_codes(root, head) + c, slot = s * op.heads + head;
          sum += to.down[slot] * op.code_query[at] + to.weights[slot] * to.dmixed[at];
        }
        to.dcode[s * op.codes + c] = sum;
      }
    }
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

/// Scratch for `each` values of each slot and head.
template <class T, class Op>
T* scratch_of_slots(const Op& op, const KernelContext& context, int each) {
  return reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(op.code.rows() * op.heads * each) * sizeof(T)));
}

void run_forward(const NeighbourAttention& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    const int lanes = lanes_for(arrays.depth);
    const Results<T> to{op.coefficients.defined() ? op.coefficients.data<T>() : nullptr, op.y.data<T>(),
                        op.mixed.data<T>(), scratch_of_slots<T>(op, context, 1)};
    with_columns(arrays.depth, lanes, [&](auto columns) {
      launch(context, blocks_for(arrays.roots * arrays.heads * warp_lanes, threads), threads, 0,
             attend<T, decltype(columns)::value>, arrays, lanes, to);
    });
  });
}

void run_backward(const NeighbourAttentionBackward& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    const int lanes = lanes_for(arrays.depth);
    T* const scratch = scratch_of_slots<T>(op, context, 3);
    const std::int64_t each = op.coefficients.elements();
    const Gradients<T> to{op.coefficients.data<T>(),
                          op.dy.data<T>(),
                          op.dmixed.data<T>(),
                          op.dq.data<T>(),
                          op.dseen.data<T>(),
                          op.dcode.data<T>(),
                          op.dcode_query.data<T>(),
                          scratch,
                          scratch + each,
                          scratch + 2 * each};
    with_columns(arrays.depth, lanes, [&](auto columns) {
      launch(context, blocks_for(arrays.roots * arrays.heads * warp_lanes, threads), threads, 0,
             attend_back<T, decltype(columns)::value>, arrays, lanes, to);
    });
    launch(context, blocks_for(arrays.roots * warp_lanes, threads), threads, 0, codes_back<T>, arrays, to);
  });
}

const RegisterKernel<NeighbourAttention> forward{"cuda", {"warps", 10, supports<NeighbourAttention>, run_forward}};
const RegisterKernel<NeighbourAttentionBackward> backward{
    "cuda", {"warps", 10, supports<NeighbourAttentionBackward>, run_backward}};

}  // namespace neighbour_attention_warps_kernels
}  // namespace strobe::cuda
