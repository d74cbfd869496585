// Cases and judges of columns joined and split: every value has one place.
#pragma once

#include "backends/conformance/operations.hpp"
#include "backends/operations_join.hpp"

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
  std::vector<Judged> expected(static_cast<std::size_t>(s.rows * s.columns()));
  std::int64_t first = 0;
  for (std::size_t i = 0; i < s.widths.size(); first += s.widths[i], ++i) {
    const std::vector<double> values = random_values(s.rows * s.widths[i], static_cast<std::uint32_t>(171 + i));
    for (std::int64_t k = 0; k < s.rows * s.widths[i]; ++k) {
      const std::int64_t place = k / s.widths[i] * s.columns() + first + k % s.widths[i];
      expected[static_cast<std::size_t>(place)].add(values[static_cast<std::size_t>(k)]);
    }
    op.parts.push_back(upload(device, values, s.rows, s.widths[i]));
  }
  op.whole = device.allocate(s.rows, s.columns());
  device.run(op);
  return {{"whole", download(device, op.whole), expected}};
}

/// Of the parts every third is left out and every second added to, in turns that begin at `turn`.
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
      output.expected[static_cast<std::size_t>(k)].add(whole[static_cast<std::size_t>(place)]);
    }
  }
  device.run(op);
  std::size_t next = 0;
  for (const Tensor& part : op.parts) {
    if (part.defined()) outputs[next++].got = download(device, part);
  }
  return outputs;
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
  return {family<JoinColumns>(joins), family<SplitColumns>(splits)};
}

}  // namespace strobe::conformance
