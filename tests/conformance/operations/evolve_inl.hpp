// Second half of operations_evolve.hpp: gradients of the evolution, and the summary.
#pragma once

#include <numeric>

namespace strobe::conformance {

/// Gradients of `scalars` added to `before`.
inline std::vector<Judged> judged_gradients(ScalarTape& tape, const std::vector<Scalar>& scalars,
                                            const std::vector<double>& before) {
  std::vector<double> values = before;
  for (std::size_t i = 0; i < scalars.size(); ++i) values[i] += tape.gradient(scalars[i]);
  return against_largest(values);
}

inline std::vector<double> values_on(const ScalarTape& tape, const std::vector<Scalar>& scalars) {
  std::vector<double> values;
  for (const Scalar scalar : scalars) values.push_back(tape.value(scalar));
  return values;
}

inline EvolveWeightsBackward evolve_backward_operation(Device& device, const EvolveShape& s, const EvolveInput& in,
                                                       const JudgedEvolution& judge) {
  EvolveWeightsBackward op;
  op.wx = upload(device, in.wx, s.gates() * s.f, s.f);
  op.wh = upload(device, in.wh, s.gates() * s.f, s.f);
  op.start = upload(device, in.start, s.f, s.g);
  op.weights = upload(device, values_on(judge.tape, judge.weights), s.steps * s.f, s.g);
  op.kept = upload(device, values_on(judge.tape, judge.kept), s.steps * kept_of(s.cell) * s.f, s.g);
  op.dweights = upload(device, in.dweights, s.steps * s.f, s.g);
  op.dwx = upload(device, in.dwx, s.gates() * s.f, s.f);
  op.dwh = upload(device, in.dwh, s.gates() * s.f, s.f);
  op.dbias = upload(device, in.dbias, s.gates() * s.f, s.g);
  op.dstart = upload(device, in.dstart, s.f, s.g);
  op.cell = s.cell;
  op.detached = s.detached;
  op.accumulate_dsummary = s.f % 2 == 0;
  if (s.with_summary) {
    op.summary = upload(device, in.summary, s.steps * s.g, s.f);
    op.dsummary = upload(device, in.dsummary, s.steps * s.g, s.f);
  }
  if (s.carried) {
    op.start_cell = upload(device, in.start_cell, s.f, s.g);
    op.dlast_cell = upload(device, in.dlast_cell, s.f, s.g);
    op.dstart_cell = upload(device, in.dstart_cell, s.f, s.g);
  }
  return op;
}

inline std::vector<Output> judge_evolve_backward(Device& device, const EvolveShape& s) {
  const EvolveInput in = evolve_input(s);
  JudgedEvolution judge(s, in);
  for (std::size_t i = 0; i < judge.weights.size(); ++i) judge.tape.gradient(judge.weights[i]) += in.dweights[i];
  for (std::size_t i = 0; i < judge.last_cell.size(); ++i) judge.tape.gradient(judge.last_cell[i]) += in.dlast_cell[i];
  judge.tape.backward();
  const EvolveWeightsBackward op = evolve_backward_operation(device, s, in, judge);
  device.run(op);
  std::vector<Output> outputs{
      {"dwx", download(device, op.dwx), judged_gradients(judge.tape, judge.wx, in.dwx)},
      {"dwh", download(device, op.dwh), judged_gradients(judge.tape, judge.wh, in.dwh)},
      {"dbias", download(device, op.dbias), judged_gradients(judge.tape, judge.bias, in.dbias)},
      {"dstart", download(device, op.dstart), judged_gradients(judge.tape, judge.start, in.dstart)}};
  if (s.carried) {
    outputs.push_back({"dstart_cell", download(device, op.dstart_cell),
                       judged_gradients(judge.tape, judge.start_cell, in.dstart_cell)});
  }
  if (s.with_summary) {
    const std::vector<double> zeros(in.dsummary.size(), 0.0);
    outputs.push_back({"dsummary", download(device, op.dsummary),
                       judged_gradients(judge.tape, judge.summary, op.accumulate_dsummary ? in.dsummary : zeros)});
  }
  return outputs;
}

inline std::vector<OperationCase> evolve_backward_cases() {
  std::vector<OperationCase> cases;
  for (const EvolveShape& shape : evolve_shapes(true)) {
    cases.push_back({"", shape.name(), [=](Device& device) { return judge_evolve_backward(device, shape); }});
  }
  return cases;
}

/// A pick of k rows of each step by one of `ranks` ranks. Every third row is connected only to itself, every fifth to
/// one other vertex, and some rows repeat the row before, so that scores tie.
struct PickShape {
  std::vector<std::int64_t> rows;
  std::int64_t width, k;
  int rank, ranks;
  bool only_connected;
  std::int64_t inputs = 0;  // not 0: rows of a layer with this many inputs, which is not stored
  bool some_only = false;   // every second row is no candidate
};

/// relu(x w_t) of `rows` rows for each step, in double.
inline std::vector<double> rows_of_layer(const std::vector<double>& x, const std::vector<double>& w,
                                         std::int64_t inputs, std::int64_t width,
                                         const std::vector<std::int64_t>& offsets) {
  std::vector<double> rows(offsets.back() * width);
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
    for (std::int64_t i = offsets[t] * width; i < offsets[t + 1] * width; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < inputs; ++j) {
        sum += x[i / width * inputs + j] * w[(static_cast<std::int64_t>(t) * inputs + j) * width + i % width];
      }
      rows[i] = std::max(0.0, sum);
    }
  }
  return rows;
}

/// The host values of a pick. Vertices are large, so that both of their numbers matter.
struct PickInput {
  std::vector<std::int64_t> offsets{0}, ids, row_offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> source, w, x, direction;  // x: the rows that are scored
  static constexpr std::int64_t vertices = 300000;

  explicit PickInput(const PickShape& s) : direction(random_values(s.width, 111)) {
    for (std::size_t t = 0; t < s.rows.size(); ++t) {
      for (std::int64_t i = 0; i < s.rows[t]; ++i) {
        const bool left_out = s.some_only && i % 2 == 1;
        ids.push_back(left_out ? -1 : static_cast<std::int64_t>(t) * vertices + i * 65 + 7);
      }
      offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    const std::int64_t stored = s.inputs != 0 ? s.inputs : s.width;
    source = random_values(offsets.back() * stored, 112);
    for (std::int64_t r = 0; r < offsets.back(); ++r) {
      if (r % 4 == 3) std::copy_n(source.begin() + (r - 1) * stored, stored, source.begin() + r * stored);
      if (r % 7 != 6) columns.push_back(static_cast<std::int32_t>(r % 5 == 4 ? 0 : r));
      if (r % 3 != 0) columns.push_back(static_cast<std::int32_t>(offsets.back() - 1));
      row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    w = random_values(static_cast<std::int64_t>(s.rows.size()) * s.inputs * s.width, 113);
    x = s.inputs != 0 ? rows_of_layer(source, w, s.inputs, s.width, offsets) : source;
  }

  bool connected(std::int64_t r) const { return r % 3 != 0 || (r % 7 != 6 && r % 5 == 4 && r != 0); }
  double score(std::int64_t r) const {
    double sum = 0, squares = 0;
    for (std::size_t f = 0; f < direction.size(); ++f) {
      sum += x[static_cast<std::size_t>(r) * direction.size() + f] * direction[f];
      squares += direction[f] * direction[f];
    }
    return sum / std::sqrt(squares);
  }

  /// Rows of step t that may be picked, best first.
  std::vector<std::int64_t> sorted(std::size_t t, bool only_connected) const {
    std::vector<std::int64_t> rows;
    for (std::int64_t r = offsets[t]; r < offsets[t + 1]; ++r) {
      if (ids[r] >= 0 && (!only_connected || connected(r))) rows.push_back(r);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
    return rows;
  }
};

inline std::vector<double> as_doubles(Device& device, const Tensor& rows) {
  std::vector<std::int64_t> values(rows.elements());
  device.move_out(rows, values.data());
  return {values.begin(), values.end()};
}

/// Equal to the integer: any other one is off by more than every tolerance.
inline std::vector<Judged> exact(const std::vector<double>& values) {
  std::vector<Judged> result;
  for (const double value : values) result.push_back({value, 1});
  return result;
}

inline std::vector<Output> judge_pick(Device& device, const PickShape& s) {
  const PickInput in(s);
  const std::int64_t steps = static_cast<std::int64_t>(s.rows.size()), rows = in.offsets.back();
  std::vector<double> table(steps * s.ranks * s.k * 3, 0.0), picked(static_cast<std::size_t>(steps * s.k), -1.0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<std::int64_t> best = in.sorted(static_cast<std::size_t>(t), s.only_connected);
    for (std::int64_t i = 0; i < std::min(s.k, static_cast<std::int64_t>(best.size())); ++i) {
      const std::int64_t row = best[i], vertex = in.ids[row] % in.vertices;
      double* slot = table.data() + (t * s.ranks * s.k + s.rank * s.k + i) * 3;
      slot[0] = in.score(row), slot[1] = static_cast<double>(vertex % 65536),
      slot[2] = static_cast<double>(vertex / 65536 + 1);
      picked[t * s.k + i] = static_cast<double>(row);
    }
  }
  PickCandidates op;
  op.a.rows = op.a.columns = rows;
  op.a.row_offsets = upload(device, in.row_offsets);
  op.a.column_indices = upload(device, in.columns);
  op.x = upload(device, in.source, rows, s.inputs != 0 ? s.inputs : s.width);
  if (s.inputs != 0) op.w = upload(device, in.w, steps * s.inputs, s.width);
  op.activation = s.inputs != 0 ? Activation::relu : Activation::none;
  op.direction = upload(device, in.direction, s.width, 1);
  op.step_rows = upload(device, in.offsets);
  op.ids = upload(device, in.ids);
  op.table = device.allocate(steps, s.ranks * s.k * 3);
  op.rows = device.allocate(steps * s.k, 1, ElementType::i64);
  op.vertices = in.vertices;
  op.k = s.k;
  op.rank = s.rank;
  op.ranks = s.ranks;
  op.only_connected = s.only_connected;
  device.run(op);
  return {{"table", download(device, op.table), exact(table)}, {"rows", as_doubles(device, op.rows), exact(picked)}};
}

inline std::vector<OperationCase> pick_candidates_cases() {
  const std::vector<PickShape> shapes{{{0, 4, 1}, 2, 3, 0, 1, true},
                                      {{9, 0, 30}, 6, 6, 1, 3, true},
                                      {{40, 41}, 1, 5, 2, 3, false},
                                      {{700, 1500, 3}, 6, 6, 0, 2, true},
                                      {{300, 200}, 64, 64, 0, 1, true},
                                      {{64, 64}, 17, 9, 1, 2, false},
                                      {{40, 0, 130}, 6, 6, 1, 2, true, 2},
                                      {{33, 500}, 17, 5, 0, 1, false, 4, true},
                                      {{90, 1, 700}, 6, 6, 0, 2, true, 0, true}};
  std::vector<OperationCase> cases;
  for (const PickShape& shape : shapes) {
    std::string name = std::to_string(shape.k) + " of " + std::to_string(shape.rows.size()) + " steps, width " +
                       std::to_string(shape.width);
    if (shape.inputs != 0) name += " of " + std::to_string(shape.inputs) + " inputs";
    if (shape.some_only) name += ", half of them candidates";
    cases.push_back({"", name, [=](Device& device) { return judge_pick(device, shape); }});
  }
  return cases;
}

/// Ranks hold disjoint candidates; some slots are empty and scores tie in pairs.
inline std::vector<Output> judge_choose(Device& device, std::int64_t k, int ranks, std::int64_t filled) {
  const std::int64_t steps = 3, slots = ranks * k;
  struct Slot {
    double score;
    std::int64_t vertex, slot;
  };
  std::vector<double> table(steps * slots * 3, 0.0), chosen;
  std::vector<std::int64_t> rows(steps * k);
  std::iota(rows.begin(), rows.end(), 50);
  const int rank = ranks / 2;
  for (std::int64_t t = 0; t < steps; ++t) {
    std::vector<Slot> all;
    for (std::int64_t i = 0; i < slots; ++i) {
      if (i % k >= filled) continue;
      const Slot slot{random_values(t * slots + i / 2 + 1, 121).back(), (i * 7919 + 13) % 200000, i};
      double* numbers = table.data() + (t * slots + i) * 3;
      numbers[0] = slot.score, numbers[1] = static_cast<double>(slot.vertex % 65536),
      numbers[2] = static_cast<double>(slot.vertex / 65536 + 1);
      all.push_back(slot);
    }
    std::sort(all.begin(), all.end(), [](const Slot& a, const Slot& b) {
      return a.score != b.score ? a.score > b.score : a.vertex < b.vertex;
    });
    for (std::int64_t i = 0; i < k; ++i) {
      if (all.empty()) chosen.push_back(-1);
      if (all.empty()) continue;
      const Slot& slot = all[std::min(i, static_cast<std::int64_t>(all.size()) - 1)];
      chosen.push_back(slot.slot / k == rank ? static_cast<double>(rows[t * k + slot.slot % k]) : -1.0);
    }
  }
  const ChooseCandidates op{upload(device, table, steps, slots * 3),
                            upload(device, rows),
                            device.allocate(steps * k, 1, ElementType::i64),
                            k,
                            rank,
                            ranks};
  device.run(op);
  return {{"chosen", as_doubles(device, op.chosen), exact(chosen)}};
}

inline std::vector<OperationCase> choose_candidates_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [k, ranks, filled] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {6, 1, 4}, {6, 4, 6}, {5, 3, 0}, {8, 7, 1}, {64, 2, 64}}) {
    cases.push_back({"", std::to_string(k) + " of " + std::to_string(ranks) + " ranks with " + std::to_string(filled),
                     [k = k, ranks = static_cast<int>(ranks), filled = filled](Device& device) {
                       return judge_choose(device, k, ranks, filled);
                     }});
  }
  return cases;
}

/// A summary of rows of x [40, F], some absent, some repeated; bit 0 of `flags`: gated; bit 1: with the gradient of the
/// rows' source. With `inputs` the rows are those of a layer with this many inputs, which is not stored.
struct SummaryShape {
  std::int64_t width;
  int flags;
  std::int64_t inputs = 0;

  bool gated() const { return (flags & 1) != 0; }
  bool with_source() const { return (flags & 2) != 0; }
  std::int64_t stored() const { return inputs != 0 ? inputs : width; }
};

struct SummaryInput {
  static constexpr std::int64_t rows = 40, steps = 2;
  std::vector<std::int64_t> chosen{3, -1, 17, 17, 39, 0, -1, 22};
  std::vector<double> x, direction, d, dx, ddirection, w, dw;

  explicit SummaryInput(const SummaryShape& s)
      : x(random_values(rows * s.stored(), 131)),
        direction(random_values(s.width, 132)),
        d(random_values(count() * s.width, 133)),
        dx(random_values(rows * s.stored(), 134)),
        ddirection(random_values(s.width, 135)),
        w(random_values(steps * s.inputs * s.width, 136)),
        dw(random_values(steps * s.inputs * s.width, 137)) {}

  std::int64_t count() const { return static_cast<std::int64_t>(chosen.size()); }
};

struct JudgedSummary {
  ScalarTape tape;
  std::vector<Scalar> x, w, direction, summary;

  JudgedSummary(const SummaryShape& s, const SummaryInput& in)
      : x(tape.constants(in.x)), w(tape.constants(in.w)), direction(tape.constants(in.direction)) {
    Scalar squares = tape.constant(0);
    for (const Scalar p : direction) squares = tape.multiply_add(p, p, squares);
    const Scalar length = tape.exponential(tape.scale(tape.logarithm(squares), 0.5));
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const std::int64_t step = i / (in.count() / SummaryInput::steps);
      const std::vector<Scalar> row = row_of(s, step, in.chosen[i]);
      Scalar dot = tape.constant(0);
      for (std::size_t f = 0; f < row.size(); ++f) dot = tape.multiply_add(row[f], direction[f], dot);
      const Scalar factor = s.gated() ? tape.tanh(tape.divide(dot, length)) : tape.constant(1);
      for (const Scalar value : row) summary.push_back(tape.multiply(value, factor));
    }
  }

  /// Row `row` of the rows that are summarised; zeros for -1.
  std::vector<Scalar> row_of(const SummaryShape& s, std::int64_t step, std::int64_t row) {
    std::vector<Scalar> values;
    for (std::int64_t f = 0; f < s.width; ++f) {
      if (row >= 0 && s.inputs == 0) {
        values.push_back(x[row * s.width + f]);
        continue;
      }
      Scalar sum = tape.constant(0);
      for (std::int64_t j = 0; row >= 0 && j < s.inputs; ++j) {
        sum = tape.multiply_add(x[row * s.inputs + j], w[(step * s.inputs + j) * s.width + f], sum);
      }
      values.push_back(tape.value(sum) > 0 ? sum : tape.constant(0));  // relu
    }
    return values;
  }
};

inline std::vector<Output> judge_summarise(Device& device, const SummaryShape& s, bool backward) {
  const SummaryInput in(s);
  JudgedSummary judge(s, in);
  const std::int64_t layer_rows = SummaryInput::steps * s.inputs;
  const Activation activation = s.inputs != 0 ? Activation::relu : Activation::none;
  const Tensor rows = upload(device, in.x, SummaryInput::rows, s.stored()),
               along = upload(device, in.direction, s.width, 1), list = upload(device, in.chosen),
               w = s.inputs != 0 ? upload(device, in.w, layer_rows, s.width) : Tensor();
  if (!backward) {
    const SummariseRows op{rows, along, list, device.allocate(in.count(), s.width), s.gated(), w, activation};
    device.run(op);
    return {{"summary", download(device, op.summary), judged(judge.tape, judge.summary)}};
  }
  for (std::size_t i = 0; i < in.d.size(); ++i) judge.tape.gradient(judge.summary[i]) += in.d[i];
  judge.tape.backward();
  SummariseRowsBackward op{rows,      along,
                           list,      upload(device, in.d, in.count(), s.width),
                           {},        upload(device, in.ddirection, s.width, 1),
                           s.gated(), w,
                           {},        activation};
  if (s.with_source() && s.inputs == 0) op.dx = upload(device, in.dx, SummaryInput::rows, s.width);
  if (s.with_source() && s.inputs != 0) op.dw = upload(device, in.dw, layer_rows, s.width);
  device.run(op);
  std::vector<Output> outputs{
      {"ddirection", download(device, op.ddirection), judged_gradients(judge.tape, judge.direction, in.ddirection)}};
  if (op.dx.defined()) outputs.push_back({"dx", download(device, op.dx), judged_gradients(judge.tape, judge.x, in.dx)});
  if (op.dw.defined()) outputs.push_back({"dw", download(device, op.dw), judged_gradients(judge.tape, judge.w, in.dw)});
  return outputs;
}

inline std::vector<OperationCase> summary_cases(bool backward) {
  std::vector<SummaryShape> shapes{{6, 3, 2}, {1, 1, 3}, {17, 2, 4}, {64, 3, 1}};
  for (const std::int64_t width : {1, 2, 6, 17, 64}) {
    for (const int flags : {0, 1, 3}) shapes.push_back({width, flags});
  }
  std::vector<OperationCase> cases;
  for (const SummaryShape& shape : shapes) {
    cases.push_back({"",
                     "width " + std::to_string(shape.width) + ", flags " + std::to_string(shape.flags) +
                         (shape.inputs != 0 ? " of " + std::to_string(shape.inputs) + " inputs" : ""),
                     [=](Device& device) { return judge_summarise(device, shape, backward); }});
  }
  return cases;
}

inline std::vector<OperationCase> summarise_cases() { return summary_cases(false); }
inline std::vector<OperationCase> summarise_backward_cases() { return summary_cases(true); }

}  // namespace strobe::conformance
