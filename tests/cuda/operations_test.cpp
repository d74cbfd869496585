// The conformance suite for every operation, kernel variant and precision of device cuda, on a GPU or in the emulation.
// With two threads, the emulation runs the threads of every block in reverse order.
#include <gtest/gtest.h>

#include "tests/cpu/conformance_settings.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/long.hpp"

namespace strobe {
namespace {

class CudaOperations : public testing::TestWithParam<Setting> {};

TEST_P(CudaOperations, AgreesWithJudge) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  expect_agreement(GetParam(), "cuda", test::is_long() ? std::vector<int>{1, 2} : std::vector<int>{1});
}

/// Gathering sees launches, not values: one order of threads is enough.
class CudaGraphOperations : public testing::TestWithParam<Setting> {};

TEST_P(CudaGraphOperations, AgreesWithJudge) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  expect_agreement(GetParam(), "cuda-graphs", {2});
}

std::vector<Setting> settings_in(ElementType precision) {
  std::vector<Setting> all = settings("cuda");
  std::erase_if(all, [&](const Setting& one) { return one.precision != precision; });
  return all;
}

// Every run tests each kernel in fp64 launched alone, and in fp32 gathered and with threads in reverse order. Long runs
// test both precisions in both ways and both orders, and the orders must give the same bits.
INSTANTIATE_TEST_SUITE_P(All, CudaOperations, testing::ValuesIn(settings_in(ElementType::f64)), setting_name);
INSTANTIATE_TEST_SUITE_P(All, CudaGraphOperations, testing::ValuesIn(settings_in(ElementType::f32)), setting_name);
INSTANTIATE_TEST_SUITE_P(Long, CudaOperations, testing::ValuesIn(settings("cuda")), setting_name);
INSTANTIATE_TEST_SUITE_P(Long, CudaGraphOperations, testing::ValuesIn(settings_in(ElementType::f64)), setting_name);

TEST(CudaKernels, EveryOperationHasAPlainKernel) { expect_plain_kernels("cuda"); }

}  // namespace
}  // namespace strobe
