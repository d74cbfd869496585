// Device cuda-graphs: launches are gathered and replayed, and operations that depend on their timing keep their
// meaning. Runs on a GPU, or in the emulation, where no gathered kernel runs before it is launched.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/cuda/cuda_device.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe::cuda {
namespace {

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
    device_ = make();
  }

  static std::unique_ptr<CudaDevice> make() {
    DeviceRequest request;
    request.precision = ElementType::f64;
    return std::make_unique<CudaDevice>(request, true);
  }

  Tensor filled(std::int64_t rows, double value) {
    const Tensor tensor = device_->allocate(rows, 4);
    device_->run(Fill{tensor, value});
    return tensor;
  }
  double first_of(const Tensor& tensor) {
    std::vector<double> values(tensor.elements());
    EXPECT_TRUE(device_->move_out(tensor, values.data()));
    for (const double value : values) EXPECT_EQ(value, values.front());
    return values.front();
  }
  GraphCounts counts() const { return device_->graph_counts(); }

  std::unique_ptr<CudaDevice> device_;
};

TEST_F(CudaGraphs, LaterEpochsReplayTheFirstOnesGraphs) {
  const Tensor x = filled(50, 1), y = filled(50, 0);
  device_->synchronize();
  GraphCounts first;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 3; ++i) device_->run(AddScaled{x, y, 2.0});
    device_->record(Stream::compute);
    device_->run(AddScaled{x, y, 1.0});
    device_->synchronize();
    device_->spans().clear();
    if (epoch == 0) first = counts();
  }
  EXPECT_EQ(counts().launches - first.launches, 4u * 2u);
  EXPECT_EQ(counts().made, first.made);
  EXPECT_EQ(counts().changed_nodes, first.changed_nodes) << "the same events and addresses were expected";
  EXPECT_EQ(first_of(y), 5 * (3 * 2.0 + 1.0));
}

TEST_F(CudaGraphs, OtherParametersChangeTheGraphsNodes) {
  const Tensor x = filled(50, 1), y = filled(50, 0);
  device_->synchronize();
  double expected = 0;
  GraphCounts before;
  for (int epoch = 1; epoch <= 4; ++epoch) {
    if (epoch == 2) before = counts();
    for (const double scale : {1.0, 10.0 * epoch}) {
      device_->run(AddScaled{x, y, scale});
      expected += scale;
    }
    device_->synchronize();
  }
  EXPECT_EQ(counts().made, before.made);
  EXPECT_EQ(counts().changed_nodes - before.changed_nodes, 3u) << "one launch an epoch";
  EXPECT_EQ(first_of(y), expected);
}

TEST_F(CudaGraphs, MoreRowsAreMoreBlocksOfTheSameGraph) {
  const Tensor few = filled(3, 1), many = filled(5000, 2);
  device_->synchronize();
  device_->run(AddScaled{few, few, 1.0});
  device_->synchronize();
  const GraphCounts before = counts();
  device_->run(AddScaled{many, many, 1.0});
  device_->synchronize();
  EXPECT_EQ(counts().made, before.made);
  EXPECT_EQ(first_of(few), 2);
  EXPECT_EQ(first_of(many), 4);
}

TEST_F(CudaGraphs, MemoryReleasedInAStretchGoesToLaterLaunchesOfItOnly) {
  const Tensor sum = filled(64, 0);
  device_->synchronize();
  const void* released = nullptr;
  {
    const Tensor part = filled(64, 3);
    released = part.raw();
    device_->run(AddScaled{part, sum, 1.0});
  }
  const std::unique_ptr<CudaDevice> other = make();
  const Tensor elsewhere = other->allocate(64, 4);
  EXPECT_NE(elsewhere.raw(), released) << "its launch is still to come";
  const Tensor again = filled(64, 100);
  EXPECT_EQ(again.raw(), released);
  device_->run(AddScaled{again, sum, 1.0});
  EXPECT_EQ(first_of(sum), 103);
}

TEST_F(CudaGraphs, OperationsShareTheEventBetweenThem) {
  const Tensor x = filled(50, 1), y = filled(50, 0);
  device_->synchronize();
  device_->spans().clear();
  for (int i = 0; i < 4; ++i) device_->run(AddScaled{x, y, 1.0});
  device_->synchronize();
  const std::vector<Span>& spans = device_->spans().spans();
  ASSERT_EQ(spans.size(), 4u);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_LE(spans[i].begin_seconds, spans[i].end_seconds);
    if (i > 0) {
      // Both times are of one event, but a GPU reports distances between events in single precision.
      EXPECT_NEAR(spans[i].begin_seconds, spans[i - 1].end_seconds, 1e-6);
    }
  }
}

TEST_F(CudaGraphs, OperationsThatNobodyTimesShareTheTimeOfTheirStretch) {
  const Tensor x = filled(50, 1), y = filled(50, 0);
  device_->time_each_operation(false);
  device_->synchronize();
  for (int epoch = 0; epoch < 2; ++epoch) {
    device_->spans().clear();
    const std::uint64_t nodes = counts().nodes;
    for (int i = 0; i < 3; ++i) device_->run(AddScaled{x, y, 1.0});
    device_->record(Stream::compute);  // ends the first stretch
    device_->run(AddScaled{x, y, 1.0});
    device_->synchronize();
    EXPECT_EQ(counts().nodes - nodes, 4u + 2u * 2u) << "two events a stretch";
    const std::vector<Span>& spans = device_->spans().spans();
    ASSERT_EQ(spans.size(), 4u);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_LE(spans[i].begin_seconds, spans[i].end_seconds);
      if (i == 0) continue;
      EXPECT_GE(spans[i].begin_seconds, spans[i - 1].end_seconds - 1e-6);
      if (i == 3) continue;
      EXPECT_NEAR(spans[i].begin_seconds, spans[i - 1].end_seconds, 1e-9);
      EXPECT_NEAR(spans[i].end_seconds - spans[i].begin_seconds, spans[0].end_seconds - spans[0].begin_seconds, 1e-9);
    }
  }
  EXPECT_EQ(counts().changed_nodes, 0u) << "the same events in the second epoch";
  EXPECT_EQ(first_of(y), 2 * 4.0);
}

TEST_F(CudaGraphs, LongStretchesAreLaunchedInParts) {
  const Tensor x = filled(8, 1), y = filled(8, 0);
  device_->synchronize();
  const GraphCounts before = counts();
  constexpr int operations = 3000;
  for (int i = 0; i < operations; ++i) device_->run(AddScaled{x, y, 1.0});
  EXPECT_EQ(first_of(y), operations);
  EXPECT_GT(counts().launches - before.launches, 2u);
}

TEST(CudaMemory, WhatIsFreeDecidesWhichAddressComesNext) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  if (runtime::largest_kept() == 0) GTEST_SKIP() << "released memory is watched, not kept";
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value(DeviceRequest{});
  std::vector<const void*> before;
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(device->allocate(100, 6));
    std::vector<const void*> addresses;
    for (const Tensor& tensor : tensors) addresses.push_back(tensor.raw());
    if (round > 1) {
      EXPECT_EQ(addresses, before);
    }
    before = addresses;
    tensors.erase(tensors.begin() + round % 4);  // another order of release in each round
  }
  const Tensor larger = device->allocate(100, 9), smaller = device->allocate(100, 5);
  EXPECT_EQ(std::count(before.begin(), before.end(), larger.raw()), 0);
  EXPECT_EQ(std::count(before.begin(), before.end(), smaller.raw()), 1) << "a quarter more than it asked for";
}

TEST_F(CudaGraphs, WhatWasNeverLaunchedIsDroppedWithItsDevice) {
  const Tensor x = filled(50, 1);
  device_.reset();
  EXPECT_TRUE(x.defined());
}

}  // namespace
}  // namespace strobe::cuda
