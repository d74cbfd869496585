// Plain choice of the rows that enter a summary (EvolveGCN-H; Pareja et al., AAAI'20, section 3.2). Picking: one thread
// a row for its score, then one block a step, which finds its k best one after the other, each time the best row
// after the one found before; the order of candidates (larger score, smaller vertex, smaller row) is total, so a tree
// over threads finds the same one in every run. Choosing: one thread a slot, whose place is the number of better slots.
// Cost: x read once, 8 bytes per row written and read k times, mostly from the cache; T (ranks k)^2 comparisons of
// slots.
#include <cmath>

#include "backends/cuda/kernels/search.hpp"
#include "backends/cuda/kernels/statistics/choice_rows.hpp"

namespace strobe::cuda {
namespace candidates_plain_kernels {

constexpr int threads = 256;

/// A row that may enter a summary; without one, row is -1. NaN scores are kept as minus infinity.
struct Candidate {
  double score;
  std::int64_t vertex, row;
};

__device__ bool better(const Candidate& a, const Candidate& b) {
  if (a.row < 0 || b.row < 0) return a.row >= 0 && b.row < 0;
  if (a.score != b.score) return a.score > b.score;
  return a.vertex != b.vertex ? a.vertex < b.vertex : a.row < b.row;
}

__device__ double order_of(double score) { return score == score ? score : -HUGE_VAL; }

template <class T>
struct Pick {
  const std::int64_t *row_offsets, *step_rows, *ids;
  const std::int32_t* column_indices;
  ChoiceRows<T> from;
  const T* direction;
  T* table;
  std::int64_t* rows;
  double* scores;  // [R], as written to the table
  std::int64_t steps, vertices, k, rank, table_columns, row_count;
  bool only_connected;

  __device__ bool may_enter(std::int64_t r) const {
    if (!only_connected) return true;
    const std::int64_t first = row_offsets[r], entries = row_offsets[r + 1] - first;
    return entries > 1 || (entries == 1 && column_indices[first] != r);
  }
  __device__ Candidate candidate(std::int64_t r) const { return {order_of(scores[r]), ids[r] % vertices, r}; }
};

template <class T>
__device__ double length_of(const T* direction, std::int64_t width) {
  double squares = 0;
  for (std::int64_t f = 0; f < width; ++f) {
    squares += static_cast<double>(direction[f]) * static_cast<double>(direction[f]);
  }
  return std::sqrt(squares);
}

template <class T>
__global__ void score_rows(Pick<T> p) {
  const double length = length_of(p.direction, p.from.width);
  for (std::int64_t r = grid_thread(); r < p.row_count; r += grid_threads()) {
    const std::int64_t step = p.from.w == nullptr ? 0 : row_of_entry(p.step_rows, 0, p.steps, r);
    T score{0};
    for (std::int64_t f = 0; f < p.from.width; ++f) score += p.from.value(step, r, f) * p.direction[f];
    p.scores[r] = static_cast<double>(static_cast<T>(static_cast<double>(score) / length));
  }
}

/// The best of the block's threads' candidates, valid in every thread.
__device__ Candidate block_best(const Candidate& own, Candidate* shared) {
  shared[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && better(shared[threadIdx.x + half], shared[threadIdx.x])) {
      shared[threadIdx.x] = shared[threadIdx.x + half];
    }
    __syncthreads();
  }
  const Candidate best = shared[0];
  __syncthreads();
  return best;
}

template <class T>
__device__ void put(const Pick<T>& p, std::int64_t step, std::int64_t place, const Candidate& best) {
  T* const slot = p.table + step * p.table_columns + (p.rank * p.k + place) * candidate_numbers;
  p.rows[step * p.k + place] = best.row;
  if (best.row < 0) return;
  slot[0] = static_cast<T>(p.scores[best.row]);
  slot[1] = static_cast<T>(best.vertex % 65536);
  slot[2] = static_cast<T>(best.vertex / 65536 + 1);
}

template <class T>
__global__ void pick_best(Pick<T> p) {
  STROBE_SHARED(Candidate[threads], shared);
  for (std::int64_t step = blockIdx.x; step < p.steps; step += gridDim.x) {
    for (std::int64_t i = threadIdx.x; i < p.table_columns; i += blockDim.x) {
      p.table[step * p.table_columns + i] = T{0};
    }
    Candidate last{0, 0, -1};
    for (std::int64_t place = 0; place < p.k; ++place) {
      Candidate best{0, 0, -1};
      const bool more = place == 0 || last.row >= 0;
      for (std::int64_t r = p.step_rows[step] + threadIdx.x; more && r < p.step_rows[step + 1]; r += blockDim.x) {
        const double score = order_of(p.scores[r]);
        // Most rows are out by their score alone, without the division that their vertex takes.
        if ((best.row >= 0 && score < best.score) || (place > 0 && score > last.score) || p.ids[r] < 0) continue;
        const Candidate one = p.candidate(r);
        if (place > 0 && !better(last, one)) continue;
        if (better(one, best) && p.may_enter(r)) best = one;
      }
      last = block_best(best, shared);  // its barriers also separate the zeros above from the slots below
      if (threadIdx.x == 0) put(p, step, place, last);
    }
  }
}

template <class T>
struct Choose {
  const T* table;
  const std::int64_t* candidates;
  std::int64_t* chosen;
  std::int64_t steps, slots, k, rank;

  __device__ Candidate slot(std::int64_t step, std::int64_t i) const {
    const T* const numbers = table + (step * slots + i) * candidate_numbers;
    if (numbers[2] == T{0}) return {0, 0, -1};
    const std::int64_t vertex =
        static_cast<std::int64_t>(numbers[1]) + (static_cast<std::int64_t>(numbers[2]) - 1) * 65536;
    return {order_of(static_cast<double>(numbers[0])), vertex, i};
  }
};

template <class T>
__global__ void choose_slots(Choose<T> c) {
  for (std::int64_t at = grid_thread(); at < c.steps * c.slots; at += grid_threads()) {
    const std::int64_t step = at / c.slots, i = at % c.slots;
    const Candidate own = c.slot(step, i);
    std::int64_t place = 0, filled = 0;
    for (std::int64_t other = 0; other < c.slots; ++other) {
      const Candidate one = c.slot(step, other);
      if (one.row < 0) continue;
      ++filled;
      if (better(one, own)) ++place;
    }
    std::int64_t* const chosen = c.chosen + step * c.k;
    if (filled == 0 && i < c.k) chosen[i] = -1;
    if (own.row < 0 || place >= c.k) continue;
    const std::int64_t row = i / c.k == c.rank ? c.candidates[step * c.k + i % c.k] : -1;
    chosen[place] = row;
    const bool is_last = place == filled - 1;  // it stands for all that are missing
    for (std::int64_t rest = place + 1; is_last && rest < c.k; ++rest) chosen[rest] = row;
  }
}

void run_pick(const PickCandidates& op, KernelContext& context) {
  const std::int64_t rows = op.ids.rows(), steps = op.step_rows.rows() - 1;
  auto* const scores = reinterpret_cast<double*>(context.scratch(static_cast<std::size_t>(rows + 1) * sizeof(double)));
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const Pick<T> p{op.a.row_offsets.data<std::int64_t>(),
                    op.step_rows.data<std::int64_t>(),
                    op.ids.data<std::int64_t>(),
                    op.a.column_indices.data<std::int32_t>(),
                    choice_rows<T>(op),
                    op.direction.data<T>(),
                    op.table.data<T>(),
                    op.rows.data<std::int64_t>(),
                    scores,
                    steps,
                    op.vertices,
                    op.k,
                    op.rank,
                    op.table.columns(),
                    rows,
                    op.only_connected};
    launch(context, blocks_for(rows, threads), threads, 0, score_rows<T>, p);
    launch(context, steps, threads, 0, pick_best<T>, p);
  });
}

void run_choose(const ChooseCandidates& op, KernelContext& context) {
  with_element(op.table.type(), [&](auto zero) {
    using T = decltype(zero);
    const Choose<T> c{op.table.data<T>(),
                      op.candidates.data<std::int64_t>(),
                      op.chosen.data<std::int64_t>(),
                      op.table.rows(),
                      op.ranks * op.k,
                      op.k,
                      op.rank};
    launch(context, blocks_for(c.steps * c.slots, threads), threads, 0, choose_slots<T>, c);
  });
}

const RegisterKernel<PickCandidates> pick_plain{"cuda", {"plain", 0, nullptr, run_pick}};
const RegisterKernel<ChooseCandidates> choose_plain{"cuda", {"plain", 0, nullptr, run_choose}};

}  // namespace candidates_plain_kernels
}  // namespace strobe::cuda
