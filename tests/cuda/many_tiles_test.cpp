// Backward passes over more tiles of vertices than a launch has blocks, so that each block adds several tiles to its
// part of the sums. Compares device cuda with the plain kernels of the cpu, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/operations/operations_attention.hpp"
#include "backends/operations/operations_recurrent.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/cuda/values_on.hpp"

namespace strobe {
namespace {

constexpr std::int64_t vertices = 1024 * 128 + 77, steps = 2;

using Results = std::vector<std::vector<double>>;

Results lstm(ValuesOn& made) {
  LstmSequenceBackward op;
  op.steps = steps;
  op.x = made.draw(steps * vertices, 1, 1);
  op.w_x = made.draw(1, 8, 2), op.w_h = made.draw(2, 8, 3), op.bias = made.draw(1, 8, 4);
  op.y = made.draw(steps * vertices, 2, 5), op.cells = made.draw(steps * vertices, 2, 6);
  op.dy = made.draw(steps * vertices, 2, 7);
  op.dw_x = made.draw(1, 8, 8), op.dw_h = made.draw(2, 8, 9), op.dbias = made.draw(1, 8, 10);
  op.dx = made->allocate(steps * vertices, 1);
  made->run(op);
  return {made.values_of(op.dw_x), made.values_of(op.dw_h), made.values_of(op.dbias), made.values_of(op.dx)};
}

Results gru(ValuesOn& made) {
  GruSequenceBackward op;
  op.steps = steps;
  op.x = made.draw(steps * vertices, 3, 1);
  op.w_x = made.draw(3, 2, 2), op.w_h = made.draw(6, 2, 3), op.bias = made.draw(3, 2, 4);
  op.y = made.draw(steps * vertices, 2, 5);
  op.dy = made.draw(steps * vertices, 2, 7);
  op.dw_x = made.draw(3, 2, 8), op.dw_h = made.draw(6, 2, 9), op.dbias = made.draw(3, 2, 10);
  op.dx = made->allocate(steps * vertices, 3);
  made->run(op);
  return {made.values_of(op.dw_x), made.values_of(op.dw_h), made.values_of(op.dbias), made.values_of(op.dx)};
}

Results temporal(ValuesOn& made) {
  TemporalAttentionBackward op;
  op.first = 1, op.steps = 1;
  op.projected = made.draw(steps * vertices, 3, 1), op.offsets = made.draw(steps, 3, 2);
  op.d_o = made.draw(vertices, 1, 3);
  op.dprojected = made->allocate(steps * vertices, 3), op.doffsets = made->allocate(steps, 3);
  made->run(op);
  return {made.values_of(op.doffsets), made.values_of(op.dprojected)};
}

void expect_close(const Results& got, const Results& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(got[r].size(), expected[r].size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < got[r].size(); ++i) {
      largest = std::max(largest, std::abs(expected[r][i]));
      difference = std::max(difference, std::abs(got[r][i] - expected[r][i]));
      ASSERT_FALSE(std::isnan(got[r][i])) << "result " << r << ", element " << i;
    }
    EXPECT_LT(difference, 1e-11 * std::max(largest, 1.0)) << "result " << r;
  }
}

class CudaManyTiles : public testing::TestWithParam<const char*> {
 protected:
  void compare(Results (*run)(ValuesOn&)) {
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
    ValuesOn cpu("cpu", "plain", -1), cuda("cuda", GetParam(), -1);
    expect_close(run(cuda), run(cpu));
  }
};

TEST_P(CudaManyTiles, Lstm) { compare(lstm); }
TEST_P(CudaManyTiles, Gru) { compare(gru); }
TEST_P(CudaManyTiles, TemporalAttention) { compare(temporal); }

INSTANTIATE_TEST_SUITE_P(Variants, CudaManyTiles, testing::Values("plain", ""), [](const auto& parameter) {
  return std::string(parameter.param).empty() ? "fastest" : "plain";
});

}  // namespace
}  // namespace strobe
