// Kernels over more rows than the conformance cases have: ranges of several tiles, blocks that take several tiles in
// turn, and steps with the most parts. The reference is the cpu's plain kernels, in double. Values are positive, so
// that no sum cancels.
#include <gtest/gtest.h>

#include "backends/operations/operations_block.hpp"
#include "backends/operations/operations_evolve.hpp"
#include "backends/operations/operations_join.hpp"
#include "backends/operations/operations_loss.hpp"
#include "backends/operations/operations_statistics.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/cuda/values_on.hpp"

namespace strobe {
namespace {

constexpr std::int64_t many_rows = 270'001;

using FlatResults = std::vector<double>;

FlatResults values_of(ValuesOn& bench, std::initializer_list<Tensor> tensors) {
  FlatResults results;
  for (const Tensor& tensor : tensors) {
    const std::vector<double> values = bench.values_of(tensor);
    results.insert(results.end(), values.begin(), values.end());
  }
  return results;
}

FlatResults dense(ValuesOn& bench) {
  Dense op{bench.draw(many_rows, 2, 1), bench.draw(2, 3, 2), bench.draw(1, 3, 3), bench.draw(many_rows, 3, 4)};
  bench->run(op);
  return values_of(bench, {op.y});
}

FlatResults dense_backward(ValuesOn& bench) {
  DenseBackward op;
  op.x = bench.draw(many_rows, 9, 1);
  op.w = bench.draw(9, 8, 2);
  op.dy = bench.draw(many_rows, 8, 3);
  op.dx = bench.draw(many_rows, 9, 4);
  op.dw = bench.draw(9, 8, 5);
  op.dbias = bench.draw(1, 8, 6);
  op.accumulate_dx = true;
  bench->run(op);
  return values_of(bench, {op.dx, op.dw, op.dbias});
}

FlatResults block_dense_backward(ValuesOn& bench) {
  BlockDenseBackward op;
  op.x = bench.draw(many_rows, 4, 1);
  op.w = bench.draw(4, 3, 2);
  op.dy = bench.draw(many_rows, 7, 3);
  op.dleft = bench.draw(many_rows, 1, 4);
  op.dw = bench.draw(4, 3, 5);
  op.dbias = bench.draw(2, 3, 6);
  op.blocks = 2;
  bench->run(op);
  return values_of(bench, {op.dleft, op.dw, op.dbias});
}

FlatResults step_dense_backward(ValuesOn& bench) {
  const std::vector<std::int64_t> steps{0, 10, 10, 90'001, 90'500};
  StepDenseBackward op;
  op.x = bench.draw(steps.back(), 3, 1);
  op.w = bench.draw(4 * 3, 5, 2);
  op.step_rows = bench.list(steps);
  op.dy = bench.draw(steps.back(), 5, 3);
  op.dx = bench.draw(steps.back(), 3, 4);
  op.dw = bench.draw(4 * 3, 5, 5);
  bench->run(op);
  return values_of(bench, {op.dx, op.dw});
}

FlatResults step_sums(ValuesOn& bench) {
  const std::vector<std::int64_t> steps{0, 10, 10, 90'001, 90'500};
  StepSums op;
  op.x = bench.draw(steps.back(), 3, 1);
  op.step_rows = bench.list(steps);
  op.sums = bench.draw(4, 3, 2);
  bench->run(op);
  return values_of(bench, {op.sums});
}

FlatResults squared_error(ValuesOn& bench) {
  MeanSquaredError op{bench.draw(many_rows, 1, 1), bench.draw(many_rows, 1, 2), bench.draw(many_rows, 1, 3),
                      bench.draw(1, 1, 4)};
  bench->run(op);
  return values_of(bench, {op.loss});
}

FlatResults joined_dense(ValuesOn& bench, std::int64_t rows, const std::vector<std::int64_t>& widths,
                         std::int64_t width) {
  JoinedDense op;
  JoinedDenseBackward back;
  std::int64_t columns = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto key = static_cast<std::uint32_t>(2 * i + 10);
    op.parts.push_back(bench.draw(rows, widths[i], key));
    back.dparts.push_back(i == 0 ? Tensor() : bench.draw(rows, widths[i], key + 1));
    back.accumulate.push_back(i % 2 == 0);
    columns += widths[i];
  }
  op.w = bench.draw(columns, width, 1), op.bias = bench.draw(1, width, 2), op.y = bench.draw(rows, width, 3);
  back.parts = op.parts, back.w = op.w, back.dy = bench.draw(rows, width, 4);
  back.dw = bench.draw(columns, width, 5), back.dbias = bench.draw(1, width, 6);
  bench->run(op);
  bench->run(back);
  FlatResults results = values_of(bench, {op.y, back.dw, back.dbias});
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const FlatResults part = values_of(bench, {back.dparts[i]});
    results.insert(results.end(), part.begin(), part.end());
  }
  return results;
}

/// Enough rows for several tiles of 32 and of 64, with a shorter last tile.
FlatResults joined_dense_of_pairs(ValuesOn& bench) { return joined_dense(bench, 4'201, {10, 6, 6, 6, 6, 6}, 12); }
FlatResults joined_dense_of_values(ValuesOn& bench) { return joined_dense(bench, 8'301, {3, 6, 4}, 7); }
/// More rows than a launch takes.
FlatResults joined_dense_of_a_million(ValuesOn& bench) { return joined_dense(bench, (1 << 20) + 70, {1, 2}, 1); }

struct RowsCase {
  const char* name;
  const char* variant;
  FlatResults (*results)(ValuesOn&);
};

class CudaRows : public testing::TestWithParam<RowsCase> {};

TEST_P(CudaRows, AgreeWithCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  ValuesOn judge("cpu", "plain", 0), cuda("cuda", GetParam().variant, 0);
  const FlatResults expected = GetParam().results(judge), got = GetParam().results(cuda);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-12 * expected[i]) << "value " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaRows,
                         testing::Values(RowsCase{"dense_narrow", "narrow", dense},
                                         RowsCase{"dense_plain", "plain", dense},
                                         RowsCase{"dense_backward_narrow", "narrow", dense_backward},
                                         RowsCase{"dense_backward_tiled", "tiled", dense_backward},
                                         RowsCase{"dense_backward_plain", "plain", dense_backward},
                                         RowsCase{"block_dense_backward_narrow", "narrow", block_dense_backward},
                                         RowsCase{"block_dense_backward_plain", "plain", block_dense_backward},
                                         RowsCase{"step_dense_backward_narrow", "narrow", step_dense_backward},
                                         RowsCase{"step_dense_backward_plain", "plain", step_dense_backward},
                                         RowsCase{"joined_dense_staged_pairs", "staged", joined_dense_of_pairs},
                                         RowsCase{"joined_dense_staged_values", "staged", joined_dense_of_values},
                                         RowsCase{"joined_dense_staged_million", "", joined_dense_of_a_million},
                                         RowsCase{"step_sums_rows", "rows", step_sums},
                                         RowsCase{"step_sums_plain", "plain", step_sums},
                                         RowsCase{"squared_error_plain", "plain", squared_error}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace strobe
