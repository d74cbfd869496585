// Ranks without shared memory exchange their results unchanged.
#include "harness/run/gather.hpp"

#include <gtest/gtest.h>

#include <array>

namespace strobe {
namespace {

LaunchRequest gathering_ranks() {
  LaunchRequest request;
  request.ranks = 3;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  return request;
}

/// Rank q has measured q operations.
EpochSample sample_of_rank(int rank, const std::string& prefix) {
  EpochSample sample;
  sample.rank = rank;
  sample.epoch_seconds = 1 + rank;
  sample.sent_bytes[Traffic::parameters] = static_cast<std::uint64_t>(rank);
  for (int i = 0; i < rank; ++i) sample.operations.push_back({prefix, rank + 0.5, 2.0 * rank, 3.0 * rank});
  return sample;
}

TEST(Gather, EveryRankHasEveryRanksSampleWithItsOperations) {
  std::array<std::vector<RankOutcome>, 3> known;  // by process
  CommunicatorRegistry::instance().find("local").value.launch(
      gathering_ranks(), [&](Device& device, Communicator& communicator) {
        const std::size_t own = device.rank();
        known[own].resize(3);
        const std::string name = "operation " + std::to_string(own);  // destroyed before the other ranks read it
        known[own][own].samples.push_back(sample_of_rank(device.rank(), name));
        share_last_sample(communicator, known[own]);
        known[own][own].samples.clear();
      });
  for (std::size_t process = 0; process < 3; ++process) {
    for (std::size_t q = 0; q < 3; ++q) {
      if (q == process) continue;
      ASSERT_EQ(known[process][q].samples.size(), 1u);
      const EpochSample& sample = known[process][q].samples.front();
      const EpochSample expected = sample_of_rank(static_cast<int>(q), "operation " + std::to_string(q));
      EXPECT_EQ(sample.rank, expected.rank);
      EXPECT_EQ(sample.epoch_seconds, expected.epoch_seconds);
      EXPECT_EQ(sample.sent_bytes, expected.sent_bytes);
      ASSERT_EQ(sample.operations.size(), q);
      for (const OperationTotals& operation : sample.operations) {
        EXPECT_EQ(operation.name, "operation " + std::to_string(q));
        EXPECT_EQ(operation.seconds, static_cast<double>(q) + 0.5);
        EXPECT_EQ(operation.flops, 2.0 * static_cast<double>(q));
        EXPECT_EQ(operation.bytes, 3.0 * static_cast<double>(q));
      }
    }
  }
}

}  // namespace
}  // namespace strobe
