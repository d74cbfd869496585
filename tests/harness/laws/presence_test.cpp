// Cells that exist: with every value of `presence`, every model under every kind of placement gives the sequential
// curve, on random graphs whose vertices come, pause and go. What presence itself means is judged by the golden
// fixtures and the plain references; here also that it means something.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

/// Events of 30 vertices: each has some of nine windows in which it takes part, the last two among them for most.
std::string write_comings_and_goings(unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<std::vector<bool>> there(30, std::vector<bool>(9));
  for (auto& vertex : there) {
    const unsigned from = draw() % 5, until = 6 + draw() % 4;
    for (unsigned t = 0; t < 9; ++t) vertex[t] = t >= from && t < until && draw() % 4 != 0;
  }
  const auto name = fmt::format("strobe-presence-{}-{}.csv", getpid(), seed);
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream file(path);
  file << "source,target,time\n";
  for (unsigned t = 0; t < 9; ++t) {
    for (int i = 0, written = 0; i < 4000 && written < 40; ++i) {
      const auto u = draw() % 30, v = draw() % 30;
      if (u == v || !there[u][t] || !there[v][t]) continue;
      file << u << ',' << v << ',' << t * 100 + static_cast<unsigned>(written++) << '\n';
    }
  }
  return path;
}

class ComingsAndGoings {
 public:
  explicit ComingsAndGoings(unsigned seed) : path_(write_comings_and_goings(seed)), seed_(seed) {}
  ComingsAndGoings(const ComingsAndGoings&) = delete;
  ComingsAndGoings& operator=(const ComingsAndGoings&) = delete;
  ~ComingsAndGoings() { std::filesystem::remove(path_); }

  Json request(const Json& model, const std::string& presence) const {
    return {{"workload", {{"name", path_}, {"window_count", 9}}},
            {"model", model},
            {"presence", presence},
            {"seed", seed_},
            {"epochs", 2},
            {"warmup", 1},
            {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
            {"precision", "fp64"}};
  }

 private:
  std::string path_;
  unsigned seed_;
};

std::vector<double> curve(Json request, const Json& strategy, std::int64_t ranks) {
  request["strategy"] = strategy;
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result.loss.per_epoch;
}

void expect_same(const std::vector<double>& losses, const std::vector<double>& sequential, const std::string& what) {
  ASSERT_EQ(losses.size(), sequential.size()) << what;
  for (std::size_t e = 0; e < losses.size(); ++e) EXPECT_NEAR(losses[e] / sequential[e], 1.0, 1e-10) << what;
}

std::vector<Json> present_models() {
  std::vector<Json> models;
  for (const std::string& name : names_with<ModelTag>(&ModelTag::Value::family, "snapshots"))
    models.push_back({{"name", name}});
  models.push_back({{"name", "tm-gcn"}, {"pairs", 2}, {"window", 3}});
  models.push_back({{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}});
  models.push_back({{"name", "t-gcn"}, {"conv", "xh"}});
  models.push_back({{"name", "dysat"}, {"structural_dropout", 0.2}, {"temporal_dropout", 0.4}});
  models.push_back({{"name", "evolve-gcn-h"}, {"mask", "none"}});
  return models;
}

class PresenceLaw : public testing::TestWithParam<std::string> {};

TEST_P(PresenceLaw, EveryPlacementGivesTheSequentialCurve) {
  unsigned seed = 0;
  for (const Json& model : present_models()) {
    const ComingsAndGoings graph(++seed);
    const Json request = graph.request(model, GetParam());
    const std::vector<double> sequential = curve(request, {{"name", "sequential"}}, 1);
    const std::string what = GetParam() + " " + model.dump() + " ";
    for (const char* strategy : {"snapshot", "pss", "scattered"})
      expect_same(curve(request, {{"name", strategy}}, 3), sequential, what + strategy);
    expect_same(curve(request, {{"name", "vertex"}, {"partitioner", "hash"}}, 4), sequential, what + "vertex");
    expect_same(curve(request, {{"name", "scattered"}}, 7), sequential, what + "scattered");
  }
}

TEST_P(PresenceLaw, ChangesWhatIsLearnt) {
  const ComingsAndGoings graph(40);
  for (const char* model : {"tm-gcn", "t-gcn", "dysat", "evolve-gcn-h"}) {
    const auto with = curve(graph.request({{"name", model}}, GetParam()), {{"name", "sequential"}}, 1);
    const auto without = curve(graph.request({{"name", model}}, "all"), {{"name", "sequential"}}, 1);
    EXPECT_GT(std::abs(with.back() / without.back() - 1), 1e-6) << model;
  }
}

TEST_P(PresenceLaw, OverlapsAndCountsAsASimulatedRunDoes) {
  const ComingsAndGoings graph(41);
  for (const char* model : {"tm-gcn", "t-gcn", "dysat"}) {
    Json request = graph.request({{"name", model}}, GetParam());
    const auto sequential = curve(request, {{"name", "sequential"}}, 1);
    request["device"] = "sim";
    request["numerics"] = "cpu";
    expect_same(curve(request, {{"name", "scattered"}}, 3), sequential, model);
    request["numerics"] = "none";
    curve(request, {{"name", "scattered"}}, 3);
    request = graph.request({{"name", model}}, GetParam());
    request["overlap"] = 2;
    expect_same(curve(request, {{"name", "snapshot"}}, 2), sequential, model);
  }
}

TEST_P(PresenceLaw, RefusesWhatNeedsWholeSteps) {
  const ComingsAndGoings graph(42);
  const auto pointer = [&](const char* key, const Json& value) {
    Json request = graph.request({{"name", "tm-gcn"}}, GetParam());
    request[key] = value;
    try {
      curve(request, {{"name", "snapshot"}}, 2);
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find("presence=all"), std::string::npos) << error.what();
      return error.where();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(pointer("nb", "2"), "/nb");
  EXPECT_EQ(pointer("transfer", "difference"), "/transfer");
}

INSTANTIATE_TEST_SUITE_P(Values, PresenceLaw, testing::Values("seen", "lifetime", "active"),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace strobe
