// A run that stops at a checkpoint and goes on gives the curve of one that never stopped, bit for bit. A checkpoint of
// another case is refused, and the message names the difference.
#include "harness/files/checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-checkpoint-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
  }
  ~Checkpoints() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static Json request(int epochs) {
    return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 9}, {"density", 3}}},
            {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
            {"epochs", epochs},
            {"warmup", 1}};
  }

  static CaseResult run(const Json& json, const ModelOutputs& outputs = {}) {
    const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result;
  }

  ModelOutputs keep(bool resume, std::int64_t every = 0) const {
    ModelOutputs outputs;
    outputs.checkpoint = path("state");
    outputs.checkpoint_every = every;
    outputs.resume_training = resume;
    return outputs;
  }

  /// The message that refuses to continue `json` from the file.
  std::string refusal(const Json& json) const {
    try {
      run_case(case_from_json(json, ""), nullptr, keep(true));
    } catch (const InvalidRequest& error) {
      return error.what();
    }
    return "accepted";
  }

  std::filesystem::path folder_;
};

TEST_F(Checkpoints, AResumedRunIsTheUninterruptedOneBitForBit) {
  std::vector<Json> optimizers = {{{"name", "adam"}, {"rate", 0.02}},
                                  {{"name", "sgd"}, {"rate", 0.5}, {"momentum", 0.9}},
                                  {{"name", "sgd"}, {"rate", 0.5}},
                                  {{"name", "sgd"}, {"rate", 0.5}, {"momentum", 0.9}, {"nesterov", true}},
                                  {{"name", "adamw"}, {"rate", 0.02}, {"weight_decay", 0.5}}};
  for (const Json& optimizer : optimizers) {
    for (const std::string precision : {"fp32", "fp64"}) {
      Json whole = request(7), part = request(3);
      for (Json* json : {&whole, &part}) {
        (*json)["optimizer"] = optimizer;
        (*json)["precision"] = precision;
        (*json)["strategy"] = "snapshot";
        (*json)["ranks"] = 3;
      }
      ModelOutputs last;
      last.weights = path("whole");
      const CaseResult uninterrupted = run(whole, last);
      run(part, keep(false));
      ModelOutputs resumed = keep(true);
      resumed.weights = path("resumed");
      const CaseResult continued = run(whole, resumed);
      EXPECT_EQ(continued.loss.per_epoch, uninterrupted.loss.per_epoch) << optimizer.dump() << precision;
      ASSERT_EQ(continued.loss.per_epoch.size(), 8u);
      EXPECT_NE(continued.loss.per_epoch[4], continued.loss.per_epoch[5]) << "nothing changes, so nothing was checked";
      for (const auto& [name, series] : uninterrupted.metrics) {
        EXPECT_EQ(continued.metrics.at(name).per_epoch, series.per_epoch) << name;
      }
      const auto a = read_safetensors(path("whole")), b = read_safetensors(path("resumed"));
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].values, b[i].values) << a[i].name;
      ASSERT_FALSE(continued.samples.empty());
      EXPECT_EQ(continued.samples.front().epoch, 4);  // only the remaining epochs were run
    }
  }
}

TEST_F(Checkpoints, MetricsOfBeforeTheUpdateAreThoseAfterTheUpdateBefore) {
  const CaseResult whole = run(request(4));
  run(request(2), keep(false));
  FileNotes notes;
  const std::vector<SavedMatrix> matrices = read_safetensors(path("state"), &notes);
  for (const char* key : {"format", "metrics_after"}) ASSERT_EQ(notes.erase(key), 1u) << key;
  const std::vector<double>& auc = whole.metrics.at("auc").per_epoch;
  notes["metrics"] = Json{{"auc", {0.125, auc[0], auc[1]}}}.dump();  // as in such a checkpoint
  write_safetensors(path("state"), matrices, false, notes);
  EXPECT_EQ(run(request(4), keep(true)).metrics.at("auc").per_epoch, auc);
}

TEST_F(Checkpoints, AreKeptEveryFewEpochs) {
  run(request(4), keep(false, 2));  // after epochs 2, 4 and the last, 5
  const Case c = case_from_json(request(9), "");
  FileNotes notes;
  read_safetensors(path("state"), &notes);
  EXPECT_EQ(notes.at("epoch"), "5");
  EXPECT_EQ(notes.at("kind"), "checkpoint");
  EXPECT_EQ(notes.at("model"), "tm-gcn");
  // A run that dies between two checkpoints leaves the older one, and can go on from there.
  Json json = request(9);
  const CaseResult whole = run(json);
  EXPECT_EQ(run(json, keep(true)).loss.per_epoch, whole.loss.per_epoch);
}

TEST_F(Checkpoints, HoldNamedWeightsAndTheOptimizersState) {
  run(request(2), keep(false));
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> shapes;
  for (const SavedMatrix& matrix : read_safetensors(path("state"))) shapes[matrix.name] = {matrix.rows, matrix.columns};
  for (const std::string prefix : {"", "optimizer.first_moment.", "optimizer.second_moment."}) {
    EXPECT_EQ(shapes.at(prefix + "layer1.weight"), std::make_pair(std::int64_t{2}, std::int64_t{6})) << prefix;
    EXPECT_EQ(shapes.at(prefix + "head.bias"), std::make_pair(std::int64_t{1}, std::int64_t{2})) << prefix;
  }
}

TEST_F(Checkpoints, OfAnotherRunAreRefusedByTheFieldThatDiffers) {
  run(request(2), keep(false));
  Json other = request(9);
  EXPECT_EQ(refusal(request(1)).find("--resume-training"), 0u);  // all epochs are already trained
  other["model"]["window"] = 7;
  EXPECT_NE(refusal(other).find("model.window is 5 in"), std::string::npos) << refusal(other);
  other = request(9);
  other["seed"] = 2;
  EXPECT_NE(refusal(other).find("seed is 1 in"), std::string::npos) << refusal(other);
  other = request(9);
  other["optimizer"]["rate"] = 0.5;
  EXPECT_NE(refusal(other).find("optimizer.rate is 0.02 in"), std::string::npos) << refusal(other);
  other = request(9);
  other["precision"] = "fp64";
  EXPECT_NE(refusal(other).find("precision is \"fp32\" in"), std::string::npos) << refusal(other);
  other = request(9);
  other["workload"]["density"] = 4;
  EXPECT_NE(refusal(other).find("workload.density is 3"), std::string::npos) << refusal(other);
  other = request(9);
  other["task"] = {{"name", "vertex-regression"}};
  EXPECT_NE(refusal(other).find("task."), std::string::npos) << refusal(other);
}

TEST_F(Checkpoints, ValuesThatAreNotFiniteAreRefusedByTheirName) {
  run(request(2), keep(false));
  for (const std::string damaged : {"layer1.weight", "optimizer.first_moment.head.bias"}) {
    FileNotes notes;
    std::vector<SavedMatrix> matrices = read_safetensors(path("state"), &notes);
    notes.erase("format");
    for (SavedMatrix& matrix : matrices) {
      if (matrix.name == damaged) matrix.values[0] = std::nan("");
    }
    write_safetensors(path("damaged"), matrices, false, notes);
    ModelOutputs outputs;
    outputs.checkpoint = path("damaged");
    outputs.resume_training = true;
    try {
      run_case(case_from_json(request(9), ""), nullptr, outputs);
      ADD_FAILURE() << "a value that is no number was accepted";
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find("weight '" + damaged + "'"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Checkpoints, DamagedCurvesAreRefused) {
  run(request(2), keep(false));  // three epochs, including one for warm-up
  const auto refusal_with = [&](const std::string& key, const std::string& text) -> std::string {
    FileNotes notes;
    const std::vector<SavedMatrix> matrices = read_safetensors(path("state"), &notes);
    notes.erase("format");
    notes[key] = text;
    write_safetensors(path("damaged"), matrices, false, notes);
    ModelOutputs outputs = keep(true);
    outputs.checkpoint = path("damaged");
    try {
      run_case(case_from_json(request(9), ""), nullptr, outputs);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal_with("loss", "[1, null, 3]"), "accepted") << "null is a loss that was no number";
  for (const char* loss :
       {"[1, 2]", "[1, 2, 3, 4]", "[1, 2, \"3\"]", "[1, 2, [3]]", "[1, 2, 3", "{\"a\": 1}", "7", ""}) {
    const std::string message = refusal_with("loss", loss);
    EXPECT_EQ(message.rfind(path("damaged"), 0), 0u) << loss << ": " << message;
    EXPECT_NE(message.find("no curve of 3 epochs"), std::string::npos) << loss << ": " << message;
  }
  EXPECT_NE(refusal_with("metrics", R"({"auc": [1, 2]})").find("no curve of 3 epochs"), std::string::npos);
  EXPECT_NE(refusal_with("metrics", R"({"auc": {"a": 1, "b": 2, "c": 3}})").find("no curve of"), std::string::npos);
  EXPECT_NE(refusal_with("metrics", "[1, 2, 3]").find("metadata are damaged"), std::string::npos);
}

TEST_F(Checkpoints, AnotherStrategyMayContinue) {
  run(request(2), keep(false));
  Json vertex = request(5);
  vertex["strategy"] = "vertex";
  vertex["ranks"] = 4;
  const CaseResult whole = run(request(5)), continued = run(vertex, keep(true));
  ASSERT_EQ(continued.loss.per_epoch.size(), whole.loss.per_epoch.size());
  for (std::size_t e = 0; e < 6; ++e) EXPECT_NEAR(continued.loss.per_epoch[e] / whole.loss.per_epoch[e], 1.0, 1e-4);
}

TEST_F(Checkpoints, ImpossibleRequestsAreRefused) {
  EXPECT_NE(refusal(request(2)).find("there is no file"), std::string::npos);
  Json twice = request(2);
  twice["repeat"] = 2;
  EXPECT_THROW(run_case(case_from_json(twice, ""), nullptr, keep(false)), InvalidRequest);
  Json simulated = request(2);
  simulated["device"] = "sim";
  EXPECT_THROW(run_case(case_from_json(simulated, ""), nullptr, keep(false)), InvalidRequest);
  ModelOutputs weights;
  weights.weights = path("state");
  run(request(2), weights);
  EXPECT_THROW(run_case(case_from_json(request(5), ""), nullptr, keep(true)), InvalidInput);  // no checkpoint
  ModelOutputs nameless;
  nameless.resume_training = true;
  EXPECT_THROW(run_case(case_from_json(request(2), ""), nullptr, nameless), InvalidRequest);
}

TEST_F(Checkpoints, SavedWeightsSayWhatTheyAre) {
  ModelOutputs outputs;
  outputs.weights = path("weights");
  Json json = request(3);
  json["seed"] = 11;
  run(json, outputs);
  FileNotes notes;
  read_safetensors(path("weights"), &notes);
  EXPECT_EQ(notes.at("format"), "strobe");
  EXPECT_EQ(notes.at("kind"), "weights");
  EXPECT_EQ(notes.at("model"), "tm-gcn");
  EXPECT_EQ(Json::parse(notes.at("options")).at("hidden"), 6);
  EXPECT_EQ(Json::parse(notes.at("task")).at("name"), "link-prediction");
  EXPECT_EQ(notes.at("seed"), "11");
  EXPECT_EQ(notes.at("epoch"), "4");
  Json wider = request(1);
  wider["load_model"] = path("weights");
  wider["model"]["hidden"] = 7;
  try {
    run_case(case_from_json(wider, ""));
    ADD_FAILURE() << "weights of another shape were accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/load_model");
    EXPECT_NE(std::string(error.what()).find("model.hidden is 6 in"), std::string::npos) << error.what();
  }
}

TEST_F(Checkpoints, WeightsOfAnotherModelAreRefusedByItsName) {
  write_safetensors(path("weights"), {{"layer1.weight", 2, 6, std::vector<double>(12, 0.5)}}, false,
                    {{"model", "someone-elses"}, {"options", "{}"}});
  Json json = request(1);
  json["load_model"] = path("weights");
  try {
    run_case(case_from_json(json, ""));
    ADD_FAILURE() << "weights of another model were accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("model.name is \"someone-elses\""), std::string::npos) << error.what();
  }
}

TEST_F(Checkpoints, ACheckpointsWeightsMayStartAnotherRun) {
  run(request(2), keep(false));
  Json json = request(1);
  json["load_model"] = path("state");
  json["optimizer"] = {{"name", "sgd"}};
  const CaseResult whole = run(request(4)), started = run(json);
  EXPECT_EQ(started.loss.per_epoch[0], whole.loss.per_epoch[3]);
}

}  // namespace
}  // namespace strobe
