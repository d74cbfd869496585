// The strategy `chunk` as a whole: it is exact for every model and option, with missing cells, in blocks, and with
// staleness at threshold zero. Its output, dumped files and refusals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "results/run/files.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

Json chunk_case(const Json& strategy, std::int64_t ranks, const Json& model = {{"name", "t-gcn"}}) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 31}, {"steps", 8}, {"density", 2.0}}},
                  {"model", model},
                  {"strategy", strategy},
                  {"ranks", ranks},
                  {"epochs", 2},
                  {"warmup", 1},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                  {"precision", "fp64"}};
  return request;
}

Json chunked(Json parameters = Json::object()) {
  parameters["name"] = "chunk";
  return parameters;
}

std::vector<double> losses(const Json& request) {
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result.loss.per_epoch;
}

void expect_alike(const std::vector<double>& a, const std::vector<double>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t e = 0; e < a.size(); ++e) EXPECT_NEAR(a[e] / b[e], 1.0, 1e-10) << what << ", epoch " << e;
}

TEST(ChunkStrategy, EveryOptionGivesTheSequentialCurve) {
  const std::vector<double> sequential = losses(chunk_case({{"name", "sequential"}}, 1));
  for (const Json& options :
       {Json{{"weights", "unit"}}, Json{{"weights", "profiled"}}, Json{{"cost", "cells"}}, Json{{"cost", "edges"}},
        Json{{"assign", "lpt"}}, Json{{"assign", "score_then_fill"}}, Json{{"assign", "metis"}},
        Json{{"assign", "refined"}}, Json{{"assign", "refined"}, {"round_kib", 100.0}, {"cost", "edges"}},
        Json{{"propagation", "synchronous"}, {"assign", "refined"}}, Json{{"levels", 1}}, Json{{"rounds", 1}},
        Json{{"propagation", "synchronous"}}, Json{{"propagation", "synchronous"}, {"levels", 1}, {"cost", "edges"}},
        Json{{"max_cells", "1"}}, Json{{"max_cells", "40"}}, Json{{"stale", "static"}, {"stale_theta", 0.0}}}) {
    expect_alike(losses(chunk_case(chunked(options), 3)), sequential, options.dump());
  }
  Json blocks = chunk_case(chunked(), 3);
  blocks["nb"] = 2;
  expect_alike(losses(blocks), sequential, "two blocks");
}

TEST(ChunkStrategy, CellsThatComeAndGoToo) {
  unsigned seed = 0;
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    const test::ComingsAndGoings graph(++seed);
    for (const char* presence : {"all", "seen", "active"}) {
      Json request = graph.request({{"name", model}}, presence);
      request["strategy"] = {{"name", "sequential"}}, request["ranks"] = 1;
      const std::vector<double> sequential = losses(request);
      for (const int ranks : {2, 5}) {
        for (const char* propagation : {"asynchronous", "synchronous"}) {
          request["strategy"] = chunked({{"propagation", propagation}}), request["ranks"] = ranks;
          expect_alike(losses(request), sequential, model + " " + presence + " r" + std::to_string(ranks));
        }
      }
    }
  }
}

TEST(ChunkStrategy, PlansTheSameTwiceAndOtherwiseWithAnotherSeed) {
  Json request = chunk_case(chunked({{"max_cells", "9"}}), 3);
  request["workload"] = {{"name", "chess"}, {"window_count", 10}};
  const auto chunks_of = [&request](std::int64_t seed) {
    request["seed"] = seed;
    return test::full_batch_plan(case_from_json(request, ""))->strategy.chunks;
  };
  const auto once = chunks_of(1), again = chunks_of(1), other = chunks_of(2);
  EXPECT_EQ(once->of_cell, again->of_cell);
  EXPECT_EQ(once->rank, again->rank);
  EXPECT_NE(once->of_cell, other->of_cell);
  for (const auto& chunks : {once, other}) {
    EXPECT_LE(*std::max_element(chunks->cells.begin(), chunks->cells.end()), 9);
    EXPECT_LT(chunks->cells.size(), chunks->of_cell.size() / 3);
    EXPECT_GE(chunks->cut_between_chunks, chunks->cut_between_ranks);
  }
}

TEST(ChunkStrategy, DumpsTheChunkOfEveryCell) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-chunks-" + std::to_string(getpid()))).string();
  const test::ComingsAndGoings graph(3);
  Json request = graph.request({{"name", "t-gcn"}}, "active");
  request["strategy"] = chunked({{"max_cells", "7"}}), request["ranks"] = 3;
  const Case c = case_from_json(request, "");
  const auto plan = test::full_batch_plan(c);
  ModelOutputs outputs;
  outputs.files["placement"] = path;
  ASSERT_EQ(run_case(c, nullptr, outputs).status, "ok");
  std::istringstream text(read_text_file(path));
  std::filesystem::remove(path);
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "step,vertex,rank,temporal_rank,chunk");
  const PlacedChunks& chunks = *plan->strategy.chunks;
  std::vector<std::int64_t> cells(chunks.cells.size(), 0);
  while (std::getline(text, line)) {
    std::vector<int> columns;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) columns.push_back(std::stoi(word));
    ASSERT_EQ(columns.size(), 5u) << line;
    const std::size_t chunk = columns[4];
    EXPECT_EQ(columns[2], columns[3]);
    EXPECT_EQ(columns[2], chunks.rank[chunk]);
    EXPECT_EQ(columns[2], plan->strategy.spatial.owner(columns[1], columns[0]));
    ++cells[chunk];
  }
  EXPECT_EQ(cells, chunks.cells);
}

TEST(ChunkStrategy, TheCapMayBeAShareOfTheCellsOfARank) {
  const auto planned = [](const char* cap, std::int64_t ranks) {
    Json request = chunk_case(chunked({{"max_cells", cap}}), ranks);
    request["workload"] = {{"name", "chess"}, {"window_count", 10}};
    return test::full_batch_plan(case_from_json(request, ""))->strategy.chunks;
  };
  for (const std::int64_t ranks : {2, 3}) {
    const auto by_itself = planned("auto", ranks);
    const std::int64_t cells = by_itself->of_cell.size();
    EXPECT_EQ(by_itself->max_cells, cells / (16 * ranks));
    EXPECT_EQ(planned("16/rank", ranks)->of_cell, by_itself->of_cell);
    EXPECT_EQ(planned("5/rank", ranks)->max_cells, cells / (5 * ranks));
    EXPECT_EQ(planned("999999999999/rank", ranks)->max_cells, 1);
  }
}

TEST(ChunkStrategy, PrintsChunksAndNotesThem) {
  const auto plan = test::full_batch_plan(case_from_json(chunk_case(chunked({{"max_cells", "12"}}), 4), ""));
  const Json chunks = describe(*plan).at("chunks");
  const PlacedChunks& placed = *plan->strategy.chunks;
  EXPECT_EQ(chunks.at("count").get<std::size_t>(), placed.cells.size());
  EXPECT_LE(chunks.at("cells").at("max").get<std::int64_t>(), 12);
  std::int64_t held = 0;
  for (const Json& of_rank : chunks.at("chunks_per_rank")) held += of_rank.get<std::int64_t>();
  EXPECT_EQ(static_cast<std::size_t>(held), placed.cells.size());
  EXPECT_DOUBLE_EQ(chunks.at("predicted_divergence").get<double>(), divergence(placed.load));
  const std::string note = std::to_string(placed.cells.size()) + " chunks of at most ";
  EXPECT_TRUE(std::any_of(plan->notes.begin(), plan->notes.end(),
                          [&note](const std::string& text) { return text.rfind(note, 0) == 0; }));
}

std::string chunk_refusal(const Json& request) {
  try {
    run_case(case_from_json(request, ""));
  } catch (const InvalidRequest& error) {
    return error.where() + ": " + error.what();
  }
  return "not refused";
}

TEST(ChunkStrategy, RefusesWhatCannotBeDividedAndSaysWhatWouldFit) {
  const auto says = [](const Json& request, const std::string& where, const std::string& words) {
    const std::string text = chunk_refusal(request);
    EXPECT_EQ(text.rfind(where, 0), 0u) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  for (const char* cells : {"0", "-3", "2.5", "many", "4x", "", "/rank", "0/rank"})
    says(chunk_case(chunked({{"max_cells", cells}}), 3), "/strategy/max_cells",
         "of at least 1, a share such as 64/rank");
  // All cells are in one chunk, because edges join all vertices, and all steps of a vertex.
  says(chunk_case(chunked({{"max_cells", "100000"}}), 3), "/strategy/max_cells", "set max_cells=");
  Json few = chunk_case(chunked(), 300);
  says(few, "/ranks", "at most");
  Json shape = chunk_case(chunked(), 4);
  shape["workload"] = {{"name", "amazon"}}, shape["device"] = "sim", shape["cluster"] = "aimos-v100";
  says(shape, "/strategy", "graph");
}

}  // namespace
}  // namespace strobe
