// The host object of cluster files: what it says, what may be unknown, and every way in which it can be wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/cluster.hpp"
#include "backends/sim/cluster/cluster_file.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace {

const std::vector<std::string> host_numbers = {"cores",
                                               "core_operations_per_second",
                                               "core_bytes_per_second",
                                               "memory_bytes_per_second",
                                               "random_access_seconds",
                                               "disk_bytes_per_second",
                                               "memory_bytes"};

Json file_with_host() {
  std::ifstream file(std::string(STROBE_SOURCE_DIR) + "/backends/clusters/aimos-v100.json");
  Json json = Json::parse(file);
  double value = 1;
  json["host"] = Json::object();
  for (const std::string& key : host_numbers)
    json["host"][key] = {{"value", ++value}, {"source", "a test"}, {"date", "2026-11-27"}};
  return json;
}

Json unknown(const Json& reason) { return {{"value", nullptr}, {"reason", reason}}; }

std::string said_of(const std::function<void(Json&)>& change) {
  Json json = file_with_host();
  change(json);
  try {
    sim::cluster_from_json(json);
  } catch (const InvalidRequest& error) {
    return error.where() + "|" + error.message();
  }
  return "accepted";
}

testing::AssertionResult is_refused(const std::function<void(Json&)>& change, const std::string& pointer,
                                    const std::string& part = "") {
  const std::string said = said_of(change);
  if (said.rfind(pointer + "|", 0) == 0 && said.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "said: " << said;
}

TEST(ClusterHost, IsReadWithItsUnits) {
  const HostModel host = sim::cluster_from_json(file_with_host())->host;
  EXPECT_EQ(host.cores, 2);
  EXPECT_EQ(host.core_operations_per_second, 3);
  EXPECT_EQ(host.core_bytes_per_second, 4);
  EXPECT_EQ(host.memory_bytes_per_second, 5);
  EXPECT_EQ(host.random_access_seconds, 6);
  EXPECT_EQ(host.disk_bytes_per_second, 7);
  EXPECT_EQ(host.memory_bytes, 8u);
}

TEST(ClusterHost, MayBeAbsentAndEveryNumberMayBeUnknown) {
  Json json = file_with_host();
  json.erase("host");
  const auto expect_nothing = [&] {
    const HostModel host = sim::cluster_from_json(json)->host;
    EXPECT_EQ(host.cores, 0);
    EXPECT_EQ(host.memory_bytes, 0u);
    for (const double number : {host.core_operations_per_second, host.core_bytes_per_second,
                                host.memory_bytes_per_second, host.random_access_seconds, host.disk_bytes_per_second})
      EXPECT_EQ(number, 0);
  };
  expect_nothing();
  for (const std::string& key : host_numbers) json["host"][key] = unknown("nobody has published it");
  expect_nothing();
}

TEST(ClusterHost, ItsMemoryMayBeLeftOutAndIsThatOfTheDistTglMachines) {
  Json json = file_with_host();
  json["host"].erase("memory_bytes");
  EXPECT_EQ(sim::cluster_from_json(json)->host.memory_bytes, 0u);
  json["host"]["memory_bytes"] = unknown("not published");
  EXPECT_EQ(sim::cluster_from_json(json)->host.memory_bytes, 0u);
  EXPECT_EQ(load_cluster("g4dn-t4")->host.memory_bytes, 384000000000u);
  EXPECT_EQ(load_cluster("g4dn-t4:host.memory_bytes=1e9")->host.memory_bytes, 1000000000u);
  EXPECT_EQ(load_cluster("aimos-v100:host.memory_bytes=2e9")->host.memory_bytes, 2000000000u) << "its file has none";
  EXPECT_TRUE(is_refused([](Json& j) { j["host"]["memory_bytes"]["value"] = -1; }, "/host/memory_bytes/value"));
  EXPECT_TRUE(is_refused([](Json& j) { j["host"]["memory_bytes"]["value"] = "much"; }, "/host/memory_bytes/value"));
}

TEST(ClusterHost, UnknownNumbersSayWhy) {
  const auto with = [](const Json& value) { return [=](Json& j) { j["host"]["disk_bytes_per_second"] = value; }; };
  EXPECT_EQ(said_of(with(unknown("not published"))), "accepted");
  const std::string disk = "/host/disk_bytes_per_second";
  EXPECT_TRUE(is_refused(with({{"value", nullptr}}), disk + "/reason", "missing"));
  EXPECT_TRUE(is_refused(with(unknown("")), disk + "/reason", "expected text"));
  EXPECT_TRUE(is_refused(with(unknown(3)), disk + "/reason", "expected text"));
  EXPECT_TRUE(is_refused(with(nullptr), disk, "JSON object"));
  Json both = unknown("not published");
  both["source"] = "a test";
  EXPECT_TRUE(is_refused(with(both), disk + "/source", "unknown key"));
  EXPECT_TRUE(is_refused(with({{"value", 1}, {"reason", "why"}}), disk + "/reason", "unknown key"));
}

TEST(ClusterHost, NumbersOutsideOfItMayNotBeUnknown) {
  for (const char* key : {"nodes", "inter_node_latency_seconds", "intra_node_bytes_per_second", "nics_per_node"}) {
    EXPECT_TRUE(is_refused([&](Json& j) { j[key] = unknown("not published"); }, std::string("/") + key + "/value",
                           "expected a number, found null"))
        << key;
  }
  EXPECT_TRUE(is_refused([](Json& j) { j["gpu"]["l2_bytes"] = unknown("not published"); }, "/gpu/l2_bytes/value",
                         "expected a number, found null"));
}

TEST(ClusterHost, AnUnknownHostLinkEqualsAMissingOne) {
  Json json = file_with_host();
  json["gpus_per_host_link"] = unknown("not published");
  json["host_link_bytes_per_second"] = unknown("not published");
  const auto unknown_links = sim::cluster_from_json(json);
  json.erase("gpus_per_host_link");
  json.erase("host_link_bytes_per_second");
  const auto no_links = sim::cluster_from_json(json);
  EXPECT_EQ(unknown_links->gpus_per_host_link, no_links->gpus_per_host_link);
  EXPECT_EQ(unknown_links->host_link_bytes_per_second, no_links->host_link_bytes_per_second);
  EXPECT_EQ(no_links->gpus_per_host_link, 1);
}

TEST(ClusterHost, WrongKeysAndNumbersAreRefusedWithTheirPointer) {
  const auto value = [](const char* key, const Json& number) {
    return [=](Json& j) { j["host"][key]["value"] = number; };
  };
  EXPECT_TRUE(is_refused([](Json& j) { j["host"] = 8; }, "/host", "JSON object"));
  EXPECT_TRUE(is_refused([](Json& j) { j["host"].erase("cores"); }, "/host/cores", "missing"));
  EXPECT_TRUE(is_refused([](Json& j) { j["host"]["disk"] = 1; }, "/host/disk", "names no unit"));
  EXPECT_TRUE(is_refused([](Json& j) { j["host"]["memory_gb_per_second"] = 1; }, "/host/memory_gb_per_second",
                         "memory_bytes_per_second"));
  EXPECT_TRUE(is_refused([](Json& j) { j["host"]["cores"].erase("date"); }, "/host/cores/date", "missing"));
  EXPECT_TRUE(is_refused(value("cores", 2.5), "/host/cores/value", "whole"));
  EXPECT_TRUE(is_refused(value("cores", 0), "/host/cores/value", "above 0"));
  EXPECT_TRUE(is_refused(value("core_bytes_per_second", -1), "/host/core_bytes_per_second/value", "negative"));
  EXPECT_TRUE(is_refused(value("random_access_seconds", 0), "/host/random_access_seconds/value", "above 0"));
  EXPECT_TRUE(is_refused(value("disk_bytes_per_second", "fast"), "/host/disk_bytes_per_second/value", "a number"));
}

TEST(ClusterHost, FitsOfItsOperationsAreSumsOfTheirTerms) {
  Json json = file_with_host();
  json["calibration"] = {{"host_operations",
                          {{"gather_rows", Json::array({{{"seconds", 1e-6},
                                                         {"seconds_per_flop", 1e-9},
                                                         {"seconds_per_written_byte", 2e-9},
                                                         {"seconds_per_gathered_row", 3e-8},
                                                         {"seconds_per_gathered_row_beyond_8_mib", 5e-8}}})}}}};
  const auto cluster = sim::cluster_from_json(json);
  Work work{7, 0, 1000};
  EXPECT_NEAR(cluster->calibration->host_seconds("gather_rows", work), 1e-6 + 7e-9 + 2e-6, 1e-12);
  work.gather = {1600, 1600, 16.0 * 1024 * 1024, 16};  // 100 rows; a cache of 8 MiB misses half of them
  EXPECT_NEAR(cluster->calibration->host_seconds("gather_rows", work), 1e-6 + 7e-9 + 2e-6 + 100 * 3e-8 + 50 * 5e-8,
              1e-12);
  EXPECT_LT(cluster->calibration->host_seconds("copy_in_order", work), 0) << "it was not fitted";
  json["calibration"]["host_operations"]["gather_rows"][0]["seconds"] = -1;
  EXPECT_TRUE(is_refused([&](Json& j) { j = json; }, "/calibration/host_operations/gather_rows/0/seconds", "negative"));
}

TEST(ClusterHost, ChangesAreLaidOverIt) {
  const auto cluster = load_cluster("aimos-v100:host.cores=8,host.disk_bytes_per_second=2e9");
  EXPECT_EQ(cluster->host.cores, 8);
  EXPECT_EQ(cluster->host.disk_bytes_per_second, 2e9);
  EXPECT_EQ(cluster->raw.at("host").at("cores").at("source"), "what-if: 8 instead of 40");
  EXPECT_EQ(cluster->raw.at("host").at("disk_bytes_per_second").at("source"), "what-if: 2e9 instead of nothing");
  const auto said = [](const std::string& text) -> std::string {
    try {
      load_cluster(text);
    } catch (const InvalidRequest& error) {
      return error.where() + "|" + error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(said("aimos-v100:host.cores=-1").rfind("/host/cores/value|", 0), 0u);
  EXPECT_EQ(said("aimos-v100:host.cores=many").rfind("/host/cores|expected a number", 0), 0u);
  EXPECT_EQ(said("aimos-v100:host.core=4").rfind("/host/core|", 0), 0u);
  EXPECT_EQ(said("aimos-v100:host=4").rfind("/host|name one number inside it", 0), 0u);
}

TEST(ClusterHost, AFileWithoutItTakesAChange) {
  Json json = file_with_host();
  json.erase("host");
  sim::change_value(json, "host.memory_bytes_per_second", "1e11");
  const HostModel host = sim::cluster_from_json(json)->host;
  EXPECT_EQ(host.memory_bytes_per_second, 1e11);
  EXPECT_EQ(host.cores, 0);
}

TEST(ClusterHost, BuiltInClustersDescribeTheirHosts) {
  for (const std::string& name : cluster_names()) {
    const auto cluster = load_cluster(name);
    ASSERT_TRUE(cluster->raw.contains("host")) << name;
    EXPECT_GT(cluster->host.cores, 0) << name;
    for (const char* key : {"gpus_per_host_link", "host_link_bytes_per_second"})
      EXPECT_TRUE(cluster->raw.contains(key)) << name << " " << key;
    const HostModel& host = cluster->host;
    // A core alone does not exceed all of them together, nor does memory answer in less than a cycle or in a second.
    EXPECT_TRUE(host.memory_bytes_per_second == 0 || host.core_bytes_per_second < host.memory_bytes_per_second) << name;
    EXPECT_TRUE(host.random_access_seconds == 0 || host.random_access_seconds > 1e-8) << name;
    EXPECT_LT(host.random_access_seconds, 1e-6) << name;
  }
}

}  // namespace
}  // namespace strobe
