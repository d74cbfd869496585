// Cluster files: the built-in ones, and every way in which a file can be wrong, with the JSON pointer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/cluster.hpp"
#include "backends/sim/cluster_file.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(STROBE_SOURCE_DIR) + "/backends/clusters/" + name + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Changes a good file and returns "POINTER|message" of what is said about it.
std::string complaint(const std::function<void(Json&)>& change) {
  Json json = Json::parse(text_of("aimos-v100"));
  change(json);
  try {
    sim::cluster_from_json(json);
  } catch (const InvalidRequest& error) {
    return error.where() + "|" + error.what();
  }
  return "accepted";
}

testing::AssertionResult complains(const std::function<void(Json&)>& change, const std::string& pointer,
                                   const std::string& part = "") {
  const std::string said = complaint(change);
  if (said.rfind(pointer + "|", 0) == 0 && said.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "said: " << said;
}

TEST(Clusters, BuiltInOnesLoadAndSayWhereTheirNumbersComeFrom) {
  const std::vector<std::string> names = cluster_names();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto cluster = load_cluster(name);
    EXPECT_EQ(cluster->name, name);
    EXPECT_EQ(cluster->raw.at("nodes").at("value"), cluster->nodes);
    EXPECT_LT(cluster->gpu.reserved_bytes, cluster->gpu.memory_bytes);
    EXPECT_EQ(cluster->price_per_node_hour > 0, !cluster->price_date.empty());
  }
}

TEST(Clusters, AimosHasItsNumbers) {
  const auto cluster = load_cluster("aimos-v100");
  EXPECT_EQ(cluster->nodes, 16);
  EXPECT_EQ(cluster->gpus_per_node, 8);
  EXPECT_EQ(cluster->gpu.name, "V100-SXM2-32");
  EXPECT_EQ(cluster->gpu.memory_bytes, std::uint64_t{32} << 30);
  EXPECT_EQ(cluster->inter_node_bytes_per_second, 24e9);
  EXPECT_EQ(cluster->price_per_node_hour, 0.0);
  EXPECT_FALSE(cluster->calibrated);
}

TEST(Clusters, AreFoundByNameOrPath) {
  const std::string path = std::string(STROBE_SOURCE_DIR) + "/backends/clusters/aimos-v100.json";
  EXPECT_EQ(load_cluster(path)->nodes, 16);
  try {
    load_cluster("aimos-v10");
    FAIL() << "an unknown name was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--cluster");
    EXPECT_NE(std::string(error.what()).find("did you mean 'aimos-v100'?"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Known: "), std::string::npos) << error.what();
  }
  EXPECT_THROW(load_cluster("no/such/file.json"), InvalidRequest);
  EXPECT_THROW(load_cluster("no-such.json"), InvalidRequest);
}

TEST(Clusters, KeysAreChecked) {
  EXPECT_EQ(complaint([](Json&) {}), "accepted");
  EXPECT_TRUE(complains([](Json& j) { j["node"] = j["nodes"]; }, "/node", "did you mean 'nodes'?"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["lanch_seconds"] = 1; }, "/gpu/lanch_seconds", "'launch_seconds'"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["launch"] = 5e-6; }, "/gpu/launch", "names no unit"));
  EXPECT_TRUE(complains([](Json& j) { j.erase("gpus_per_node"); }, "/gpus_per_node", "missing"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"].erase("memory_bytes"); }, "/gpu/memory_bytes", "missing"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"].erase("source"); }, "/nodes/source", "missing"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["unit"] = "nodes"; }, "/nodes/unit", "unknown key"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"] = 16; }, "/nodes", "JSON object"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"] = "V100"; }, "/gpu", "JSON object"));
  EXPECT_TRUE(complains([](Json& j) { j["calibrated"] = "no"; }, "/calibrated"));
  EXPECT_TRUE(complains([](Json& j) { j["description"] = ""; }, "/description", "expected text"));
}

TEST(Clusters, NumbersAreChecked) {
  const std::string latency = "/inter_node_latency_seconds/value", rate = "/intra_node_bytes_per_second/value";
  EXPECT_TRUE(complains([](Json& j) { j["inter_node_latency_seconds"]["value"] = -1e-6; }, latency, "negative"));
  EXPECT_EQ(complaint([](Json& j) { j["inter_node_latency_seconds"]["value"] = 0; }), "accepted");
  EXPECT_TRUE(complains([](Json& j) { j["intra_node_bytes_per_second"]["value"] = 0; }, rate, "above 0"));
  EXPECT_TRUE(complains([](Json& j) { j["intra_node_bytes_per_second"]["value"] = "fast"; }, rate, "a number"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["value"] = 0; }, "/nodes/value", "above 0"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["value"] = 1.5; }, "/nodes/value", "whole"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["value"] = 1e12; }, "/nodes/value", "whole"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["date"] = "2026"; }, "/nodes/date", "YYYY-MM-DD"));
  EXPECT_TRUE(complains([](Json& j) { j["nodes"]["date"] = "2026-13-01"; }, "/nodes/date", "YYYY-MM-DD"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["reserved_bytes"] = j["gpu"]["memory_bytes"]; },
                        "/gpu/reserved_bytes/value", "none for tensors"));
}

TEST(Clusters, PricesNeedCurrencySourceAndDate) {
  Json price = {{"value", 31.212}, {"currency", "USD"}, {"source", "a listing"}, {"date", "2026-04-01"}};
  const auto set_price = [&](Json& j) { j["price_per_node_hour"] = price; };
  EXPECT_EQ(complaint(set_price), "accepted");
  price.erase("date");
  EXPECT_TRUE(complains(set_price, "/price_per_node_hour/date", "missing"));
  price["date"] = "2026-04-01";
  price["value"] = 0;
  EXPECT_TRUE(complains(set_price, "/price_per_node_hour/value", "above 0"));
  EXPECT_TRUE(complains([](Json& j) { j["price_per_node_hour"] = "cheap"; }, "/price_per_node_hour", "not sold"));
}

TEST(Clusters, DuplicateKeysAndBrokenTextAreRefused) {
  std::string twice = text_of("aimos-v100");
  twice.replace(twice.find("\"launch_seconds\""), 16, "\"reserved_bytes\"");
  try {
    sim::parse_cluster(twice, "twice.json");
    FAIL() << "a duplicate key was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/gpu/reserved_bytes");
    EXPECT_NE(std::string(error.what()).find("twice"), std::string::npos);
  }
  try {
    sim::parse_cluster("{\n  \"name\": oops\n}", "broken.json");
    FAIL() << "broken JSON was accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.file(), "broken.json");
    EXPECT_EQ(error.line(), 2u);
    EXPECT_GE(error.column(), 11u);
  }
  EXPECT_THROW(sim::parse_cluster("", "empty.json"), InvalidInput);
}

}  // namespace
}  // namespace strobe
