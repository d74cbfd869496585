// Plain summary of a step's vertices (EvolveGCN-H; Pareja et al., AAAI'20, section 3.2): the k best rows by score,
// chosen over all ranks with ties to the smaller vertex, each times tanh of its score. Scores are dot products in the
// element type, one row at a time; the best are kept in a sorted list. Steps are the tasks. Cost 2 R F FLOPs for the
// scores; the rest is T k F.
#include "backends/cpu/kernels/statistics/candidates.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
void pick_step(const PickCandidates& op, std::int64_t step, double length) {
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const ChoiceRows<T> from(op);
  Best best(op.k);
  for (std::int64_t r = rows[step]; r < rows[step + 1]; ++r) {
    if (op.ids.data<std::int64_t>()[r] < 0 || (op.only_connected && !is_connected(op.a, r))) continue;
    T score{0};
    for (std::int64_t f = 0; f < from.width; ++f) score += from.value(step, r, f) * op.direction.data<T>()[f];
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

/// A row of a summary: which step it is of, which row of the step's it is (-1: none), and that row's score.
template <class T>
struct SummaryRow {
  std::int64_t step, row;
  double score = 0;

  /// Row i of `count`.
  template <class Op>
  SummaryRow(const Op& op, const ChoiceRows<T>& from, std::int64_t i, std::int64_t count, double length)
      : step(from.w == nullptr ? 0 : i / (count / (op.w.rows() / from.inputs))),
        row(op.chosen.template data<std::int64_t>()[i]) {
    for (std::int64_t f = 0; row >= 0 && f < from.width; ++f) {
      score += static_cast<double>(from.value(step, row, f)) * static_cast<double>(op.direction.template data<T>()[f]);
    }
    score /= length;
  }
};

void run_summarise(const SummariseRows& op, KernelContext&) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const ChoiceRows<T> from(op);
    const double length = length_of<T>(op.direction);
    for (std::int64_t i = 0; i < op.summary.rows(); ++i) {
      const SummaryRow<T> of(op, from, i, op.summary.rows(), length);
      const double factor = op.gated ? std::tanh(of.score) : 1.0;
      for (std::int64_t f = 0; f < from.width; ++f) {
        op.summary.data<T>()[i * from.width + f] =
            of.row < 0 ? T{0} : static_cast<T>(factor * static_cast<double>(from.value(of.step, of.row, f)));
      }
    }
  });
}

/// Adds value `f` of the gradient of summary row `of`'s row to dx, or its part of the weights' gradient to dw.
template <class T>
void add_to_source(const SummariseRowsBackward& op, const ChoiceRows<T>& from, const SummaryRow<T>& of, std::int64_t f,
                   T gradient) {
  if (op.dx.defined()) op.dx.data<T>()[of.row * from.width + f] += gradient;
  if (!op.dw.defined() || (from.with_relu && !(from.value(of.step, of.row, f) > T{0}))) return;
  T* const dw = op.dw.data<T>() + of.step * from.inputs * from.width;
  for (std::int64_t j = 0; j < from.inputs; ++j) dw[j * from.width + f] += from.x[of.row * from.inputs + j] * gradient;
}

/// The part of summary row i: with s = x . p / |p|, d(x tanh s) = tanh(s) dx + x (1 - tanh^2 s) ds.
template <class T>
void summarise_backward_row(const SummariseRowsBackward& op, std::int64_t i, double length,
                            std::vector<double>& ddirection) {
  const ChoiceRows<T> from(op);
  const SummaryRow<T> of(op, from, i, op.dsummary.rows(), length);
  if (of.row < 0) return;
  const T* d = op.dsummary.data<T>() + i * from.width;
  const T* p = op.direction.data<T>();
  const double factor = op.gated ? std::tanh(of.score) : 1.0;
  double dscore = 0;
  for (std::int64_t f = 0; op.gated && f < from.width; ++f)
    dscore += static_cast<double>(d[f]) * static_cast<double>(from.value(of.step, of.row, f));
  dscore *= 1 - factor * factor;
  for (std::int64_t f = 0; f < from.width; ++f) {
    const double unit = static_cast<double>(p[f]) / length;
    const double x = from.value(of.step, of.row, f);
    ddirection[f] += dscore * (x - of.score * unit) / length;
    add_to_source<T>(op, from, of, f, static_cast<T>(factor * static_cast<double>(d[f]) + dscore * unit));
  }
}

void run_summarise_backward(const SummariseRowsBackward& op, KernelContext&) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const double length = length_of<T>(op.direction);
    std::vector<double> ddirection(op.direction.rows(), 0.0);
    for (std::int64_t i = 0; i < op.dsummary.rows(); ++i) summarise_backward_row<T>(op, i, length, ddirection);
    for (std::size_t f = 0; f < ddirection.size(); ++f) {
      T& target = op.ddirection.data<T>()[f];
      target = static_cast<T>(static_cast<double>(target) + ddirection[f]);
    }
  });
}

const RegisterKernel<PickCandidates> pick{"cpu", {"plain", 0, nullptr, run_pick}};
const RegisterKernel<ChooseCandidates> choose{"cpu", {"plain", 0, nullptr, run_choose}};
const RegisterKernel<SummariseRows> summarise{"cpu", {"plain", 0, nullptr, run_summarise}};
const RegisterKernel<SummariseRowsBackward> summarise_backward{"cpu", {"plain", 0, nullptr, run_summarise_backward}};

}  // namespace
}  // namespace strobe
