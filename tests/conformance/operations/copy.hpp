// Cases and judges of the row copies: one value at a time, in list order.
#pragma once

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

/// Sizes of one CopyRows case; lists are random permutations (or, with `repeat`, random rows that may repeat).
struct CopyRecipe {
  std::int64_t from_rows, from_columns, to_rows, to_columns, count, from_column, to_column, width;
  bool list_from, list_to, repeat;
};

/// `count` row numbers below `rows`: distinct unless `repeat`.
inline std::vector<std::int64_t> random_rows(std::int64_t rows, std::int64_t count, bool repeat, std::uint32_t key) {
  const RandomStream random(3, random_purpose::test, key);
  std::vector<std::int64_t> list(std::max(rows, count));
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = repeat ? static_cast<std::int64_t>(random.below(i, static_cast<std::uint64_t>(rows)))
                     : static_cast<std::int64_t>(i);
  }
  for (std::size_t i = list.size(); !repeat && i > 1; --i) std::swap(list[i - 1], list[random.below(i, i)]);
  list.resize(count);
  return list;
}

inline std::vector<Output> judge_copy_rows(Device& device, const CopyRecipe& c, bool accumulate) {
  const std::vector<double> from = random_values(c.from_rows * c.from_columns, 51),
                            to = random_values(c.to_rows * c.to_columns, 52);
  const std::vector<std::int64_t> sources = random_rows(c.from_rows, c.count, true, 53),
                                  targets = random_rows(c.to_rows, c.count, c.repeat, 54);
  std::vector<Judged> expected = start(to, true);
  for (std::int64_t i = 0; i < c.count; ++i) {
    const std::int64_t source = c.list_from ? sources[i] : i;
    const std::int64_t target = c.list_to ? targets[i] : i;
    for (std::int64_t f = 0; f < c.width; ++f) {
      const double value = from[source * c.from_columns + c.from_column + f];
      Judged& cell = expected[target * c.to_columns + c.to_column + f];
      if (!accumulate) cell = Judged{};
      cell.add(value);
    }
  }
  CopyRows op;
  op.from = upload(device, from, c.from_rows, c.from_columns);
  op.to = upload(device, to, c.to_rows, c.to_columns);
  if (c.list_from) op.from_rows = upload(device, sources);
  if (c.list_to) op.to_rows = upload(device, targets);
  op.count = c.count;
  op.from_column = c.from_column;
  op.to_column = c.to_column;
  op.width = c.width;
  op.accumulate = accumulate;
  device.run(op);
  return {{"to", download(device, op.to), expected}};
}

inline std::vector<OperationCase> copy_rows_cases() {
  const std::vector<CopyRecipe> recipes{{3, 6, 3, 6, 0, 0, 0, 6, true, true, false},
                                        {1, 1, 1, 1, 1, 0, 0, 1, false, false, false},
                                        {50, 6, 40, 6, 40, 0, 0, 6, true, false, false},
                                        {40, 6, 90, 6, 40, 0, 0, 6, false, true, false},
                                        {70, 7, 80, 9, 33, 2, 3, 4, true, true, false},
                                        {500, 12, 500, 6, 500, 6, 0, 6, false, false, false},
                                        {9000, 6, 9000, 6, 9000, 0, 0, 6, true, true, false},
                                        {3000, 2, 5000, 2, 5000, 0, 0, 2, true, true, false},
                                        {300, 64, 200, 128, 200, 0, 64, 64, true, true, false},
                                        {20, 3, 20, 3, 20, 0, 0, 0, true, true, false}};
  std::vector<OperationCase> cases;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    for (const int flags : {0, 1, 2}) {
      CopyRecipe recipe = recipes[i];
      recipe.repeat = flags == 2;  // repeated targets are defined for additions only
      if (recipe.repeat && (!recipe.list_to || recipe.count == 0)) continue;
      cases.push_back({"",
                       std::to_string(i) + ", " + std::to_string(recipe.count) + " rows of " +
                           std::to_string(recipe.width) + (flags != 0 ? ", accumulate" : "") +
                           (recipe.repeat ? " repeated" : ""),
                       [=](Device& device) { return judge_copy_rows(device, recipe, flags != 0); }});
    }
  }
  return cases;
}

/// Sizes of one CopyRuns case: `count` runs of `length` rows (every third one shorter, every seventh empty).
struct RunsRecipe {
  std::int64_t count, length, width;
  bool overlap;  // targets of neighbouring runs share rows
};

inline std::vector<Output> judge_copy_runs(Device& device, const RunsRecipe& c, bool accumulate) {
  std::vector<std::int64_t> runs;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < c.count; ++i) {
    const std::int64_t rows = i % 7 == 5 ? 0 : (i % 3 == 1 ? (c.length + 1) / 2 : c.length);
    const std::int64_t target = c.overlap ? i * c.length / 2 : (c.count - 1 - i) * (c.length + 1);
    runs.insert(runs.end(), {i * (c.length + 2), target, rows});
    total += rows;
  }
  const std::int64_t from_rows = c.count * (c.length + 2) + 1, to_rows = c.count * (c.length + 1) + 1;
  const std::vector<double> from = random_values(from_rows * c.width, 55), to = random_values(to_rows * c.width, 56);
  std::vector<Judged> expected = start(to, true);
  for (std::size_t i = 0; i < runs.size(); i += 3) {
    for (std::int64_t j = 0; j < runs[i + 2] * c.width; ++j) {
      Judged& cell = expected[runs[i + 1] * c.width + j];
      if (!accumulate) cell = Judged{};
      cell.add(from[runs[i] * c.width + j]);
    }
  }
  const CopyRuns op{upload(device, from, from_rows, c.width), upload(device, to, to_rows, c.width),
                    upload(device, runs, 3), total, accumulate};
  device.run(op);
  return {{"to", download(device, op.to), expected}};
}

inline std::vector<OperationCase> copy_runs_cases() {
  const std::vector<RunsRecipe> recipes{{0, 4, 6, false},   {1, 1, 1, false},    {1, 5000, 6, false},
                                        {9, 3, 7, false},   {64, 128, 6, false}, {300, 17, 2, false},
                                        {40, 9, 64, false}, {10, 8, 6, true},    {100, 50, 3, true}};
  std::vector<OperationCase> cases;
  for (const RunsRecipe& recipe : recipes) {
    for (const bool accumulate : {false, true}) {
      if (recipe.overlap && !accumulate) continue;  // overlapping targets are defined for additions only
      cases.push_back({"",
                       std::to_string(recipe.count) + " runs of " + std::to_string(recipe.length) + " rows of " +
                           std::to_string(recipe.width) + (accumulate ? ", accumulate" : "") +
                           (recipe.overlap ? ", overlapping" : ""),
                       [=](Device& device) { return judge_copy_runs(device, recipe, accumulate); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
