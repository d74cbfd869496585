// Cases and judges of attention over neighbours and over the past: the definitions on a tape of scalars, entry by
// entry, which gives the gradients as well.
#pragma once

#include "backends/conformance/operations_evolve.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe::conformance {

/// A graph attention over rows with 0 to `most` entries; `halo` columns behind the own ones; scores times `sharpness`.
struct GraphAttentionShape {
  std::int64_t rows, halo, most, heads, depth;
  bool weighted, transpose;
  double sharpness;
  double dropped = 0;

  std::int64_t width() const { return heads * depth; }
  std::string name() const {
    return std::to_string(rows) + " rows, " + std::to_string(heads) + " heads of " + std::to_string(depth) +
           (weighted ? ", weighted" : "") + (transpose ? ", transpose" : "") + (sharpness > 1 ? ", sharp" : "") +
           (dropped > 0 ? ", dropout" : "");
  }
};

inline const std::vector<GraphAttentionShape>& graph_attention_shapes() {
  static const std::vector<GraphAttentionShape> shapes{
      {0, 0, 3, 2, 3, false, true, 1},       {1, 0, 1, 1, 1, false, true, 1},
      {9, 3, 4, 2, 3, false, true, 1},       {200, 50, 9, 2, 3, false, true, 1},
      {60, 7, 30, 2, 3, false, true, 40},    {40, 0, 6, 3, 5, false, true, 1},
      {30, 5, 8, 8, 8, false, true, 1},      {20, 3, 5, 4, 4, false, false, 1},
      {25, 4, 6, 2, 3, true, true, 1},       {300, 10, 4, 1, 2, false, true, 1},
      {15, 2, 4, 16, 4, false, true, 1},     {20, 2, 5, 1, 70, false, true, 1},
      {140, 0, 3, 7, 1, false, true, 1},     {120, 30, 9, 2, 3, false, true, 1, 0.3},
      {40, 0, 6, 7, 2, false, true, 1, 0.5}, {60, 7, 30, 2, 3, false, true, 40, 0.5},
      {25, 4, 6, 2, 3, true, false, 1, 0.1}, {30, 0, 90, 2, 3, false, true, 1},
      {12, 2, 5, 9, 16, false, true, 1}};
  return shapes;
}

/// The case on the host: matrix, its transpose, vectors and gradients.
struct GraphAttentionInput {
  std::vector<std::int64_t> offsets{0}, transposed_offsets;
  std::vector<std::int32_t> indices, transposed_indices;
  std::vector<double> values, f, left, right, dy, df, dleft, dright;

  explicit GraphAttentionInput(const GraphAttentionShape& s) {
    const std::int64_t columns = s.rows + s.halo;
    const RandomStream random(5, random_purpose::test, 141);
    std::vector<std::vector<std::int32_t>> by_column(static_cast<std::size_t>(columns));
    for (std::int64_t r = 0; r < s.rows; ++r) {
      const auto count = static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(s.most) + 1));
      for (std::int64_t k = 0; k < count; ++k) {
        const auto column = static_cast<std::int32_t>(
            random.below(static_cast<std::uint64_t>(1000 + indices.size()), static_cast<std::uint64_t>(columns)));
        indices.push_back(column);
        by_column[static_cast<std::size_t>(column)].push_back(static_cast<std::int32_t>(r));
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()));
    }
    transposed_offsets.push_back(0);
    for (const auto& rows : by_column) {
      transposed_indices.insert(transposed_indices.end(), rows.begin(), rows.end());
      transposed_offsets.push_back(static_cast<std::int64_t>(transposed_indices.size()));
    }
    values = random_values(static_cast<std::int64_t>(indices.size()), 142);
    f = random_values(columns * s.width(), 143);
    left = random_values(s.width(), 144), right = random_values(s.width(), 145);
    for (double& value : left) value *= s.sharpness;
    for (double& value : right) value *= s.sharpness;
    dy = random_values(s.rows * s.width(), 146), df = random_values(columns * s.width(), 147);
    dleft = random_values(s.width(), 148), dright = random_values(s.width(), 149);
  }

  SparseMatrix matrix(Device& device, const GraphAttentionShape& s) const {
    SparseMatrix a;
    a.rows = a.halo_begin = s.rows;
    a.columns = s.rows + s.halo;
    a.nonzeros = static_cast<std::int64_t>(indices.size());
    a.row_offsets = upload(device, offsets);
    a.column_indices = upload(device, indices);
    a.values = upload(device, values, a.nonzeros, 1);
    if (!s.transpose) return a;
    a.transposed_offsets = upload(device, transposed_offsets);
    a.transposed_indices = upload(device, transposed_indices);
    a.transposed_values = upload(device, values, a.nonzeros, 1);  // read by products only
    return a;
  }
};

/// Cells of 3 steps of 1000 vertices as rows, other vertices as columns; seed beyond 32 bits.
inline AttentionDropout edge_dropout(Device& device, const GraphAttentionShape& s) {
  if (s.dropped == 0) return {};
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> columns;
  for (std::int64_t r = 0; r < s.rows; ++r) ids.push_back(7 * r + r % 3 * 1000);
  for (std::int64_t c = 0; c < s.rows + s.halo; ++c) columns.push_back(static_cast<std::int32_t>(999 - 3 * c));
  return {s.dropped, (std::uint64_t{5} << 40) + 7, 67, upload(device, ids), upload(device, columns), 1000};
}

/// The factor of one edge, from the definition.
inline double edge_factor(const GraphAttentionShape& s, std::int64_t row, std::int64_t column, std::int64_t head) {
  if (s.dropped == 0) return 1;
  const auto words =
      philox({static_cast<std::uint32_t>(7 * row + row % 3 * 1000), static_cast<std::uint32_t>(head / 4) * 65536u,
              static_cast<std::uint32_t>(999 - 3 * column), 67u},
             {7u, (5u << 8) ^ (33u << 24)});
  const double drawn = static_cast<double>(words[static_cast<std::size_t>(head % 4)]) * 0x1.0p-32;
  return drawn < s.dropped ? 0.0 : 1.0 / (1.0 - s.dropped);
}

struct JudgedGraphAttention {
  ScalarTape tape;
  std::vector<Scalar> f, left, right;
  std::vector<Scalar> y, z, slopes, row_stats;

  JudgedGraphAttention(const GraphAttentionShape& s, const GraphAttentionInput& in)
      : f(tape.constants(in.f)), left(tape.constants(in.left)), right(tape.constants(in.right)) {
    for (std::int64_t r = 0; r < s.rows; ++r) {
      std::vector<Scalar> log_sums, sums;
      for (std::int64_t h = 0; h < s.heads; ++h) row(s, in, r, h, log_sums, sums);
      row_stats.insert(row_stats.end(), log_sums.begin(), log_sums.end());
      row_stats.insert(row_stats.end(), sums.begin(), sums.end());
    }
  }

 private:
  Scalar dot(const GraphAttentionShape& s, std::int64_t cell, std::int64_t h, const std::vector<Scalar>& with) {
    Scalar sum = tape.constant(0);
    for (std::int64_t d = h * s.depth; d < (h + 1) * s.depth; ++d) {
      sum =
          tape.multiply_add(f[static_cast<std::size_t>(cell * s.width() + d)], with[static_cast<std::size_t>(d)], sum);
    }
    return sum;
  }

  void row(const GraphAttentionShape& s, const GraphAttentionInput& in, std::int64_t r, std::int64_t h,
           std::vector<Scalar>& log_sums, std::vector<Scalar>& sums) {
    const auto begin = static_cast<std::size_t>(in.offsets[static_cast<std::size_t>(r)]),
               end = static_cast<std::size_t>(in.offsets[static_cast<std::size_t>(r) + 1]);
    const Scalar own = dot(s, r, h, left);
    std::vector<Scalar> weights;
    std::vector<double> slope;
    Scalar total = tape.constant(0), sloped = tape.constant(0);
    for (std::size_t k = begin; k < end; ++k) {
      const Scalar logit = tape.scale(tape.add(own, dot(s, in.indices[k], h, right)), s.weighted ? in.values[k] : 1.0);
      slope.push_back(tape.value(logit) > 0 ? 1.0 : leaky_slope);
      weights.push_back(tape.exponential(tape.scale(logit, slope.back())));
      total = tape.add(total, weights.back());
      sloped = tape.add(sloped, tape.scale(weights.back(), slope.back()));
    }
    const bool any = begin != end;
    log_sums.push_back(any ? tape.logarithm(total) : tape.constant(0));
    sums.push_back(any ? tape.divide(sloped, total) : tape.constant(0));
    for (std::int64_t d = h * s.depth; d < (h + 1) * s.depth; ++d) {
      Scalar sum = tape.constant(0), tilted = tape.constant(0);
      for (std::size_t k = begin; k < end; ++k) {
        const Scalar term =
            tape.scale(tape.multiply(weights[k - begin], f[static_cast<std::size_t>(in.indices[k] * s.width() + d)]),
                       edge_factor(s, r, in.indices[k], h));
        sum = tape.add(sum, term);
        tilted = tape.add(tilted, tape.scale(term, slope[k - begin]));
      }
      z.push_back(any ? tape.divide(sum, total) : sum);
      slopes.push_back(any ? tape.divide(tilted, total) : tilted);
      const bool positive = tape.value(z.back()) > 0;
      y.push_back(positive ? z.back() : tape.add(tape.exponential(z.back()), tape.constant(-1)));
    }
  }
};

inline std::vector<Output> judge_graph_attention(Device& device, const GraphAttentionShape& s) {
  const GraphAttentionInput in(s);
  const JudgedGraphAttention judge(s, in);
  GraphAttention op;
  op.a = in.matrix(device, s);
  op.f = upload(device, in.f, op.a.columns, s.width());
  op.left = upload(device, in.left, 1, s.width());
  op.right = upload(device, in.right, 1, s.width());
  op.y = device.allocate(s.rows, s.width());
  op.z = device.allocate(s.rows, s.width());
  op.slopes = device.allocate(s.rows, s.width());
  op.row_stats = device.allocate(s.rows, 2 * s.heads);
  op.workspace = device.allocate(graph_attention_workspace(s.rows, op.a.columns, s.heads, s.width(), false), 1);
  op.heads = s.heads;
  op.weighted = s.weighted;
  op.dropout = edge_dropout(device, s);
  device.run(op);
  return {{"y", download(device, op.y), judged(judge.tape, judge.y)},
          {"z", download(device, op.z), judged(judge.tape, judge.z)},
          {"slopes", download(device, op.slopes), judged(judge.tape, judge.slopes)},
          {"row_stats", download(device, op.row_stats), judged(judge.tape, judge.row_stats)}};
}

inline std::vector<Output> judge_graph_attention_backward(Device& device, const GraphAttentionShape& s,
                                                          bool accumulate) {
  const GraphAttentionInput in(s);
  JudgedGraphAttention judge(s, in);
  for (std::size_t i = 0; i < judge.y.size(); ++i) judge.tape.gradient(judge.y[i]) += in.dy[i];
  judge.tape.backward();
  GraphAttentionBackward op;
  op.a = in.matrix(device, s);
  op.f = upload(device, in.f, op.a.columns, s.width());
  op.left = upload(device, in.left, 1, s.width());
  op.right = upload(device, in.right, 1, s.width());
  op.z = upload(device, values_on(judge.tape, judge.z), s.rows, s.width());
  op.slopes = upload(device, values_on(judge.tape, judge.slopes), s.rows, s.width());
  op.row_stats = upload(device, values_on(judge.tape, judge.row_stats), s.rows, 2 * s.heads);
  op.dy = upload(device, in.dy, s.rows, s.width());
  op.df = upload(device, in.df, op.a.columns, s.width());
  op.dleft = upload(device, in.dleft, 1, s.width());
  op.dright = upload(device, in.dright, 1, s.width());
  op.workspace = device.allocate(graph_attention_workspace(s.rows, op.a.columns, s.heads, s.width(), true), 1);
  op.heads = s.heads;
  op.weighted = s.weighted;
  op.accumulate_df = accumulate;
  op.dropout = edge_dropout(device, s);
  device.run(op);
  return {{"df", download(device, op.df),
           judged_gradients(judge.tape, judge.f, accumulate ? in.df : std::vector<double>(in.df.size(), 0.0))},
          {"dleft", download(device, op.dleft), judged_gradients(judge.tape, judge.left, in.dleft)},
          {"dright", download(device, op.dright), judged_gradients(judge.tape, judge.right, in.dright)}};
}

inline std::vector<OperationCase> graph_attention_cases(bool backward) {
  std::vector<OperationCase> cases;
  for (const GraphAttentionShape& shape : graph_attention_shapes()) {
    if (!backward)
      cases.push_back({"", shape.name(), [=](Device& device) { return judge_graph_attention(device, shape); }});
    for (int flag = 0; backward && flag < 2; ++flag) {
      cases.push_back({"", shape.name() + (flag == 1 ? ", accumulate" : ""),
                       [=](Device& device) { return judge_graph_attention_backward(device, shape, flag == 1); }});
    }
  }
  return cases;
}

/// Attention over time of n vertices whose queries begin at step `first`.
struct TemporalShape {
  std::int64_t first, steps, vertices, heads, depth;
  double dropped = 0;

  std::int64_t width() const { return heads * depth; }
  std::int64_t total() const { return first + steps; }
  std::string name() const {
    return std::to_string(steps) + " steps after " + std::to_string(first) + ", " + std::to_string(vertices) +
           " vertices, " + std::to_string(heads) + " heads of " + std::to_string(depth) +
           (dropped > 0 ? ", dropout" : "");
  }
};

inline const std::vector<TemporalShape>& temporal_shapes() {
  static const std::vector<TemporalShape> shapes{
      {0, 1, 1, 1, 1},    {0, 3, 0, 2, 3},       {0, 5, 7, 2, 3},       {3, 4, 17, 2, 3},      {0, 40, 3, 2, 3},
      {0, 4, 60, 1, 6},   {2, 3, 35, 3, 2},      {0, 6, 5, 8, 8},       {1, 2, 9, 2, 5},       {0, 7, 130, 1, 4},
      {0, 3, 600, 6, 1},  {0, 2, 18, 4, 16},     {0, 6, 19, 2, 3, 0.5}, {3, 4, 5, 3, 2, 0.2},  {0, 2, 521, 2, 3},
      {0, 5, 1030, 1, 4}, {0, 9, 4, 2, 32},      {5, 2, 3, 1, 17},      {0, 7, 3, 1, 12, 0.3}, {0, 50, 2, 3, 8},
      {2, 37, 2, 3, 16},  {0, 6, 3, 2, 32, 0.4}, {60, 70, 1, 2, 16},    {0, 3, 2, 1, 40},      {1, 2, 3, 6, 16}};
  return shapes;
}

inline AttentionDropout past_dropout(Device& device, const TemporalShape& s) {
  if (s.dropped == 0) return {};
  std::vector<std::int64_t> ids;
  for (std::int64_t v = 0; v < s.vertices; ++v) ids.push_back(2000 + 9 * v);
  return {s.dropped, (std::uint64_t{5} << 40) + 7, 67, upload(device, ids), {}, 1000};
}

inline double past_factor(const TemporalShape& s, std::int64_t vertex, std::int64_t t, std::int64_t step,
                          std::int64_t head) {
  if (s.dropped == 0) return 1;
  const auto words = philox({static_cast<std::uint32_t>(1000 * t + 9 * vertex),
                             static_cast<std::uint32_t>(head) * 65536u, static_cast<std::uint32_t>(step / 4), 67u},
                            {7u, (5u << 8) ^ (34u << 24)});
  const double drawn = static_cast<double>(words[static_cast<std::size_t>(step % 4)]) * 0x1.0p-32;
  return drawn < s.dropped ? 0.0 : 1.0 / (1.0 - s.dropped);
}

struct JudgedTemporal {
  ScalarTape tape;
  std::vector<Scalar> projected, offsets, o;

  JudgedTemporal(const TemporalShape& s, const std::vector<double>& values, const std::vector<double>& shifts,
                 double scale)
      : projected(tape.constants(values)), offsets(tape.constants(shifts)) {
    std::vector<Scalar> shifted;
    const std::int64_t columns = 3 * s.width();
    for (std::size_t i = 0; i < projected.size(); ++i) {
      const std::int64_t step = static_cast<std::int64_t>(i) / (columns * s.vertices);
      shifted.push_back(tape.add(
          projected[i], offsets[static_cast<std::size_t>(step * columns + static_cast<std::int64_t>(i) % columns)]));
    }
    for (std::int64_t t = s.first; t < s.total(); ++t) {
      for (std::int64_t i = 0; i < s.vertices * s.heads; ++i) query(s, shifted, t, i / s.heads, i % s.heads, scale);
    }
  }

 private:
  void query(const TemporalShape& s, const std::vector<Scalar>& x, std::int64_t t, std::int64_t v, std::int64_t h,
             double scale) {
    const auto at = [&](std::int64_t step, int part, std::int64_t d) {
      return x[static_cast<std::size_t>(((step * s.vertices + v) * 3 + part) * s.width() + h * s.depth + d)];
    };
    std::vector<Scalar> weights;
    Scalar total = tape.constant(0);
    for (std::int64_t step = 0; step <= t; ++step) {
      Scalar score = tape.constant(0);
      for (std::int64_t d = 0; d < s.depth; ++d) score = tape.multiply_add(at(t, 0, d), at(step, 1, d), score);
      weights.push_back(tape.exponential(tape.scale(score, scale)));
      total = tape.add(total, weights.back());
    }
    for (std::int64_t d = 0; d < s.depth; ++d) {
      Scalar sum = tape.constant(0);
      for (std::int64_t step = 0; step <= t; ++step)
        sum = tape.multiply_add(tape.scale(weights[static_cast<std::size_t>(step)], past_factor(s, v, t, step, h)),
                                at(step, 2, d), sum);
      o.push_back(tape.divide(sum, total));
    }
  }
};

inline std::vector<Output> judge_temporal_attention(Device& device, const TemporalShape& s, bool backward) {
  const std::int64_t rows = s.total() * s.vertices, columns = 3 * s.width();
  const double scale = 0.75;
  const std::vector<double> projected = random_values(rows * columns, 151),
                            offsets = random_values(s.total() * columns, 152),
                            d_o = random_values(s.steps * s.vertices * s.width(), 153);
  JudgedTemporal judge(s, projected, offsets, scale);
  const Tensor x = upload(device, projected, rows, columns), shifts = upload(device, offsets, s.total(), columns);
  if (!backward) {
    const TemporalAttention op{x,
                               shifts,
                               device.allocate(s.steps * s.vertices, s.width()),
                               s.first,
                               s.steps,
                               s.heads,
                               scale,
                               past_dropout(device, s)};
    device.run(op);
    return {{"o", download(device, op.o), judged(judge.tape, judge.o)}};
  }
  for (std::size_t i = 0; i < judge.o.size(); ++i) judge.tape.gradient(judge.o[i]) += d_o[i];
  judge.tape.backward();
  const TemporalAttentionBackward op{x,
                                     shifts,
                                     upload(device, d_o, s.steps * s.vertices, s.width()),
                                     device.allocate(rows, columns),
                                     device.allocate(s.total(), columns),
                                     s.first,
                                     s.steps,
                                     s.heads,
                                     scale,
                                     past_dropout(device, s)};
  device.run(op);
  return {{"dprojected", download(device, op.dprojected),
           judged_gradients(judge.tape, judge.projected, std::vector<double>(projected.size(), 0.0))},
          {"doffsets", download(device, op.doffsets),
           judged_gradients(judge.tape, judge.offsets, std::vector<double>(offsets.size(), 0.0))}};
}

inline std::vector<OperationCase> temporal_attention_cases(bool backward) {
  std::vector<OperationCase> cases;
  for (const TemporalShape& shape : temporal_shapes()) {
    cases.push_back(
        {"", shape.name(), [=](Device& device) { return judge_temporal_attention(device, shape, backward); }});
  }
  return cases;
}

}  // namespace strobe::conformance
