// Every operation, kernel variant and precision of device cuda against the conformance suite: on a GPU, or in the
// emulation, which runs each case a second time with the threads of every block in reverse order.
#include <gtest/gtest.h>

#include "tests/cpu/conformance_settings.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

class CudaOperations : public testing::TestWithParam<Setting> {};

TEST_P(CudaOperations, AgreesWithJudge) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  expect_agreement(GetParam(), "cuda");
}

INSTANTIATE_TEST_SUITE_P(All, CudaOperations, testing::ValuesIn(settings(Numerics::cuda)), setting_name);

/// Gathering sees launches, not values: one precision is enough.
class CudaGraphOperations : public testing::TestWithParam<Setting> {};

TEST_P(CudaGraphOperations, AgreesWithJudge) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  expect_agreement(GetParam(), "cuda-graphs", {1});
}

std::vector<Setting> settings_in_double() {
  std::vector<Setting> all = settings(Numerics::cuda);
  std::erase_if(all, [](const Setting& one) { return one.precision != ElementType::f64; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CudaGraphOperations, testing::ValuesIn(settings_in_double()), setting_name);

TEST(CudaKernels, EveryOperationHasAPlainKernel) { expect_plain_kernels(Numerics::cuda); }

}  // namespace
}  // namespace strobe
