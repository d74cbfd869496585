// Cluster files: the built-in ones, and every way in which a file can be wrong, with the JSON pointer.
#include "backends/cluster.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "backends/sim/cluster/cluster_file.hpp"
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

TEST(ClusterBand, IsReadAndRefusedWithItsPointer) {
  const Json good{{"low_factor", 0.8}, {"high_factor", 1.3}, {"source", "a test"}, {"date", "2026-01-31"}};
  Json json = Json::parse(text_of("aimos-v100"));
  json["epoch_band_90"] = good;
  const auto cluster = sim::cluster_from_json(json);
  ASSERT_EQ(cluster->epoch_bands.size(), 1u);
  EXPECT_EQ(cluster->epoch_bands[0].low, 0.8);
  EXPECT_EQ(cluster->epoch_bands[0].high, 1.3);
  const auto with = [&](const char* key, const Json& value) {
    return [=](Json& file) {
      file["epoch_band_90"] = good;
      file["epoch_band_90"][key] = value;
    };
  };
  EXPECT_TRUE(complains(with("low_factor", -1), "/epoch_band_90/low_factor"));
  EXPECT_TRUE(complains(with("high_factor", "much"), "/epoch_band_90/high_factor"));
  EXPECT_TRUE(complains(with("low_factor", 2), "/epoch_band_90", "above"));
  EXPECT_TRUE(complains(with("date", "31.1.2026"), "/epoch_band_90/date"));
  for (const Json& ranks : {Json(0), Json(-1), Json(1.5), Json("2"), Json(nullptr), Json(1e7)}) {
    EXPECT_TRUE(complains(with("ranks", ranks), "/epoch_band_90/ranks")) << ranks;
  }
  EXPECT_TRUE(complains(with("rank", 2), "/epoch_band_90/rank", "'ranks'"));
  EXPECT_TRUE(complains(
      [](Json& file) {
        file["epoch_band_90"] = Json{{"low_factor", 1}};
      },
      "/epoch_band_90/high_factor", "missing"));
}

TEST(ClusterBand, AListHasOneForMoreAndMoreRanks) {
  const auto band = [](double low, int ranks) {
    return Json{
        {"low_factor", low}, {"high_factor", 1.3}, {"ranks", ranks}, {"source", "a test"}, {"date", "2026-01-31"}};
  };
  Json json = Json::parse(text_of("aimos-v100"));
  json["epoch_band_90"] = Json::array({band(0.9, 1), band(0.8, 2), band(0.7, 8)});
  const auto cluster = sim::cluster_from_json(json);
  for (const auto& [ranks, low] : {std::pair{1, 0.9}, {2, 0.8}, {3, 0.7}, {8, 0.7}}) {
    EXPECT_EQ(band_refusal(*cluster, ranks), "") << ranks;
    EXPECT_EQ(band_for(*cluster, ranks).low, low) << ranks;
  }
  EXPECT_NE(band_refusal(*cluster, 9).find("at most 8 ranks"), std::string::npos) << band_refusal(*cluster, 9);
  EXPECT_TRUE(complains(
      [&](Json& file) {
        file["epoch_band_90"] = Json::array({band(0.9, 2), band(0.8, 2)});
      },
      "/epoch_band_90/1/ranks", "ascending order"));
  EXPECT_TRUE(complains([&](Json& file) { file["epoch_band_90"] = Json::array(); }, "/epoch_band_90", "is empty"));
  EXPECT_TRUE(complains(
      [&](Json& file) {
        file["epoch_band_90"] = Json::array({band(0.9, 1), band(-1, 2)});
      },
      "/epoch_band_90/1/low_factor"));
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

TEST(Clusters, ThoseOfThePapersAndOfTheCloudsAreThere) {
  const std::vector<std::tuple<std::string, int, int, bool>> wanted = {
      {"aimos-v100", 16, 8, false},   {"g4dn-t4", 4, 8, true},        {"p3dn-v100", 16, 8, true},
      {"p4d-a100", 4, 8, true},       {"p5-h100", 16, 8, true},       {"p5en-h200", 16, 8, true},
      {"dynahb-2080ti", 5, 1, false}, {"dynahb-a6000", 1, 8, false},  {"g5-a10g", 4, 8, true},
      {"g6e-l40s", 4, 8, true},       {"p4de-a100", 4, 8, true},      {"p6-b200", 16, 8, true},
      {"azure-nd-a100", 4, 8, true},  {"azure-nd-h100", 16, 8, true}, {"azure-nd-mi300x", 16, 8, true},
      {"gcp-a2-a100", 1, 8, true},    {"gcp-a3-h100", 16, 8, true}};
  for (const auto& [name, nodes, gpus, sold] : wanted) {
    const auto cluster = load_cluster(name);
    EXPECT_EQ(cluster->nodes, nodes) << name;
    EXPECT_EQ(cluster->gpus_per_node, gpus) << name;
    EXPECT_EQ(cluster->price_per_node_hour > 0, sold) << name;
    EXPECT_EQ(!cluster->price_region.empty(), sold) << name;
    EXPECT_GT(cluster->gpu.l2_bytes, 0u) << name;
  }
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
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["l2_bytes"]["value"] = 0.5; }, "/gpu/l2_bytes/value", "whole"));
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["architecture"] = "voltas"; }, "/gpu/architecture", "'volta'"));
  const Json slower = {{"value", 0.9}, {"source", "a test"}, {"date", "2026-11-21"}};
  EXPECT_TRUE(complains([&](Json& j) { j["compute_slowdown_factor"] = slower; }, "/compute_slowdown_factor/value",
                        "1 or more"));
}

TEST(Clusters, PricesNeedCurrencySourceAndDate) {
  Json price = {
      {"value", 31.212}, {"currency", "USD"}, {"region", "us-east-1"}, {"source", "a listing"}, {"date", "2026-04-01"}};
  const auto set_price = [&](Json& j) { j["price_per_node_hour"] = price; };
  EXPECT_EQ(complaint(set_price), "accepted");
  price.erase("region");
  EXPECT_TRUE(complains(set_price, "/price_per_node_hour/region", "missing"));
  price["region"] = "us-east-1";
  price.erase("date");
  EXPECT_TRUE(complains(set_price, "/price_per_node_hour/date", "missing"));
  price["date"] = "2026-04-01";
  price["value"] = 0;
  EXPECT_TRUE(complains(set_price, "/price_per_node_hour/value", "above 0"));
  EXPECT_TRUE(complains([](Json& j) { j["price_per_node_hour"] = "cheap"; }, "/price_per_node_hour", "not sold"));
  price["value"] = 31.212;
  for (const char* code : {"US$", "dollars", "E10", "ABC", "us"}) {
    price["currency"] = code;
    EXPECT_TRUE(complains(set_price, "/price_per_node_hour/currency", "ISO 4217")) << code;
  }
  price["currency"] = "Jpy";
  Json json = Json::parse(text_of("aimos-v100"));
  set_price(json);
  EXPECT_EQ(sim::cluster_from_json(json)->price_currency, "JPY");
  for (const char* no_day : {"2026-02-30", "2025-02-29", "2026-04-31", "2026-00-01"}) {
    price["date"] = no_day;
    EXPECT_TRUE(complains(set_price, "/price_per_node_hour/date", "YYYY-MM-DD")) << no_day;
  }
  price["date"] = "2024-02-29";
  EXPECT_EQ(complaint(set_price), "accepted");
}

TEST(Clusters, ImpossibleTopologiesAreRefused) {
  const auto count = [](int value) { return Json{{"value", value}, {"source", "a test"}, {"date", "2026-11-21"}}; };
  const auto rate = [](double value) { return Json{{"value", value}, {"source", "a test"}, {"date", "2026-11-21"}}; };
  EXPECT_TRUE(complains([&](Json& j) { j["nics_per_node"] = count(3); }, "/nics_per_node/value", "8 GPUs"));
  EXPECT_TRUE(complains([&](Json& j) { j["nics_per_node"] = count(12); }, "/nics_per_node/value", "equal groups"));
  EXPECT_TRUE(complains([&](Json& j) { j["nics_per_node"] = count(0); }, "/nics_per_node/value", "above 0"));
  EXPECT_EQ(complaint([&](Json& j) { j["nics_per_node"] = count(32); }), "accepted");
  EXPECT_TRUE(
      complains([&](Json& j) { j["gpus_per_host_link"] = count(2); }, "/host_link_bytes_per_second", "missing"));
  const auto shared = [&](Json& j, int gpus) {
    j["gpus_per_host_link"] = count(gpus);
    j["host_link_bytes_per_second"] = rate(12e9);
  };
  EXPECT_EQ(complaint([&](Json& j) { shared(j, 4); }), "accepted");
  EXPECT_TRUE(complains([&](Json& j) { shared(j, 3); }, "/gpus_per_host_link/value", "8 GPUs"));
  EXPECT_TRUE(complains([&](Json& j) { shared(j, 16); }, "/gpus_per_host_link/value", "8 GPUs"));
  EXPECT_TRUE(complains([](Json& j) { j["host_memory"] = "paged"; }, "/host_memory", "pinned, pageable, shared"));
  const auto pageable_of_unknown_rate = [](Json& j) {
    j.erase("host_to_device_pageable_bytes_per_second");
    j["host_memory"] = "pageable";
  };
  EXPECT_TRUE(complains(pageable_of_unknown_rate, "/host_memory", "not known"));
}

TEST(Clusters, CopiesMayBeAbsentOnlyWhereMemoryIsTheHosts) {
  const auto without = [](const char* key, const char* memory) {
    return [=](Json& j) {
      j.erase(key);
      j["host_memory"] = memory;
    };
  };
  EXPECT_TRUE(complains(without("host_to_device_bytes_per_second", "pinned"), "/host_to_device_bytes_per_second"));
  EXPECT_TRUE(complains(without("host_to_device_latency_seconds", "pageable"), "/host_to_device_latency_seconds"));
  EXPECT_EQ(complaint(without("host_to_device_bytes_per_second", "shared")), "accepted");
  EXPECT_TRUE(complains([](Json& j) { j["gpu"]["stores_transpose"] = 1; }, "/gpu/stores_transpose", "true or false"));
  EXPECT_TRUE(load_cluster("aimos-v100:gpu.stores_transpose=true,host_memory=shared")->gpu.stores_transpose);
  EXPECT_EQ(load_cluster("aimos-v100")->gpu.narrow_bytes, 0);
  EXPECT_EQ(load_cluster("aimos-v100:gpu.narrow_bytes=32")->gpu.narrow_bytes, 32);
  EXPECT_EQ(load_cluster("aimos-v100:gpu.stores_narrow_forms=true")->gpu.narrow_bytes, 64);  // a file of before
}

TEST(Clusters, LinksMayBeAbsentOnlyWhereThereIsNothingToLink) {
  const auto without = [](const char* key, int nodes, int gpus) {
    return [=](Json& j) {
      j.erase(key);
      j.erase("nics_per_node");
      j["nodes"]["value"] = nodes;
      j["gpus_per_node"]["value"] = gpus;
    };
  };
  EXPECT_TRUE(complains(without("inter_node_bytes_per_second", 2, 8), "/inter_node_bytes_per_second", "2 nodes"));
  EXPECT_EQ(complaint(without("inter_node_bytes_per_second", 1, 8)), "accepted");
  EXPECT_TRUE(complains(without("intra_node_latency_seconds", 2, 8), "/intra_node_latency_seconds", "missing"));
  EXPECT_EQ(complaint(without("intra_node_latency_seconds", 2, 1)), "accepted");
  Json one = Json::parse(text_of("aimos-v100"));
  without("inter_node_latency_seconds", 1, 8)(one);
  EXPECT_EQ(sim::cluster_from_json(one)->inter_node_latency_seconds, 0);
}

TEST(WhatIf, ChangesAreLaidOverTheFile) {
  const auto cluster = load_cluster("aimos-v100:gpu.memory_bytes=40000000000,nodes=4");
  EXPECT_EQ(cluster->nodes, 4);
  EXPECT_EQ(cluster->described_nodes, 16);
  EXPECT_FALSE(cluster->extrapolated());
  EXPECT_EQ(cluster->gpu.memory_bytes, 40000000000u);
  EXPECT_EQ(cluster->changes, (std::vector<std::string>{"gpu.memory_bytes=40000000000", "nodes=4"}));
  EXPECT_EQ(cluster->raw.at("nodes").at("source"), "what-if: 4 instead of 16");
  EXPECT_TRUE(load_cluster("aimos-v100:nodes=32")->extrapolated());
  EXPECT_EQ(load_cluster("aimos-v100:host_link_bytes_per_second=1e10,gpus_per_host_link=2")->gpus_per_host_link, 2);
  EXPECT_TRUE(load_cluster("aimos-v100:hierarchical_collectives=true")->hierarchical_collectives);
  EXPECT_NEAR(load_cluster("g4dn-t4:price_per_node_hour=1.5")->price_per_node_hour, 1.5, 1e-12);
  const std::string path = std::string(STROBE_SOURCE_DIR) + "/backends/clusters/p3dn-v100.json";
  EXPECT_EQ(load_cluster(path + ":nodes=2")->nodes, 2);
}

TEST(WhatIf, OtherLinksAreNotTimedByFitsOfTheMeasuredOnes) {
  Json json = Json::parse(text_of("aimos-v100"));
  json["calibrated"] = true;
  json["calibration"] = {{"operations", {{"fill", {{{"ranks", 1}, {"seconds", 1e-6}}}}}},
                         {"collectives", {{"all_reduce", {{{"ranks", 2}, {"seconds", 3.0}}}}}}};
  const std::string path = testing::TempDir() + "calibrated-links.json";
  std::ofstream(path) << json.dump();
  const auto fitted = [](const std::string& cluster) {
    return load_cluster(cluster)->calibration->collective_seconds("all_reduce", 2, 1e6, 2);
  };
  EXPECT_EQ(fitted(path), 3.0);
  EXPECT_EQ(fitted(path + ":nodes=4"), 3.0) << "the links are the same";
  EXPECT_EQ(fitted(path + ":gpu.memory_bytes=8e9"), 3.0);
  for (const char* change : {"inter_node_bytes_per_second=1e9", "inter_node_latency_seconds=1e-3",
                             "intra_node_bytes_per_second=1e9", "nics_per_node=1"}) {
    EXPECT_LT(fitted(path + ":" + change), 0) << change;
    EXPECT_EQ(load_cluster(path + ":" + change)->calibration->operation_seconds("fill", {}, ElementType::f32, 1), 1e-6);
  }
  std::filesystem::remove(path);
}

TEST(WhatIf, TheSameChangesGiveTheSameText) {
  const std::string once = change_cluster("aimos-v100", "nodes", "4");
  EXPECT_EQ(once, "aimos-v100:nodes=4");
  EXPECT_EQ(change_cluster(once, "gpu.l2_bytes", "1"), "aimos-v100:gpu.l2_bytes=1,nodes=4");
  EXPECT_EQ(change_cluster(change_cluster("aimos-v100", "gpu.l2_bytes", "1"), "nodes", "4"),
            change_cluster(once, "gpu.l2_bytes", "1"));
  EXPECT_EQ(change_cluster(once, "nodes", "8"), "aimos-v100:nodes=8");
  EXPECT_EQ(cluster_base(once), "aimos-v100");
  EXPECT_EQ(cluster_base("some/path.json"), "some/path.json");
}

TEST(WhatIf, WrongOnesAreRefusedWithTheirPointer) {
  const auto said = [](const std::string& cluster) -> std::string {
    try {
      load_cluster(cluster);
    } catch (const InvalidRequest& error) {
      return error.where() + "|" + error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(said("aimos-v100:node=4").rfind("/node|", 0), 0u) << said("aimos-v100:node=4");
  EXPECT_NE(said("aimos-v100:gpu.memory=4").find("'memory' names no unit"), std::string::npos);
  EXPECT_EQ(said("aimos-v100:nodes=many").rfind("/nodes|expected a number", 0), 0u);
  EXPECT_EQ(said("aimos-v100:hierarchical_collectives=many"),
            "/hierarchical_collectives|expected true or false, found 'many'");
  EXPECT_EQ(said("aimos-v100:hierarchical_collectives=false"), "accepted");
  EXPECT_EQ(said("aimos-v100:nodes=-1").rfind("/nodes/value|", 0), 0u);
  EXPECT_EQ(said("aimos-v100:inter_node_latency_seconds=-1e-6"),
            "/inter_node_latency_seconds/value|-1e-06 is negative");
  EXPECT_EQ(said("aimos-v100:price_per_node_hour=3").rfind("/price_per_node_hour|", 0), 0u);
  EXPECT_EQ(said("aimos-v100:nodes=4,nodes=5"), "--cluster|'nodes' is changed twice");
  EXPECT_EQ(said("aimos-v100:nodes=4,fast").rfind("--cluster|'fast' has no value", 0), 0u);
  EXPECT_EQ(said("dynahb-a6000:nodes=2").rfind("/inter_node_bytes_per_second|", 0), 0u);
}

TEST(Prices, HaveAnAgeInDays) {
  const auto cluster = load_cluster("p5-h100");
  EXPECT_EQ(cluster->price_currency, "USD");
  EXPECT_EQ(cluster->price_region, "us-east-1");
  EXPECT_EQ(price_age_days(*cluster, cluster->price_date), 0);
  EXPECT_EQ(price_age_days(*cluster, "2026-10-25"), 30);
  EXPECT_EQ(price_age_days(*cluster, "2027-09-25"), 365);
  EXPECT_EQ(price_age_days(*load_cluster("aimos-v100"), "2026-10-25"), -1);
  Cluster dated;
  const auto days = [&](const char* from, const char* to) {
    dated.price_date = from;
    return price_age_days(dated, to);
  };
  EXPECT_EQ(days("soon", "2024-03-01"), -1);
  EXPECT_EQ(days("2024-02-28", "2024-03-01"), 2) << "a leap year";
  EXPECT_EQ(days("2023-02-28", "2023-03-01"), 1);
  EXPECT_EQ(days("2000-02-28", "2000-03-01"), 2) << "a leap year of a century that 400 divides";
  EXPECT_EQ(days("2100-02-28", "2100-03-01"), 1);
  EXPECT_EQ(days("2023-03-01", "2023-04-01"), 31);
  EXPECT_EQ(days("1900-01-01", "2300-01-01"), 146097) << "days in 400 years";
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
