// Communicator nccl with ranks as threads, on the emulations of CUDA and of NCCL: the conformance suite of
// communicators, and faults that only NCCL can have.
#include <gtest/gtest.h>

#include <chrono>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/nccl/emulated/faults.hpp"
#include "tests/conformance/collectives/host_work.hpp"

namespace strobe {
namespace {

LaunchRequest request_of(int ranks, const char* device = "cuda") {
  LaunchRequest request;
  request.ranks = ranks;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find(device).value;
  return request;
}

const CommunicatorTag::Value& nccl() { return CommunicatorRegistry::instance().find("nccl").value; }

template <class Failure>
std::string failure_of(const LaunchRequest& request, const RankProgram& program) {
  try {
    nccl().launch(request, program);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

/// The conformance suite writes and reads tensors from the host, which device memory allows only while this lives.
class NcclRanks : public testing::TestWithParam<int> {
  cuda::emulated::DeviceAccess access_;
};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclRanks, testing::Values(1, 2, 3, 4, 7), testing::PrintToStringParamName());

TEST_P(NcclRanks, GiveTheRightValues) {
  for (const conformance::CollectiveCase& c : conformance::value_cases()) {
    EXPECT_NO_THROW(nccl().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(NcclRanks, HaveHelpers) {
  for (const conformance::FailureCase& c : conformance::helper_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(nccl(), request_of(GetParam()))) << c.name;
  }
}

TEST_P(NcclRanks, LeaveTheRightSpans) {
  for (const conformance::CollectiveCase& c : conformance::span_cases()) {
    EXPECT_NO_THROW(nccl().launch(request_of(GetParam()), c.program)) << c.name;
  }
}

TEST_P(NcclRanks, RunTheWholeSuiteInOneProgram) {
  EXPECT_NO_THROW(nccl().launch(request_of(GetParam()), conformance::check_collectives));
}

TEST_P(NcclRanks, FailAsTheyShould) {
  for (const conformance::FailureCase& c : conformance::failure_cases()) {
    if (GetParam() < c.least_ranks) continue;
    EXPECT_NO_THROW(c.run(nccl(), request_of(GetParam()))) << c.name;
  }
}

/// Communicator local of GPUs computes sums and maxima by a kernel, in several passes for more than sixteen ranks.
TEST(LocalRanksOnGpus, TakeMaximaAndSplit) {
  const cuda::emulated::DeviceAccess access;
  const CommunicatorTag::Value& local = CommunicatorRegistry::instance().find("local").value;
  for (const int ranks : {1, 3, 18}) {
    for (const auto cases : {conformance::max_cases(), conformance::group_cases()}) {
      for (const conformance::CollectiveCase& c : cases) {
        EXPECT_NO_THROW(local.launch(request_of(ranks), c.program)) << c.name << " on " << ranks;
      }
    }
  }
}

/// A rank that ends its group goes on while other ranks still use theirs.
TEST(Nccl, AGroupThatEndsWaitsForNobody) {
  const auto begin = std::chrono::steady_clock::now();
  nccl().launch(request_of(4), [](Device&, Communicator& c) {
    std::unique_ptr<Communicator> group = c.split({{0, 1, 2}});
    if (c.rank() == 0) group.reset();
    c.barrier();
    if (c.rank() != 0) group.reset();
    c.barrier();
    c.split({{0, 3}, {1, 2}})->barrier();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// The error arises in a group and ends all ranks.
TEST(Nccl, AnAsynchronousErrorInAGroupEndsAllRanks) {
  const std::string what = failure_of<SystemError>(request_of(4), [](Device&, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split({{0, 1}, {2, 3}});
    group->barrier();
    if (c.rank() == 2) nccl::emulated::set_broken_rank(2);
    for (int i = 0; i < 3; ++i) group->barrier();
    c.barrier();
  });
  nccl::emulated::set_broken_rank(-1);
  EXPECT_NE(what.find("unhandled system error"), std::string::npos) << what;
  EXPECT_NO_THROW(nccl().launch(request_of(4), [](Device&, Communicator& c) { c.split({{0, 3}}); }));
}

/// Two ranks each send before they receive. This would hang if NCCL got one message at a time.
TEST(Nccl, MessagesThatCrossDoNotHoldEachOtherUp) {
  const cuda::emulated::DeviceAccess access;
  nccl().launch(request_of(2), [](Device& device, Communicator& c) {
    const Tensor out = device.allocate(1000, 8, ElementType::f64), in = device.allocate(1000, 8, ElementType::f64);
    for (double& value : out.values<double>()) value = c.rank() + 1;
    const int other = 1 - c.rank();
    Request sending = c.start_send(out, other, 0, Traffic::halo);
    Request receiving = c.start_receive(in, other, 0, Traffic::halo);
    c.wait(sending);
    c.wait(receiving);
    conformance::expect(in.data<double>()[7999] == other + 1, c, "the message is wrong");
  });
}

TEST(Nccl, EvenPartsGoByNcclsOwnGatherAndScatter) {
  const cuda::emulated::DeviceAccess access;
  nccl().launch(request_of(3), [](Device& device, Communicator& c) {
    const std::vector<PeerRows> rows = {{0, 2}, {2, 2}, {4, 2}};
    const Tensor own = device.allocate(2, 1, ElementType::i64), all = device.allocate(6, 1, ElementType::i64);
    own.data<std::int64_t>()[0] = own.data<std::int64_t>()[1] = 10 + c.rank();
    c.all_gather_v(own, all, rows, Traffic::state);
    for (int row = 0; row < 6; ++row) {
      conformance::expect(all.data<std::int64_t>()[row] == 10 + row / 2, c, "a gathered row is wrong");
    }
    c.reduce_scatter(all, rows, own, Traffic::gradient);
    conformance::expect(own.data<std::int64_t>()[1] == 3 * (10 + c.rank()), c, "a sum is wrong");
  });
}

TEST(Nccl, MoreRanksThanGpusSaysWhatToDo) {
  nccl::emulated::set_gpu_count(2);
  const std::string what = failure_of<Unavailable>(request_of(3), [](Device&, Communicator&) {});
  nccl::emulated::set_gpu_count(64);
  EXPECT_NE(what.find("3 ranks need 3 GPUs, but this process sees 2"), std::string::npos) << what;
  EXPECT_NE(what.find("--comm local"), std::string::npos) << what;
}

TEST(Nccl, NoGpuSaysWhatToDo) {
  nccl::emulated::set_gpu_count(0);
  const std::string what = failure_of<Unavailable>(request_of(1), [](Device&, Communicator&) {});
  nccl::emulated::set_gpu_count(64);
  EXPECT_NE(what.find("no GPU can be used"), std::string::npos) << what;
  EXPECT_NE(what.find("--device cpu with --comm local"), std::string::npos) << what;
}

TEST(Nccl, AnotherDeviceIsRefused) {
  const std::string what = failure_of<InvalidRequest>(request_of(2, "cpu"), [](Device&, Communicator&) {});
  EXPECT_NE(what.find("needs --device cuda"), std::string::npos) << what;
}

TEST(Nccl, AnAsynchronousErrorEndsAllRanksAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string what = failure_of<SystemError>(request_of(4), [](Device&, Communicator& c) {
    c.barrier();
    if (c.rank() == 2) nccl::emulated::set_broken_rank(2);
    for (int i = 0; i < 3; ++i) c.barrier();
  });
  nccl::emulated::set_broken_rank(-1);
  EXPECT_NE(what.find("unhandled system error"), std::string::npos) << what;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_NO_THROW(nccl().launch(request_of(4), [](Device&, Communicator& c) { c.barrier(); }));
}

/// The others have started a second collective and cannot know which rank is missing from the first one.
TEST(Nccl, ALateRankEndsTheOthersWithinTheTimeout) {
  LaunchRequest request = request_of(3);
  request.timeout_seconds = 0.3;
  const std::string what = failure_of<CollectiveTimeout>(request, [](Device& device, Communicator& c) {
    if (c.rank() == 2) return;
    const Tensor sum = device.allocate(4, 1, ElementType::i64);
    Request first = c.start_all_reduce(sum, Traffic::gradient);
    Request second = c.start_broadcast(sum, 0, Traffic::state);
    c.wait(first);
    c.wait(second);
  });
  EXPECT_NE(what.find("waited 0.3 s in broadcast; NCCL does not say which rank is late"), std::string::npos) << what;
}

TEST(Nccl, WithoutALauncherRanksAreThreads) {
  EXPECT_EQ(nccl().world_size(), 0);
  EXPECT_EQ(nccl().process_rank(), 0);
}

}  // namespace
}  // namespace strobe
