// Captured parts of tgn-attn (models/events/event_parts.hpp). The same message function and GRU, written as plain
// operations, train as the built-in ones. Files that do not fit are refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "models/snapshots/captured_graph.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/event_batches/plain_parts.hpp"

namespace strobe {
namespace {

using event_test::all_plain_parts;
using event_test::event_case;
using event_test::expect_near;
using event_test::file_of;
using event_test::memory_width;
using event_test::plain_attention;
using event_test::plain_gru;
using event_test::plain_input;
using event_test::plain_message;
using event_test::plain_operation;
using event_test::time_width;
using event_test::train;
using event_test::TrainedRun;

class EventPartFiles : public ::testing::Test {
 protected:
  /// The model with these parts.
  Json model(const Json& file) {
    return {{"name", "tgn-attn"},
            {"memory", memory_width},
            {"time", time_width},
            {"neighbours", 3},
            {"path", folder_.write("model.json", file.dump())}};
  }

  Case request(const Json& of_model, const Json& changes = Json::object()) {
    Json all = changes;
    all["model"] = of_model;
    return event_case(visits_, all);
  }

  std::string refusal(const Json& of_model) {
    try {
      begin_event_case(request(of_model));
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  }

  void expect_words(const Json& of_model, const std::string& words) {
    EXPECT_NE(refusal(of_model).find(words), std::string::npos) << words << " is not in: " << refusal(of_model);
  }

  /// Expects these words where the value at `pointer` of a good file is another.
  void expect_refused(const std::string& pointer, const Json& value, const std::string& words) {
    Json file = file_of(all_plain_parts());
    file[Json::json_pointer(pointer)] = value;
    expect_words(model(file), words);
  }

  test::TemporaryFolder folder_;
  std::string visits_ = event_test::short_visits(folder_, 21, 300);
  Json own_ = {{"name", "tgn-attn"}, {"memory", memory_width}, {"time", time_width}, {"neighbours", 3}};
};

TEST_F(EventPartFiles, OfTheBuiltInEquationsTrainAsTheBuiltInModel) {
  for (const int seed : {1, 2, 3}) {
    for (const char* mail_dt : {"mail_minus_memory", "event_minus_memory"}) {
      own_["mail_dt"] = mail_dt;
      const TrainedRun judge = train(folder_, request(own_, {{"seed", seed}}));
      for (const Json& parts : {Json{{"message", plain_message()}}, Json{{"updater", plain_gru()}},
                                Json{{"message", plain_message()}, {"updater", plain_gru()}}}) {
        Json captured = model(file_of(parts));
        captured["mail_dt"] = mail_dt;
        const TrainedRun run = train(folder_, request(captured, {{"seed", seed}}));
        expect_near(run.result.loss.per_epoch, judge.result.loss.per_epoch, 1e-11, parts.dump());
        expect_near(run.weights, judge.weights, 1e-10, parts.dump());
        expect_near(run.result.metrics.at("mrr").per_epoch, judge.result.metrics.at("mrr").per_epoch, 1e-10, "mrr");
      }
    }
  }
}

TEST_F(EventPartFiles, OfTheBuiltInAttentionTrainAsTheBuiltInModel) {
  own_["attention"] = "head";
  for (const int seed : {1, 2, 3}) {
    for (const char* key_dt : {"memory", "edge"}) {
      own_["key_dt"] = key_dt;
      const TrainedRun judge = train(folder_, request(own_, {{"seed", seed}}));
      for (const Json& parts : {Json{{"embedding", plain_attention()}}, all_plain_parts()}) {
        Json captured = model(file_of(parts));
        captured["key_dt"] = key_dt;
        const TrainedRun run = train(folder_, request(captured, {{"seed", seed}}));
        expect_near(run.result.loss.per_epoch, judge.result.loss.per_epoch, 1e-11, "losses");
        expect_near(run.weights, judge.weights, 1e-10, "weights");
        expect_near(run.result.metrics.at("mrr").per_epoch, judge.result.metrics.at("mrr").per_epoch, 1e-10, "mrr");
      }
    }
  }
}

TEST_F(EventPartFiles, TrainOnManyRanksAsOnOne) {
  const Json captured = model(file_of(all_plain_parts()));
  const auto shared = [&](const Json& how, int ranks) {
    Json strategy{{"name", "event_batch"}};
    strategy.update(how);
    return train(folder_, request(captured, {{"strategy", strategy}, {"ranks", ranks}}));
  };
  const TrainedRun one = train(folder_, request(captured, {{"strategy", {{"name", "sequential"}, {"batch", 60}}}}));
  for (const int ranks : {1, 2, 3, 4}) {
    const TrainedRun many = shared({{"i", ranks}, {"batch", 60 / ranks}}, ranks);
    expect_near(many.result.loss.per_epoch, one.result.loss.per_epoch, 1e-10, fmt::format("{} ranks", ranks));
    expect_near(many.weights, one.weights, 1e-10, fmt::format("{} ranks", ranks));
  }
  const TrainedRun nodes =
      shared({{"i", 2}, {"k", 1}, {"memory_layout", "distributed"}, {"nodes", 2}, {"batch", 30}}, 2);
  expect_near(nodes.weights, one.weights, 1e-10, "distributed memory");
}

/// Epoch and memory parallelism change the order of updates, so the judge is the built-in model under the same groups.
TEST_F(EventPartFiles, TrainInEveryKindOfGroupAsTheBuiltInModel) {
  const Json captured = model(file_of(all_plain_parts()));
  own_["attention"] = "head";
  for (const auto& [i, j, k] : {std::tuple{1, 2, 1}, std::tuple{1, 1, 3}, std::tuple{2, 2, 1}, std::tuple{2, 1, 2}}) {
    const Json changes{{"strategy", {{"name", "event_batch"}, {"i", i}, {"j", j}, {"k", k}, {"batch", 17}}},
                       {"ranks", i * j * k}};
    const TrainedRun own = train(folder_, request(own_, changes)), run = train(folder_, request(captured, changes));
    expect_near(run.result.loss.per_epoch, own.result.loss.per_epoch, 1e-10, changes.dump());
    expect_near(run.weights, own.weights, 1e-10, changes.dump());
    Json drawn_before = changes;
    drawn_before["strategy"]["presample"] = "disk";
    EXPECT_EQ(train(folder_, request(captured, drawn_before)).weights, run.weights) << changes;
    Json simulated = changes;
    simulated.update({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}});
    EXPECT_EQ(train(folder_, request(captured, simulated)).weights, run.weights) << changes;
    simulated["numerics"] = "none";
    EXPECT_EQ(run_case(request(captured, simulated)).status, "ok") << changes;
  }
}

TEST_F(EventPartFiles, AStoppedRunGoesOnBitForBit) {
  const Json captured = model(file_of(all_plain_parts()));
  const auto of = [&](int epochs) { return request(captured, {{"epochs", epochs}}); };
  const TrainedRun whole = train(folder_, of(4));
  for (int stop = 1; stop < 4; ++stop) {
    ModelOutputs outputs;
    outputs.checkpoint = folder_.file(fmt::format("state{}.safetensors", stop));
    ASSERT_EQ(run_case(of(stop), nullptr, outputs).status, "ok");
    outputs.resume_training = true;
    EXPECT_EQ(train(folder_, of(4), outputs).weights, whole.weights) << stop;
  }
}

TEST_F(EventPartFiles, StartFromTheWeightsNextToThem) {
  const std::string folder = folder_.file("mine");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/model.json") << file_of({{"message", plain_message()}}).dump();
  write_safetensors(folder + "/weights.safetensors", {{"memory.phase", 1, time_width, {0.1, 0.2, 0.3, 0.4}}}, true);
  Json captured = own_;
  captured["path"] = folder;
  const EventCase c = begin_event_case(request(captured));
  const auto phase = std::find_if(c.parameters.begin(), c.parameters.end(),
                                  [](const ParameterShape& shape) { return shape.name == "memory.phase"; });
  ASSERT_NE(phase, c.parameters.end());
  EXPECT_EQ(phase->start, (std::vector<double>{0.1, 0.2, 0.3, 0.4}));
  write_safetensors(folder + "/weights.safetensors", {{"memory.other", 1, 1, {0.1}}}, true);
  EXPECT_NE(refusal(captured).find("memory.other"), std::string::npos) << refusal(captured);
  write_safetensors(folder + "/weights.safetensors", {{"memory.phase", 1, time_width, {0.1, 0.2, NAN, 0.4}}}, true);
  EXPECT_NE(refusal(captured).find("'memory.phase' that is no finite"), std::string::npos) << refusal(captured);
}

TEST_F(EventPartFiles, ThatDoNotFitAreRefusedByName) {
  expect_refused("/memory", 7, "type memory=7");
  expect_refused("/edge_features", 2, "'edge_features' of width 1 in place of 2");
  expect_refused("/parts/decoder", Json::object(), "unknown part 'decoder'");
  expect_refused("/parts/message/inputs/2/name", "dt", "before it exists");
  expect_refused("/parts/updater/output", "n0", "not refused");
  expect_refused("/parts/updater/output", "gi", "18 wide");
  expect_refused("/parts/updater/operations/0/kind", "gather", "unknown kind 'gather'");
  expect_refused("/parts/updater/operations/10/kind", "found", "looks at neighbours");
  expect_refused("/parts/message/inputs", Json::array(), "reads nothing");
  expect_refused("/parts/message/inputs/4", plain_input("x", 1), "reads 'x'; it may read edge_features, memory,");
  expect_refused("/parts/embedding/inputs/0/of", "neighbours", "shapes do not fit");
  expect_refused("/parts/embedding/operations/11/count", 4, "shapes do not fit");
  expect_refused("/parts/embedding/output", "kv", "output that is no value of vertices");
  Json one_row{{"inputs", {plain_input("neighbours", memory_width)}}, {"weights", Json::array()}, {"output", "y"}};
  one_row["operations"] = {plain_operation("y", "tanh", {"neighbours"})};
  expect_refused("/parts/embedding", one_row, "'neighbours' must be of neighbours");
  for (const auto& [kind, reads] : {std::pair{"product", 1}, {"attention", 3}}) {
    Json snapshots = plain_gru();
    snapshots["operations"].push_back(
        plain_operation("of_edges", kind, std::vector<std::string>(static_cast<std::size_t>(reads), "memory")));
    expect_refused("/parts/updater", snapshots, "reads neighbours by a matrix, and no matrices");
  }
  Json twice = plain_gru();
  twice["weights"].push_back({{"name", "memory.phase"}, {"rows", 1}, {"columns", 3}});
  expect_refused("/parts/updater", twice, "memory.phase");
}

TEST_F(EventPartFiles, OfAnotherModelOrWithOptionsOfItsOwnAttentionAreRefused) {
  const Json good = file_of(all_plain_parts());
  EXPECT_EQ(refusal(model(good)), "not refused");
  Json none = good;
  none.erase("parts");
  expect_words(model(none), "--model captured:path=");
  Json narrow = file_of({{"updater", plain_gru()}});
  narrow["edge_features"] = 0;
  expect_words(model(narrow), "in place of 16");
  Json dropping = model(good);
  dropping["dropout"] = 0.1;
  expect_words(dropping, "leave dropout out");
  expect_words({{"name", "tgn-attn"}, {"path", folder_.file("nowhere")}}, "there is no file");
  EXPECT_THROW(read_captured_graph(good.dump(), "parts"), InvalidInput) << "no model of snapshots";
}

}  // namespace
}  // namespace strobe
