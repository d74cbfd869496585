// The share of the exact run's bytes that a policy of staleness sent, from samples computed by hand.
#include "harness/full_batch/plan/sent_share.hpp"

#include <gtest/gtest.h>

namespace strobe::sent_share_test {
namespace {

constexpr auto halo = static_cast<std::size_t>(Traffic::halo), gradient = static_cast<std::size_t>(Traffic::gradient);

EpochSample sample(int repetition, int epoch, int rank, std::uint64_t halo_bytes) {
  EpochSample one;
  one.repetition = repetition;
  one.epoch = epoch;
  one.rank = rank;
  one.sent_bytes[halo] = halo_bytes;
  one.sent_bytes[gradient] = 7;
  return one;
}

TEST(SentShare, IsOfTheCoveredExchangesAlone) {
  // Halos have 1000 bytes; 200 of these belong to exchanges that always send all rows.
  StaleTraffic traffic;
  traffic.exact[halo] = 800;
  traffic.beside[halo] = 200;
  Facts facts;
  const std::vector<EpochSample> samples = {sample(0, 0, 0, 600), sample(0, 0, 1, 400), sample(0, 1, 0, 150),
                                            sample(0, 1, 1, 250), sample(0, 2, 0, 300), sample(0, 2, 1, 300),
                                            sample(0, 3, 0, 900),  // not finished by rank 1
                                            sample(1, 1, 0, 999), sample(1, 1, 1, 999)};
  add_sent_share(traffic, 2, false, samples, facts);
  EXPECT_EQ(facts.get<std::vector<double>>("sent_share"), (std::vector<double>{1, 0.25, 0.5}));
  EXPECT_EQ(facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"), (std::vector<std::uint64_t>{1014, 414, 614}));
  ASSERT_EQ(facts.approximations.size(), 1u);
  EXPECT_NE(facts.approximations[0].find("0.3750"), std::string::npos) << facts.approximations[0];
  EXPECT_TRUE(facts.notes.empty());
}

TEST(SentShare, OfAllBytesOrMoreHasANote) {
  StaleTraffic traffic;
  traffic.exact[halo] = 100;
  for (const std::uint64_t last : {99, 101, 110}) {
    Facts facts;
    add_sent_share(traffic, 1, false, {sample(0, 0, 0, 100), sample(0, 1, 0, 100), sample(0, 2, 0, last)}, facts);
    ASSERT_EQ(facts.notes.size(), last < 100 ? 0u : 1u) << last;
    if (last < 100) continue;
    EXPECT_NE(facts.notes[0].find("saves no bytes"), std::string::npos) << facts.notes[0];
    EXPECT_NE(facts.notes[0].find("use stale=none"), std::string::npos) << facts.notes[0];
  }
}

TEST(SentShare, OfAnExactRunIsANote) {
  StaleTraffic traffic;
  traffic.exact[halo] = 10;
  Facts facts;
  const std::vector<EpochSample> samples = {sample(0, 0, 0, 10), sample(0, 1, 0, 0)};
  add_sent_share(traffic, 1, true, samples, facts);
  EXPECT_TRUE(facts.approximations.empty());
  ASSERT_EQ(facts.notes.size(), 1u);
  EXPECT_NE(facts.notes[0].find("0.0000"), std::string::npos) << facts.notes[0];
}

}  // namespace
}  // namespace strobe::sent_share_test
