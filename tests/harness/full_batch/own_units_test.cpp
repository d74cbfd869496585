// The part of a plan of chunks that a rank keeps: it trains the same, and the plan can be laid out again from it.
#include <nlohmann/json.hpp>

#include "harness/full_batch/plan/measured_fusion.hpp"
#include "harness/full_batch/plan/own_part.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/case.hpp"
#include "tests/harness/full_batch/own_part.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"

namespace strobe {
namespace {

constexpr double kib_in_gib = 1.0 / (1024 * 1024);

std::shared_ptr<FullBatchPlan> chunks_planned(const Json& request, std::int64_t blocks = 1) {
  return lay_out(begin_full_batch(case_from_json(request, ""), PlanUse::run), blocks);
}

TEST(OwnUnits, TrainToTheSameBits) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  unsigned seed = 60;
  for (const char* model : {"t-gcn", "mpnn-lstm", "dysat", "tm-gcn"}) {
    const test::ComingsAndGoings graph(++seed);
    for (const char* presence : {"all", "active"}) {
      for (const char* fusion : {"none", "spatial", "temporal", "both"}) {
        Json request = graph.request({{"name", model}}, presence);
        request["strategy"] = {
            {"name", "chunk"}, {"max_cells", "9"}, {"fusion", fusion}, {"fusion_gib", 8 * kib_in_gib}};
        request["ranks"] = 3;
        const std::int64_t blocks = 1 + seed % 3;
        const std::vector<std::shared_ptr<const FullBatchPlan>> whole(3, chunks_planned(request, blocks));
        std::vector<std::shared_ptr<const FullBatchPlan>> own;
        for (Rank r = 0; r < 3; ++r) {
          const auto plan = chunks_planned(request, blocks);
          keep_own_part(*plan, r, r == 0 ? nullptr : store.get());
          own.push_back(plan);
        }
        EXPECT_EQ(test::trained(own), test::trained(whole)) << request.dump();
      }
    }
  }
}

/// A few bytes for each chunk of each rank in each block where any rank has several.
std::vector<std::vector<std::uint64_t>> random_bytes(const FullBatchPlan& plan, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<std::vector<std::uint64_t>> bytes(plan.ranks());
  std::uint64_t draw = 0;
  const auto alone = plan_chunks_alone(plan);
  for (const auto& units : alone->fusion->blocks) {
    if (!units->several()) continue;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank)
      for (std::int64_t i = 0; i < units->per_rank[rank]; ++i) bytes[rank].push_back(1000 + random.below(draw++, 4000));
  }
  return bytes;
}

TEST(OwnUnits, CanBeLaidOutAgain) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  std::set<std::int64_t> counts;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const test::ComingsAndGoings graph(seed);
    for (const char* presence : {"all", "active"}) {
      Json request = graph.request({{"name", "t-gcn"}}, presence);
      request["strategy"] = {{"name", "chunk"}, {"max_cells", "9"}, {"fusion_gib", 8 * kib_in_gib}};
      request["ranks"] = 3;
      const auto whole = chunks_planned(request, 1 + seed % 3);
      const auto bytes = random_bytes(*whole, seed);
      for (Rank r = 0; r < 3; ++r) {
        const auto own = chunks_planned(request, 1 + seed % 3);
        keep_own_part(*own, r, r == 0 ? nullptr : store.get());
        EXPECT_EQ(digest_of(*plan_chunks_alone(*own)), digest_of(*plan_chunks_alone(*whole)));
        const auto again = fuse_as_measured(*own, bytes);
        EXPECT_EQ(digest_of(*again), digest_of(*fuse_as_measured(*whole, bytes)));
        EXPECT_EQ(again->planned_bytes, fuse_as_measured(*whole, bytes)->planned_bytes);
        counts.insert(again->fusion->unit_count());
      }
    }
  }
  EXPECT_GT(counts.size(), 1u) << "measured bytes change the units";
}

}  // namespace
}  // namespace strobe
