// Cases and judges of attention over neighbours: the definition on a tape of scalars, entry by entry, which gives the
// gradients as well.
#pragma once

#include "backends/operations/operations_attention.hpp"
#include "tests/conformance/operations/evolve.hpp"

namespace strobe::conformance {

/// A graph attention over rows with 0 to `most` entries; `halo` columns follow the own ones; scores times `sharpness`.
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
    std::vector<std::vector<std::int32_t>> by_column(columns);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      const std::int64_t count = random.below(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(s.most) + 1);
      for (std::int64_t k = 0; k < count; ++k) {
        const auto column = static_cast<std::int32_t>(
            random.below(static_cast<std::uint64_t>(1000 + indices.size()), static_cast<std::uint64_t>(columns)));
        indices.push_back(column);
        by_column[column].push_back(static_cast<std::int32_t>(r));
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
  const double drawn = static_cast<double>(words[head % 4]) * 0x1.0p-32;
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
      sum = tape.multiply_add(f[cell * s.width() + d], with[d], sum);
    }
    return sum;
  }

  void row(const GraphAttentionShape& s, const GraphAttentionInput& in, std::int64_t r, std::int64_t h,
           std::vector<Scalar>& log_sums, std::vector<Scalar>& sums) {
    const auto begin = static_cast<std::size_t>(in.offsets[r]),
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
        const Scalar term = tape.scale(tape.multiply(weights[k - begin], f[in.indices[k] * s.width() + d]),
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

}  // namespace strobe::conformance
