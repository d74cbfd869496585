// The MLPs compared with finite differences and a known function, their file, and the whole of learning on a simulated
// cluster, whose times are the same in each run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "harness/calibration/chunks/chunk_calibration.hpp"
#include "harness/full_batch/plan/named_inputs.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

TEST(Mlp, GradientIsThatOfFiniteDifferences) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const RandomStream random(seed, random_purpose::test);
    Mlp<double> mlp = make_mlp<double>(3, {7, 5, 4}, seed);
    std::vector<double> x, y;
    for (std::uint64_t i = 0; i < 33; ++i) x.push_back(random.normal(i));
    for (std::uint64_t i = 0; i < 11; ++i) y.push_back(0.2 + 3 * random.uniform(100 + i));
    for (MlpLayer<double>& layer : mlp.layers) {
      for (std::size_t i = 0; i < layer.bias.size(); ++i) layer.bias[i] = 0.1 * random.normal(200 + i);
    }
    Mlp<double> gradient;
    relative_error(mlp, x, y, &gradient);
    double largest = 0;
    for (std::size_t l = 0; l < mlp.layers.size(); ++l) {
      for (const auto member : {&MlpLayer<double>::weight, &MlpLayer<double>::bias}) {
        for (std::size_t i = 0; i < (mlp.layers[l].*member).size(); ++i) {
          const double step = 1e-7, value = (mlp.layers[l].*member)[i];
          const auto at = [&](double moved) {
            (mlp.layers[l].*member)[i] = moved;
            return relative_error<double>(mlp, x, y, nullptr);
          };
          const double difference = (at(value + step) - at(value - step)) / (2 * step);
          (mlp.layers[l].*member)[i] = value;
          EXPECT_NEAR((gradient.layers[l].*member)[i], difference, 1e-6) << seed << " layer " << l << " " << i;
          largest = std::max(largest, std::abs(difference));
        }
      }
    }
    EXPECT_GT(largest, 1e-2);
  }
}

TEST(Mlp, StartsWithinTheBoundsOfItsLayers) {
  const Mlp<double> mlp = make_mlp<double>(6, {400, 24}, 3);
  const std::vector<double> bounds = {1, std::sqrt(6.0 / 400), 0.1 * std::sqrt(6.0 / 24)};
  ASSERT_EQ(mlp.layers.size(), 3u);
  for (std::size_t l = 0; l < 3; ++l) {
    double largest = 0, sum = 0;
    for (const double weight : mlp.layers[l].weight) largest = std::max(largest, std::abs(weight)), sum += weight;
    EXPECT_LE(largest, bounds[l]);
    EXPECT_GT(largest, 0.8 * bounds[l]);
    EXPECT_LT(std::abs(sum), 0.5 * bounds[l] * static_cast<double>(mlp.layers[l].weight.size()));
    for (const double bias : mlp.layers[l].bias) EXPECT_EQ(bias, 0);
  }
}

TEST(Mlp, MovesByTheRateInTheFirstStepOfAdam) {
  const std::vector<double> x = {1, 2, 3, -1}, y = {2, 5};
  const Mlp<double> before = make_mlp<double>(2, {3}, 1);
  Mlp<double> after = before, gradient;
  relative_error(before, x, y, &gradient);
  train(after, x, y, {1, 2, 0.01, 1});
  int moved = 0;
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t i = 0; i < before.layers[l].weight.size(); ++i) {
      const double slope = gradient.layers[l].weight[i];
      const double change = after.layers[l].weight[i] - before.layers[l].weight[i];
      if (std::abs(slope) < 1e-3) continue;
      EXPECT_NEAR(change, (slope > 0 ? -1 : 1) * 0.0101, 1e-5) << "the first epoch's rate, and a hundredth";
      ++moved;
    }
  }
  EXPECT_GT(moved, 2);
}

TEST(Mlp, BatchesAreDrawnAnewFromTheSeed) {
  std::vector<double> x, y;
  for (int i = 0; i < 12; ++i) x.push_back(0.3 * i - 1), y.push_back(1 + i % 5);
  const auto trained = [&](std::uint64_t seed, std::int64_t batch) {
    Mlp<double> mlp = make_mlp<double>(1, {4}, 1);
    train(mlp, x, y, {5, batch, 0.05, seed});
    return mlp.layers[0].weight;
  };
  EXPECT_EQ(trained(1, 3), trained(1, 3));
  EXPECT_NE(trained(1, 3), trained(2, 3));
}

TEST(Mlp, LearnsAKnownFunctionAndRepeatsItself) {
  const RandomStream random(5, random_purpose::test);
  const auto draw = [&](std::uint64_t first, std::size_t count, std::vector<double>& x, std::vector<double>& y) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const double cells = std::exp(9 * random.uniform(2 * i)), edges = cells * (1 + 9 * random.uniform(2 * i + 1));
      x.push_back(cells), x.push_back(edges);
      y.push_back(5e-5 + 2e-8 * cells + 7e-9 * edges);  // a launch, plus a time for each cell and edge
    }
  };
  std::vector<double> x, y, other_x, other_y;
  draw(0, 2000, x, y), draw(2000, 300, other_x, other_y);
  MlpTraining how;
  how.epochs = 60;
  const LearnedTime learned = learn_time(x, y, how);
  const std::vector<double> predicted = learned.seconds(other_x);
  double error = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) error += std::abs(predicted[i] / other_y[i] - 1) / 300;
  EXPECT_LT(error, 0.02);
  EXPECT_EQ(learn_time(x, y, how).seconds(other_x), predicted);
  how.seed = 2;
  EXPECT_NE(learn_time(x, y, how).seconds(other_x), predicted);
}

TEST(ChunkErrors, TheBestFactorIsFoundByTrying) {
  const RandomStream random(8, random_purpose::test);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<double> counted, measured;
    for (std::uint64_t i = 0; i < 25; ++i) {
      counted.push_back(1 + 99 * random.uniform(100 * seed + i));
      measured.push_back(1e-6 * counted.back() * std::exp(random.normal(100 * seed + 50 + i)));
    }
    const ChunkError best = best_factor(counted, measured);
    double least = std::numeric_limits<double>::infinity();
    for (double factor = 1e-9; factor < 1e-3; factor *= 1.001) {
      double error = 0;
      for (std::size_t i = 0; i < 25; ++i) error += std::abs(factor * counted[i] / measured[i] - 1) / 25;
      least = std::min(least, error);
    }
    EXPECT_LE(best.mean, least * (1 + 1e-12));
    EXPECT_NEAR(best.mean / least, 1, 1e-2);
  }
}

Json learning_case(Json more = Json::object()) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 300}, {"steps", 12}, {"density", 3.0}}},
                  {"model", {{"name", "t-gcn"}}},
                  {"device", "sim"},
                  {"comm", "sim"},
                  {"cluster", "aimos-v100"},
                  {"numerics", "none"},
                  {"ranks", 2}};
  request.update(more);
  return request;
}

/// Learned once for all tests.
const LearnedChunks& learned_once() {
  static const LearnedChunks result = [] {
    ChunkCalibration how;
    for (const int hidden : {6, 12})
      how.sources.push_back({case_from_json(learning_case({{"model", {{"name", "t-gcn"}, {"hidden", hidden}}}}), ""),
                             hidden == 12 ? 4 : 1});
    how.trained = 400, how.held_out = 100, how.runs = 1, how.most_cells = 1000;
    LearnedChunks learned = learn_chunks(how);
    learned.learned.cluster = "aimos-v100";
    return learned;
  }();
  return result;
}

/// A folder of its own, in which files are written.
class ChunkLearning : public testing::Test {
 protected:
  ChunkLearning() { std::filesystem::create_directories(folder_); }
  ~ChunkLearning() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const Json& json) const {
    write_file_atomically(path("w.json"), json.dump(1));
    return path("w.json");
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("strobe-learning-" + std::to_string(getpid()));
};

TEST_F(ChunkLearning, PredictsChunksThatItNeverSaw) {
  const LearnedChunks& result = learned_once();
  EXPECT_EQ(result.trained, 400);
  EXPECT_EQ(result.held_out, 100);
  ASSERT_EQ(result.errors.size(), 4u);
  EXPECT_EQ(result.errors[0].cost, "mlp");
  EXPECT_LT(result.errors[0].mean, 0.10);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LT(result.errors[0].mean, result.errors[i].mean) << result.errors[i].cost;
  EXPECT_GE(result.shortest_seconds, ChunkCalibration().shortest_seconds);
}

TEST_F(ChunkLearning, TheFileComesBackBitByBit) {
  const LearnedWorkload& learned = learned_once().learned;
  const Json json = learned_to_json(learned);
  const LearnedWorkload back = learned_from_json(Json::parse(json.dump(1)), "w.json");
  const std::vector<ChunkSizes> sizes{{10, 30, 2, 4}, {900, 3000, 7, 12}, {5000, 9000, 3, 3}};
  const std::vector<LayerShape> layers = ModelRegistry::instance().find("t-gcn", "").value(learned.model)->layers(2);
  EXPECT_EQ(learned_seconds(back, sizes, {2, layers}), learned_seconds(learned, sizes, {2, layers}));
  EXPECT_EQ(learned_to_json(back), json);
  LearnedWorkload reported = learned;
  reported.report = {{"error", 0.25}};
  EXPECT_EQ(learned_from_json(learned_to_json(reported), "w.json").report, reported.report);
}

TEST_F(ChunkLearning, InputsThatAreNotThoseOfTheModelAreDamage) {
  for (const char* list : {"input_shift", "input_scale"}) {
    Json json = learned_to_json(learned_once().learned);
    json.erase(digest_key);
    json["time"][list].push_back(0.5);
    try {
      learned_from_json(json, "w.json");
      ADD_FAILURE() << "accepted with another number of " << list;
    } catch (const InvalidRequest& error) {
      EXPECT_NE(error.message().find("is damaged: inputs are not those of the model"), std::string::npos)
          << error.message();
    }
  }
}

TEST_F(ChunkLearning, ChunksLargerThanAnyMeasuredCountAsSeveral) {
  const LearnedWorkload& learned = learned_once().learned;
  const std::vector<LayerShape> layers = ModelRegistry::instance().find("t-gcn", "").value(learned.model)->layers(2);
  const double most = learned.cells.largest;
  const std::vector<double> seconds =
      learned_seconds(learned, {{most, 3 * most, 4, 9}, {3 * most, 9 * most, 4, 9}}, {2, layers});
  EXPECT_NEAR(seconds[1] / seconds[0], 3, 1e-9);
}

TEST_F(ChunkLearning, TheFixedTimeCountsOnceWhereItIsAskedFor) {
  const LearnedWorkload& learned = learned_once().learned;
  const std::vector<LayerShape> layers = ModelRegistry::instance().find("t-gcn", "").value(learned.model)->layers(2);
  const double least = learned.cells.smallest, most = learned.cells.largest;
  const std::vector<ChunkSizes> sizes{
      {least, least, least, least, 1, least}, {most, 4 * most, 5, 9, 2, 14}, {most / 2, 2 * most, 3, 9, 3, 19}};
  const std::vector<double> each = learned_seconds(learned, sizes, {2, layers}),
                            once = learned_seconds(learned, sizes, {2, layers}, true);
  EXPECT_NEAR(once[0] / each[0], 0.01, 1e-12) << "nothing is left of the smallest";
  for (std::size_t c : {1, 2}) EXPECT_NEAR(once[c], each[c] - each[0], 1e-9 * each[c]);
}

TEST_F(ChunkLearning, TheStrategyDealsChunksByIt) {
  const std::string file = write(learned_to_json(learned_once().learned));
  const Json strategy = {{"name", "chunk"}, {"cost", "mlp"}, {"assign", "lpt"}, {"workloads", file}};
  const auto plan = test::full_batch_plan(case_from_json(learning_case({{"strategy", strategy}, {"ranks", 4}}), ""));
  const PlacedChunks& chunks = *plan->strategy.chunks;
  const SuperGraph super = super_graph(*plan->data.graph, {1, {{1, 1, 0}}, 0});
  const std::vector<double> seconds =
      learned_seconds(learned_once().learned,
                      SizedCells(*plan->data.graph, super, false).of_chunks(chunks.of_cell.copy(), chunks.cells.size()),
                      {2, plan->model.layers});
  std::vector<double> load(4, 0);
  for (std::size_t c = 0; c < seconds.size(); ++c) load[chunks.rank[c]] += seconds[c];
  for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(chunks.load[r] / load[r], 1, 1e-12);
  EXPECT_EQ(chunks.cost, "mlp");
}

TEST_F(ChunkLearning, TheFileNextToTheClusterIsTheDefault) {
  EXPECT_EQ(workload_file("", "t-gcn"), "this-machine-chunks-t-gcn.json");
  EXPECT_EQ(workload_file("aimos-v100", "dysat"), "aimos-v100-chunks-dysat.json");
  EXPECT_EQ(workload_file("aimos-v100:nodes=4", "dysat"), "aimos-v100-chunks-dysat.json");
  EXPECT_EQ(workload_file("runs/here.json", "t-gcn"), "runs/here-chunks-t-gcn.json");
}

TEST_F(ChunkLearning, AnotherCaseOrADamagedFileIsRefusedWithWhatToDo) {
  const Json good = learned_to_json(learned_once().learned);
  const std::string file = write(good);
  const auto refusal = [&](Json more) {
    more["strategy"] = {{"name", "chunk"}, {"cost", "mlp"}, {"workloads", file}};
    try {
      test::full_batch_plan(case_from_json(learning_case(more), ""));
    } catch (const InvalidRequest& error) {
      return error.where() + ": " + error.what();
    }
    return std::string("not refused");
  };
  const auto expect_words = [](const std::string& text, const std::vector<std::string>& words) {
    EXPECT_EQ(text.rfind("/strategy/workloads", 0), 0u) << text;
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  EXPECT_EQ(refusal({}), "not refused");
  const std::string make = "strobe calibrate --chunks";
  expect_words(refusal({{"model", {{"name", "dysat"}}}}), {"model", "dysat", make});
  expect_words(refusal({{"model", {{"name", "t-gcn"}, {"conv", "xh"}}}}), {"model", "xh", make});
  expect_words(refusal({{"model", {{"name", "t-gcn"}, {"hidden", 24}}}}), {"hidden", "6 to 12", "24", make});
  EXPECT_EQ(refusal({{"model", {{"name", "t-gcn"}, {"hidden", 9}}}}), "not refused");
  expect_words(refusal({{"cluster", "p3dn-v100"}}), {"cluster", "aimos-v100", "p3dn-v100", make});
  expect_words(refusal({{"device", "cpu"}, {"comm", "local"}, {"cluster", ""}, {"numerics", "cpu"}}),
               {"device", "sim", "cpu", make});
  expect_words(refusal({{"precision", "fp64"}}), {"precision", "fp32", "fp64", "--precision fp64"});
  Json damaged = good;
  damaged["cells"]["largest"] = 1e9;
  write(damaged);
  expect_words(refusal({}), {"damaged", make});
  write_file_atomically(file, good.dump(1).substr(0, 5000));
  expect_words(refusal({}), {"damaged", make});
  write({{"nodes", 4}});
  expect_words(refusal({}), {"schema", make});
  std::filesystem::remove(file);
  expect_words(refusal({}), {"no such file", make});
}

TEST_F(ChunkLearning, OptionsThatSayNothingAreRefused) {
  const auto where = [](const Json& strategy) {
    try {
      test::full_batch_plan(case_from_json(learning_case({{"strategy", strategy}}), ""));
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return std::string();
  };
  EXPECT_EQ(where({{"name", "chunk"}, {"workloads", "x.json"}}), "/strategy/workloads");
  EXPECT_EQ(where({{"name", "chunk"}, {"fixed_time", "once"}}), "/strategy/fixed_time");
  EXPECT_EQ(where({{"name", "chunk"}, {"cost", "cells"}, {"rates", "aimos-v100"}}), "/strategy/rates");
  EXPECT_EQ(where({{"name", "chunk"}, {"rates", "no-such-cluster"}}), "/strategy/rates");
}

TEST_F(ChunkLearning, RatesOfAClusterAreCountedWith) {
  const auto load = [](const std::string& rates) {
    const Json strategy = {{"name", "chunk"}, {"rates", rates}};
    return test::full_batch_plan(case_from_json(learning_case({{"strategy", strategy}}), ""))->strategy.chunks->load;
  };
  EXPECT_EQ(load("aimos-v100"), load("")) << "the default is a V100's";
  EXPECT_LT(load("p5-h100")[0], load("")[0]);
}

TEST_F(ChunkLearning, HeldOutChunksAreThoseOfTheErrors) {
  const LearnedChunks& learned = learned_once();
  ASSERT_EQ(learned.chunks.size(), 100u);
  double sum = 0, structure = 0;
  std::set<std::int64_t> sources;
  for (const HeldOutChunk& chunk : learned.chunks) {
    sum += std::abs(chunk.predicted_seconds / (chunk.structure_seconds + chunk.time_seconds) - 1);
    structure += chunk.structure_seconds;
    sources.insert(chunk.source);
    EXPECT_GE(chunk.cells, 4);
    EXPECT_LE(chunk.cells, 1000);
    EXPECT_GE(chunk.edges, 0);
  }
  EXPECT_NEAR(sum / 100, learned.errors.front().mean, 1e-12);
  EXPECT_GT(structure, 0);
  EXPECT_EQ(sources, (std::set<std::int64_t>{0, 1}));
}

/// DGC's Figure 7: chunks with equal numbers of vertices take different times.
TEST_F(ChunkLearning, ChunksOfOneSizeDiffer) {
  ChunkCalibration how;
  how.sources.push_back({case_from_json(learning_case(), ""), 1});
  how.trained = 20, how.held_out = 10, how.runs = 1, how.fewest_cells = how.most_cells = 200;
  how.training.epochs = 1;
  const LearnedChunks learned = learn_chunks(how);
  std::set<double> seconds;
  for (const HeldOutChunk& chunk : learned.chunks) {
    EXPECT_EQ(chunk.cells, 200);
    seconds.insert(chunk.structure_seconds + chunk.time_seconds);
  }
  EXPECT_GT(seconds.size(), 5u) << "of 10";
  EXPECT_TRUE(std::isfinite(learned.errors.front().mean));
}

TEST_F(ChunkLearning, TooShortChunksAreLeftOutAndCounted) {
  ChunkCalibration how;
  how.sources.push_back({case_from_json(learning_case(), ""), 1});
  how.trained = 20, how.held_out = 5, how.runs = 1, how.most_cells = 1000;
  how.training.epochs = 1;
  const LearnedChunks all = learn_chunks(how);
  EXPECT_EQ(all.left_out, 0);
  how.shortest_seconds = all.median_seconds;
  const LearnedChunks longer = learn_chunks(how);
  EXPECT_GT(longer.left_out, 0);
  EXPECT_GE(longer.shortest_seconds, all.median_seconds);
  EXPECT_EQ(longer.trained, 20);
  how.shortest_seconds = 2 * all.longest_seconds;
  try {
    learn_chunks(how);
    ADD_FAILURE() << "nothing was left to learn from";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--most-cells");
  }
}

}  // namespace
}  // namespace strobe
