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

namespace strobe {
namespace {

using event_test::event_case;
using event_test::expect_near;
using event_test::train;
using event_test::TrainedRun;

constexpr int memory_width = 6, time_width = 4, edge_width = 1;
constexpr int message_width = 2 * memory_width + time_width + edge_width;

Json plain_operation(const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                     const Json& more = Json::object()) {
  Json json{{"name", name}, {"kind", kind}, {"of", of}};
  json.update(more);
  return json;
}

Json plain_input(const std::string& name, int width) { return {{"name", name}, {"width", width}}; }

/// The built-in message: the mail, the time encoding and the features, side by side.
Json plain_message() {
  return {
      {"inputs",
       {plain_input("memory", memory_width), plain_input("other_memory", memory_width),
        plain_input("time_encoding", time_width), plain_input("edge_features", edge_width)}},
      {"weights", Json::array()},
      {"operations", {plain_operation("m", "concat", {"memory", "other_memory", "time_encoding", "edge_features"})}},
      {"output", "m"}};
}

/// The GRU of docs/reference/event_models.md. Its weights have the built-in names and bounds, so that the seed draws
/// the same values.
Json plain_gru() {
  const double bound = 1.0 / std::sqrt(static_cast<double>(memory_width));
  const auto weight = [&](const std::string& name, int rows) {
    return Json{{"name", "memory." + name}, {"rows", rows}, {"columns", 3 * memory_width}, {"bound", bound}};
  };
  Json part{
      {"inputs", {plain_input("message", message_width), plain_input("memory", memory_width)}},
      {"weights",
       {weight("weight_x", message_width), weight("weight_h", memory_width), weight("bias_x", 1), weight("bias_h", 1)}},
      {"output", "next"}};
  Json& all = part["operations"] = Json::array();
  const auto add = [&](const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                       const Json& more = Json::object()) { all.push_back(plain_operation(name, kind, of, more)); };
  add("gi", "dense", {"message", "memory.weight_x", "memory.bias_x"});
  add("gh", "dense", {"memory", "memory.weight_h", "memory.bias_h"});
  for (const char* from : {"gi", "gh"}) {
    for (int gate = 0; gate < 3; ++gate)
      add(fmt::format("{}{}", from, gate), "columns", {from},
          {{"first", gate * memory_width}, {"count", memory_width}});
  }
  add("r0", "combine", {"gi0", "gh0"});
  add("z0", "combine", {"gi1", "gh1"});
  add("r", "sigmoid", {"r0"});
  add("z", "sigmoid", {"z0"});
  add("rh", "multiply", {"r", "gh2"});
  add("n0", "combine", {"gi2", "rh"});
  add("n", "tanh", {"n0"});
  add("open", "affine", {"z"}, {{"p", -1}, {"q", 1}});
  add("new", "multiply", {"open", "n"});
  add("kept", "multiply", {"z", "memory"});
  add("next", "combine", {"new", "kept"});
  return part;
}

/// The attention of docs/reference/event_models.md with attention=head, one slot after the other. Weights have the
/// built-in names and bounds.
Json plain_attention() {
  constexpr int width = memory_width, heads = 2;
  const double query = 1.0 / std::sqrt(static_cast<double>(memory_width + time_width));
  const double keyed = 1.0 / std::sqrt(static_cast<double>(memory_width + edge_width + time_width));
  const auto weight = [](const std::string& name, int rows, int columns, double bound) {
    return Json{{"name", "attention." + name}, {"rows", rows}, {"columns", columns}, {"bound", bound}};
  };
  const auto of_slots = [](const std::string& name, int columns) {
    return Json{{"name", name}, {"width", columns}, {"of", "neighbours"}};
  };
  Json part{
      {"inputs",
       {plain_input("memory", memory_width), plain_input("root_time", time_width), of_slots("neighbours", memory_width),
        of_slots("neighbour_times", time_width), of_slots("edge_features", edge_width)}},
      {"weights",
       {weight("query", memory_width + time_width, width, query), weight("query_bias", 1, width, query),
        weight("vertex", memory_width, 2 * width, keyed), weight("edge", edge_width, 2 * width, keyed),
        weight("time", time_width, 2 * width, keyed), weight("bias", 1, 2 * width, keyed)}},
      {"output", "a"}};
  Json& all = part["operations"] = Json::array();
  const auto add = [&](const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                       const Json& more = Json::object()) { all.push_back(plain_operation(name, kind, of, more)); };
  add("root", "concat", {"memory", "root_time"});
  add("q", "dense", {"root", "attention.query", "attention.query_bias"});
  add("of_vertex", "dense", {"neighbours", "attention.vertex", "attention.bias"});
  add("of_edge", "dense", {"edge_features", "attention.edge"});
  add("of_time", "dense", {"neighbour_times", "attention.time"});
  add("some", "combine", {"of_vertex", "of_edge"});
  add("kv", "combine", {"some", "of_time"});
  add("k", "columns", {"kv"}, {{"first", 0}, {"count", width}});
  add("v", "columns", {"kv"}, {{"first", width}, {"count", width}});
  add("q_of_slots", "spread", {"q"});
  add("products", "multiply", {"q_of_slots", "k"});
  add("dots", "head_sums", {"products"}, {{"count", heads}});
  add("scores", "affine", {"dots"}, {{"p", 1.0 / std::sqrt(static_cast<double>(width / heads))}});
  add("sums", "attend", {"scores", "v"});
  add("a", "found", {"sums"});  // changes nothing, because sums over no slots are 0
  return part;
}

Json all_plain_parts() {
  return {{"message", plain_message()}, {"updater", plain_gru()}, {"embedding", plain_attention()}};
}

Json file_of(const Json& parts) {
  return {{"format", "strobe.captured"}, {"version", 1},  {"memory", memory_width}, {"time", time_width},
          {"edge_features", edge_width}, {"parts", parts}};
}

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
