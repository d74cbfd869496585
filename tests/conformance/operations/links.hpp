// Cases and judges of the scores of vertex pairs and of binary cross-entropy.
#pragma once

#include "backends/operations/operations_events.hpp"
#include "tests/conformance/operations/evolve.hpp"

namespace strobe::conformance {

/// E events of C candidates with F columns. Every eleventh sum in front of relu is exactly 0.
struct PairScoresShape {
  std::int64_t events, candidates, width;

  std::string name() const {
    return std::to_string(events) + " events of " + std::to_string(candidates) + " candidates, width " +
           std::to_string(width);
  }
};

struct PairScoresInput {
  std::vector<double> a, b, w, dy, dw, dbias;

  explicit PairScoresInput(const PairScoresShape& s)
      : a(random_values(s.events * s.width, 171)),
        b(random_values(s.events * s.candidates * s.width, 172)),
        w(random_values(s.width, 173)),
        dy(random_values(s.events * s.candidates, 174)),
        dw(random_values(s.width, 175)),
        dbias(random_values(1, 176)) {
    for (std::size_t i = 0; i < b.size(); i += 11) b[i] = -a[of_a(s, i)];
  }
  /// The element of a that is added to element i of b.
  static std::size_t of_a(const PairScoresShape& s, std::size_t i) {
    const std::size_t width = s.width;
    return i / (width * static_cast<std::size_t>(s.candidates)) * width + i % width;
  }
};

inline std::vector<Output> judge_pair_scores(Device& device, const PairScoresShape& s) {
  const PairScoresInput in(s);
  const double bias = 0.375;
  std::vector<Judged> y(s.events * s.candidates, Judged{bias, bias});
  for (std::size_t i = 0; i < in.b.size(); ++i) {
    const double x = in.a[PairScoresInput::of_a(s, i)] + in.b[i];
    y[i / in.w.size()].add(in.w[i % in.w.size()] * std::max(0.0, x));
  }
  const PairScores op{upload(device, in.a, s.events, s.width), upload(device, in.b, s.events * s.candidates, s.width),
                      upload(device, in.w, s.width, 1), upload(device, {bias}, 1, 1),
                      device.allocate(s.events, s.candidates)};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_pair_scores_back(Device& device, const PairScoresShape& s) {
  const PairScoresInput in(s);
  std::vector<Judged> da(in.a.size()), db(in.b.size()), dw = start(in.dw, true), dbias = start(in.dbias, true);
  for (std::size_t i = 0; i < in.b.size(); ++i) {
    const double x = in.a[PairScoresInput::of_a(s, i)] + in.b[i], dy = in.dy[i / in.w.size()];
    const double dx = x > 0 ? dy * in.w[i % in.w.size()] : 0.0;
    da[PairScoresInput::of_a(s, i)].add(dx);
    db[i].add(dx);
    dw[i % in.w.size()].add(dy * std::max(0.0, x));
  }
  for (const double dy : in.dy) dbias[0].add(dy);
  const PairScoresBackward op{
      upload(device, in.a, s.events, s.width), upload(device, in.b, s.events * s.candidates, s.width),
      upload(device, in.w, s.width, 1),        upload(device, in.dy, s.events, s.candidates),
      device.allocate(s.events, s.width),      device.allocate(s.events * s.candidates, s.width),
      upload(device, in.dw, s.width, 1),       upload(device, in.dbias, 1, 1)};
  device.run(op);
  return {{"da", download(device, op.da), da},
          {"db", download(device, op.db), db},
          {"dw", download(device, op.dw), dw},
          {"dbias", download(device, op.dbias), dbias}};
}

inline std::vector<OperationCase> pair_scores_cases(bool backward) {
  const std::vector<PairScoresShape> shapes{{0, 2, 5},     {1, 1, 1},     {5, 2, 3},    {9, 2, 17},
                                            {300, 1, 16},  {40, 2, 100},  {33, 50, 10}, {600, 2, 16},
                                            {1100, 2, 33}, {21, 50, 100}, {3, 2, 300}};
  std::vector<OperationCase> cases;
  for (const PairScoresShape& shape : shapes) {
    cases.push_back({"", shape.name(), [=](Device& device) {
                       return backward ? judge_pair_scores_back(device, shape) : judge_pair_scores(device, shape);
                     }});
  }
  return cases;
}

/// The true columns of `events` rows: random ones, none in every fifth row and all in every other fifth, so that bit 63
/// takes both values.
inline std::vector<std::vector<bool>> true_columns(std::int64_t events, std::int64_t columns) {
  const RandomStream random(7, random_purpose::test, 182);
  std::vector<std::vector<bool>> rows(events);
  for (std::size_t e = 0; e < rows.size(); ++e) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const bool drawn = random.below(e * 64 + static_cast<std::uint64_t>(c), 3) == 0;
      rows[e].push_back(e % 5 == 3 || (drawn && e % 5 != 1));
    }
  }
  return rows;
}

/// Rows of columns as bits. The bits past the last column are set too, because nothing may read them.
inline Tensor upload_bits(Device& device, const std::vector<std::vector<bool>>& rows) {
  std::vector<std::int64_t> bits;
  for (const std::vector<bool>& row : rows) {
    std::uint64_t word = ~std::uint64_t{0};
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!row[c]) word ^= std::uint64_t{1} << c;
    }
    bits.push_back(static_cast<std::int64_t>(word));
  }
  return upload(device, bits);
}

struct BinaryShape {
  std::int64_t events, columns;
  double sharpness = 1;
  bool with_gradient = true, with_targets = false;

  std::string name() const {
    return std::to_string(events) + " events of " + std::to_string(columns) +
           (with_targets ? " columns, any true" : " candidates") + (sharpness > 1 ? ", large" : "") +
           (with_gradient ? ", gradient" : "");
  }
};

inline std::vector<Output> judge_binary(Device& device, const BinaryShape& shape) {
  std::vector<double> logits = random_values(shape.events * shape.columns, 181);
  const std::vector<std::vector<bool>> truth = true_columns(shape.events, shape.columns);
  const double scale = 0.25, before = 1.5;
  Judged loss{before, before};
  std::vector<Judged> gradient;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::size_t e = i / static_cast<std::size_t>(shape.columns), c = i % static_cast<std::size_t>(shape.columns);
    const double sign = (shape.with_targets ? truth[e][c] : c == 0) ? -1.0 : 1.0;
    const long double x = sign * (logits[i] *= shape.sharpness);
    loss.add(static_cast<double>(std::log1p(std::exp(x))) * scale);
    gradient.push_back({static_cast<double>(1 / (1 + std::exp(-x))) * sign * scale, scale});
  }
  BinaryCrossEntropy op;
  op.logits = upload(device, logits, shape.events, shape.columns);
  if (shape.with_gradient) op.gradient = device.allocate(shape.events, shape.columns);
  if (shape.with_targets) op.targets = upload_bits(device, truth);
  op.loss = device.move_in(&before, 1, 1, ElementType::f64);
  op.scale = scale;
  device.run(op);
  std::vector<Output> outputs{{"loss", download(device, op.loss), {loss}}};
  if (shape.with_gradient) outputs.push_back({"gradient", download(device, op.gradient), gradient});
  return outputs;
}

inline std::vector<OperationCase> binary_cross_entropy_cases() {
  std::vector<OperationCase> cases;
  const auto add = [&](std::int64_t events, std::int64_t columns, double sharpness, bool with_targets) {
    for (const bool with_gradient : {false, true}) {
      const BinaryShape shape{events, columns, sharpness, with_gradient, with_targets};
      cases.push_back({"", shape.name(), [=](Device& device) { return judge_binary(device, shape); }});
    }
  };
  for (const auto& [events, candidates] : {std::pair{0, 2}, {1, 1}, {5, 2}, {777, 3}, {9001, 2}, {40, 50}, {3, 70}})
    add(events, candidates, 1, false);
  for (const auto& [events, columns] : {std::pair{0, 3}, {1, 1}, {10, 2}, {777, 3}, {2001, 56}, {40, 63}, {25, 64}})
    add(events, columns, 1, true);
  for (const bool with_targets : {false, true}) add(33, 4, 1000, with_targets);
  return cases;
}

}  // namespace strobe::conformance
