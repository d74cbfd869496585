// Training on device cuda-graphs replays. With every strategy, an epoch's launches are built once, and a replay changes
// only the nodes that the epoch must change. The test assigns addresses itself, so that no driver's pool decides which
// nodes change.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cuda/cuda_device.hpp"
#include "core/registry_names.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

/// Counts of the devices that have ended, for one run at a time.
cuda::GraphCounts ended;

/// Device memory in the order of one stream, in one block of the driver that is never released. Each size gets the
/// lowest free address, so that addresses depend on the memory in use, and not on the order of releases.
class Arena {
 public:
  /// Null when the block is full.
  std::byte* take(std::size_t bytes, cuda::runtime::StreamHandle stream) {
    constexpr std::size_t alignment = 512, all = std::size_t{16} << 20;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (block_ == nullptr) block_ = cuda::runtime::allocate(all, stream);
    std::set<std::byte*>& free = free_[bytes];
    if (free.empty()) {
      if (block_ == nullptr || bytes > all - used_) return nullptr;
      free.insert(block_ + used_);
      used_ += bytes;
    }
    std::byte* const memory = free.extract(free.begin()).value();
    sizes_[memory] = bytes;
    return memory;
  }
  void give(std::byte* memory) { free_[sizes_.extract(memory).mapped()].insert(memory); }

 private:
  std::byte* block_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::size_t, std::set<std::byte*>> free_;
  std::map<std::byte*, std::size_t> sizes_;
};
Arena arena;  // of one rank's thread at a time

/// Returning its scratch memory to the pool has no effect: the memory stays in the arena's block.
class CountedDevice final : public cuda::CudaDevice {
 public:
  explicit CountedDevice(const DeviceRequest& request) : CudaDevice(request, true) {}
  ~CountedDevice() override {
    ended.launches += graph_counts().launches;
    ended.nodes += graph_counts().nodes;
    ended.made += graph_counts().made;
    ended.changed_nodes += graph_counts().changed_nodes;
  }

 private:
  std::byte* do_allocate(std::size_t bytes) override { return arena.take(bytes, native(Stream::compute)); }
  void (*do_deleter() const)(std::byte*) override {
    return [](std::byte* memory) { arena.give(memory); };
  }
};

const Register<DeviceTag> counted{{
    "cuda-graphs-counted",
    "as cuda-graphs, for a test that counts",
    "tests/cuda/training/replay_test.cpp",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> { return std::make_unique<CountedDevice>(request); },
     "", "cuda"},
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

class CudaReplay : public testing::TestWithParam<std::string> {};

TEST_P(CudaReplay, LaterEpochsBuildNothing) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  for (const int blocks : {1, 2}) {
    const cuda::GraphCounts some = counts_of(GetParam(), 4, blocks), more = counts_of(GetParam(), 9, blocks);
    EXPECT_GT(some.launches, 0u);
    EXPECT_GT(more.launches, some.launches);
    EXPECT_EQ(more.made, some.made) << blocks << " blocks";
    // A tensor may move from one epoch to the next. Events stay the same, and so do nearly all addresses.
    constexpr std::uint64_t nodes_for_each_changed = 20;
    EXPECT_LE(nodes_for_each_changed * (more.changed_nodes - some.changed_nodes), more.nodes - some.nodes)
        << blocks << " blocks";
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaReplay,
                         testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace strobe
