// Cases and judges of attention over entries with given queries, keys and values: the definition on a tape of scalars,
// entry by entry, which gives the gradients as well.
#pragma once

#include "backends/operations/operations_edge_attention.hpp"
#include "tests/conformance/operations/attention.hpp"

namespace strobe::conformance {

/// Matrices as of graph attention, whose depth is that of queries and keys; values have `value_depth` columns per head.
struct EdgeAttentionShape {
  GraphAttentionShape graph;
  std::int64_t value_depth;
  bool added, with_weight;
  double p;

  std::int64_t value_width() const { return graph.heads * value_depth; }
  EdgeScore score() const { return {graph.heads, added, p}; }
  std::string name() const {
    return graph.name() + ", values of " + std::to_string(value_depth) +
           (!added        ? ", products"
            : with_weight ? ", weighted sums"
                          : ", sums");
  }
};

inline std::vector<EdgeAttentionShape> edge_attention_shapes() {
  const std::vector<std::pair<GraphAttentionShape, std::int64_t>> graphs{
      {{0, 0, 3, 2, 3, false, true, 1}, 2},   {{1, 0, 1, 1, 1, false, true, 1}, 1},
      {{9, 3, 4, 2, 3, false, true, 1}, 5},   {{200, 50, 9, 2, 3, false, true, 1}, 3},
      {{60, 7, 30, 2, 3, false, true, 9}, 1}, {{30, 5, 8, 4, 1, false, true, 1}, 6},
      {{20, 3, 5, 3, 4, false, false, 1}, 4}, {{300, 10, 4, 1, 9, false, true, 1}, 2}};
  std::vector<EdgeAttentionShape> shapes;
  for (const auto& [graph, depth] : graphs) {
    shapes.push_back({graph, depth, false, false, 0.4 * graph.sharpness});
    shapes.push_back({graph, depth, true, true, 0.2});
    shapes.push_back({graph, depth, true, false, 0.1});
  }
  return shapes;
}

/// The operation's inputs on the host, and what its gradients are added to.
struct EdgeAttentionInput {
  GraphAttentionInput graph;
  std::vector<double> q, k, v, w, dy, dq, dk, dv, dw;

  explicit EdgeAttentionInput(const EdgeAttentionShape& s) : graph(s.graph) {
    const std::int64_t rows = s.graph.rows, columns = rows + s.graph.halo, width = s.graph.width();
    q = random_values(rows * width, 241), k = random_values(columns * width, 242);
    v = random_values(columns * s.value_width(), 243), w = random_values(width, 244);
    for (double& each : w) each *= s.graph.sharpness;
    dy = random_values(rows * s.value_width(), 245), dq = random_values(rows * width, 246);
    dk = random_values(columns * width, 247), dv = random_values(columns * s.value_width(), 248);
    dw = random_values(width, 249);
  }
};

struct JudgedEdgeAttention {
  ScalarTape tape;
  std::vector<Scalar> q, k, v, w, y, log_sums;

  JudgedEdgeAttention(const EdgeAttentionShape& s, const EdgeAttentionInput& in)
      : q(tape.constants(in.q)), k(tape.constants(in.k)), v(tape.constants(in.v)), w(tape.constants(in.w)) {
    for (std::int64_t r = 0; r < s.graph.rows; ++r) {
      for (std::int64_t h = 0; h < s.graph.heads; ++h) row(s, in.graph, r, h);
    }
  }

 private:
  Scalar score(const EdgeAttentionShape& s, std::int64_t row, std::int64_t column, std::int64_t h) {
    const std::int64_t width = s.graph.width();
    Scalar sum = tape.constant(0);
    for (std::int64_t d = h * s.graph.depth; d < (h + 1) * s.graph.depth; ++d) {
      const Scalar query = q[row * width + d], key = k[column * width + d];
      if (!s.added) {
        sum = tape.add(sum, tape.scale(tape.multiply(query, key), s.p));
        continue;
      }
      const Scalar both = tape.add(query, key), bent = tape.scale(both, tape.value(both) > 0 ? 1.0 : s.p);
      sum = tape.add(sum, s.with_weight ? tape.multiply(w[d], bent) : bent);
    }
    return sum;
  }

  void row(const EdgeAttentionShape& s, const GraphAttentionInput& in, std::int64_t r, std::int64_t h) {
    std::vector<Scalar> weights, columns;
    Scalar total = tape.constant(0);
    for (std::int64_t e = in.offsets[r]; e < in.offsets[r + 1]; ++e) {
      weights.push_back(tape.exponential(score(s, r, in.indices[e], h)));
      total = tape.add(total, weights.back());
    }
    for (std::int64_t d = h * s.value_depth; d < (h + 1) * s.value_depth; ++d) {
      Scalar sum = tape.constant(0);
      for (std::size_t e = 0; e < weights.size(); ++e) {
        const std::int64_t column = in.indices[in.offsets[r] + static_cast<std::int64_t>(e)];
        sum = tape.multiply_add(weights[e], v[column * s.value_width() + d], sum);
      }
      y.push_back(weights.empty() ? sum : tape.divide(sum, total));
    }
    log_sums.push_back(weights.empty() ? total : tape.logarithm(total));
  }
};

inline std::vector<Output> judge_edge_attention(Device& device, const EdgeAttentionShape& s) {
  const EdgeAttentionInput in(s);
  const JudgedEdgeAttention judge(s, in);
  EdgeAttention op;
  op.a = in.graph.matrix(device, s.graph);
  op.q = upload(device, in.q, s.graph.rows, s.graph.width());
  op.k = upload(device, in.k, op.a.columns, s.graph.width());
  op.v = upload(device, in.v, op.a.columns, s.value_width());
  if (s.with_weight) op.w = upload(device, in.w, 1, s.graph.width());
  op.y = device.allocate(s.graph.rows, s.value_width());
  op.log_sums = device.allocate(s.graph.rows, s.graph.heads);
  op.score = s.score();
  device.run(op);
  return {{"y", download(device, op.y), judged(judge.tape, judge.y)},
          {"log_sums", download(device, op.log_sums), judged(judge.tape, judge.log_sums)}};
}

inline std::vector<Output> judge_edge_attention_backward(Device& device, const EdgeAttentionShape& s, bool accumulate) {
  const EdgeAttentionInput in(s);
  JudgedEdgeAttention judge(s, in);
  for (std::size_t i = 0; i < judge.y.size(); ++i) judge.tape.gradient(judge.y[i]) += in.dy[i];
  judge.tape.backward();
  EdgeAttentionBackward op;
  op.a = in.graph.matrix(device, s.graph);
  op.q = upload(device, in.q, s.graph.rows, s.graph.width());
  op.k = upload(device, in.k, op.a.columns, s.graph.width());
  op.v = upload(device, in.v, op.a.columns, s.value_width());
  op.y = upload(device, values_on(judge.tape, judge.y), s.graph.rows, s.value_width());
  op.log_sums = upload(device, values_on(judge.tape, judge.log_sums), s.graph.rows, s.graph.heads);
  op.dy = upload(device, in.dy, s.graph.rows, s.value_width());
  op.dq = upload(device, in.dq, s.graph.rows, s.graph.width());
  op.dk = upload(device, in.dk, op.a.columns, s.graph.width());
  op.dv = upload(device, in.dv, op.a.columns, s.value_width());
  if (s.with_weight) op.w = upload(device, in.w, 1, s.graph.width());
  if (s.with_weight) op.dw = upload(device, in.dw, 1, s.graph.width());
  op.score = s.score();
  op.accumulate_q = op.accumulate_k = op.accumulate_v = accumulate;
  device.run(op);
  const auto expected = [&](const std::vector<Scalar>& of, const std::vector<double>& before) {
    return judged_gradients(judge.tape, of, accumulate ? before : std::vector<double>(before.size(), 0.0));
  };
  std::vector<Output> outputs{{"dq", download(device, op.dq), expected(judge.q, in.dq)},
                              {"dk", download(device, op.dk), expected(judge.k, in.dk)},
                              {"dv", download(device, op.dv), expected(judge.v, in.dv)}};
  if (s.with_weight) outputs.push_back({"dw", download(device, op.dw), judged_gradients(judge.tape, judge.w, in.dw)});
  return outputs;
}

inline OperationFamily edge_attention_family(bool backward) {
  std::vector<OperationCase> cases;
  for (const EdgeAttentionShape& shape : edge_attention_shapes()) {
    if (!backward)
      cases.push_back({"", shape.name(), [=](Device& device) { return judge_edge_attention(device, shape); }});
    for (int flag = 0; backward && flag < 2; ++flag) {
      cases.push_back({"", shape.name() + (flag == 1 ? ", accumulate" : ""),
                       [=](Device& device) { return judge_edge_attention_backward(device, shape, flag == 1); }});
    }
  }
  return backward ? family<EdgeAttentionBackward>(cases) : family<EdgeAttention>(cases);
}

}  // namespace strobe::conformance
