// Training on device cuda-graphs replays: what an epoch launches is built once, whatever the strategy, and of what is
// replayed only what an epoch must change is changed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cuda/cuda_device.hpp"
#include "harness/case.hpp"
#include "models/model.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

/// Of the devices that have ended, one run at a time.
cuda::GraphCounts ended;

class CountedDevice final : public cuda::CudaDevice {
 public:
  explicit CountedDevice(const DeviceRequest& request) : CudaDevice(request, true) {}
  ~CountedDevice() override {
    ended.launches += graph_counts().launches;
    ended.nodes += graph_counts().nodes;
    ended.made += graph_counts().made;
    ended.changed_nodes += graph_counts().changed_nodes;
  }
};

const Register<DeviceTag> counted{{
    "cuda-graphs-counted",
    "as cuda-graphs, for a test that counts",
    "tests/cuda/training/replay_test.cpp",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> { return std::make_unique<CountedDevice>(request); }},
    {},
}};

cuda::GraphCounts counts_of(const std::string& model, int epochs, int blocks) {
  ended = {};
  const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 26}, {"steps", 8}, {"density", 3}}},
                        {"model", {{"name", model}}},
                        {"optimizer", {{"name", "sgd"}}},
                        {"epochs", epochs},
                        {"warmup", 1},
                        {"nb", blocks},
                        {"inputs", "resident"},
                        {"device", "cuda-graphs-counted"}};
  EXPECT_EQ(run_case(case_from_json(request, "")).status, "ok");
  return ended;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool addresses_recur = false;  // memory that was released is kept aside, so that its use is found
#else
constexpr bool addresses_recur = true;
#endif

class CudaReplay : public testing::TestWithParam<std::string> {};

TEST_P(CudaReplay, LaterEpochsBuildNothing) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  for (const int blocks : {1, 2}) {
    const cuda::GraphCounts some = counts_of(GetParam(), 4, blocks), more = counts_of(GetParam(), 9, blocks);
    EXPECT_GT(some.launches, 0u);
    EXPECT_GT(more.launches, some.launches);
    EXPECT_EQ(more.made, some.made) << blocks << " blocks";
    if (!addresses_recur) continue;
    // The pool may give an address to another tensor than in the epoch before; events stay, and so do nearly all.
    // Where memory lies differs between the two runs too, so the longer one may have changed fewer: signed.
    constexpr std::int64_t nodes_for_each_changed = 20;
    const auto later = [](std::uint64_t longer, std::uint64_t shorter) {
      return static_cast<std::int64_t>(longer) - static_cast<std::int64_t>(shorter);
    };
    EXPECT_GE(later(more.nodes, some.nodes), nodes_for_each_changed * later(more.changed_nodes, some.changed_nodes))
        << blocks << " blocks";
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaReplay, testing::ValuesIn(ModelRegistry::instance().names()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace strobe
