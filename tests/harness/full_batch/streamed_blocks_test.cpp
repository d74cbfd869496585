// Streamed inputs of blocks: the host keeps its matrices of the graph and moves them again. For models that gain by it,
// the device makes the transpose, which equals the host's transpose of resident inputs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/cpu/register_bytes.hpp"
#include "harness/full_batch/block_inputs.hpp"
#include "harness/full_batch/block_store.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

std::shared_ptr<const FullBatchPlan> plan_of(const std::string& model, const std::string& strategy, int ranks) {
  const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 30}, {"steps", 13}, {"density", 3}}},
                        {"model", {{"name", model}}},
                        {"strategy", strategy},
                        {"ranks", ranks},
                        {"nb", "3"},
                        {"epochs", 1},
                        {"warmup", 0}};
  return test::full_batch_plan(case_from_json(request, ""));
}

std::unique_ptr<Device> cpu(int ranks) {
  DeviceRequest request;
  request.ranks = ranks;
  request.rank = ranks - 1;
  return DeviceRegistry::instance().find("cpu").value(request);
}

template <class T>
std::vector<T> moved_out(Device& device, const Tensor& tensor) {
  std::vector<T> values(tensor.defined() ? static_cast<std::size_t>(tensor.elements()) : 0);
  if (tensor.defined()) device.move_out(tensor, values.data());
  return values;
}

void expect_same(Device& device, const LocalGraph& a, const LocalGraph& b) {
  EXPECT_EQ(moved_out<std::int64_t>(device, a.a.row_offsets), moved_out<std::int64_t>(device, b.a.row_offsets));
  EXPECT_EQ(moved_out<std::int32_t>(device, a.a.column_indices), moved_out<std::int32_t>(device, b.a.column_indices));
  EXPECT_EQ(moved_out<float>(device, a.a.values), moved_out<float>(device, b.a.values));
  EXPECT_EQ(moved_out<float>(device, a.features), moved_out<float>(device, b.features));
}

TEST(StreamedBlocks, WhatTheHostMadeIsMovedAgain) {
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}, {"vertex", 2}}) {
    const auto plan = plan_of("tm-gcn", strategy, ranks);
    const auto device = cpu(ranks);
    for (const BlockPlan& block : plan->blocks) {
      MatrixUse use;
      use.products.push_back({6, true, {}});
      use.lasting = false;
      const auto bring = [&](const PreparedGraph& graph, HostParts* parts) {
        return build_local_graph(*device, graph, block.first_step, block.spatial, block.spatial_needs, use, parts);
      };
      const LocalGraph once = bring(*plan->data.graph, nullptr);
      EXPECT_GT(once.a.nonzeros, 0);
      HostParts parts;
      expect_same(*device, bring(*plan->data.graph, &parts), once);
      PreparedGraph spoilt = *plan->data.graph;  // a matrix built again would differ
      std::ranges::fill(spoilt.columns.edit(), 0);
      std::ranges::fill(spoilt.values32.edit(), -1.0f);
      parts.rewind();
      expect_same(*device, bring(spoilt, &parts), once);
    }
  }
}

TEST(StreamedBlocks, TheDeviceMakesTheTransposeThatTheHostWouldMake) {
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}}) {
    const auto plan = plan_of("dysat", strategy, ranks);
    const auto device = cpu(ranks);
    for (const BlockPlan& block : plan->blocks) {
      const SparseMatrix lasting = bring_inputs(*device, *plan, block, Visit::lasting).graph.a;
      ASSERT_TRUE(lasting.transposed_offsets.defined());
      HostParts parts;
      EXPECT_FALSE(bring_inputs(*device, *plan, block, Visit::forward, &parts).graph.a.transposed_offsets.defined());
      const SparseMatrix made = bring_inputs(*device, *plan, block, Visit::differentiated, &parts).graph.a;
      EXPECT_EQ(moved_out<std::int64_t>(*device, made.transposed_offsets),
                moved_out<std::int64_t>(*device, lasting.transposed_offsets));
      EXPECT_EQ(moved_out<std::int32_t>(*device, made.transposed_indices),
                moved_out<std::int32_t>(*device, lasting.transposed_indices));
      EXPECT_EQ(moved_out<float>(*device, made.transposed_values),
                moved_out<float>(*device, lasting.transposed_values));
    }
  }
}

TEST(StreamedBlocks, SayThatTheyAreUsedOnce) {
  for (const std::string model : {"tm-gcn", "dysat", "evolve-gcn-o"}) {
    const auto plan = plan_of(model, "snapshot", 2);
    const auto use = [&](Visit visit, bool own) { return use_by_layers(*plan, visit, own); };
    EXPECT_TRUE(use(Visit::lasting, true).lasting);
    EXPECT_FALSE(use(Visit::forward, true).lasting || use(Visit::differentiated, true).lasting);
    EXPECT_FALSE(use(Visit::forward, false).backward());
    EXPECT_TRUE(use(Visit::differentiated, false).backward());
    EXPECT_EQ(use(Visit::lasting, true).backward(), model != "evolve-gcn-o") << "a repeated layer needs no transpose";
    EXPECT_EQ(use(Visit::lasting, true).reads_entries, model == "dysat");
  }
}

TEST(StreamedBlocks, TransposesAreNotMadeWhereTheyDoNotPay) {
  const auto device = cpu(2);
  const auto products = plan_of("tm-gcn", "snapshot", 2), divided = plan_of("dysat", "vertex", 2);
  const auto made = [&](const FullBatchPlan& plan) {
    return bring_inputs(*device, plan, plan.blocks[0], Visit::differentiated).graph.a.transposed_offsets.defined();
  };
  EXPECT_FALSE(made(*products));
  EXPECT_FALSE(made(*divided));
}

TEST(StreamedBlocks, ModelsThatRepeatTheirFirstLayerNeedNoTranspose) {
  const auto device = cpu(2);
  for (const std::string model : {"evolve-gcn-o", "evolve-gcn-h", "t-gcn"}) {
    const auto inputs = [&](const std::string& strategy) {
      const auto plan = plan_of(model, strategy, 2);
      return bring_inputs(*device, *plan, plan->blocks[0], Visit::lasting).graph.a;
    };
    const SparseMatrix whole = inputs("snapshot"), divided = inputs("vertex");
    EXPECT_FALSE(whole.transposed_offsets.defined() || whole.paired_transpose || whole.transpose_by_length) << model;
    // Neighbours of other ranks keep the stages apart. Three gates of six fill at most two registers of 64 bytes.
    const bool narrow = model != "t-gcn" || cpu_register_bytes() == 64;
    EXPECT_EQ(divided.transpose_by_length != nullptr, narrow) << model;
    EXPECT_NE(divided.transposed_offsets.defined(), narrow) << model;
    // Only smoothed snapshots overlap, and two rows of six fit a register of 64 bytes.
    const bool pairs = model != "t-gcn" && cpu_register_bytes() == 64;
    EXPECT_EQ(whole.paired != nullptr, pairs) << model;
    EXPECT_TRUE(pairs || whole.by_length || model == "t-gcn") << model;
  }
}

}  // namespace
}  // namespace strobe
