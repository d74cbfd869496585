// Values in virtual time: the conformance suite of communicators, and the same times with and without values.
#include <gtest/gtest.h>

#include "sim_support.hpp"
#include "tests/conformance/collectives/host_work.hpp"

namespace strobe {
namespace {

using sim_test::request_for;
using sim_test::round_cluster;

LaunchRequest request_of(int ranks) { return request_for(round_cluster(), ranks, true); }
const CommunicatorTag::Value& simulated() { return CommunicatorRegistry::instance().find("sim").value; }

class SimValues : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SimValues, testing::Values(1, 2, 3, 4, 7), testing::PrintToStringParamName());

TEST_P(SimValues, AreRight) {
  for (const conformance::CollectiveCase& c : conformance::value_cases()) {
    EXPECT_NO_THROW(simulated().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(SimValues, LeaveTheRightSpans) {
  for (const conformance::CollectiveCase& c : conformance::span_cases()) {
    EXPECT_NO_THROW(simulated().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(SimValues, FailAsTheyShould) {
  for (const conformance::FailureCase& c : conformance::failure_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(simulated(), request_of(GetParam()))) << c.name;
  }
}

TEST_P(SimValues, ExistWhileHelpersRun) {
  for (const conformance::FailureCase& c : conformance::helper_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(simulated(), request_of(GetParam()))) << c.name;
  }
}

TEST_P(SimValues, SumsHaveTheBitsOfRankOrder) {
  const int ranks = GetParam();
  const auto addend = [](int rank, int i) { return 1.0f / static_cast<float>(3 + rank * 7 + i); };
  simulated().launch(request_of(ranks), [&](Device& device, Communicator& c) {
    const Tensor t = device.allocate(1, 100, ElementType::f32);
    for (int i = 0; i < 100; ++i) t.values<float>()[i] = addend(c.rank(), i);
    c.all_reduce(t, Traffic::gradient);
    for (int i = 0; i < 100; ++i) {
      float direct = addend(0, i);
      for (int rank = 1; rank < ranks; ++rank) direct += addend(rank, i);
      EXPECT_EQ(t.values<float>()[i], direct);
    }
  });
}

TEST_P(SimValues, DoNotChangeTheTimes) {
  const auto program = [](Device& device, Communicator& c) {
    sim_test::exchange(device, c, [](int p, int q) { return p + 2 * q; });
    c.all_reduce(device.allocate(300, 1), Traffic::gradient);
    const std::vector<float> host(500, 1.5f);
    const Tensor moved = device.move_in(host.data(), 500, 1, ElementType::f32);
    if (moved.has_values()) {
      EXPECT_EQ(moved.values<float>()[499], 1.5f);
    }
  };
  const auto with = sim_test::simulate(request_of(GetParam()), program);
  const auto without = sim_test::simulate(request_for(round_cluster(), GetParam()), program);
  EXPECT_EQ(with.seconds, without.seconds);
  EXPECT_GT(with.slowest(), 0.0);
}

TEST(SimKernels, OfTheCpuComputeValues) {
  if (Kernels<AddScaled>::of("cpu").empty()) GTEST_SKIP() << "no cpu kernel is linked";
  simulated().launch(request_of(2), [](Device& device, Communicator& c) {
    const std::vector<float> host(1000, 2.0f + static_cast<float>(c.rank()));
    const Tensor x = device.move_in(host.data(), 1000, 1, ElementType::f32);
    const Tensor y = device.allocate(1000, 1, ElementType::f32);
    device.run(Fill{y, 1.0});
    device.run(AddScaled{x, y, 0.5});
    c.all_reduce(y, Traffic::gradient);
    std::vector<float> result(1000);
    EXPECT_TRUE(device.move_out(y, result.data()));
    EXPECT_EQ(result[999], 4.5f);  // (1 + 1) + (1 + 1.5)
    EXPECT_GT(device.now(), 0.0);
    EXPECT_LT(device.now(), 1e-2);
  });
}

}  // namespace
}  // namespace strobe
