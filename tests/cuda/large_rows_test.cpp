// Kernels over more rows than the conformance cases have: ranges of several tiles, blocks that take several tiles in
// turns, and steps with the most parts. The cpu's plain kernels are the judge, in double on positive values, so that
// every result is as large as its terms together.
#include <gtest/gtest.h>

#include "backends/operations_block.hpp"
#include "backends/operations_evolve.hpp"
#include "backends/operations_loss.hpp"
#include "backends/operations_statistics.hpp"
#include "core/random.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

constexpr std::int64_t many_rows = 270'001;

/// A device with what the cases need: positive values, the same on every device, and results as numbers.
class Bench {
 public:
  Bench(const std::string& name, const std::string& variant) {
    DeviceRequest request;
    request.precision = ElementType::f64;
    request.kernel_variant = variant;
    device_ = DeviceRegistry::instance().find(name).value(request);
  }

  Tensor draw(std::int64_t rows, std::int64_t columns, std::uint32_t key) {
    const RandomStream random(11, random_purpose::test, key);
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i);
    return device_->move_in(values.data(), rows, columns, ElementType::f64);
  }
  Tensor list(const std::vector<std::int64_t>& values) {
    return device_->move_in(values.data(), static_cast<std::int64_t>(values.size()), 1, ElementType::i64);
  }
  template <class Op>
  void run(const Op& op) {
    device_->run(op);
  }
  void read(const Tensor& tensor, std::vector<double>& results) {
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
    EXPECT_TRUE(device_->move_out(tensor, values.data()));
    results.insert(results.end(), values.begin(), values.end());
  }

 private:
  std::unique_ptr<Device> device_;
};

using Results = std::vector<double>;

Results dense(Bench& bench) {
  Dense op{bench.draw(many_rows, 2, 1), bench.draw(2, 3, 2), bench.draw(1, 3, 3), bench.draw(many_rows, 3, 4)};
  bench.run(op);
  Results results;
  bench.read(op.y, results);
  return results;
}

Results dense_backward(Bench& bench) {
  DenseBackward op;
  op.x = bench.draw(many_rows, 9, 1);
  op.w = bench.draw(9, 8, 2);
  op.dy = bench.draw(many_rows, 8, 3);
  op.dx = bench.draw(many_rows, 9, 4);
  op.dw = bench.draw(9, 8, 5);
  op.dbias = bench.draw(1, 8, 6);
  op.accumulate_dx = true;
  bench.run(op);
  Results results;
  for (const Tensor& tensor : {op.dx, op.dw, op.dbias}) bench.read(tensor, results);
  return results;
}

Results block_dense_backward(Bench& bench) {
  BlockDenseBackward op;
  op.x = bench.draw(many_rows, 4, 1);
  op.w = bench.draw(4, 3, 2);
  op.dy = bench.draw(many_rows, 7, 3);
  op.dleft = bench.draw(many_rows, 1, 4);
  op.dw = bench.draw(4, 3, 5);
  op.dbias = bench.draw(2, 3, 6);
  op.blocks = 2;
  bench.run(op);
  Results results;
  for (const Tensor& tensor : {op.dleft, op.dw, op.dbias}) bench.read(tensor, results);
  return results;
}

Results step_dense_backward(Bench& bench) {
  const std::vector<std::int64_t> steps{0, 10, 10, 90'001, 90'500};
  StepDenseBackward op;
  op.x = bench.draw(steps.back(), 3, 1);
  op.w = bench.draw(4 * 3, 5, 2);
  op.step_rows = bench.list(steps);
  op.dy = bench.draw(steps.back(), 5, 3);
  op.dx = bench.draw(steps.back(), 3, 4);
  op.dw = bench.draw(4 * 3, 5, 5);
  bench.run(op);
  Results results;
  for (const Tensor& tensor : {op.dx, op.dw}) bench.read(tensor, results);
  return results;
}

Results step_sums(Bench& bench) {
  const std::vector<std::int64_t> steps{0, 10, 10, 90'001, 90'500};
  StepSums op;
  op.x = bench.draw(steps.back(), 3, 1);
  op.step_rows = bench.list(steps);
  op.sums = bench.draw(4, 3, 2);
  bench.run(op);
  Results results;
  bench.read(op.sums, results);
  return results;
}

Results squared_error(Bench& bench) {
  MeanSquaredError op{bench.draw(many_rows, 1, 1), bench.draw(many_rows, 1, 2), bench.draw(many_rows, 1, 3),
                      bench.draw(1, 1, 4)};
  bench.run(op);
  Results results;
  bench.read(op.loss, results);
  return results;
}

struct RowsCase {
  const char* name;
  const char* variant;
  Results (*results)(Bench&);
};

class CudaRows : public testing::TestWithParam<RowsCase> {};

TEST_P(CudaRows, AgreeWithCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Bench judge("cpu", "plain"), cuda("cuda", GetParam().variant);
  const Results expected = GetParam().results(judge), got = GetParam().results(cuda);
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
                                         RowsCase{"step_sums_rows", "rows", step_sums},
                                         RowsCase{"step_sums_plain", "plain", step_sums},
                                         RowsCase{"squared_error_plain", "plain", squared_error}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace strobe
