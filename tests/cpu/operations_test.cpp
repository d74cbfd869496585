// Every operation, kernel variant and precision of device cpu against the conformance suite.
#include "backends/conformance/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
    for (const std::string& variant : family.variants(Numerics::cpu)) {
      for (const ElementType precision : {ElementType::f32, ElementType::f64})
        all.push_back({family, variant, precision});
    }
  }
  return all;
}

class CpuOperations : public testing::TestWithParam<Setting> {};

TEST_P(CpuOperations, AgreesWithJudge) {
  const Setting& setting = GetParam();
  ASSERT_FALSE(setting.family.cases.empty());
  int wrong_cases = 0;
  for (const conformance::OperationCase& one : setting.family.cases) {
    for (const std::string& wrong : conformance::check(one, "cpu", setting.precision, setting.variant, {1, 2})) {
      ADD_FAILURE() << wrong;
      ++wrong_cases;
    }
    if (wrong_cases > 5) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuOperations, testing::ValuesIn(settings()), [](const auto& parameter) {
  std::string name = parameter.param.family.operation + "_" + parameter.param.variant +
                     (parameter.param.precision == ElementType::f32 ? "_fp32" : "_fp64");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(CpuKernels, EveryOperationHasAPlainKernel) {
  const std::vector<conformance::OperationFamily> families = conformance::operation_families();
  EXPECT_GE(families.size(), 15u);
  for (const conformance::OperationFamily& family : families) {
    const std::vector<std::string> variants = family.variants(Numerics::cpu);
    EXPECT_EQ(std::count(variants.begin(), variants.end(), "plain"), 1) << family.operation;
  }
}

/// The suite must be able to fail: a wrong value, a missing value and NaN are all found.
TEST(Conformance, FindsWrongOutputs) {
  const std::vector<conformance::Judged> expected{{1.0, 1.0}, {0.0, 2.0}};
  EXPECT_EQ(conformance::first_difference({"y", {1.0, 0.0}, expected}, 1e-12), "");
  EXPECT_EQ(conformance::first_difference({"y", {1.0, 1e-12}, expected}, 1e-12), "");
  EXPECT_NE(conformance::first_difference({"y", {1.0 + 1e-9, 0.0}, expected}, 1e-12), "");
  EXPECT_NE(conformance::first_difference({"y", {1.0}, expected}, 1e-12), "");
  EXPECT_NE(conformance::first_difference({"y", {1.0, std::nan("")}, expected}, 1e-12), "");
  EXPECT_FALSE(conformance::same_bits({0.0}, {-0.0}));
}

TEST(CpuKernels, ReluKeepsNan) {
  DeviceRequest request;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu").value(request);
  for (const std::int64_t width : {1, 6, 40}) {
    const std::vector<double> x(5, std::nan(""));
    Dense op;
    op.x = conformance::upload(*device, x, 5, 1);
    op.w = conformance::upload(*device, conformance::random_values(width, 1), 1, width);
    op.y = device->allocate(5, width);
    op.activation = Activation::relu;
    device->run(op);
    for (const double value : conformance::download(*device, op.y)) EXPECT_TRUE(std::isnan(value)) << width;
  }
}

TEST(CpuKernels, IntegerTensorsAreCopiedButNotMultiplied) {
  DeviceRequest request;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu").value(request);
  const std::vector<std::int64_t> values{5, 6, 7};
  CopyRows copy;
  copy.from = conformance::upload(*device, values);
  copy.to = device->allocate(3, 1, ElementType::i64);
  copy.to_rows = conformance::upload(*device, std::vector<std::int64_t>{2, 0, 1});
  copy.count = 3;
  copy.width = 1;
  device->run(copy);
  const std::span<std::int64_t> got = copy.to.values<std::int64_t>();
  EXPECT_EQ(std::vector<std::int64_t>(got.begin(), got.end()), (std::vector<std::int64_t>{6, 7, 5}));
  EXPECT_THROW(device->run(AddScaled{copy.from, copy.to, 1.0}), Error);
}

}  // namespace
}  // namespace strobe
