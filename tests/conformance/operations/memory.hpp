// Cases and judges of what models of events compute within a row: time encodings, GRU cells, tanh, projections through
// time, normalisation.
#pragma once

#include <cmath>

#include "backends/operations/operations_memory.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct MemoryShape {
  std::int64_t rows, width;

  std::size_t cell(std::int64_t r, std::int64_t c) const { return static_cast<std::size_t>(r * width + c); }
  std::string name() const { return std::to_string(rows) + " rows, width " + std::to_string(width); }
};

inline const std::vector<MemoryShape>& memory_shapes() {
  static const std::vector<MemoryShape> shapes{{0, 3},    {1, 1},   {70, 1},    {5, 6},   {37, 2},
                                               {130, 17}, {129, 4}, {300, 100}, {65, 32}, {9000, 3}};
  return shapes;
}

/// Whether the output is added to, and whether the optional output is defined.
struct MemoryFlags {
  bool accumulate = false, defined = true;
};

/// `values`, rounded to float, times `scale`.
inline std::vector<double> scaled_values(std::vector<double> values, double scale) {
  for (double& x : values) x = static_cast<double>(static_cast<float>(x * scale));
  return values;
}

/// A tensor of an output that may be undefined.
inline Tensor optional_output(Device& device, const MemoryShape& s, const std::vector<double>& before,
                              const MemoryFlags& flags) {
  return flags.defined ? upload(device, before, s.rows, s.width) : Tensor();
}

/// Time encodings: differences from parts of a second to a month, of either sign. Differences and frequencies are exact
/// in float, so their product is exact in double, and the argument is the same whether it is fused with the sum or not.
struct EncodingInputs {
  MemoryShape shape;
  std::vector<double> dt, frequency, phase, dy, before, other_before;

  explicit EncodingInputs(const MemoryShape& s)
      : shape(s),
        dt(random_values(s.rows, 91)),
        frequency(random_values(s.width, 92)),
        phase(scaled_values(random_values(s.width, 93), 3.0)),
        dy(random_values(s.rows * s.width, 94)),
        before(random_values(s.width, 95)),
        other_before(random_values(s.width, 96)) {
    constexpr double scales[] = {3e6, 1.0, 1e4, 100.0};
    for (std::size_t r = 0; r < dt.size(); ++r) dt[r] = static_cast<double>(static_cast<float>(dt[r] * scales[r % 4]));
    frequency[0] = 1.0;
    if (!dt.empty()) dt[0] = 3e6;
    if (dt.size() > 2) dt[2] = 0.0;
  }
  double argument(std::int64_t r, std::int64_t d) const {
    const std::size_t column = d;
    return dt[r] * frequency[column] + phase[column];
  }
  Tensor row(Device& device, const std::vector<double>& values) const { return upload(device, values, 1, shape.width); }
};

inline std::vector<Output> judge_encoding(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const EncodingInputs in(s);
  std::vector<Judged> y;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t d = 0; d < s.width; ++d) y.push_back({std::cos(in.argument(r, d)), 1.0});
  }
  const TimeEncoding op{upload(device, in.dt, s.rows, 1), in.row(device, in.frequency), in.row(device, in.phase),
                        device.allocate(s.rows, s.width)};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_encoding_backward(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const EncodingInputs in(s);
  std::vector<Judged> dfrequency = start(in.before, true), dphase = start(in.other_before, true);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t d = 0; d < s.width; ++d) {
      const double slope = -std::sin(in.argument(r, d)) * in.dy[s.cell(r, d)];
      dfrequency[d].add(slope * in.dt[r]);
      dphase[d].add(slope);
    }
  }
  const TimeEncodingBackward op{upload(device, in.dt, s.rows, 1), in.row(device, in.frequency),
                                in.row(device, in.phase),         upload(device, in.dy, s.rows, s.width),
                                in.row(device, in.before),        in.row(device, in.other_before)};
  device.run(op);
  return {{"dfrequency", download(device, op.dfrequency), dfrequency}, {"dphase", download(device, op.dphase), dphase}};
}

/// Inputs of a cell and its gates.
struct CellInputs {
  MemoryShape shape;
  std::vector<double> gi, gh, state, dy, before;

  explicit CellInputs(const MemoryShape& s)
      : shape(s),
        gi(scaled_values(random_values(3 * s.rows * s.width, 101), 4.0)),
        gh(scaled_values(random_values(3 * s.rows * s.width, 102), 2.0)),
        state(random_values(s.rows * s.width, 103)),
        dy(random_values(s.rows * s.width, 104)),
        before(random_values(s.rows * s.width, 105)) {}

  std::size_t gate(int which, std::int64_t r, std::int64_t c) const {
    return static_cast<std::size_t>((r * 3 + which) * shape.width + c);
  }
  double opened(int which, std::int64_t r, std::int64_t c) const {
    return 1.0 / (1.0 + std::exp(-gi[gate(which, r, c)] - gh[gate(which, r, c)]));
  }
  double candidate(std::int64_t r, std::int64_t c) const {
    return std::tanh(gi[gate(2, r, c)] + opened(0, r, c) * gh[gate(2, r, c)]);
  }
  Tensor wide(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, 3 * shape.width);
  }
  Tensor narrow(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, shape.width);
  }
};

inline std::vector<Output> judge_cell(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const CellInputs in(s);
  std::vector<Judged> y;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t c = 0; c < s.width; ++c) {
      const double z = in.opened(1, r, c), old = in.state[s.cell(r, c)];
      y.push_back({(1 - z) * in.candidate(r, c) + z * old, 1.0 + std::abs(old)});
    }
  }
  const GruCell op{in.wide(device, in.gi), in.wide(device, in.gh), in.narrow(device, in.state),
                   device.allocate(s.rows, s.width)};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_cell_backward(Device& device, const MemoryShape& s, const MemoryFlags& flags) {
  const CellInputs in(s);
  std::vector<Judged> dgi(in.gi.size()), dgh(in.gh.size()), dstate = start(in.before, flags.accumulate);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t c = 0; c < s.width; ++c) {
      const double r = in.opened(0, row, c), z = in.opened(1, row, c), n = in.candidate(row, c);
      const double dy = in.dy[s.cell(row, c)], old = in.state[s.cell(row, c)], scaled = in.gh[in.gate(2, row, c)];
      const double size = std::abs(dy), dn = dy * (1 - z) * (1 - n * n);
      dgi[in.gate(0, row, c)] = dgh[in.gate(0, row, c)] = {dn * scaled * r * (1 - r), size * std::abs(scaled)};
      dgi[in.gate(1, row, c)] = dgh[in.gate(1, row, c)] = {dy * (old - n) * z * (1 - z), size * (1 + std::abs(old))};
      dgi[in.gate(2, row, c)] = {dn, size};
      dgh[in.gate(2, row, c)] = {dn * r, size};
      for (const double term : {dy * z, 0.5 * dy, -0.5 * dy}) dstate[s.cell(row, c)].add(term);  // z may be small
    }
  }
  const GruCellBackward op{in.wide(device, in.gi),
                           in.wide(device, in.gh),
                           in.narrow(device, in.state),
                           in.narrow(device, in.dy),
                           device.allocate(s.rows, 3 * s.width),
                           device.allocate(s.rows, 3 * s.width),
                           optional_output(device, s, in.before, flags),
                           flags.accumulate};
  device.run(op);
  std::vector<Output> outputs{{"dgi", download(device, op.dgi), dgi}, {"dgh", download(device, op.dgh), dgh}};
  if (flags.defined) outputs.push_back({"dstate", download(device, op.dstate), dstate});
  return outputs;
}

inline std::vector<Output> judge_tanh(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const std::vector<double> x = scaled_values(random_values(s.rows * s.width, 111), 6.0);
  std::vector<Judged> y;
  for (const double value : x) y.push_back({std::tanh(value), 1.0});
  const Tanh op{upload(device, x, s.rows, s.width), device.allocate(s.rows, s.width)};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_tanh_backward(Device& device, const MemoryShape& s, const MemoryFlags& flags) {
  const std::vector<double> y = random_values(s.rows * s.width, 112), dy = random_values(s.rows * s.width, 113),
                            before = random_values(s.rows * s.width, 114);
  std::vector<Judged> dx = start(before, flags.accumulate);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (const double term : {dy[i], -dy[i] * y[i] * y[i]}) dx[i].add(term);
  }
  const TanhBackward op{upload(device, y, s.rows, s.width), upload(device, dy, s.rows, s.width),
                        upload(device, before, s.rows, s.width), flags.accumulate};
  device.run(op);
  return {{"dx", download(device, op.dx), dx}};
}

struct ProjectionInputs {
  std::vector<double> x, dt, slope, shift, dy, before, of_slope, of_shift;

  explicit ProjectionInputs(const MemoryShape& s)
      : x(random_values(s.rows * s.width, 121)),
        dt(scaled_values(random_values(s.rows, 122), 10.0)),
        slope(random_values(s.width, 123)),
        shift(random_values(s.width, 124)),
        dy(random_values(s.rows * s.width, 125)),
        before(random_values(s.rows * s.width, 126)),
        of_slope(random_values(s.width, 127)),
        of_shift(random_values(s.width, 128)) {}
};

inline std::vector<Output> judge_projection(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const ProjectionInputs in(s);
  std::vector<Judged> y(in.x.size());
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t c = 0; c < s.width; ++c) {
      const auto row = static_cast<std::size_t>(r), column = static_cast<std::size_t>(c);
      const double x = in.x[s.cell(r, c)];
      for (const double term : {x, x * in.dt[row] * in.slope[column], x * in.shift[column]}) y[s.cell(r, c)].add(term);
    }
  }
  const TimeProjection op{upload(device, in.x, s.rows, s.width), upload(device, in.dt, s.rows, 1),
                          upload(device, in.slope, 1, s.width), upload(device, in.shift, 1, s.width),
                          device.allocate(s.rows, s.width)};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_projection_backward(Device& device, const MemoryShape& s, const MemoryFlags& flags) {
  const ProjectionInputs in(s);
  std::vector<Judged> dx = start(in.before, flags.accumulate), dslope = start(in.of_slope, true),
                      dshift = start(in.of_shift, true);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t c = 0; c < s.width; ++c) {
      const auto row = static_cast<std::size_t>(r), column = static_cast<std::size_t>(c);
      const double dy = in.dy[s.cell(r, c)], x = in.x[s.cell(r, c)], dt = in.dt[row];
      for (const double term : {dy, dy * dt * in.slope[column], dy * in.shift[column]}) dx[s.cell(r, c)].add(term);
      dslope[column].add(dy * x * dt);
      dshift[column].add(dy * x);
    }
  }
  const TimeProjectionBackward op{upload(device, in.x, s.rows, s.width),
                                  upload(device, in.dt, s.rows, 1),
                                  upload(device, in.slope, 1, s.width),
                                  upload(device, in.shift, 1, s.width),
                                  upload(device, in.dy, s.rows, s.width),
                                  optional_output(device, s, in.before, flags),
                                  upload(device, in.of_slope, 1, s.width),
                                  upload(device, in.of_shift, 1, s.width),
                                  flags.accumulate};
  device.run(op);
  std::vector<Output> outputs{{"dslope", download(device, op.dslope), dslope},
                              {"dshift", download(device, op.dshift), dshift}};
  if (flags.defined) outputs.push_back({"dx", download(device, op.dx), dx});
  return outputs;
}

/// Rows whose mean is 0, a thousand or minus two thousand times their deviation. Sums of such floats are exact in
/// double, so that the mean is the same in whatever order they are taken.
struct NormInputs {
  MemoryShape shape;
  std::vector<double> x, gain, shift, dy, before, of_gain, of_shift;

  explicit NormInputs(const MemoryShape& s)
      : shape(s),
        x(random_values(s.rows * s.width, 131)),
        gain(random_values(s.width, 132)),
        shift(random_values(s.width, 133)),
        dy(random_values(s.rows * s.width, 134)),
        before(random_values(s.rows * s.width, 135)),
        of_gain(random_values(s.width, 136)),
        of_shift(random_values(s.width, 137)) {
    constexpr double means[] = {0.0, 1000.0, -2000.0};
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<double>(static_cast<float>(x[i] + means[i / static_cast<std::size_t>(s.width) % 3]));
  }

  /// Row r less its mean, over sqrt(variance + epsilon); `inverse` is 1 over the latter.
  std::vector<double> centred(std::int64_t r, double epsilon, double& inverse) const {
    double mean = 0, squares = 0;
    for (std::int64_t f = 0; f < shape.width; ++f) mean += x[shape.cell(r, f)];
    mean /= static_cast<double>(shape.width);
    std::vector<double> values;
    for (std::int64_t f = 0; f < shape.width; ++f) values.push_back(x[shape.cell(r, f)] - mean);
    for (const double v : values) squares += v * v;
    inverse = 1.0 / std::sqrt(squares / static_cast<double>(shape.width) + epsilon);
    for (double& v : values) v *= inverse;
    return values;
  }
};

inline std::vector<Output> judge_norm(Device& device, const MemoryShape& s, const MemoryFlags&) {
  const NormInputs in(s);
  LayerNorm op{upload(device, in.x, s.rows, s.width), upload(device, in.gain, 1, s.width),
               upload(device, in.shift, 1, s.width), device.allocate(s.rows, s.width)};
  op.epsilon = 0.01;
  std::vector<Judged> y(in.x.size());
  double inverse = 0;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::vector<double> values = in.centred(r, op.epsilon, inverse);
    for (std::size_t f = 0; f < values.size(); ++f) {
      for (const double term : {in.gain[f] * values[f], in.shift[f]}) y[s.cell(r, 0) + f].add(term);
    }
  }
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_norm_backward(Device& device, const MemoryShape& s, const MemoryFlags& flags) {
  const NormInputs in(s);
  LayerNormBackward op{upload(device, in.x, s.rows, s.width),  upload(device, in.gain, 1, s.width),
                       upload(device, in.dy, s.rows, s.width), optional_output(device, s, in.before, flags),
                       upload(device, in.of_gain, 1, s.width), upload(device, in.of_shift, 1, s.width)};
  op.epsilon = 0.01;
  op.accumulate_dx = flags.accumulate;
  std::vector<Judged> dx = start(in.before, flags.accumulate), dgain = start(in.of_gain, true),
                      dshift = start(in.of_shift, true);
  double inverse = 0;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::vector<double> values = in.centred(r, op.epsilon, inverse);
    // dx_f = sum over e of dy_e gain_e inverse (1[e = f] - 1 / F - c_e c_f / F), term by term.
    for (std::size_t e = 0; e < values.size(); ++e) {
      const double dy = in.dy[s.cell(r, 0) + e], slope = dy * in.gain[e] * inverse;
      dgain[e].add(dy * values[e]);
      dshift[e].add(dy);
      dx[s.cell(r, 0) + e].add(slope);
      for (std::size_t f = 0; f < values.size(); ++f) {
        const double share = slope / static_cast<double>(values.size());
        for (const double term : {-share, -share * values[e] * values[f]}) dx[s.cell(r, 0) + f].add(term);
      }
    }
  }
  device.run(op);
  std::vector<Output> outputs{{"dgain", download(device, op.dgain), dgain},
                              {"dshift", download(device, op.dshift), dshift}};
  if (flags.defined) outputs.push_back({"dx", download(device, op.dx), dx});
  return outputs;
}

using MemoryJudge = std::vector<Output> (*)(Device&, const MemoryShape&, const MemoryFlags&);

/// One case per shape and choice of flags.
inline std::vector<OperationCase> memory_cases(MemoryJudge judge, const std::vector<MemoryFlags>& choices = {{}}) {
  std::vector<OperationCase> cases;
  for (const MemoryFlags& flags : choices) {
    for (const MemoryShape& shape : memory_shapes()) {
      const std::string end = std::string(flags.accumulate ? ", added" : "") + (flags.defined ? "" : ", not wanted");
      cases.push_back({"", shape.name() + end, [=](Device& device) { return judge(device, shape, flags); }});
    }
  }
  return cases;
}

inline std::vector<OperationFamily> memory_families() {
  const std::vector<MemoryFlags> added{{false, true}, {true, true}},
      optional{{false, true}, {true, true}, {false, false}};
  return {family<TimeEncoding>(memory_cases(judge_encoding)),
          family<TimeEncodingBackward>(memory_cases(judge_encoding_backward)),
          family<GruCell>(memory_cases(judge_cell)),
          family<GruCellBackward>(memory_cases(judge_cell_backward, optional)),
          family<Tanh>(memory_cases(judge_tanh)),
          family<TanhBackward>(memory_cases(judge_tanh_backward, added)),
          family<TimeProjection>(memory_cases(judge_projection)),
          family<TimeProjectionBackward>(memory_cases(judge_projection_backward, optional)),
          family<LayerNorm>(memory_cases(judge_norm)),
          family<LayerNormBackward>(memory_cases(judge_norm_backward, optional))};
}

}  // namespace strobe::conformance
