// The strategy `file`: placements that other strategies write are read back, trained on with the same curve, and
// written again as they were. Files of other graphs are refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/request/suite.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

class OwnersFile : public testing::Test {
 protected:
  OwnersFile()
      : folder_((std::filesystem::temp_directory_path() / fmt::format("strobe-owners-{}", getpid())).string()) {
    std::filesystem::create_directories(folder_);
  }
  ~OwnersFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  Json request(const Json& strategy, int ranks) const {
    return {{"workload", {{"name", "uniform"}, {"vertices", 17}, {"steps", 6}, {"density", 2.0}}},
            {"model", "t-gcn"},
            {"strategy", strategy},
            {"ranks", ranks},
            {"epochs", 2},
            {"warmup", 1},
            {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
            {"precision", "fp64"}};
  }
  Json read(const std::string& name) const { return {{"name", "file"}, {"owners", path(name)}}; }

  CaseResult run(const Json& request, const std::string& name) const {
    ModelOutputs outputs;
    outputs.files["placement"] = path(name);
    CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << request.dump() << result.reason;
    return result;
  }

  std::string refusal_of(const std::string& text, int ranks = 2, Json asked = {}) const {
    write_file_atomically(path("asked.csv"), text);
    if (asked.is_null()) asked = request(read("asked.csv"), ranks);
    try {
      test::full_batch_plan(case_from_json(asked, ""));
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/strategy/owners");
      return error.message();
    }
    return "accepted";
  }

 private:
  std::string folder_;
};

TEST_F(OwnersFile, OfEveryStrategyTrainsTheSameAndIsWrittenAgain) {
  for (const Json& strategy : {Json{{"name", "vertex"}}, Json{{"name", "pss"}}, Json{{"name", "snapshot"}},
                               Json{{"name", "chunk"}, {"max_cells", "5"}},
                               Json{{"name", "chunk"}, {"assign", "refined"}}, Json{{"name", "adt"}}}) {
    const CaseResult own = run(request(strategy, 3), "own.csv");
    const CaseResult from_file = run(request(read("own.csv"), 3), "again.csv");
    ASSERT_EQ(own.samples.size(), from_file.samples.size());
    for (std::size_t i = 0; i < own.samples.size(); ++i)
      EXPECT_EQ(own.samples[i].sent_bytes, from_file.samples[i].sent_bytes) << strategy;
    for (std::size_t e = 0; e < own.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(own.loss.per_epoch[e] / from_file.loss.per_epoch[e], 1, 1e-10) << strategy;
    run(request(read("again.csv"), 3), "third.csv");
    EXPECT_EQ(read_text_file(path("again.csv")), read_text_file(path("third.csv"))) << strategy;
    const std::string first = read_text_file(path("own.csv"));
    const bool plain = first.starts_with("step,vertex,rank,temporal_rank\n");
    if (plain) {
      EXPECT_EQ(first, read_text_file(path("again.csv"))) << strategy;
    }
  }
}

TEST_F(OwnersFile, NamesCellsThatExist) {
  const test::ComingsAndGoings graph(6);
  Json asked = graph.request({{"name", "t-gcn"}}, "active");
  asked["strategy"] = {{"name", "pss"}}, asked["ranks"] = 3;
  const CaseResult own = run(asked, "own.csv");
  asked["strategy"] = read("own.csv");
  const CaseResult from_file = run(asked, "again.csv");
  EXPECT_EQ(own.loss.per_epoch, from_file.loss.per_epoch);
  EXPECT_EQ(read_text_file(path("own.csv")), read_text_file(path("again.csv")));
  asked["presence"] = "all";
  asked["strategy"] = read("asked.csv");
  EXPECT_NE(refusal_of(read_text_file(path("own.csv")), 3, asked).find("names no owner of vertex"), std::string::npos);
  asked["presence"] = "active";
  std::string all = "step,vertex,rank\n";
  for (int t = 0; t < 5; ++t)
    for (int v = 0; v < 24; ++v) all += fmt::format("{},{},{}\n", t, v, v % 3);
  EXPECT_NE(refusal_of(all, 3, asked).find("does not exist at step"), std::string::npos);
}

/// Vertices are dealt in turn and change their ranks at other steps in each stage.
std::string mixed_owners(int shift) {
  std::string text = "step,vertex,rank,temporal_rank\n";
  for (int t = 0; t < 5; ++t)
    for (int v = 0; v < 17; ++v) text += fmt::format("{},{},{},{}\n", t, v, (v + t / 2) % 3, (v + t / 3 + shift) % 3);
  return text;
}

TEST_F(OwnersFile, GoTogetherWithServersStaleRowsAndBlocks) {
  for (const int shift : {0, 1}) {
    write_file_atomically(path("mixed.csv"), mixed_owners(shift));
    Json asked = request(read("mixed.csv"), 3);
    const CaseResult peers = run(asked, "out.csv");
    asked["strategy"]["servers"] = 2;
    const CaseResult served = run(asked, "out.csv");
    EXPECT_EQ(served.loss.per_epoch, peers.loss.per_epoch);
    EXPECT_GT(served.samples.back().sent_bytes[Traffic::halo] + served.samples.back().sent_bytes[Traffic::state], 0u);
    asked["nb"] = 2;
    const CaseResult blocks = run(asked, "out.csv");
    asked["nb"] = 1;
    asked["strategy"] = read("mixed.csv");
    asked["strategy"].update({{"stale", "static"}, {"stale_theta", 0.0}});
    const CaseResult stale = run(asked, "out.csv");
    for (std::size_t e = 0; e < peers.loss.per_epoch.size(); ++e) {
      EXPECT_NEAR(blocks.loss.per_epoch[e] / peers.loss.per_epoch[e], 1, 1e-10);
      EXPECT_NEAR(stale.loss.per_epoch[e] / peers.loss.per_epoch[e], 1, 1e-10);
    }
  }
}

/// `run --resume` compares digests, so that a run directory has rows of one file only.
TEST_F(OwnersFile, ChangeTheDigestsOfTheRun) {
  write_file_atomically(path("mixed.csv"), mixed_owners(0));
  const Case c = case_from_json(request(read("mixed.csv"), 3), "");
  const Json before = data_digests({c});
  EXPECT_TRUE(before.contains(path("mixed.csv"))) << before;
  EXPECT_EQ(data_digests({c}), before);
  write_file_atomically(path("mixed.csv"), mixed_owners(1));
  EXPECT_NE(data_digests({c}), before);
}

TEST_F(OwnersFile, LieBesideTheirSuite) {
  write_file_atomically(path("mixed.csv"), mixed_owners(0));
  Json asked = request({{"name", "file"}, {"owners", "mixed.csv"}}, 3);
  write_file_atomically(path("suite.json"), Json{{"cases", Json::array({asked})}}.dump());
  const Suite suite = load_suite(path("suite.json"), {});
  ASSERT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(suite.cases[0].strategy.at("owners"), path("mixed.csv"));
}

TEST_F(OwnersFile, OfOtherGraphsAreRefused) {
  std::string whole = "step,vertex,rank\n";
  for (int v = 0; v < 17; ++v) whole += fmt::format(",{},{}\n", v, v % 2);
  EXPECT_EQ(refusal_of(whole), "accepted");
  const std::string file = path("asked.csv");
  EXPECT_NE(refusal_of(whole + ",17,0\n").find(file + ", line 19: there is no vertex 17 in this graph, which has 17"),
            std::string::npos);
  EXPECT_NE(refusal_of(whole + "99,3,0\n").find("line 19: there is no step 99"), std::string::npos);
  EXPECT_NE(refusal_of(whole + "2,3,0\n").find("vertex 3 at step 2 has an owner on an earlier line"),
            std::string::npos);
  EXPECT_NE(refusal_of("step,vertex,rank\n,0,2\n").find("rank 2 is not one of the 2 ranks"), std::string::npos);
  EXPECT_NE(refusal_of("step,vertex,rank\n,0,1\n").find("names no owner of vertex 1 at step 0"), std::string::npos);
  EXPECT_NE(refusal_of("vertex,rank\n0,1\n").find("expected the header"), std::string::npos);
  EXPECT_NE(refusal_of("step,vertex,rank\n,0,x\n").find("expected a rank"), std::string::npos);
  EXPECT_NE(refusal_of("step,vertex,rank,temporal_rank\n,0,1\n").find("expected a temporal rank"), std::string::npos);
  EXPECT_NE(refusal_of("", 2).find("expected the header"), std::string::npos);
  EXPECT_NE(refusal_of("", 2, request({{"name", "file"}}, 2)).find("file:owners=FILE.csv"), std::string::npos);
  EXPECT_NE(refusal_of("", 2, request(read("nowhere.csv"), 2)).find("there is no file"), std::string::npos);
}

}  // namespace
}  // namespace strobe
