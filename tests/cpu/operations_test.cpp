// Every operation, kernel variant and precision of device cpu against the conformance suite.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu/conformance_settings.hpp"

namespace strobe {
namespace {

class CpuOperations : public testing::TestWithParam<Setting> {};

TEST_P(CpuOperations, AgreesWithJudge) { expect_agreement(GetParam(), "cpu"); }

INSTANTIATE_TEST_SUITE_P(All, CpuOperations, testing::ValuesIn(settings("cpu")), setting_name);

TEST(CpuKernels, EveryOperationHasAPlainKernel) { expect_plain_kernels("cpu"); }

TEST(CpuKernels, EveryVariantIsChosenBySomeCase) { expect_chosen_kernels("cpu", "cpu", {}); }

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
