// Every operation, kernel variant and precision of device cuda against the conformance suite: on a GPU, or in the
// emulation, which runs each case a second time with the threads of every block in reverse order.
#include "backends/conformance/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

struct Setting {
  conformance::OperationFamily family;
  std::string variant;
  ElementType precision;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const conformance::OperationFamily& family : conformance::operation_families()) {
    for (const std::string& variant : family.variants(Numerics::cuda)) {
      for (const ElementType precision : {ElementType::f32, ElementType::f64})
        all.push_back({family, variant, precision});
    }
  }
  return all;
}

class CudaOperations : public testing::TestWithParam<Setting> {};

TEST_P(CudaOperations, AgreesWithJudge) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const Setting& setting = GetParam();
  ASSERT_FALSE(setting.family.cases.empty());
  int wrong_cases = 0;
  for (const conformance::OperationCase& one : setting.family.cases) {
    for (const std::string& wrong : conformance::check(one, "cuda", setting.precision, setting.variant, {1, 2})) {
      ADD_FAILURE() << wrong;
      ++wrong_cases;
    }
    if (wrong_cases > 5) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaOperations, testing::ValuesIn(settings()), [](const auto& parameter) {
  std::string name = parameter.param.family.operation + "_" + parameter.param.variant +
                     (parameter.param.precision == ElementType::f32 ? "_fp32" : "_fp64");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(CudaKernels, EveryOperationHasAPlainKernel) {
  for (const conformance::OperationFamily& family : conformance::operation_families()) {
    const std::vector<std::string> variants = family.variants(Numerics::cuda);
    EXPECT_EQ(std::count(variants.begin(), variants.end(), "plain"), 1) << family.operation;
  }
}

}  // namespace
}  // namespace strobe
