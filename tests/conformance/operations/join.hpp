// Cases and judges of columns joined and split, where every value has one place, and of the dense layer of parts side
// by side: the definition, on the joined matrix.
#pragma once

#include "backends/operations/operations_join.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct JoinShape {
  std::int64_t rows;
  std::vector<std::int64_t> widths;

  std::int64_t columns() const {
    std::int64_t sum = 0;
    for (const std::int64_t width : widths) sum += width;
    return sum;
  }
  std::string name() const {
    std::string text = std::to_string(rows) + " rows of";
    for (const std::int64_t width : widths) text += " " + std::to_string(width);
    return text;
  }
};

inline std::vector<Output> judge_join(Device& device, const JoinShape& s) {
  JoinColumns op;
  std::vector<Judged> expected(s.rows * s.columns());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < s.widths.size(); first += s.widths[i], ++i) {
    const std::vector<double> values = random_values(s.rows * s.widths[i], static_cast<std::uint32_t>(171 + i));
    for (std::int64_t k = 0; k < s.rows * s.widths[i]; ++k) {
      const std::int64_t place = k / s.widths[i] * s.columns() + first + k % s.widths[i];
      expected[place].add(values[k]);
    }
    op.parts.push_back(upload(device, values, s.rows, s.widths[i]));
  }
  op.whole = device.allocate(s.rows, s.columns());
  device.run(op);
  return {{"whole", download(device, op.whole), expected}};
}

/// Leaves out every third part and adds to every second, in turns that begin at `turn`.
inline std::vector<Output> judge_split(Device& device, const JoinShape& s, std::size_t turn) {
  const std::vector<double> whole = random_values(s.rows * s.columns(), 170);
  SplitColumns op;
  op.whole = upload(device, whole, s.rows, s.columns());
  op.widths = s.widths;
  std::vector<Output> outputs;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < s.widths.size(); first += s.widths[i], ++i) {
    const std::vector<double> before = random_values(s.rows * s.widths[i], static_cast<std::uint32_t>(171 + i));
    op.accumulate.push_back((i + turn) % 2 == 1);
    const bool wanted = (i + turn) % 3 != 2;
    op.parts.push_back(wanted ? upload(device, before, s.rows, s.widths[i]) : Tensor());
    if (!wanted) continue;
    Output& output = outputs.emplace_back(Output{"part " + std::to_string(i), {}, start(before, op.accumulate[i])});
    for (std::int64_t k = 0; k < s.rows * s.widths[i]; ++k) {
      const std::int64_t place = k / s.widths[i] * s.columns() + first + k % s.widths[i];
      output.expected[k].add(whole[place]);
    }
  }
  device.run(op);
  std::size_t next = 0;
  for (const Tensor& part : op.parts) {
    if (part.defined()) outputs[next++].got = download(device, part);
  }
  return outputs;
}

/// The values of the parts, each [rows, width], and the same as one matrix.
struct JoinedValues {
  std::vector<std::vector<double>> parts;
  std::vector<double> whole;

  JoinedValues(const JoinShape& s, std::uint32_t seed) : whole(static_cast<std::size_t>(s.rows * s.columns())) {
    std::int64_t first = 0;
    for (const std::int64_t width : s.widths) {
      parts.push_back(random_values(s.rows * width, seed + static_cast<std::uint32_t>(parts.size())));
      for (std::int64_t k = 0; k < s.rows * width; ++k)
        whole[k / width * s.columns() + first + k % width] = parts.back()[k];
      first += width;
    }
  }
};

inline std::vector<Output> judge_joined_dense(Device& device, const JoinShape& s, std::int64_t width, bool with_bias) {
  const JoinedValues x(s, 181);
  const std::vector<double> w = random_values(s.columns() * width, 178), bias = random_values(width, 179);
  std::vector<Judged> y(s.rows * width);
  const std::int64_t columns = s.columns();
  for (std::int64_t row = 0; row < s.rows; ++row) {
    Judged* const own = y.data() + row * width;
    for (std::int64_t g = 0; with_bias && g < width; ++g) own[g].add(bias[g]);
    for (std::int64_t f = 0; f < columns; ++f) {
      const double value = x.whole[row * columns + f];
      for (std::int64_t g = 0; g < width; ++g) own[g].add(value * w[f * width + g]);
    }
  }
  JoinedDense op;
  for (std::size_t i = 0; i < s.widths.size(); ++i) op.parts.push_back(upload(device, x.parts[i], s.rows, s.widths[i]));
  op.w = upload(device, w, s.columns(), width);
  if (with_bias) op.bias = upload(device, bias, 1, width);
  op.y = device.allocate(s.rows, width);
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

/// Expected dw, dbias and the gradient of the joined matrix.
inline std::vector<std::vector<Judged>> expected_joined_gradient(const JoinShape& s, std::int64_t width,
                                                                 const std::vector<double>& x,
                                                                 const std::vector<double>& w,
                                                                 const std::vector<double>& dy,
                                                                 std::vector<std::vector<Judged>> sums) {
  const std::int64_t columns = s.columns();
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const double* const own = dy.data() + row * width;
    for (std::int64_t g = 0; g < width; ++g) sums[1][g].add(own[g]);
    for (std::int64_t f = 0; f < columns; ++f) {
      const auto cell = static_cast<std::size_t>(row * columns + f), weights = static_cast<std::size_t>(f * width);
      Judged sum = sums[2][cell];
      for (std::int64_t g = 0; g < width; ++g) {
        sums[0][weights + static_cast<std::size_t>(g)].add(x[cell] * own[g]);
        sum.add(w[weights + static_cast<std::size_t>(g)] * own[g]);
      }
      sums[2][cell] = sum;
    }
  }
  return sums;
}

/// Leaves out every third gradient of the parts and adds to every second, in turns that begin at `turn`. Foreign rows
/// follow each part and must stay unchanged.
inline std::vector<Output> judge_joined_dense_backward(Device& device, const JoinShape& s, std::int64_t width,
                                                       std::size_t turn) {
  const JoinedValues x(s, 181), before(s, 191);
  const std::vector<double> w = random_values(s.columns() * width, 178), dy = random_values(s.rows * width, 177),
                            dw = random_values(s.columns() * width, 176), dbias = random_values(width, 175);
  const std::vector<std::vector<Judged>> expected =
      expected_joined_gradient(s, width, x.whole, w, dy, {start(dw, true), start(dbias, true), start(x.whole, false)});
  constexpr std::int64_t behind = 2;
  std::vector<std::vector<double>> values = before.parts;
  std::vector<Tensor> wholes;
  JoinedDenseBackward op;
  op.w = upload(device, w, s.columns(), width);
  op.dy = upload(device, dy, s.rows, width);
  op.dw = upload(device, dw, s.columns(), width);
  if (turn != 1) op.dbias = upload(device, dbias, 1, width);
  for (std::size_t i = 0; i < s.widths.size(); ++i) {
    op.parts.push_back(upload(device, x.parts[i], s.rows, s.widths[i]));
    op.accumulate.push_back((i + turn) % 2 == 1);
    values[i].resize((s.rows + behind) * s.widths[i], 0.625);
    wholes.push_back((i + turn) % 3 != 2 ? upload(device, values[i], s.rows + behind, s.widths[i]) : Tensor());
    op.dparts.push_back(wholes[i].defined() ? wholes[i].slice_rows(0, s.rows) : Tensor());
  }
  device.run(op);
  std::vector<Output> outputs{{"dw", download(device, op.dw), expected[0]}};
  if (op.dbias.defined()) outputs.push_back({"dbias", download(device, op.dbias), expected[1]});
  std::int64_t first = 0;
  for (std::size_t i = 0; i < s.widths.size(); first += s.widths[i], ++i) {
    if (!op.dparts[i].defined()) continue;
    std::vector<Judged> part = start(values[i], true);
    std::copy_n(start(before.parts[i], op.accumulate[i]).begin(), before.parts[i].size(), part.begin());
    for (std::int64_t k = 0; k < s.rows * s.widths[i]; ++k) {
      const Judged& value = expected[2][k / s.widths[i] * s.columns() + first + k % s.widths[i]];
      part[k].value += value.value;
      part[k].magnitude += value.magnitude;
    }
    outputs.push_back({"part " + std::to_string(i), download(device, wholes[i]), part});
  }
  return outputs;
}

inline std::vector<OperationFamily> joined_dense_families() {
  const std::vector<std::pair<JoinShape, std::int64_t>> shapes{
      {{0, {2, 3}}, 4},
      {{1, {1}}, 1},
      {{5, {1, 2, 3}}, 6},
      {{37, {6, 6, 2}}, 17},
      {{9, {64, 70}}, 33},
      {{700, {3, 3, 6}}, 12},
      {{300, {17, 1, 16}}, 40},
      {{300, {20, 44}}, 32},
      {{200, {64}}, 16},
      {{1300, {3, 3, 3, 6, 6, 6}}, 6},
      {{600, {3, 3, 3, 3, 3, 6, 6, 6, 6, 6}}, 12},
      {{600, {10, 6, 6, 6, 6, 6}}, 6},
      {{70, {10, 6, 6, 6, 6, 6}}, 12},
      {{130, {19, 6, 3}}, 8},
      {{2100, {2, 6}}, 70},
      {{130, {40, 200}}, 50},
      {{333, {8, 64, 8, 64, 1, 127}}, 128},
      {{70, {300, 3, 200}}, 65},
      {{40, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}, 3}};
  std::vector<OperationCase> forward, backward;
  for (const auto& [shape, width] : shapes) {
    const std::string name = shape.name() + " to " + std::to_string(width);
    for (const bool bias : {false, true}) {
      forward.push_back({"", name + (bias ? ", bias" : ""), [shape = shape, width = width, bias](Device& device) {
                           return judge_joined_dense(device, shape, width, bias);
                         }});
    }
    for (const std::size_t turn : {0, 1, 2}) {
      backward.push_back(
          {"", name + ", turn " + std::to_string(turn), [=, shape = shape, width = width](Device& device) {
             return judge_joined_dense_backward(device, shape, width, turn);
           }});
    }
  }
  return {family<JoinedDense>(forward), family<JoinedDenseBackward>(backward)};
}

inline std::vector<Output> judge_transpose_blocks(Device& device, std::int64_t blocks, std::int64_t rows,
                                                  std::int64_t columns, bool added) {
  const std::vector<double> x = random_values(blocks * rows * columns, 201),
                            before = random_values(blocks * rows * columns, 202);
  std::vector<Judged> expected = start(before, added);
  for (std::int64_t i = 0; i < blocks * rows * columns; ++i) {
    const std::int64_t block = i / (rows * columns), row = i / columns % rows, column = i % columns;
    expected[(block * columns + column) * rows + row].add(x[i]);
  }
  const TransposeBlocks op{upload(device, x, blocks * rows, columns), upload(device, before, blocks * columns, rows),
                           blocks, added};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

inline OperationFamily transpose_blocks_family() {
  struct Shape {
    std::int64_t blocks, rows, columns;
  };
  std::vector<OperationCase> cases;
  for (const auto& [blocks, rows, columns] :
       {Shape{1, 0, 3}, {1, 1, 1}, {1, 5, 3}, {3, 2, 7}, {2, 50, 100}, {1, 272, 200}, {4, 33, 65}}) {
    for (const bool added : {false, true}) {
      cases.push_back({"",
                       std::to_string(blocks) + " blocks of " + std::to_string(rows) + " x " + std::to_string(columns) +
                           (added ? ", added" : ""),
                       [=, blocks = blocks, rows = rows, columns = columns](Device& device) {
                         return judge_transpose_blocks(device, blocks, rows, columns, added);
                       }});
    }
  }
  return family<TransposeBlocks>(cases);
}

inline std::vector<OperationFamily> join_families() {
  const std::vector<JoinShape> shapes{{0, {2, 3}},
                                      {1, {1}},
                                      {5, {1, 2, 3}},
                                      {37, {6, 6, 2}},
                                      {9, {64, 64}},
                                      {300, {17, 1, 16, 33}},
                                      {5000, {6, 6, 6, 2, 2}}};
  std::vector<OperationCase> joins, splits;
  for (const JoinShape& shape : shapes) {
    joins.push_back({"", shape.name(), [=](Device& device) { return judge_join(device, shape); }});
    for (const std::size_t turn : {0, 1, 2}) {
      splits.push_back({"", shape.name() + ", turn " + std::to_string(turn),
                        [=](Device& device) { return judge_split(device, shape, turn); }});
    }
  }
  return {family<JoinColumns>(joins), family<SplitColumns>(splits), transpose_blocks_family()};
}

}  // namespace strobe::conformance
