// Communicator local: the conformance suite at several rank counts, some with more ranks than cores, and tests that
// need all ranks in one process.
#include <gtest/gtest.h>

#include <thread>

#include "tests/conformance/collectives/host_work.hpp"

namespace strobe {
namespace {

LaunchRequest request_of(int ranks, double timeout_seconds = 20) {
  LaunchRequest request;
  request.ranks = ranks;
  request.timeout_seconds = timeout_seconds;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  return request;
}

const CommunicatorTag::Value& local() { return CommunicatorRegistry::instance().find("local").value; }

class LocalRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LocalRanks, testing::Values(1, 2, 3, 4, 7), testing::PrintToStringParamName());

TEST_P(LocalRanks, GiveTheRightValues) {
  for (const conformance::CollectiveCase& c : conformance::value_cases()) {
    EXPECT_NO_THROW(local().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(LocalRanks, LeaveTheRightSpans) {
  for (const conformance::CollectiveCase& c : conformance::span_cases()) {
    EXPECT_NO_THROW(local().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(LocalRanks, RunTheWholeSuiteInOneProgram) {
  EXPECT_NO_THROW(local().launch(request_of(GetParam()), conformance::check_collectives));
}

TEST_P(LocalRanks, FailAsTheyShould) {
  for (const conformance::FailureCase& c : conformance::failure_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(local(), request_of(GetParam()))) << c.name;
  }
}

TEST_P(LocalRanks, HaveHelpers) {
  for (const conformance::FailureCase& c : conformance::helper_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(local(), request_of(GetParam()))) << c.name;
  }
}

TEST(Local, ShapesWithoutValuesMoveNothingButAreChecked) {
  const auto program = [](Device& device, Communicator& c) {
    // A tensor without storage has only a shape.
    const Tensor shape(nullptr, 6, 2, ElementType::f32);
    std::vector<PeerRows> to_all(c.size(), PeerRows{0, 2});
    std::vector<PeerRows> rows = to_all;
    rows[c.rank()] = {};
    c.all_to_all_v(shape, rows, shape, rows, Traffic::halo);
    c.all_reduce(shape, Traffic::gradient);
    c.reduce_scatter(shape, to_all, shape.slice_rows(0, 2), Traffic::gradient);
    c.all_gather_v(shape.slice_rows(0, 2), shape, to_all, Traffic::state);
    c.broadcast(shape, 0, Traffic::state);
    std::uint64_t sent = 0;
    for (const Span& span : device.spans().spans()) sent += span.sent_bytes;
    // 2 peers x 16; 2 (48 - 16); 3 x 16 - 16; 16 x 2; the root's 48 x 2.
    conformance::expect(sent == 32 + 64 + 32 + 32 + (c.rank() == 0 ? 96 : 0), c, "bytes of shapes are wrong");
  };
  EXPECT_NO_THROW(local().launch(request_of(3), program));
}

TEST(Local, ReadinessIsTheMomentWhenTheLastRankCame) {
  constexpr double late_seconds = 0.05;
  const auto program = [](Device& device, Communicator& c) {
    c.barrier();
    const double begin = device.now();
    if (c.rank() == 1) {
      while (device.now() < begin + late_seconds) std::this_thread::yield();
    }
    device.spans().clear();
    c.barrier();
    double waited = 0;
    for (const Span& span : device.spans().spans()) {
      if (span.phase == Phase::wait) waited += span.end_seconds - span.begin_seconds;
    }
    if (c.rank() == 0) conformance::expect(waited > late_seconds / 2, c, "waiting for the late rank was not counted");
  };
  EXPECT_NO_THROW(local().launch(request_of(2), program));
}

TEST(Local, ACollectiveThatIsNeverWaitedForDoesNoHarm) {
  const auto program = [](Device& device, Communicator& c) {
    const Tensor tensor = device.allocate(100, 1, ElementType::f32);
    for (float& value : tensor.values<float>()) value = 1;
    const Request dropped = c.start_all_reduce(tensor, Traffic::gradient);
  };
  EXPECT_NO_THROW(local().launch(request_of(4), program));
}

TEST(Local, RefusesNoRanks) {
  EXPECT_THROW(local().launch(request_of(0), [](Device&, Communicator&) {}), InvalidRequest);
}

TEST(Local, ADeviceThatCannotBeMadeIsTheCause) {
  LaunchRequest request = request_of(3);
  request.make_device.make = [](const DeviceRequest& wanted) -> std::unique_ptr<Device> {
    if (wanted.rank == 2) throw Unavailable("no third device");
    return DeviceRegistry::instance().find("cpu").value(wanted);
  };
  EXPECT_THROW(local().launch(request, [](Device&, Communicator& c) { c.barrier(); }), Unavailable);
}

}  // namespace
}  // namespace strobe
