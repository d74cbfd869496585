// Software profiles: the cost that a framework's program adds to operations and messages, by hand-made counts; terms
// that can be left out; and every way in which a profile can be wrong.
#include "backends/software.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/sim/cost/software_cost.hpp"
#include "core/errors.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim_test::request_for;
using sim_test::round_cluster;
using sim_test::simulate;

std::shared_ptr<Software> round_software() {
  auto software = std::make_shared<Software>();
  software->name = "round";
  software->calls = {{"fill", 3}, {"spmm", 2}};
  software->other_calls = 1;
  software->issue_seconds = 1e-5;
  software->coo = {std::nullopt, 100.0};
  software->coo_backward = {1e-9, std::nullopt};
  software->message_seconds = 1e-4;
  software->serialise_message_seconds = 1e-5;
  software->serialise_byte_seconds = 1e-9;
  software->uses.fill(true);
  return software;
}

Cluster with(const std::shared_ptr<Software>& software) {
  Cluster cluster = round_cluster();
  cluster.gpu.host_issue_seconds = 1e-6;
  cluster.software = software;
  return cluster;
}

/// A product of `steps` snapshots with `entries` entries and rows of 8 bytes.
Work product(double steps, double entries, double rows) {
  return {2 * entries * 2, 12 * entries, 8 * rows, {entries * 8, rows * 8, rows * 8 / steps, 8}};
}

TEST(SoftwareCost, SnapshotsAreThoseOfTheLastSparseProduct) {
  sim::SnapshotCount count;
  EXPECT_EQ(count.count(), 1);
  count.learn("spmm", product(12, 1000, 240));
  EXPECT_EQ(count.count(), 12);
  count.learn("dense", {100, 100, 100});
  EXPECT_EQ(count.count(), 12);
  count.learn("copy_rows", product(1, 1000, 240));  // rows by a list are packed for all snapshots at once
  EXPECT_EQ(count.count(), 12);
  count.learn("graph_convolution", product(3, 10, 60));
  EXPECT_EQ(count.count(), 3);
}

TEST(SoftwareCost, OperationsAreIssuedForEachSnapshot) {
  const Cluster cluster = with(round_software());
  EXPECT_EQ(sim::framework_calls(cluster, "spmm", product(12, 1000, 240), 12), 24);
  EXPECT_EQ(sim::framework_calls(cluster, "dense", {}, 12), 12);
  EXPECT_EQ(sim::framework_calls(cluster, "adam_step", {}, 12), 1);  // once for all of them
  Work recurrence;
  recurrence.rounds = 40;
  EXPECT_EQ(sim::framework_calls(cluster, "lstm_sequence", recurrence, 12), 40);
  EXPECT_EQ(sim::framework_calls(cluster, "evolve_weights", recurrence, 12), 40);  // all steps, whoever trains them
  for (const char* of_one : {"coo_to_csr", "locate_entries", "place_csr", "apply_difference"})
    EXPECT_EQ(sim::framework_calls(cluster, of_one, {}, 12), 1) << of_one;  // an operation a snapshot already
  EXPECT_EQ(sim::framework_calls(round_cluster(), "spmm", product(12, 1000, 240), 12), 1);
  EXPECT_DOUBLE_EQ(sim::issue_seconds(cluster, 24), 24e-5);
  EXPECT_DOUBLE_EQ(sim::issue_seconds(round_cluster(), 24), 1e-6);  // Strobe's own program issues one
}

TEST(SoftwareCost, CooProductsPayForTheirEntries) {
  const Cluster cluster = with(round_software());
  const Work work = product(1, 1e6, 1e5);
  // 1e8 bytes more at 1e11 bytes a second; backward 1 ns an entry.
  EXPECT_NEAR(sim::framework_seconds(cluster, "spmm", work, 2, 5e-4), 5e-4 + 1e-3, 1e-12);
  EXPECT_NEAR(sim::framework_seconds(cluster, "spmm_transposed", work, 2, 5e-4), 5e-4 + 1e-3, 1e-12);
  EXPECT_EQ(sim::framework_seconds(cluster, "copy_rows", work, 1, 5e-4), 5e-4);  // rows by a list are no entries
  EXPECT_EQ(sim::framework_seconds(round_cluster(), "spmm", work, 2, 5e-4), 5e-4);
}

/// Each of four ranks sends 1000 bytes to each other one.
sim::CollectiveLoad exchange_of_four(const Cluster& cluster) {
  const sim::Topology topology = sim::make_topology(cluster, 4);
  sim::CollectiveLoad load;
  load.kind = CollectiveKind::all_to_all_v;
  load.exchange = sim::ExchangeLoad(topology);
  for (int p = 0; p < 4; ++p) {
    for (int q = 0; q < 4; ++q) load.exchange.add(topology, p, q, 1000);
  }
  load.exchange.most_messages = 3;
  return load;
}

TEST(SoftwareCost, MessagesOfHalosAreIssuedForEachSnapshot) {
  const Cluster cluster = with(round_software());
  sim::CollectiveLoad load = exchange_of_four(cluster);
  const double bytes = 2 * 3000 * 1e-9, message = 1e-4 + 2 * 1e-5;
  EXPECT_NEAR(sim::framework_collective_seconds(cluster, load, Traffic::redistribute, 4, 12), 3 * message + bytes,
              1e-15);
  // A message of a halo is collected and placed by two operations of 10 us; its lists of rows are made before training.
  auto indexed = round_software();
  indexed->calls["halo_message"] = 2;
  indexed->row_seconds = 1e-8;
  EXPECT_NEAR(sim::framework_collective_seconds(with(indexed), load, Traffic::halo, 4, 12),
              36 * (message + 2 * 1e-5) + bytes, 1e-15);
  EXPECT_NEAR(sim::framework_collective_seconds(with(indexed), load, Traffic::redistribute, 4, 12), 3 * message + bytes,
              1e-15);
  load.kind = CollectiveKind::all_reduce;
  EXPECT_EQ(sim::framework_collective_seconds(cluster, load, Traffic::gradient, 4, 12), 0);
}

TEST(SoftwareCost, CallsOfCollectivesWaitForEachPeerAndTakeTurnsOnFewCores) {
  auto software = std::make_shared<Software>();
  software->exchange_seconds = 3e-4, software->exchange_byte_seconds = 1e-9;
  software->sum_seconds = 5e-4, software->sum_byte_seconds = 2e-9;
  software->uses.fill(true);
  Cluster cluster = with(software);
  cluster.nodes = 1, cluster.host.cores = 8;
  sim::CollectiveLoad load = exchange_of_four(cluster);
  const auto seconds = [&](const Cluster& c, Traffic traffic) {
    return sim::framework_collective_seconds(c, load, traffic, 4, 12);
  };
  EXPECT_NEAR(seconds(cluster, Traffic::redistribute), 3 * 3e-4 + 3000 * 1e-9, 1e-15);
  EXPECT_NEAR(seconds(cluster, Traffic::halo), 12 * 3 * 3e-4 + 3000 * 1e-9, 1e-15);  // a call for each snapshot
  Cluster few = cluster;
  few.host.cores = 2;
  EXPECT_NEAR(seconds(few, Traffic::halo), 2 * seconds(cluster, Traffic::halo), 1e-15);
  few.nodes = 2;
  EXPECT_NEAR(seconds(few, Traffic::halo), seconds(cluster, Traffic::halo), 1e-15);
  load.kind = CollectiveKind::all_reduce, load.bytes = 4000;
  EXPECT_NEAR(seconds(cluster, Traffic::gradient), 3 * 5e-4 + 1.5 * 4000 * 2e-9, 1e-15);
  load.kind = CollectiveKind::send;
  EXPECT_NEAR(seconds(cluster, Traffic::state), 3e-4 + 4000 * 1e-9, 1e-15);
  load.kind = CollectiveKind::barrier;
  EXPECT_EQ(seconds(cluster, Traffic::other), 0);
  software->uses[static_cast<std::size_t>(SoftwareTerm::collectives)] = false;
  load.kind = CollectiveKind::all_reduce;
  EXPECT_EQ(seconds(cluster, Traffic::gradient), 0);
}

TEST(SoftwareCost, ADeviceWaitsForTheIssueOfAllItsOperations) {
  const auto seconds = [](const Cluster& cluster) {
    return simulate(request_for(cluster, 1),
                    [](Device& device, Communicator&) {
                      const Tensor tensor = device.allocate(10, 1, ElementType::f32);
                      for (int i = 0; i < 50; ++i) device.run(AddScaled{tensor, tensor, 1.0});
                    })
        .slowest();
  };
  auto software = round_software();
  software->calls["add_scaled"] = 4;
  Cluster own = with(nullptr);
  EXPECT_NEAR(seconds(with(software)), 50 * 4 * 1e-5, 2e-6);
  EXPECT_NEAR(seconds(own), 50e-6, 2e-6);
  software->uses.fill(false);
  EXPECT_EQ(seconds(with(software)), seconds(own));
}

TEST(SoftwareProfiles, TheBuiltInOneKnowsItsSources) {
  const auto software = load_software("pytorch-eager");
  ASSERT_NE(software, nullptr);
  EXPECT_EQ(load_software("strobe"), nullptr);
  EXPECT_GE(software->calls_of("graph_convolution"), 2);
  EXPECT_TRUE(software->coo.known());
  EXPECT_NE(software_note(*software).find("context_bytes"), std::string::npos);  // nobody knows it
  const auto processor = load_software("pytorch-eager", true);
  EXPECT_NE(processor->coo.seconds, software->coo.seconds);
}

TEST(SoftwareProfiles, TermsCanBeLeftOut) {
  const auto uses = [](const std::string& text, SoftwareTerm term) { return load_software(text)->use(term); };
  EXPECT_FALSE(uses("pytorch-eager:without=coo+messages", SoftwareTerm::coo));
  EXPECT_FALSE(uses("pytorch-eager:without=coo+messages", SoftwareTerm::messages));
  EXPECT_TRUE(uses("pytorch-eager:without=coo+messages", SoftwareTerm::issue));
  EXPECT_TRUE(uses("pytorch-eager:only=coo", SoftwareTerm::coo));
  EXPECT_FALSE(uses("pytorch-eager:only=coo", SoftwareTerm::issue));
  EXPECT_EQ(software_note(*load_software("pytorch-eager:without=memory")).find("context_bytes"), std::string::npos);
}

TEST(SoftwareProfiles, LeaveLessMemoryForTensors) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "software-memory.json";
  Json json = Json::parse(std::ifstream(std::string(STROBE_SOURCE_DIR) + "/backends/software/pytorch-eager.json"));
  json["gpu"]["context_bytes"] = Json{{"value", 1000000000}, {"source", "a test"}, {"date", "2026-11-28"}};
  json["gpu"]["saved_tensors_factor"] = Json{{"value", 2.0}, {"source", "a test"}, {"date", "2026-11-28"}};
  std::ofstream(path) << json;
  const auto own = load_cluster("aimos-v100"), theirs = load_cluster("aimos-v100", path.string());
  const auto left = [](const Cluster& c) { return static_cast<double>(c.gpu.memory_bytes - c.gpu.reserved_bytes); };
  EXPECT_NEAR(left(*theirs), (left(*own) - 1e9) / 2, 2);
  EXPECT_EQ(left(*load_cluster("aimos-v100", path.string() + ":without=memory")), left(*own));
  EXPECT_NE(band_refusal(*theirs, 1).size(), 0u);
}

TEST(SoftwareProfiles, ListCostsThatNobodyKnows) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "software-unknown.json";
  Json json = Json::parse(std::ifstream(std::string(STROBE_SOURCE_DIR) + "/backends/software/pytorch-eager.json"));
  json["gpu"]["coo_bytes_per_entry"] = Json{{"value", nullptr}, {"reason", "a test"}};
  std::ofstream(path) << json;
  const auto lists = [&](const std::string& terms) {
    const std::vector<std::string> missing = load_software(path.string() + terms)->missing;
    return std::count(missing.begin(), missing.end(), "gpu.coo_seconds_per_entry");
  };
  EXPECT_EQ(lists(""), 1);
  EXPECT_EQ(lists(":without=coo"), 0);
}

TEST(SoftwareProfiles, SayWhatSerialisingCosts) {
  const std::string path = std::string(STROBE_SOURCE_DIR) + "/backends/software/pytorch-eager.json";
  const Json host = Json::parse(std::ifstream(path)).at("host");
  const auto software = load_software("pytorch-eager");
  const auto reported = [&](const char* key) { return host.at(key).at("value").get<double>(); };
  EXPECT_EQ(software->serialise_message_seconds, reported("serialise_seconds_per_message"));
  EXPECT_EQ(software->serialise_byte_seconds, reported("serialise_seconds_per_byte"));
  EXPECT_EQ(software->row_seconds, reported("row_seconds"));
  EXPECT_EQ(load_software("pytorch-eager:without=serialisation")->use(SoftwareTerm::serialisation), false);
}

/// "POINTER|message" of what is said about the profile once it is changed.
std::string complaint(const std::function<void(Json&)>& change) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "software-wrong.json";
  Json json = Json::parse(std::ifstream(std::string(STROBE_SOURCE_DIR) + "/backends/software/pytorch-eager.json"));
  change(json);
  std::ofstream(path) << json;
  try {
    load_software(path.string());
  } catch (const InvalidRequest& error) {
    return error.where() + "|" + error.what();
  }
  return "accepted";
}

TEST(SoftwareProfiles, WrongOnesAreRefusedWithTheirPointer) {
  EXPECT_EQ(complaint([](Json&) {}), "accepted");
  EXPECT_EQ(complaint([](Json& json) { json["gpus"] = 1; }).rfind("/gpus|", 0), 0u);
  EXPECT_EQ(complaint([](Json& json) { json.erase("host"); }).rfind("/host|", 0), 0u);
  EXPECT_EQ(
      complaint([](Json& json) { json["gpu"]["issue_seconds"]["value"] = -1; }).rfind("/gpu/issue_seconds/value|", 0),
      0u);
  EXPECT_EQ(complaint([](Json& json) {
              json["gpu"]["issue_seconds"].erase("source");
            }).rfind("/gpu/issue_seconds/source|", 0),
            0u);
  EXPECT_EQ(complaint([](Json& json) {
              json["host"]["row_seconds"] = Json{{"value", nullptr}};
            }).rfind("/host/row_seconds/reason|", 0),
            0u);
  EXPECT_EQ(
      complaint([](Json& json) { json["calls"]["by_operation"]["spmm"] = 0; }).rfind("/calls/by_operation/spmm|", 0),
      0u);
  EXPECT_EQ(complaint([](Json& json) { json["calls"]["date"] = "yesterday"; }).rfind("/calls/date|", 0), 0u);
  const auto with_piece = [](const Json& piece) {
    return complaint([&](Json& json) { json["measured"]["csr_product"] = piece; });
  };
  const Json piece = {{"value", 1e-9}, {"unit", "s/entry"}, {"source", "a test"}, {"date", "2026-11-30"}};
  EXPECT_EQ(with_piece(piece), "accepted");
  for (const char* key : {"value", "unit", "source", "date"}) {
    Json lacking = piece;
    lacking.erase(key);
    EXPECT_EQ(with_piece(lacking).rfind(std::string("/measured/csr_product/") + key + "|", 0), 0u) << key;
  }
  EXPECT_THROW(load_software("pytorch-eagre"), InvalidRequest);
  EXPECT_THROW(load_software("pytorch-eager:without=cooo"), InvalidRequest);
  EXPECT_THROW(load_software("pytorch-eager:with=coo"), InvalidRequest);
  EXPECT_THROW(load_software("strobe:without=coo"), InvalidRequest);
  EXPECT_THROW(load_software("nowhere.json"), InvalidRequest);
}

TEST(Jitter, IsDrawnForEachRankAndEpochFromItsSeed) {
  Cluster cluster = round_cluster();
  cluster.jitter = 0.1;
  const auto epochs_of = [](const Cluster& c, int ranks) {
    std::vector<std::vector<double>> all(ranks);
    simulate(request_for(c, ranks), [&](Device& device, Communicator& communicator) {
      double before = device.now();
      for (int epoch = 0; epoch < 400; ++epoch) {
        sim_test::work_of_bytes(device, 100000000);
        device.synchronize();
        all[communicator.rank()].push_back(device.now() - before);
        before = device.now();
      }
    });
    return all;
  };
  const auto drawn = epochs_of(cluster, 2);
  EXPECT_EQ(drawn, epochs_of(cluster, 2));
  EXPECT_NE(drawn[0], drawn[1]);
  double sum = 0, squares = 0;
  for (const double seconds : drawn[0]) {
    const double logarithm = std::log(seconds / 1e-3);
    sum += logarithm;
    squares += logarithm * logarithm;
  }
  EXPECT_NEAR(sum / 400, 0, 0.02);  // four standard errors
  EXPECT_NEAR(std::sqrt(squares / 400), 0.1, 0.015);
  cluster.jitter_seed = 2;
  EXPECT_NE(drawn, epochs_of(cluster, 2));
  const auto plain = epochs_of(round_cluster(), 1);
  for (const double seconds : plain[0]) EXPECT_NEAR(seconds, 1e-3, 1e-9);
}

}  // namespace
}  // namespace strobe
