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
};

/// The host values of a pick. Vertices are large, so that both of their numbers matter.
struct PickInput {
  std::vector<std::int64_t> offsets{0}, ids, row_offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> x, direction;
  static constexpr std::int64_t vertices = 300000;

  explicit PickInput(const PickShape& s) : direction(random_values(s.width, 111)) {
    for (std::size_t t = 0; t < s.rows.size(); ++t) {
      for (std::int64_t i = 0; i < s.rows[t]; ++i) {
        ids.push_back(static_cast<std::int64_t>(t) * vertices + i * 65 + 7);
      }
      offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    x = random_values(offsets.back() * s.width, 112);
    for (std::int64_t r = 0; r < offsets.back(); ++r) {
      if (r % 4 == 3) std::copy_n(x.begin() + (r - 1) * s.width, s.width, x.begin() + r * s.width);
      if (r % 7 != 6) columns.push_back(static_cast<std::int32_t>(r % 5 == 4 ? 0 : r));
      if (r % 3 != 0) columns.push_back(static_cast<std::int32_t>(offsets.back() - 1));
      row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
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
      if (!only_connected || connected(r)) rows.push_back(r);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
    return rows;
  }
};

inline std::vector<double> as_doubles(Device& device, const Tensor& rows) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.elements()));
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
  std::vector<double> table(static_cast<std::size_t>(steps * s.ranks * s.k * 3), 0.0),
      picked(static_cast<std::size_t>(steps * s.k), -1.0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<std::int64_t> best = in.sorted(static_cast<std::size_t>(t), s.only_connected);
    for (std::int64_t i = 0; i < std::min(s.k, static_cast<std::int64_t>(best.size())); ++i) {
      const std::int64_t row = best[static_cast<std::size_t>(i)],
                         vertex = in.ids[static_cast<std::size_t>(row)] % in.vertices;
      double* slot = table.data() + (t * s.ranks * s.k + s.rank * s.k + i) * 3;
      slot[0] = in.score(row), slot[1] = static_cast<double>(vertex % 65536),
      slot[2] = static_cast<double>(vertex / 65536 + 1);
      picked[static_cast<std::size_t>(t * s.k + i)] = static_cast<double>(row);
    }
  }
  PickCandidates op;
  op.a.rows = op.a.columns = rows;
  op.a.row_offsets = upload(device, in.row_offsets);
  op.a.column_indices = upload(device, in.columns);
  op.x = upload(device, in.x, rows, s.width);
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
  const std::vector<PickShape> shapes{{{0, 4, 1}, 2, 3, 0, 1, true},    {{9, 0, 30}, 6, 6, 1, 3, true},
                                      {{40, 41}, 1, 5, 2, 3, false},    {{700, 1500, 3}, 6, 6, 0, 2, true},
                                      {{300, 200}, 64, 64, 0, 1, true}, {{64, 64}, 17, 9, 1, 2, false}};
  std::vector<OperationCase> cases;
  for (const PickShape& shape : shapes) {
    cases.push_back({"",
                     std::to_string(shape.k) + " of " + std::to_string(shape.rows.size()) + " steps, width " +
                         std::to_string(shape.width),
                     [=](Device& device) { return judge_pick(device, shape); }});
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
  std::vector<double> table(static_cast<std::size_t>(steps * slots * 3), 0.0), chosen;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(steps * k));
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
      const Slot& slot = all[static_cast<std::size_t>(std::min(i, static_cast<std::int64_t>(all.size()) - 1))];
      chosen.push_back(
          slot.slot / k == rank ? static_cast<double>(rows[static_cast<std::size_t>(t * k + slot.slot % k)]) : -1.0);
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

/// Summary of rows of x [40, F], some absent, some repeated; bit 0: gated; bit 1: with dx.
struct JudgedSummary {
  ScalarTape tape;
  std::vector<Scalar> x, direction, summary;

  JudgedSummary(const std::vector<double>& values, const std::vector<double>& along,
                const std::vector<std::int64_t>& chosen, bool gated)
      : x(tape.constants(values)), direction(tape.constants(along)) {
    const std::size_t width = along.size();
    Scalar squares = tape.constant(0);
    for (const Scalar p : direction) squares = tape.multiply_add(p, p, squares);
    const Scalar length = tape.exponential(tape.scale(tape.logarithm(squares), 0.5));
    for (const std::int64_t row : chosen) {
      Scalar dot = tape.constant(0);
      for (std::size_t f = 0; row >= 0 && f < width; ++f)
        dot = tape.multiply_add(x[static_cast<std::size_t>(row) * width + f], direction[f], dot);
      const Scalar factor = gated ? tape.tanh(tape.divide(dot, length)) : tape.constant(1);
      for (std::size_t f = 0; f < width; ++f) {
        summary.push_back(row < 0 ? tape.constant(0)
                                  : tape.multiply(x[static_cast<std::size_t>(row) * width + f], factor));
      }
    }
  }
};

inline std::vector<Output> judge_summarise(Device& device, std::int64_t width, int flags, bool backward) {
  const std::vector<std::int64_t> chosen{3, -1, 17, 17, 39, 0, -1, 22};
  const auto count = static_cast<std::int64_t>(chosen.size());
  const std::vector<double> x = random_values(40 * width, 131), direction = random_values(width, 132),
                            d = random_values(count * width, 133), dx = random_values(40 * width, 134),
                            ddirection = random_values(width, 135);
  const bool gated = (flags & 1) != 0;
  JudgedSummary judge(x, direction, chosen, gated);
  const Tensor rows = upload(device, x, 40, width), along = upload(device, direction, width, 1),
               list = upload(device, chosen);
  if (!backward) {
    const SummariseRows op{rows, along, list, device.allocate(count, width), gated};
    device.run(op);
    return {{"summary", download(device, op.summary), judged(judge.tape, judge.summary)}};
  }
  for (std::size_t i = 0; i < d.size(); ++i) judge.tape.gradient(judge.summary[i]) += d[i];
  judge.tape.backward();
  SummariseRowsBackward op{rows, along, list, upload(device, d, count, width), {}, upload(device, ddirection, width, 1),
                           gated};
  if ((flags & 2) != 0) op.dx = upload(device, dx, 40, width);
  device.run(op);
  std::vector<Output> outputs{
      {"ddirection", download(device, op.ddirection), judged_gradients(judge.tape, judge.direction, ddirection)}};
  if (op.dx.defined()) outputs.push_back({"dx", download(device, op.dx), judged_gradients(judge.tape, judge.x, dx)});
  return outputs;
}

inline std::vector<OperationCase> summary_cases(bool backward) {
  std::vector<OperationCase> cases;
  for (const std::int64_t width : {1, 2, 6, 17, 64}) {
    for (const int flags : {0, 1, 3}) {
      cases.push_back({"", "width " + std::to_string(width) + ", flags " + std::to_string(flags),
                       [=](Device& device) { return judge_summarise(device, width, flags, backward); }});
    }
  }
  return cases;
}

inline std::vector<OperationCase> summarise_cases() { return summary_cases(false); }
inline std::vector<OperationCase> summarise_backward_cases() { return summary_cases(true); }

}  // namespace strobe::conformance
