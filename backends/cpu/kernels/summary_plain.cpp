// Plain summary of a step's vertices (EvolveGCN-H; Pareja et al., AAAI'20, section 3.2): the k best rows by score,
// chosen over all ranks with ties to the smaller vertex, each times tanh of its score. Scores are dot products in the
// element type, one row at a time; the best are kept in a sorted list. Steps are the tasks. Cost 2 R F FLOPs for the
// scores; the rest is T k F.
#include "backends/cpu/kernels/candidates.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
void pick_step(const PickCandidates& op, std::int64_t step, double length) {
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const std::int64_t width = op.x.columns();
  Best best(op.k);
  for (std::int64_t r = rows[step]; r < rows[step + 1]; ++r) {
    if (op.only_connected && !is_connected(op.a, r)) continue;
    T score{0};
    for (std::int64_t f = 0; f < width; ++f) score += op.x.data<T>()[r * width + f] * op.direction.data<T>()[f];
    score = static_cast<T>(static_cast<double>(score) / length);
    best.offer({static_cast<double>(score), op.ids.data<std::int64_t>()[r] % op.vertices, r});
  }
  put_candidates<T>(op, step, best.kept());
}

void run_pick(const PickCandidates& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { pick_step<T>(op, t, length); });
  });
}

template <class T>
void choose_step(const ChooseCandidates& op, std::int64_t step) {
  const T* slots = op.table.data<T>() + step * op.table.columns();
  const std::int64_t* own = op.candidates.data<std::int64_t>() + step * op.k;
  std::int64_t* chosen = op.chosen.data<std::int64_t>() + step * op.k;
  Best best(op.k);
  for (std::int64_t i = 0; i < op.ranks * op.k; ++i) {
    const T* slot = slots + i * candidate_numbers;
    if (slot[2] == T{0}) continue;
    const std::int64_t vertex = static_cast<std::int64_t>(slot[1]) + (static_cast<std::int64_t>(slot[2]) - 1) * 65536;
    best.offer({static_cast<double>(slot[0]), vertex, i / op.k == op.rank ? own[i % op.k] : -1});
  }
  const std::vector<Candidate>& kept = best.kept();
  for (std::int64_t i = 0; i < op.k; ++i) {
    chosen[i] = kept.empty() ? -1 : kept[std::min(static_cast<std::size_t>(i), kept.size() - 1)].row;
  }
}

void run_choose(const ChooseCandidates& op, KernelContext&) {
  with_element(op.table.type(), [&](auto zero) {
    for (std::int64_t t = 0; t < op.table.rows(); ++t) choose_step<decltype(zero)>(op, t);
  });
}

template <class T>
double score_of(const Tensor& x, const Tensor& direction, std::int64_t row, double length) {
  double sum = 0;
  for (std::int64_t f = 0; f < x.columns(); ++f) {
    sum += static_cast<double>(x.data<T>()[row * x.columns() + f]) * static_cast<double>(direction.data<T>()[f]);
  }
  return sum / length;
}

void run_summarise(const SummariseRows& op, KernelContext&) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    const std::int64_t width = op.x.columns();
    for (std::int64_t i = 0; i < op.summary.rows(); ++i) {
      const std::int64_t row = op.chosen.data<std::int64_t>()[i];
      const double factor = row < 0 ? 0.0 : op.gated ? std::tanh(score_of<T>(op.x, op.direction, row, length)) : 1.0;
      for (std::int64_t f = 0; f < width; ++f) {
        op.summary.data<T>()[i * width + f] =
            row < 0 ? T{0} : static_cast<T>(factor * static_cast<double>(op.x.data<T>()[row * width + f]));
      }
    }
  });
}

/// The part of summary row i: with s = x . p / |p|, d(x tanh s) = tanh(s) dx + x (1 - tanh^2 s) ds.
template <class T>
void summarise_backward_row(const SummariseRowsBackward& op, std::int64_t i, double length,
                            std::vector<double>& ddirection) {
  const std::int64_t width = op.x.columns(), row = op.chosen.data<std::int64_t>()[i];
  if (row < 0) return;
  const T* x = op.x.data<T>() + row * width;
  const T* d = op.dsummary.data<T>() + i * width;
  const T* p = op.direction.data<T>();
  const double score = score_of<T>(op.x, op.direction, row, length), factor = op.gated ? std::tanh(score) : 1.0;
  double dscore = 0;
  for (std::int64_t f = 0; op.gated && f < width; ++f) dscore += static_cast<double>(d[f]) * static_cast<double>(x[f]);
  dscore *= 1 - factor * factor;
  for (std::int64_t f = 0; f < width; ++f) {
    const double unit = static_cast<double>(p[f]) / length;
    ddirection[static_cast<std::size_t>(f)] += dscore * (static_cast<double>(x[f]) - score * unit) / length;
    if (op.dx.defined())
      op.dx.data<T>()[row * width + f] += static_cast<T>(factor * static_cast<double>(d[f]) + dscore * unit);
  }
}

void run_summarise_backward(const SummariseRowsBackward& op, KernelContext&) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    std::vector<double> ddirection(static_cast<std::size_t>(op.x.columns()), 0.0);
    for (std::int64_t i = 0; i < op.dsummary.rows(); ++i) summarise_backward_row<T>(op, i, length, ddirection);
    for (std::size_t f = 0; f < ddirection.size(); ++f) {
      T& target = op.ddirection.data<T>()[f];
      target = static_cast<T>(static_cast<double>(target) + ddirection[f]);
    }
  });
}

const RegisterKernel<PickCandidates> pick{Numerics::cpu, {"plain", 0, nullptr, run_pick}};
const RegisterKernel<ChooseCandidates> choose{Numerics::cpu, {"plain", 0, nullptr, run_choose}};
const RegisterKernel<SummariseRows> summarise{Numerics::cpu, {"plain", 0, nullptr, run_summarise}};
const RegisterKernel<SummariseRowsBackward> summarise_backward{Numerics::cpu,
                                                               {"plain", 0, nullptr, run_summarise_backward}};

}  // namespace
}  // namespace strobe
