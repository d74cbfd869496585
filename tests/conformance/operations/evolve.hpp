// Cases and judges of operations whose weights evolve over time: a step's dense layer value by value, the evolution by
// its definition on a tape of scalars (its gradients follow), and the summary by sorting all vertices.
#pragma once

#include <algorithm>

#include "backends/operations/operations_evolve.hpp"
#include "tests/conformance/operations/recurrent.hpp"

namespace strobe::conformance {

/// Rows of each step; widths in and out.
struct StepShape {
  std::vector<std::int64_t> rows;
  std::int64_t inner, width;

  std::int64_t steps() const { return static_cast<std::int64_t>(rows.size()); }
  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> result{0};
    for (const std::int64_t count : rows) result.push_back(result.back() + count);
    return result;
  }
  std::string name() const {
    return std::to_string(steps()) + " steps, " + std::to_string(offsets().back()) + " rows, " + std::to_string(inner) +
           " to " + std::to_string(width);
  }
};

inline const std::vector<StepShape>& step_shapes() {
  static const std::vector<StepShape> shapes{{{0, 0}, 2, 6},
                                             {{1}, 1, 1},
                                             {{3, 0, 5}, 2, 6},
                                             {{0, 7, 0, 9}, 6, 6},
                                             {{130, 1, 257}, 6, 2},
                                             {{2000, 1500}, 6, 6},
                                             {{33, 40}, 16, 16},
                                             {{300, 20, 5}, 7, 33},
                                             {{70, 140}, 64, 64},
                                             {{64, 64, 0}, 65, 3},
                                             {std::vector<std::int64_t>(90, 130), 8, 12}};
  return shapes;
}

/// The step of row r.
inline std::int64_t step_of(const std::vector<std::int64_t>& offsets, std::int64_t r) {
  return std::upper_bound(offsets.begin(), offsets.end(), r) - offsets.begin() - 1;
}

inline std::vector<Output> judge_step_dense(Device& device, const StepShape& s, Activation activation) {
  const std::vector<std::int64_t> offsets = s.offsets();
  const std::int64_t rows = offsets.back();
  const std::vector<double> x = random_values(rows * s.inner, 81), w = random_values(s.steps() * s.inner * s.width, 82);
  std::vector<Judged> y(rows * s.width);
  for (std::int64_t i = 0; i < rows * s.width; ++i) {
    const std::int64_t r = i / s.width, first = step_of(offsets, r) * s.inner;
    Judged& out = y[i];
    for (std::int64_t f = 0; f < s.inner; ++f) {
      out.add(x[r * s.inner + f] * w[(first + f) * s.width + i % s.width]);
    }
    if (activation == Activation::relu) out.value = std::max(0.0, out.value);
  }
  const StepDense op{upload(device, x, rows, s.inner), upload(device, w, s.steps() * s.inner, s.width),
                     upload(device, offsets), device.allocate(rows, s.width), activation};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<OperationCase> step_dense_cases() {
  std::vector<OperationCase> cases;
  for (const StepShape& shape : step_shapes()) {
    for (const Activation activation : {Activation::none, Activation::relu}) {
      cases.push_back({"", shape.name() + (activation == Activation::relu ? ", relu" : ""),
                       [=](Device& device) { return judge_step_dense(device, shape, activation); }});
    }
  }
  return cases;
}

/// Bit 0: relu; bit 1: with dx; bit 2: add to what is there.
inline std::vector<Output> judge_step_dense_backward(Device& device, const StepShape& s, int flags) {
  const std::vector<std::int64_t> offsets = s.offsets();
  const std::int64_t rows = offsets.back(), weights = s.steps() * s.inner * s.width;
  const bool relu = (flags & 1) != 0, with_dx = (flags & 2) != 0, accumulate = (flags & 4) != 0;
  const std::vector<double> x = random_values(rows * s.inner, 83), w = random_values(weights, 84),
                            y = random_values(rows * s.width, 85), dy = random_values(rows * s.width, 86),
                            dx = random_values(rows * s.inner, 87), dw = random_values(weights, 88);
  std::vector<Judged> to_dx = start(dx, accumulate), to_dw = start(dw, accumulate);
  for (std::int64_t i = 0; i < rows * s.width; ++i) {
    const std::int64_t r = i / s.width, first = step_of(offsets, r) * s.inner;
    const std::size_t at = i;
    const double dz = relu && !(y[at] > 0) ? 0.0 : dy[at];
    for (std::int64_t f = 0; f < s.inner; ++f) {
      const auto cell = static_cast<std::size_t>(r * s.inner + f),
                 weight = static_cast<std::size_t>((first + f) * s.width + i % s.width);
      to_dx[cell].add(dz * w[weight]);
      to_dw[weight].add(dz * x[cell]);
    }
  }
  StepDenseBackward op{upload(device, x, rows, s.inner),
                       upload(device, w, s.steps() * s.inner, s.width),
                       upload(device, offsets),
                       upload(device, y, rows, s.width),
                       upload(device, dy, rows, s.width),
                       {},
                       upload(device, dw, s.steps() * s.inner, s.width),
                       relu ? Activation::relu : Activation::none,
                       accumulate,
                       accumulate};
  if (with_dx) op.dx = upload(device, dx, rows, s.inner);
  device.run(op);
  std::vector<Output> outputs{{"dw", download(device, op.dw), to_dw}};
  if (with_dx) outputs.push_back({"dx", download(device, op.dx), to_dx});
  return outputs;
}

inline std::vector<OperationCase> step_dense_backward_cases() {
  std::vector<OperationCase> cases;
  for (const StepShape& shape : step_shapes()) {
    for (const int flags : {0, 3, 6, 7}) {
      cases.push_back({"", shape.name() + ", flags " + std::to_string(flags),
                       [=](Device& device) { return judge_step_dense_backward(device, shape, flags); }});
    }
  }
  return cases;
}

/// One evolution: T steps of an [F, G] matrix; `carried` from a cell state and on to one.
struct EvolveShape {
  std::int64_t steps, f, g;
  EvolveCell cell;
  bool with_summary, detached, carried;

  std::int64_t gates() const { return gates_of(cell); }
  std::string name() const {
    return std::to_string(steps) + " steps of " + std::to_string(f) + " x " + std::to_string(g) +
           (cell == EvolveCell::lstm ? ", lstm" : ", gru") + (with_summary ? ", summary" : "") +
           (detached ? ", detached" : "") + (carried ? ", carried" : "");
  }
};

inline std::vector<EvolveShape> evolve_shapes(bool backward) {
  std::vector<EvolveShape> shapes;
  const std::vector<std::vector<std::int64_t>> sizes{{0, 2, 6},   {1, 1, 1},  {3, 2, 6},  {6, 6, 6},  {4, 7, 17},
                                                     {2, 18, 33}, {2, 33, 5}, {2, 70, 4}, {3, 64, 8}, {40, 3, 4}};
  for (const auto& size : sizes) {
    for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7}) {
      if ((flags & 4) != 0 && !backward) continue;
      const EvolveCell cell = (flags & 1) != 0 ? EvolveCell::gru : EvolveCell::lstm;
      shapes.push_back({size[0], size[1], size[2], cell, (flags & 2) != 0, (flags & 4) != 0, false});
      if (cell == EvolveCell::lstm) shapes.push_back(shapes.back()), shapes.back().carried = true;
    }
  }
  return shapes;
}

struct EvolveInput {
  std::vector<double> wx, wh, bias, start, summary, dweights, dwx, dwh, dbias, dstart, dsummary;
  std::vector<double> start_cell, dlast_cell, dstart_cell;  // zero unless the cell state is carried
};

inline EvolveInput evolve_input(const EvolveShape& s) {
  const std::int64_t gate_weights = s.gates() * s.f * s.f, size = s.f * s.g;
  return {scaled(random_values(gate_weights, 91), s.f + s.f),
          scaled(random_values(gate_weights, 92), s.f + s.f),
          random_values(s.gates() * size, 93),
          random_values(size, 94),
          s.with_summary ? random_values(s.steps * size, 95) : std::vector<double>(),
          random_values(s.steps * size, 96),
          random_values(gate_weights, 97),
          random_values(gate_weights, 98),
          random_values(s.gates() * size, 99),
          random_values(size, 100),
          random_values(s.with_summary ? s.steps * size : 0, 101),
          s.carried ? random_values(size, 102) : std::vector<double>(size, 0.0),
          s.carried ? random_values(size, 103) : std::vector<double>(size, 0.0),
          random_values(size, 104)};
}

/// The judge's evolution: all weights and what is kept.
struct JudgedEvolution {
  ScalarTape tape;
  std::vector<Scalar> wx, wh, bias, start, summary, start_cell;
  std::vector<Scalar> weights, kept, last_cell;

  JudgedEvolution(const EvolveShape& s, const EvolveInput& in)
      : wx(tape.constants(in.wx)),
        wh(tape.constants(in.wh)),
        bias(tape.constants(in.bias)),
        start(tape.constants(in.start)),
        summary(tape.constants(in.summary)),
        start_cell(tape.constants(in.start_cell)) {
    std::vector<Scalar> h = start, c = start_cell;
    for (std::int64_t t = 0; t < s.steps; ++t) {
      if (s.detached && t > 0) cut(h), cut(c);
      std::vector<Scalar> x = h;
      for (std::int64_t i = 0; s.with_summary && i < s.f * s.g; ++i) {
        x[i] = summary[(t * s.g + i % s.g) * s.f + i / s.g];
      }
      s.cell == EvolveCell::lstm ? lstm(s, x, h, c) : gru(s, x, h);
      weights.insert(weights.end(), h.begin(), h.end());
    }
    last_cell = c;
  }

 private:
  void cut(std::vector<Scalar>& values) {
    for (Scalar& value : values) value = tape.constant(tape.value(value));
  }

  /// Gate k of the whole matrix.
  std::vector<Scalar> gate(const EvolveShape& s, std::int64_t k, const std::vector<Scalar>& x,
                           const std::vector<Scalar>& h, bool is_tanh) {
    std::vector<Scalar> result;
    for (std::int64_t i = 0; i < s.f * s.g; ++i) {
      Scalar sum = bias[k * s.f * s.g + i];
      for (std::int64_t j = 0; j < s.f; ++j) {
        const auto weight = static_cast<std::size_t>((k * s.f + i / s.g) * s.f + j),
                   cell = static_cast<std::size_t>(j * s.g + i % s.g);
        sum = tape.multiply_add(wx[weight], x[cell], sum);
        sum = tape.multiply_add(wh[weight], h[cell], sum);
      }
      result.push_back(is_tanh ? tape.tanh(sum) : tape.sigmoid(sum));
    }
    kept.insert(kept.end(), result.begin(), result.end());
    return result;
  }

  void lstm(const EvolveShape& s, const std::vector<Scalar>& x, std::vector<Scalar>& h, std::vector<Scalar>& c) {
    const std::vector<Scalar> before = h;
    const auto in = gate(s, 0, x, before, false), forget = gate(s, 1, x, before, false),
               candidate = gate(s, 2, x, before, true), out = gate(s, 3, x, before, false);
    for (std::size_t i = 0; i < h.size(); ++i) {
      c[i] = tape.multiply_add(in[i], candidate[i], tape.multiply(forget[i], c[i]));
      h[i] = tape.multiply(out[i], tape.tanh(c[i]));
    }
    kept.insert(kept.end(), c.begin(), c.end());
  }

  void gru(const EvolveShape& s, const std::vector<Scalar>& x, std::vector<Scalar>& h) {
    const auto update = gate(s, 0, x, h, false), reset = gate(s, 1, x, h, false);
    std::vector<Scalar> read;
    for (std::size_t i = 0; i < h.size(); ++i) read.push_back(tape.multiply(reset[i], h[i]));
    const auto candidate = gate(s, 2, x, read, true);
    for (std::size_t i = 0; i < h.size(); ++i) {
      h[i] = tape.multiply_add(update[i], candidate[i], tape.multiply(tape.complement(update[i]), h[i]));
    }
  }
};

inline std::vector<Judged> judged(const ScalarTape& tape, const std::vector<Scalar>& scalars) {
  std::vector<double> values;
  for (const Scalar scalar : scalars) values.push_back(tape.value(scalar));
  return against_largest(values);
}

inline std::vector<Output> judge_evolve(Device& device, const EvolveShape& s) {
  const EvolveInput in = evolve_input(s);
  const JudgedEvolution judge(s, in);
  EvolveWeights op;
  op.wx = upload(device, in.wx, s.gates() * s.f, s.f);
  op.wh = upload(device, in.wh, s.gates() * s.f, s.f);
  op.bias = upload(device, in.bias, s.gates() * s.f, s.g);
  op.start = upload(device, in.start, s.f, s.g);
  if (s.carried) op.start_cell = upload(device, in.start_cell, s.f, s.g);
  if (s.with_summary) op.summary = upload(device, in.summary, s.steps * s.g, s.f);
  op.weights = device.allocate(s.steps * s.f, s.g);
  op.kept = device.allocate(s.steps * kept_of(s.cell) * s.f, s.g);
  op.cell = s.cell;
  device.run(op);
  return {{"weights", download(device, op.weights), judged(judge.tape, judge.weights)},
          {"kept", download(device, op.kept), judged(judge.tape, judge.kept)}};
}

inline std::vector<OperationCase> evolve_cases() {
  std::vector<OperationCase> cases;
  for (const EvolveShape& shape : evolve_shapes(false)) {
    cases.push_back({"", shape.name(), [=](Device& device) { return judge_evolve(device, shape); }});
  }
  return cases;
}

inline std::vector<Output> judge_evolve_backward(Device& device, const EvolveShape& s);
inline std::vector<OperationCase> evolve_backward_cases();
inline std::vector<OperationCase> pick_candidates_cases();
inline std::vector<OperationCase> choose_candidates_cases();
inline std::vector<OperationCase> summarise_cases();
inline std::vector<OperationCase> summarise_backward_cases();

}  // namespace strobe::conformance

#include "tests/conformance/operations/evolve_inl.hpp"
