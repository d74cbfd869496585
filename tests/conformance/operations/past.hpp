// Cases and judges of attention over the past, of timelines and of packed sequences: the definition on a tape of
// scalars, query by query, which gives the gradients as well.
#pragma once

#include "backends/operations/operations_attention.hpp"
#include "tests/conformance/operations/evolve.hpp"
#include "tests/conformance/operations/packed_bins.hpp"

namespace strobe::conformance {

/// Attention over time for n vertices with queries from step `first` on; with `most`, for n bins of packed sequences
/// with up to `most` rows.
struct TemporalShape {
  std::int64_t first, steps, vertices, heads, depth;
  double dropped = 0;
  std::int64_t most = 0;

  std::int64_t width() const { return heads * depth; }
  std::int64_t total() const { return first + steps; }
  std::string name() const {
    return std::to_string(steps) + " steps after " + std::to_string(first) + ", " + std::to_string(vertices) +
           " vertices, " + std::to_string(heads) + " heads of " + std::to_string(depth) +
           (dropped > 0 ? ", dropout" : "") + (most > 0 ? ", packed by up to " + std::to_string(most) : "");
  }
  PackedBins packing() const {
    return random_packing(steps, vertices, most, static_cast<std::uint32_t>(9 * steps + vertices));
  }
  /// For row r: the first step that it looks at, its step in the graph, and whether its output is wanted.
  std::vector<std::int32_t> sequences() const {
    if (most > 0) return packing().sequences();
    std::vector<std::int32_t> rows;
    for (std::int64_t r = 0; r < total() * vertices; ++r)
      rows.insert(rows.end(), {0, static_cast<std::int32_t>(r / vertices), r >= first * vertices ? 1 : 0});
    return rows;
  }
  /// The vertex of a row, as far as dropout's ids go.
  std::int64_t drawn_vertex(std::int64_t row) const { return most > 0 ? 7 * row % 1000 : 9 * (row % vertices); }
};

inline const std::vector<TemporalShape>& temporal_shapes() {
  static const std::vector<TemporalShape> shapes{
      {0, 1, 1, 1, 1},          {0, 3, 0, 2, 3},         {0, 5, 7, 2, 3},           {3, 4, 17, 2, 3},
      {0, 40, 3, 2, 3},         {0, 4, 60, 1, 6},        {2, 3, 35, 3, 2},          {0, 6, 5, 8, 8},
      {1, 2, 9, 2, 5},          {0, 7, 130, 1, 4},       {0, 3, 600, 6, 1},         {0, 2, 18, 4, 16},
      {0, 6, 19, 2, 3, 0.5},    {3, 4, 5, 3, 2, 0.2},    {0, 2, 521, 2, 3},         {0, 5, 1030, 1, 4},
      {0, 9, 4, 2, 32},         {5, 2, 3, 1, 17},        {0, 7, 3, 1, 12, 0.3},     {0, 50, 2, 3, 8},
      {2, 37, 2, 3, 16},        {0, 6, 3, 2, 32, 0.4},   {60, 70, 1, 2, 16},        {0, 3, 2, 1, 40},
      {1, 2, 3, 6, 16},         {0, 7, 3, 2, 3, 0, 3},   {0, 12, 37, 2, 3, 0, 5},   {0, 40, 9, 1, 8, 0, 7},
      {0, 9, 21, 2, 16, 0, 30}, {0, 5, 6, 3, 2, 0.4, 3}, {0, 30, 17, 2, 3, 0.3, 9}, {0, 6, 5, 1, 40, 0, 4},
      {0, 1, 9, 2, 3, 0, 1}};
  return shapes;
}

/// Dropout's ids: one for each vertex, or of packed sequences for each row.
inline AttentionDropout past_dropout(Device& device, const TemporalShape& s) {
  if (s.dropped == 0) return {};
  std::vector<std::int64_t> ids;
  for (std::int64_t r = 0; r < (s.most > 0 ? s.total() : 1) * s.vertices; ++r) ids.push_back(2000 + s.drawn_vertex(r));
  return {s.dropped, (std::uint64_t{5} << 40) + 7, 67, upload(device, ids), {}, 1000};
}

/// The factor of the query of `vertex` at the graph's step t for its step `step`.
inline double past_factor(const TemporalShape& s, std::int64_t vertex, std::int64_t t, std::int64_t step,
                          std::int64_t head) {
  if (s.dropped == 0) return 1;
  const auto words = philox({static_cast<std::uint32_t>(1000 * t + vertex), static_cast<std::uint32_t>(head) * 65536u,
                             static_cast<std::uint32_t>(step / 4), 67u},
                            {7u, (5u << 8) ^ (34u << 24)});
  const double drawn = static_cast<double>(words[step % 4]) * 0x1.0p-32;
  return drawn < s.dropped ? 0.0 : 1.0 / (1.0 - s.dropped);
}

struct JudgedTemporal {
  ScalarTape tape;
  std::vector<Scalar> projected, offsets, o;
  std::vector<std::int32_t> sequences;

  JudgedTemporal(const TemporalShape& s, const std::vector<double>& values, const std::vector<double>& shifts,
                 double scale)
      : projected(tape.constants(values)), offsets(tape.constants(shifts)), sequences(s.sequences()) {
    std::vector<Scalar> shifted;
    const std::int64_t columns = 3 * s.width();
    for (std::size_t i = 0; i < projected.size(); ++i) {
      const std::int64_t step = static_cast<std::int64_t>(i) / (columns * s.vertices);
      shifted.push_back(tape.add(projected[i], offsets[step * columns + static_cast<std::int64_t>(i) % columns]));
    }
    for (std::int64_t t = s.first; t < s.total(); ++t) {
      for (std::int64_t i = 0; i < s.vertices * s.heads; ++i) query(s, shifted, t, i / s.heads, i % s.heads, scale);
    }
  }
  /// For the row of vertex or bin v at step t: entry `what` of TemporalShape::sequences.
  std::int64_t known(const TemporalShape& s, std::int64_t t, std::int64_t v, std::size_t what) const {
    return sequences[static_cast<std::size_t>(3 * (t * s.vertices + v)) + what];
  }

 private:
  void query(const TemporalShape& s, const std::vector<Scalar>& x, std::int64_t t, std::int64_t v, std::int64_t h,
             double scale) {
    const auto at = [&](std::int64_t step, int part, std::int64_t d) {
      return x[((step * s.vertices + v) * 3 + part) * s.width() + h * s.depth + d];
    };
    const std::int64_t begin = known(s, t, v, 0), vertex = s.drawn_vertex(t * s.vertices + v);
    for (std::int64_t d = 0; known(s, t, v, 2) == 0 && d < s.depth; ++d) o.push_back(tape.constant(0));
    if (known(s, t, v, 2) == 0) return;
    std::vector<Scalar> weights;
    Scalar total = tape.constant(0);
    for (std::int64_t step = begin; step <= t; ++step) {
      Scalar score = tape.constant(0);
      for (std::int64_t d = 0; d < s.depth; ++d) score = tape.multiply_add(at(t, 0, d), at(step, 1, d), score);
      weights.push_back(tape.exponential(tape.scale(score, scale)));
      total = tape.add(total, weights.back());
    }
    for (std::int64_t d = 0; d < s.depth; ++d) {
      Scalar sum = tape.constant(0);
      for (std::int64_t step = begin; step <= t; ++step) {
        const double factor = past_factor(s, vertex, known(s, t, v, 1), known(s, step, v, 1), h);
        sum = tape.multiply_add(tape.scale(weights[step - begin], factor), at(step, 2, d), sum);
      }
      o.push_back(tape.divide(sum, total));
    }
  }
};

/// The inputs of both directions; packed sequences have no offsets.
template <class Op>
void upload_past(Device& device, const TemporalShape& s, const std::vector<double>& projected,
                 const std::vector<double>& offsets, Op& op) {
  op.projected = upload(device, projected, s.total() * s.vertices, 3 * s.width());
  if (s.most == 0) op.offsets = upload(device, offsets, s.total(), 3 * s.width());
  op.first = s.first, op.steps = s.steps, op.heads = s.heads, op.scale = 0.75;
  op.dropout = past_dropout(device, s);
  if (s.most == 0) return;
  op.sequences = upload(device, s.sequences(), 3);
  op.packed_pairs = s.packing().pairs();
}

inline std::vector<Output> judge_temporal_attention(Device& device, const TemporalShape& s, bool backward) {
  const std::int64_t rows = s.total() * s.vertices, columns = 3 * s.width();
  const std::vector<double> projected = random_values(rows * columns, 151),
                            d_o = random_values(s.steps * s.vertices * s.width(), 153);
  std::vector<double> offsets = random_values(s.total() * columns, 152);
  if (s.most > 0) std::fill(offsets.begin(), offsets.end(), 0.0);
  JudgedTemporal judge(s, projected, offsets, 0.75);
  if (!backward) {
    TemporalAttention op;
    upload_past(device, s, projected, offsets, op);
    op.o = device.allocate(s.steps * s.vertices, s.width());
    device.run(op);
    return {{"o", download(device, op.o), judged(judge.tape, judge.o)}};
  }
  for (std::size_t i = 0; i < judge.o.size(); ++i) judge.tape.gradient(judge.o[i]) += d_o[i];
  judge.tape.backward();
  TemporalAttentionBackward op;
  upload_past(device, s, projected, offsets, op);
  op.d_o = upload(device, d_o, s.steps * s.vertices, s.width());
  op.dprojected = device.allocate(rows, columns);
  if (s.most == 0) op.doffsets = device.allocate(s.total(), columns);
  device.run(op);
  std::vector<Output> outputs{
      {"dprojected", download(device, op.dprojected),
       judged_gradients(judge.tape, judge.projected, std::vector<double>(projected.size(), 0.0))}};
  if (s.most == 0)
    outputs.push_back({"doffsets", download(device, op.doffsets),
                       judged_gradients(judge.tape, judge.offsets, std::vector<double>(offsets.size(), 0.0))});
  return outputs;
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
