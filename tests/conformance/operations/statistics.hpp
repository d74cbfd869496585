// Cases and judges of batch statistics, normalisation and dropout: the definitions, one feature of one step at a time.
#pragma once

#include "backends/operations/operations_statistics.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

/// Steps of different lengths, some empty, of `width` features; sums span `vertices` cells.
struct StatisticsShape {
  std::vector<std::int64_t> lengths;
  std::int64_t width, vertices;
  bool counted = false;  // every step's sums span other cells: some more than its rows, none in a step without rows

  /// Cells that the sums of step t span.
  std::int64_t cells(std::int64_t t) const {
    const std::int64_t own = lengths[t];
    return !counted ? vertices : own == 0 ? 0 : own + t % 3;
  }
  double count(std::size_t value) const { return static_cast<double>(cells(static_cast<std::int64_t>(value) / width)); }
  Tensor counts(Device& device) const {
    if (!counted) return {};
    std::vector<std::int64_t> all;
    for (std::int64_t t = 0; t < steps(); ++t) all.push_back(cells(t));
    return upload(device, all);
  }

  std::vector<std::int64_t> step_rows() const {
    std::vector<std::int64_t> rows{0};
    for (const std::int64_t length : lengths) rows.push_back(rows.back() + length);
    return rows;
  }
  std::int64_t rows() const { return step_rows().back(); }
  std::int64_t steps() const { return static_cast<std::int64_t>(lengths.size()); }
  std::string name() const {
    return std::to_string(steps()) + " steps, " + std::to_string(rows()) + " x " + std::to_string(width) +
           (counted ? ", counted" : "");
  }
};

inline std::vector<StatisticsShape> statistics_shapes() {
  return {{{1}, 1, 1},
          {{0, 5, 0, 7}, 6, 9},
          {{33, 33, 33}, 7, 40},
          {{500, 1, 0, 300}, 16, 600},
          {{5}, 2, 1, true},
          {{0, 5, 0, 7}, 6, 9, true},
          {{500, 1, 0, 300}, 16, 600, true}};
}

/// Calls visit(step, row * width + feature, feature) for every value.
template <class Visit>
void each_value(const StatisticsShape& s, const Visit& visit) {
  const std::vector<std::int64_t> rows = s.step_rows();
  for (std::int64_t t = 0; t < s.steps(); ++t) {
    for (std::int64_t i = rows[t] * s.width; i < rows[t + 1] * s.width; ++i) {
      visit(static_cast<std::size_t>(t * s.width + i % s.width), static_cast<std::size_t>(i),
            static_cast<std::size_t>(i % s.width));
    }
  }
}

inline std::vector<Output> judge_step_sums(Device& device, const StatisticsShape& s, bool squares) {
  const std::vector<double> x = random_values(s.rows() * s.width, 91), totals = random_values(s.steps() * s.width, 92);
  std::vector<Judged> sums(totals.size());
  each_value(s, [&](std::size_t cell, std::size_t at, std::size_t) {
    const double off = x[at] - totals[cell] / s.count(cell);
    sums[cell].add(squares ? off * off : x[at]);
  });
  StepSums op;
  op.x = upload(device, x, s.rows(), s.width);
  if (squares) op.totals = upload(device, totals, s.steps(), s.width);
  op.step_rows = upload(device, s.step_rows());
  op.sums = device.allocate(s.steps(), s.width);
  op.vertices = s.vertices;
  op.counts = s.counts(device);
  device.run(op);
  return {{"sums", download(device, op.sums), sums}};
}

/// The values of a normalisation: squares are positive, so variances are.
struct StandardiseInput {
  std::vector<double> x, totals, squares, gain, shift, dy, dx, dgain, dshift;

  explicit StandardiseInput(const StatisticsShape& s)
      : x(random_values(s.rows() * s.width, 91)),
        totals(random_values(s.steps() * s.width, 92)),
        squares(random_values(s.steps() * s.width, 95)),
        gain(random_values(s.width, 96)),
        shift(random_values(s.width, 97)),
        dy(random_values(s.rows() * s.width, 98)),
        dx(random_values(s.rows() * s.width, 94)),
        dgain(random_values(s.width, 99)),
        dshift(random_values(s.width, 100)) {
    for (double& value : squares) value = static_cast<double>(static_cast<float>(0.25 + value * value));
  }
};

template <class Op>
void upload_statistics(Device& device, const StatisticsShape& s, const StandardiseInput& in, Op& op) {
  op.x = upload(device, in.x, s.rows(), s.width);
  op.totals = upload(device, in.totals, s.steps(), s.width);
  op.squares = upload(device, in.squares, s.steps(), s.width);
  op.gain = upload(device, in.gain, 1, s.width);
  op.step_rows = upload(device, s.step_rows());
  op.vertices = s.vertices;
  op.counts = s.counts(device);
}

inline std::vector<Output> judge_standardise(Device& device, const StatisticsShape& s) {
  const StandardiseInput in(s);
  std::vector<Judged> y(in.x.size());
  each_value(s, [&](std::size_t cell, std::size_t at, std::size_t f) {
    const double n = s.count(cell);
    const double deviation = std::sqrt(in.squares[cell] / n + 1e-5);
    y[at].add(in.gain[f] * in.x[at] / deviation);
    y[at].add(-in.gain[f] * in.totals[cell] / n / deviation);
    y[at].add(in.shift[f]);
  });
  Standardise op;
  upload_statistics(device, s, in, op);
  op.shift = upload(device, in.shift, 1, s.width);
  op.y = device.allocate(s.rows(), s.width);
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_standardise_backward(Device& device, const StatisticsShape& s) {
  const StandardiseInput in(s);
  std::vector<Judged> dgain = start(in.dgain, true), dshift = start(in.dshift, true), dtotals(in.totals.size()),
                      dsquares(in.totals.size());
  each_value(s, [&](std::size_t cell, std::size_t at, std::size_t f) {
    const double n = s.count(cell);
    const double deviation = std::sqrt(in.squares[cell] / n + 1e-5), off = in.x[at] - in.totals[cell] / n;
    dtotals[cell].add(-in.dy[at] * in.gain[f] / deviation / n);
    dsquares[cell].add(-0.5 * in.dy[at] * in.gain[f] * off / (deviation * deviation * deviation) / n);
    dgain[f].add(in.dy[at] * off / deviation);
    dshift[f].add(in.dy[at]);
  });
  StandardiseBackward op;
  upload_statistics(device, s, in, op);
  op.dy = upload(device, in.dy, s.rows(), s.width);
  op.dtotals = device.allocate(s.steps(), s.width);
  op.dsquares = device.allocate(s.steps(), s.width);
  op.dgain = upload(device, in.dgain, 1, s.width);
  op.dshift = upload(device, in.dshift, 1, s.width);
  device.run(op);
  return {{"dtotals", download(device, op.dtotals), dtotals},
          {"dsquares", download(device, op.dsquares), dsquares},
          {"dgain", download(device, op.dgain), dgain},
          {"dshift", download(device, op.dshift), dshift}};
}

inline std::vector<Output> judge_standardise_input_backward(Device& device, const StatisticsShape& s, bool with_dy,
                                                            bool add) {
  const StandardiseInput in(s);
  const std::vector<double> dtotals = random_values(s.steps() * s.width, 93),
                            dsquares = random_values(s.steps() * s.width, 101);
  std::vector<Judged> dx = start(in.dx, add);
  each_value(s, [&](std::size_t cell, std::size_t at, std::size_t f) {
    const double n = s.count(cell);
    const double deviation = std::sqrt(in.squares[cell] / n + 1e-5);
    if (with_dy) dx[at].add(in.dy[at] * in.gain[f] / deviation);
    dx[at].add(2 * in.x[at] * dsquares[cell]);
    dx[at].add(-2 * in.totals[cell] / n * dsquares[cell]);
    dx[at].add(dtotals[cell]);
  });
  StandardiseInputBackward op;
  upload_statistics(device, s, in, op);
  if (with_dy) op.dy = upload(device, in.dy, s.rows(), s.width);
  op.dtotals = upload(device, dtotals, s.steps(), s.width);
  op.dsquares = upload(device, dsquares, s.steps(), s.width);
  op.dx = upload(device, in.dx, s.rows(), s.width);
  op.accumulate = add;
  device.run(op);
  return {{"dx", download(device, op.dx), dx}};
}

/// `ids` run backwards in steps of 3, so that nothing may depend on the row.
inline std::vector<Output> judge_dropout(Device& device, std::int64_t rows, std::int64_t width, double rate, bool add) {
  const std::vector<double> x = random_values(rows * width, 91), before = random_values(rows * width, 94);
  std::vector<std::int64_t> ids(rows);
  for (std::int64_t r = 0; r < rows; ++r) ids[r] = (rows - r) * 3;
  std::vector<Judged> y = start(before, add);
  const std::uint64_t seed = 0x123456789abcdefull;
  for (std::int64_t i = 0; i < rows * width; ++i) {
    const std::uint64_t id = ids[i / width];
    const auto group = static_cast<std::uint32_t>(i % width / 4 * 4);
    const auto words = philox({static_cast<std::uint32_t>(id), 0u, random_purpose::dropout + group * 256u, 5u},
                              {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const bool kept = static_cast<double>(words[i % width % 4]) >= rate * 4294967296.0;
    if (kept) y[i].add(x[i] / (1 - rate));
  }
  Dropout op{
      upload(device, x, rows, width), upload(device, ids), upload(device, before, rows, width), rate, seed, 5u, add};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

template <class Judge>
std::vector<OperationCase> statistics_cases(int most_flags, const Judge& judge) {
  std::vector<OperationCase> cases;
  for (const StatisticsShape& shape : statistics_shapes()) {
    for (int flags = 0; flags <= most_flags; ++flags) {
      cases.push_back({"", shape.name() + ", flags " + std::to_string(flags),
                       [=](Device& device) { return judge(device, shape, flags); }});
    }
  }
  return cases;
}

inline std::vector<OperationFamily> statistics_families() {
  std::vector<OperationCase> drops;
  for (const std::int64_t width : {1, 6, 17}) {
    for (const bool add : {false, true}) {
      drops.push_back({"", std::to_string(width) + " features" + (add ? ", accumulate" : ""), [=](Device& device) {
                         return judge_dropout(device, 5000, width, width == 6 ? 0.5 : 0.1, add);
                       }});
    }
  }
  using Shape = StatisticsShape;
  return {
      family<StepSums>(
          statistics_cases(1, [](Device& d, const Shape& s, int flags) { return judge_step_sums(d, s, flags == 1); })),
      family<Standardise>(statistics_cases(0, [](Device& d, const Shape& s, int) { return judge_standardise(d, s); })),
      family<StandardiseBackward>(
          statistics_cases(0, [](Device& d, const Shape& s, int) { return judge_standardise_backward(d, s); })),
      family<StandardiseInputBackward>(statistics_cases(
          3, [](Device& d, const Shape& s,
                int flags) { return judge_standardise_input_backward(d, s, (flags & 1) != 0, (flags & 2) != 0); })),
      family<Dropout>(std::move(drops))};
}

}  // namespace strobe::conformance
