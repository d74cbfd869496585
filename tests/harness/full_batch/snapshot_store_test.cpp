// The store's matrices, compared with the graph itself. The bytes that it moves, compared entry by entry with the
// definition, and with R(b, o): bytes of full snapshots over those of differences, for b snapshots with overlap o.
#include "harness/full_batch/inputs/snapshot_store.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/formats/snapshot_support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

const std::vector<std::string> methods{"full", "difference", "changed", "least"};
const std::vector<TransferFormat> formats{TransferFormat::coo64, TransferFormat::csr32};

std::unique_ptr<Device> cpu(bool fp64, const std::string& variant = "") {
  DeviceRequest request;
  request.precision = fp64 ? ElementType::f64 : ElementType::f32;
  request.threads = 2;
  request.kernel_variant = variant;
  return DeviceRegistry::instance().find("cpu").value(request);
}

template <class T>
std::vector<T> host(Device& device, const Tensor& tensor) {
  std::vector<T> values(tensor.elements());
  device.move_out(tensor, values.data());
  return values;
}

/// The matrix of held steps, straight from the graph.
template <class T>
struct Expected {
  std::vector<std::int64_t> offsets = {0}, step_rows = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> values, features;

  Expected(const PreparedGraph& graph, const HeldSteps& block, const Column<T>& all, const Column<T>& x) {
    std::int64_t rows = 0;
    for (Step t = static_cast<Step>(block.first_step); t < block.first_step + block.steps; ++t) {
      if (std::find(block.held.begin(), block.held.end(), t) != block.held.end()) {
        add(graph, t, rows, all);
        const auto first = x.begin() + t * graph.vertices * graph.feature_width;
        features.insert(features.end(), first, first + graph.vertices * graph.feature_width);
        rows += graph.vertices;
      }
      step_rows.push_back(rows);
    }
  }

 private:
  void add(const PreparedGraph& graph, Step t, std::int64_t rows, const Column<T>& all) {
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      for (std::size_t e = graph.row_offsets[row]; e < static_cast<std::size_t>(graph.row_offsets[row + 1]); ++e) {
        columns.push_back(static_cast<std::int32_t>(rows + graph.columns[e]));
        values.push_back(all[e]);
      }
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
  }
};

template <class T>
void expect_matrix(Device& device, const LocalGraph& local, const Expected<T>& expected) {
  EXPECT_EQ(host<std::int64_t>(device, local.a.row_offsets), expected.offsets);
  EXPECT_EQ(host<std::int32_t>(device, local.a.column_indices), expected.columns);
  EXPECT_EQ(host<T>(device, local.a.values), expected.values);
  EXPECT_EQ(host<std::int64_t>(device, local.a.step_rows), expected.step_rows);
  EXPECT_EQ(host<std::int64_t>(device, local.a.step_halo), std::vector<std::int64_t>(expected.step_rows.size(), 0));
  EXPECT_EQ(host<T>(device, local.features), expected.features);
  EXPECT_EQ(local.a.rows, expected.step_rows.back());
  EXPECT_EQ(local.a.columns, local.a.rows);
  EXPECT_EQ(local.a.halo_begin, local.a.rows);
  EXPECT_EQ(local.a.nonzeros, static_cast<std::int64_t>(expected.columns.size()));
}

/// Transfer spans since the last call.
std::uint64_t moved_bytes(Device& device) {
  std::uint64_t bytes = 0;
  for (const Span& span : device.spans().spans()) {
    bytes += span.transfer_bytes;
    EXPECT_EQ(span.transfer_bytes != 0, span.phase == Phase::transfer);
    EXPECT_GE(span.end_seconds, span.begin_seconds);
  }
  device.spans().clear();
  return bytes;
}

/// The differences of a block's snapshots, each from the held snapshot before it. The first one has none before it.
std::vector<DifferenceSizes> defined_differences(const PreparedGraph& graph, const HeldSteps& block) {
  std::vector<DifferenceSizes> all;
  for (std::size_t i = 0; i < block.held.size(); ++i) {
    all.push_back(i == 0 ? DifferenceSizes{} : test::naive_difference(graph, block.held[i - 1], block.held[i]).sizes);
    all.back().entries = static_cast<std::int64_t>(test::entries_of(graph, block.held[i]).size());
  }
  return all;
}

/// Bytes by the definition: the first snapshot of the block is whole, the others take the cheapest form of `method`.
std::uint64_t defined_bytes(const PreparedGraph& graph, const std::vector<DifferenceSizes>& block,
                            const std::string& method, TransferFormat format) {
  const std::uint64_t w = graph.values64.empty() ? 4 : 8, n = static_cast<std::uint64_t>(graph.vertices);
  const bool coo = format == TransferFormat::coo64;
  std::uint64_t sum = w * n * static_cast<std::uint64_t>(graph.cell_width()) * block.size();
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto z = static_cast<std::uint64_t>(block[i].entries), r = static_cast<std::uint64_t>(block[i].removed);
    const auto a = static_cast<std::uint64_t>(block[i].added), c = static_cast<std::uint64_t>(block[i].changed);
    const std::uint64_t full = coo ? z * (16 + w) : z * (4 + w) + 4 * (n + 1);
    const std::uint64_t indices = coo ? 16 * (r + a) : 4 * r + 4 * a + 4 * std::min(a, n + 1);
    const std::uint64_t difference = indices + w * z, changed = indices + w * a + ((coo ? 8 : 4) + w) * c;
    sum += i == 0 || method == "full" ? full
           : method == "difference"   ? difference
           : method == "changed"      ? changed
                                      : std::min({full, difference, changed});
  }
  return sum;
}

/// `products` is A~ X, for graphs that also keep X.
template <class T>
void check_store(const PreparedGraph& graph, const std::vector<HeldSteps>& blocks, const Column<T>& values,
                 const Column<T>& features, const std::string& variant, const Column<T>& products = {}) {
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::vector<DifferenceSizes> differences = defined_differences(graph, blocks[block]);
    const Expected<T> expected(graph, blocks[block], values, features);
    for (const std::string& method : methods) {
      for (const TransferFormat format : formats) {
        SCOPED_TRACE(method + (format == TransferFormat::coo64 ? " coo64 " : " csr32 ") + variant);
        const auto device = cpu(sizeof(T) == 8, variant);
        SnapshotStore store(*device, graph, blocks, {method, format}, true);
        moved_bytes(*device);
        const LocalGraph local = store.bring(block);
        const std::uint64_t moved = moved_bytes(*device);
        EXPECT_EQ(moved, defined_bytes(graph, differences, method, format));
        EXPECT_EQ(moved, store.bytes(block));
        expect_matrix(*device, local, expected);
        ASSERT_EQ(local.first_product.defined(), !products.empty());
        if (products.empty()) continue;
        EXPECT_EQ(host<T>(*device, local.first_product), Expected<T>(graph, blocks[block], values, products).features);
      }
    }
  }
}

/// All steps in two blocks. In the first block the rank holds all steps except the outer ones.
std::vector<HeldSteps> blocks_of(const PreparedGraph& graph) {
  const std::int64_t half = graph.steps / 2;
  HeldSteps first{0, half, {}}, second{half, graph.steps - half, {}};
  for (Step t = 1; t + 1 < half; ++t) first.held.push_back(t);
  for (auto t = static_cast<Step>(half); t < graph.steps; ++t) second.held.push_back(t);
  return {first, second};
}

TEST(SnapshotStore, MakesTheGraphExactly) {
  std::uint64_t seed = 70;
  for (const test::Drift& drift : test::test_drifts()) {
    const std::vector<test::Entries> steps = test::draw_steps(drift, ++seed);
    SCOPED_TRACE("N " + std::to_string(drift.vertices));
    for (const std::string variant : {"", "plain"}) {
      const PreparedGraph narrow = test::prepared(drift.vertices, steps, false);
      check_store(narrow, blocks_of(narrow), narrow.values32, narrow.features32, variant);
      const PreparedGraph wide = test::prepared(drift.vertices, steps, true);
      check_store(wide, blocks_of(wide), wide.values64, wide.features64, variant);
    }
  }
}

TEST(SnapshotStore, MakesSmoothedRealGraphsExactly) {
  const SnapshotGraph raw = load_workload("amlsim-20k", Json{{"window", "15"}}, 1);
  for (const std::string smooth : {"m_product", "none"}) {
    const PreparedGraph graph = prepare(raw, {.smooth = smooth, .window = 4}, 5, false);
    std::vector<HeldSteps> blocks(1);
    blocks[0].steps = graph.steps;
    for (Step t = 0; t < graph.steps; ++t) blocks[0].held.push_back(t);
    SCOPED_TRACE(smooth);
    check_store(graph, blocks, graph.values32, graph.features32, "");
    const PreparedGraph both = prepare(raw, {.smooth = smooth, .window = 4, .keep_features = true}, 5, false);
    check_store(both, blocks, both.values32, both.features32, "", both.products32);
  }
}

/// R(b, o) = 20 b / (20 + (b - 1) (36 - 32 o)) of the paper's 20 bytes per non-zero, exactly.
TEST(SnapshotStore, BytesFollowTheFormulaOfOverlap) {
  for (const std::int64_t replaced : {0, 1, 5, 10, 25, 50}) {
    const PreparedGraph graph = test::sliding_graph(101, 25, replaced);
    const double overlap = 1.0 - static_cast<double>(replaced) / 50.0;
    for (const std::int64_t b : {1, 2, 4, 8, 16, 25}) {
      HeldSteps block{0, b, {}};
      for (Step t = 0; t < b; ++t) block.held.push_back(t);
      const auto bytes = [&](const std::string& method) {
        const TransferChoice choice{method, TransferFormat::coo64};
        return planned_bytes(plan_snapshots(graph, block, choice), choice.format, 4);
      };
      const auto z = static_cast<std::uint64_t>(50 * graph.vertices), steps = static_cast<std::uint64_t>(b);
      EXPECT_EQ(bytes("full"), 20 * z * steps);
      // Numerator and denominator are multiplied by 50, so that the formula has whole numbers.
      EXPECT_EQ(50 * bytes("difference"),
                z * (50 * 20 + (steps - 1) * (50 * 4 + 32 * static_cast<std::uint64_t>(replaced))));
      const double ratio = static_cast<double>(bytes("full")) / static_cast<double>(bytes("difference"));
      const double size = b;
      EXPECT_DOUBLE_EQ(ratio, 20.0 * size / (20.0 + (size - 1.0) * (36.0 - 32.0 * overlap)));
      if (replaced == 25) {
        EXPECT_EQ(bytes("difference"), bytes("full")) << "break-even at half";
      }
      EXPECT_LE(bytes("least"), std::min(bytes("full"), bytes("difference")));
    }
  }
}

TEST(SnapshotStore, MovesOnlyFeaturesWhenNothingIsMultiplied) {
  const PreparedGraph graph = test::sliding_graph(60, 4, 5);
  const auto device = cpu(false);
  SnapshotStore store(*device, graph, {{0, 4, {1, 2}}}, {}, false);
  const LocalGraph local = store.bring(0);
  EXPECT_EQ(moved_bytes(*device), 2u * 60 * 2 * 4);
  EXPECT_EQ(local.a.rows, 0);
  EXPECT_EQ(local.features.rows(), 120);
}

TEST(SnapshotStore, HoldsOneBlockAtATime) {
  const PreparedGraph graph = test::sliding_graph(200, 12, 5);
  const auto device = cpu(false);
  SnapshotStore store(*device, graph, {{0, 6, {0, 1, 2, 3, 4, 5}}, {6, 6, {6, 7, 8, 9, 10, 11}}},
                      {"difference", TransferFormat::csr32}, true);
  const std::uint64_t before = device->live_bytes();
  const std::uint64_t one = [&] {
    const LocalGraph local = store.bring(0);
    return device->live_bytes() - before;
  }();
  EXPECT_EQ(device->live_bytes(), before);
  device->reset_peak();
  store.bring(1);
  EXPECT_LT(device->peak_bytes() - before, one + one / 4);  // plus the transfer of one snapshot
}

TEST(HeldSteps, AreWholeSnapshots) {
  const Placement by_steps = by_time(5, {0, 0, 1, 1}, 2);
  const HeldSteps held = held_steps(by_steps, 1, 10);
  EXPECT_EQ(held.first_step, 10);
  EXPECT_EQ(held.steps, 4);
  EXPECT_EQ(held.held, (std::vector<Step>{12, 13}));
  EXPECT_EQ(held_steps(by_vertex({0, 0, 0}, 2, 1), 0, 0).held, (std::vector<Step>{0, 1}));
  EXPECT_THROW(held_steps(by_vertex({0, 1, 0}, 2, 2), 0, 0), InvalidRequest);
}

}  // namespace
}  // namespace strobe
