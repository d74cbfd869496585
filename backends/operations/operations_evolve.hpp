// Operations of networks whose weights evolve over time (EvolveGCN: Pareja et al., AAAI'20): a dense layer with one
// weight per step, the evolution of one layer's weights over all steps, and the summary of a step's vertices.
// Terms are those of operations.hpp.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// y_r = activation(x_r w_t) for the rows r of step t: x [R, F], w [T * F, G] (one [F, G] per step), y [R, G]; rows of
/// step t are [step_rows[t], step_rows[t + 1]), i64 [T + 1, 1].
struct StepDense {
  static constexpr std::string_view name = "step_dense";
  Tensor x, w, step_rows, y;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.rows()) * count(x.columns()) * count(w.columns()), bytes_of(x) + bytes_of(w), bytes_of(y)};
  }
};

/// Backward of StepDense. dz = dy where y > 0 (relu) or dy (none); dx [R, F] = dz w_t^T when defined;
/// dw [T * F, G] = x^T dz of each step's rows (zero for a step without rows), in an order that does not depend on the
/// number of threads.
struct StepDenseBackward {
  static constexpr std::string_view name = "step_dense_backward";
  Tensor x, w, step_rows, y, dy;
  Tensor dx, dw;
  Activation activation = Activation::none;
  bool accumulate_dx = false, accumulate_dw = false;
  Work work() const {
    using namespace operations_detail;
    const double products = 2.0 * count(x.rows()) * count(x.columns()) * count(w.columns());
    return {products * (dx.defined() ? 2.0 : 1.0),
            bytes_of(x) + bytes_of(w) + bytes_of(dy) + (activation == Activation::none ? 0.0 : bytes_of(y)),
            (dx.defined() ? bytes_of(dx) : 0.0) + bytes_of(dw)};
  }
};

/// The recurrence of a weight matrix; each of its columns is one sequence.
enum class EvolveCell : std::uint8_t {
  lstm,  // gates i, f, g, o: c' = f c + i g, h' = o tanh(c'); kept per step: i, f, g, o, c'
  gru    // gates z, r, q: q = tanh(Wx_q x + Wh_q (r h) + B_q), h' = (1 - z) h + z q; kept per step: z, r, q
};

inline std::int64_t gates_of(EvolveCell cell) { return cell == EvolveCell::lstm ? 4 : 3; }
inline std::int64_t kept_of(EvolveCell cell) { return cell == EvolveCell::lstm ? 5 : 3; }

/// h_t = cell(x_t, h_{t-1}) for t of [0, T), h_{-1} = start [F, G]: `weights` [T * F, G] receives all h_t. Gate k is
/// sigmoid or tanh of Wx_k x + Wh_k h + B_k, with wx, wh [gates * F, F], bias [gates * F, G]. x_t is the transpose of
/// rows [t G, (t + 1) G) of `summary` [T * G, F], or h_{t-1} itself when `summary` is undefined. `kept`
/// [T * kept * F, G] holds the values that the backward pass reads, step after step. An LSTM's first cell state is
/// `start_cell` [F, G], zero when undefined.
struct EvolveWeights {
  static constexpr std::string_view name = "evolve_weights";
  Tensor wx, wh, bias, start, start_cell, summary;
  Tensor weights, kept;
  EvolveCell cell = EvolveCell::lstm;
  std::int64_t steps() const { return start.rows() == 0 ? 0 : weights.rows() / start.rows(); }
  Work work() const {
    using namespace operations_detail;
    const double products = 4.0 * count(wx.elements()) * count(start.columns());
    return {count(steps()) * (products + 10.0 * count(bias.elements())),
            bytes_of(wx) + bytes_of(wh) + bytes_of(bias) + bytes_of(start) +
                (start_cell.defined() ? bytes_of(start_cell) : 0.0) + (summary.defined() ? bytes_of(summary) : 0.0),
            bytes_of(weights) + bytes_of(kept),
            {},
            count(steps())};
  }
};

/// Backward of EvolveWeights from dweights [T * F, G] and dlast_cell [F, G], the gradient of an LSTM's last cell state
/// (zero when undefined). dwx, dwh, dbias, and where defined dstart and dstart_cell, always accumulate; dsummary is
/// stored or added to when defined. `detached` cuts the path from a step to the step before (h_{t-1} and the cell state
/// count as constants), so that `start` has a gradient from step 0 only.
struct EvolveWeightsBackward {
  static constexpr std::string_view name = "evolve_weights_backward";
  Tensor wx, wh, start, start_cell, summary, weights, kept;
  Tensor dweights, dlast_cell;
  Tensor dwx, dwh, dbias, dstart, dstart_cell, dsummary;
  EvolveCell cell = EvolveCell::lstm;
  bool detached = false, accumulate_dsummary = false;
  std::int64_t steps() const { return start.rows() == 0 ? 0 : weights.rows() / start.rows(); }
  Work work() const {
    using namespace operations_detail;
    const double products = 8.0 * count(wx.elements()) * count(start.columns());
    return {count(steps()) * (products + 12.0 * count(dbias.elements())),
            bytes_of(wx) + bytes_of(wh) + bytes_of(weights) + bytes_of(kept) + bytes_of(dweights) +
                (summary.defined() ? bytes_of(summary) : 0.0),
            bytes_of(dwx) + bytes_of(dwh) + bytes_of(dbias) + (dstart.defined() ? bytes_of(dstart) : 0.0) +
                (dstart_cell.defined() ? bytes_of(dstart_cell) : 0.0) + (dsummary.defined() ? bytes_of(dsummary) : 0.0),
            {},
            count(steps())};
  }
};

/// Numbers per candidate in a table of candidates: its score, and its vertex v as v mod 2^16 and v / 2^16 + 1, which
/// are exact in fp32. All are zero where there is no candidate.
inline constexpr std::int64_t candidate_numbers = 3;

/// Each step's k best rows of this rank by score x_r . direction / |direction| (larger first, then the smaller vertex):
/// their numbers in slots [rank k, (rank + 1) k) of `table` [T, ranks * k * 3], zero in all other slots, and their
/// rows in `rows` i64 [T * k, 1] (-1 without candidate). x [>= R, F], direction [F, 1], ids i64 [R, 1] = step *
/// vertices + vertex, -1: no candidate. With `only_connected` a row of `a` whose only entry is its own diagonal is no
/// candidate. Where w [T * F, G] is defined the rows are activation(x_r w_t), which are not stored, and direction is
/// [G, 1].
struct PickCandidates {
  static constexpr std::string_view name = "pick_candidates";
  SparseMatrix a;
  Tensor x, direction, step_rows, ids;
  Tensor table, rows;
  std::int64_t vertices = 0, k = 0;
  int rank = 0, ranks = 1;
  bool only_connected = true;
  Tensor w;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    const double read = count(ids.rows()) * static_cast<double>(x.row_bytes()) + (w.defined() ? bytes_of(w) : 0.0);
    const double layer = w.defined() ? count(x.columns()) * count(w.columns()) : 0.0;
    return {2.0 * count(ids.rows()) * (count(direction.rows()) + layer), read + bytes_of(ids),
            bytes_of(table) + bytes_of(rows)};
  }
};

/// The k best of all ranks' candidates in `table` (summed over ranks), per step and in order: `chosen` i64 [T * k, 1]
/// is this rank's row when it holds the vertex, else -1. With fewer than k candidates the last one is repeated; without
/// any all are -1. `candidates` are the `rows` of PickCandidates.
struct ChooseCandidates {
  static constexpr std::string_view name = "choose_candidates";
  Tensor table, candidates, chosen;
  std::int64_t k = 0;
  int rank = 0, ranks = 1;
  Work work() const {
    using namespace operations_detail;
    return {count(table.elements()), bytes_of(table) + bytes_of(candidates), bytes_of(chosen)};
  }
};

/// summary_i [T * k, F] = x_r tanh(x_r . direction / |direction|) with r = chosen[i] (without the factor when not
/// `gated`), 0 where chosen[i] is -1. Where w [T * F, G] is defined x_r stands for activation(x_r w_t) with t = i / k,
/// and summary is [T * k, G].
struct SummariseRows {
  static constexpr std::string_view name = "summarise_rows";
  Tensor x, direction, chosen, summary;
  bool gated = true;
  Tensor w;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    const double layer = w.defined() ? 2.0 * count(x.columns()) : 0.0;
    return {(4.0 + layer) * count(summary.elements()),
            bytes_of(summary) + bytes_of(chosen) + (w.defined() ? bytes_of(w) : 0.0), bytes_of(summary)};
  }
};

/// Backward of SummariseRows: adds to ddirection and, where defined, to dx [>= R, F], of rows that are stored, or to
/// dw [T * F, G].
struct SummariseRowsBackward {
  static constexpr std::string_view name = "summarise_rows_backward";
  Tensor x, direction, chosen, dsummary;
  Tensor dx, ddirection;
  bool gated = true;
  Tensor w, dw;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    const double layer = dw.defined() ? 4.0 * count(x.columns()) : 0.0;
    return {(10.0 + layer) * count(dsummary.elements()),
            2.0 * bytes_of(dsummary) + bytes_of(chosen) + (w.defined() ? bytes_of(w) : 0.0),
            (dx.defined() ? bytes_of(dsummary) : 0.0) + (dw.defined() ? bytes_of(dw) : 0.0) + bytes_of(ddirection)};
  }
};

}  // namespace strobe
