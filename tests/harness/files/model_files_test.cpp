// Weights and embeddings that a run writes and another run reads.
#include "harness/files/model_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe {
namespace {

class ModelFiles : public testing::Test {
 protected:
  ModelFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-model-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
  }
  ~ModelFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// The AUC of the test pairs in "s.csv", computed pair by pair from `embeddings` and the head in "w".
  double auc_from_files(const NpyArray& embeddings) const {
    std::map<std::string, std::vector<double>> weights;
    for (const SavedMatrix& matrix : read_safetensors(path("w"))) weights[matrix.name] = matrix.values;
    const std::int64_t vertices = embeddings.shape[1], width = embeddings.shape[2];
    std::vector<double> scores[2];  // by label
    std::ifstream file(path("s.csv"));
    for (std::string line; std::getline(file, line);) {
      long step = 0, source = 0, target = 0, label = 0;
      if (std::sscanf(line.c_str(), "test,%ld,%ld,%ld,%ld", &step, &source, &target, &label) != 4) continue;
      if (line.back() != ',') continue;  // a candidate of a ranking
      double score = weights.at("head.bias")[1] - weights.at("head.bias")[0];
      for (std::int64_t i = 0; i < 2 * width; ++i) {
        const std::int64_t vertex = i < width ? source : target;
        const std::size_t row = 2 * i;
        const std::vector<double>& head = weights.at("head.weight");
        score += embeddings.at((step * vertices + vertex) * width + i % width) * (head[row + 1] - head[row]);
      }
      scores[label].push_back(score);
    }
    double won = 0;
    for (const double negative : scores[0])
      for (const double positive : scores[1]) won += positive > negative ? 1 : positive == negative ? 0.5 : 0;
    return won / static_cast<double>(scores[0].size() * scores[1].size());
  }

  std::filesystem::path folder_;
};

ModelOutputs files(const std::string& weights, const std::string& embeddings) {
  ModelOutputs outputs;
  outputs.weights = weights;
  outputs.files["embeddings"] = embeddings;
  return outputs;
}

Json request(const std::string& strategy, int ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 9}, {"density", 3}}},
          {"model", {{"name", "tm-gcn"}}},
          {"strategy", {{"name", strategy}}},
          {"ranks", ranks},
          {"precision", "fp64"},
          {"epochs", 3},
          {"warmup", 0}};
}

CaseResult run(const Json& json, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

TEST_F(ModelFiles, SafetensorsRoundTrip) {
  const std::vector<SavedMatrix> matrices = {{"a.weight", 2, 3, {1, -2, 0.5, 4, 5e-3, 6}}, {"b", 1, 1, {7.25}}};
  for (const bool fp64 : {false, true}) {
    write_safetensors(path("m.safetensors"), matrices, fp64);
    const std::vector<SavedMatrix> back = read_safetensors(path("m.safetensors"));
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0].name, "a.weight");
    EXPECT_EQ(back[0].columns, 3);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(back[0].values[i], fp64 ? matrices[0].values[i] : static_cast<float>(matrices[0].values[i]));
    }
    EXPECT_EQ(back[1].values[0], 7.25);
  }
}

/// A file with one matrix [1, n] of `type`, whose numbers are the given bits.
template <class Bits>
void write_bits(const std::string& path, const std::string& type, const std::vector<Bits>& bits) {
  const std::size_t bytes = bits.size() * sizeof(Bits);
  const std::string header =
      Json{{"a", {{"dtype", type}, {"shape", {1, bits.size()}}, {"data_offsets", {0, bytes}}}}}.dump();
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  file.write(reinterpret_cast<const char*>(bits.data()), static_cast<std::streamsize>(bytes));
}

/// Expected values are NumPy's: np.array(bits, "<u2").view("<f2"), and bits << 16 viewed as <f4.
TEST_F(ModelFiles, HalvesAreReadExactly) {
  write_bits<std::uint16_t>(
      path("half"), "F16",
      {0x0000, 0x8000, 0x3c00, 0xc000, 0x3555, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x83ff, 0x7c00, 0xfc00, 0x7e00});
  const std::vector<double> half = read_safetensors(path("half")).at(0).values;
  const std::vector<double> expected = {0.0,
                                        -0.0,
                                        1.0,
                                        -2.0,
                                        0.333251953125,
                                        65504.0,
                                        5.960464477539063e-08,
                                        6.097555160522461e-05,
                                        6.103515625e-05,
                                        -6.097555160522461e-05};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(half[i], expected[i]) << i;
  EXPECT_TRUE(std::signbit(half[1]));
  EXPECT_EQ(half[10], std::numeric_limits<double>::infinity());
  EXPECT_EQ(half[11], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(half[12]));
  write_bits<std::uint16_t>(path("brain"), "BF16", {0x3f80, 0xc049, 0x0001, 0x7f7f, 0xff80, 0x7fc0, 0x8000});
  const std::vector<double> brain = read_safetensors(path("brain")).at(0).values;
  EXPECT_EQ(brain[0], 1.0);
  EXPECT_EQ(brain[1], -3.140625);
  EXPECT_EQ(brain[2], 9.183549615799121e-41);
  EXPECT_EQ(brain[3], 3.3895313892515355e+38);
  EXPECT_EQ(brain[4], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(brain[5]));
  EXPECT_TRUE(std::signbit(brain[6]));
}

TEST_F(ModelFiles, OtherTypesAreRefusedByName) {
  for (const char* type : {"I64", "U8", "BOOL", "F8_E4M3", "f16", ""}) {
    write_bits<std::uint64_t>(path("other"), type, {1, 2});
    try {
      read_safetensors(path("other"));
      ADD_FAILURE() << type;
    } catch (const InvalidInput& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + std::string(type) + "'; F64, F32, F16 and BF16"), std::string::npos) << message;
    }
  }
  write_bits<std::uint16_t>(path("short"), "F32", {1, 2});  // two numbers in the bytes of one
  EXPECT_THROW(read_safetensors(path("short")), InvalidInput);
}

TEST_F(ModelFiles, MalformedSafetensorsAreRefused) {
  write_safetensors(path("good"), {{"a", 2, 2, {1, 2, 3, 4}}}, true);
  const std::string good = read_text_file(path("good"));
  const std::vector<std::string> bad = {"",
                                        "short",
                                        good.substr(0, good.size() - 1),
                                        good + "x",
                                        std::string(8, '\xff') + good.substr(8),
                                        "\x02" + std::string(7, '\0') + "[]"};
  for (const std::string& content : bad) {
    std::ofstream(path("bad"), std::ios::binary) << content;
    EXPECT_THROW(read_safetensors(path("bad")), InvalidInput) << content.size() << " bytes";
  }
}

/// A file of tensors a and b, two numbers each, that name the bytes from `a` and `b` on, and `bytes` bytes of data.
void write_offsets(const std::string& path, std::uint64_t a, std::uint64_t b, std::size_t bytes) {
  Json header;
  for (const auto& [name, begin] : {std::pair{"a", a}, {"b", b}})
    header[name] = {{"dtype", "F32"}, {"shape", {1, 2}}, {"data_offsets", {begin, begin + 8}}};
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << text << std::string(bytes, '\0');
}

/// In this format each byte must belong to one tensor. The library that defines the format also refuses these files.
TEST_F(ModelFiles, BytesOfTwoTensorsOrOfNoneAreRefused) {
  const auto refusal = [&](std::uint64_t a, std::uint64_t b, std::size_t bytes) {
    write_offsets(path("f"), a, b, bytes);
    try {
      read_safetensors(path("f"));
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_EQ(refusal(0, 8, 16), "read");
  EXPECT_EQ(refusal(8, 0, 16), "read") << "in another order than their names";
  EXPECT_NE(refusal(0, 0, 8).find("tensors 'a' and 'b' share bytes 0 to 8"), std::string::npos) << refusal(0, 0, 8);
  EXPECT_NE(refusal(4, 0, 12).find("tensors 'b' and 'a' share bytes 4 to 8"), std::string::npos) << refusal(4, 0, 12);
  EXPECT_NE(refusal(16, 24, 32).find("bytes 0 to 16 before tensor 'a'"), std::string::npos) << refusal(16, 24, 32);
  EXPECT_NE(refusal(0, 12, 20).find("bytes 8 to 12 before tensor 'b'"), std::string::npos) << refusal(0, 12, 20);
  EXPECT_NE(refusal(0, 8, 20).find("bytes 16 to 20 are left over after the last tensor, 'b'"), std::string::npos)
      << refusal(0, 8, 20);
}

TEST_F(ModelFiles, WeightsThatTheModelLacksAreNamed) {
  run(request("sequential", 1), files(path("w"), ""));
  std::vector<SavedMatrix> matrices = read_safetensors(path("w"));
  matrices.push_back({"layer9.extra", 2, 3, std::vector<double>(6, 1)});
  write_safetensors(path("more"), matrices, true);
  Json json = request("sequential", 1);
  json["load_model"] = path("more");
  try {
    run_case(case_from_json(json, ""));
    ADD_FAILURE() << "accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("do not have: 'layer9.extra'"), std::string::npos) << error.what();
  }
}

TEST_F(ModelFiles, EmbeddingsOfAModelWithDropoutAreAnEvaluations) {
  const auto dumped = [&](double dropout, const std::string& strategy, int ranks) {
    Json json = request(strategy, ranks);
    json["model"] = {{"name", "mpnn-lstm"}, {"dropout", dropout}};
    json["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};  // dropout would also change the trained weights
    run(json, files("", path("e.npy")));
    const NpyArray array = read_npy(path("e.npy"));
    std::vector<double> values;
    for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.at(i));
    return values;
  };
  const std::vector<double> without = dumped(0, "sequential", 1);
  EXPECT_EQ(dumped(0.5, "sequential", 1), without);
  const std::vector<double> placed = dumped(0.5, "vertex", 3);
  ASSERT_EQ(placed.size(), without.size());
  for (std::size_t i = 0; i < placed.size(); ++i) EXPECT_NEAR(placed[i], without[i], 1e-12);
}

/// The last metrics of a row, the written weights and the written embeddings belong to one state. A run that loads the
/// weights gives the same metrics and embeddings, and they can be computed by hand from the files.
TEST_F(ModelFiles, WeightsEmbeddingsAndLastMetricsAgree) {
  for (const auto& [model, strategy, ranks] :
       {std::tuple{"tm-gcn", "sequential", 1}, {"tm-gcn", "vertex", 3}, {"mpnn-lstm", "sequential", 1}}) {
    Json json = request(strategy, ranks);
    json["model"] = {{"name", model}};
    if (json["model"]["name"] == "mpnn-lstm") json["model"]["dropout"] = 0.3;
    json["optimizer"] = {{"name", "adam"}, {"rate", 0.1}};
    ModelOutputs outputs = files(path("w"), path("e.npy"));
    outputs.files["samples"] = path("s.csv");
    const CaseResult trained = run(json, outputs);
    json["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
    json["load_model"] = path("w");
    const CaseResult loaded = run(json, files("", path("loaded.npy")));
    for (const auto& [name, series] : trained.metrics) {
      ASSERT_EQ(series.per_epoch.size(), 3u) << name;
      for (const double value : loaded.metrics.at(name).per_epoch) EXPECT_EQ(value, series.per_epoch.back()) << name;
    }
    const NpyArray written = read_npy(path("e.npy")), again = read_npy(path("loaded.npy"));
    ASSERT_EQ(written.size(), again.size());
    for (std::int64_t i = 0; i < written.size(); ++i) EXPECT_EQ(written.at(i), again.at(i)) << model << i;
    EXPECT_DOUBLE_EQ(auc_from_files(written), trained.metrics.at("auc").per_epoch.back()) << model;
  }
}

TEST_F(ModelFiles, ALoadedModelGoesOnWhereTheSavedOneStopped) {
  Json whole = request("sequential", 1);
  whole["optimizer"] = {{"name", "sgd"}, {"rate", 0.5}};
  Json first = whole, second = whole;
  first["epochs"] = 2;
  second["epochs"] = 1;
  second["load_model"] = path("m.safetensors");
  run(first, files(path("m.safetensors"), ""));
  EXPECT_EQ(run(second).loss.per_epoch[0], run(whole).loss.per_epoch[2]);
}

TEST_F(ModelFiles, AnotherModelsWeightsAreRefused) {
  run(request("sequential", 1), files(path("m.safetensors"), ""));
  Json wider = request("sequential", 1);
  wider["model"]["hidden"] = 7;
  wider["load_model"] = path("m.safetensors");
  EXPECT_THROW(run_case(case_from_json(wider, "")), InvalidRequest);
  write_safetensors(path("other"), {{"other", 1, 1, {0}}}, true);
  wider["load_model"] = path("other");
  EXPECT_THROW(run_case(case_from_json(wider, "")), InvalidRequest);
}

TEST_F(ModelFiles, EmbeddingsAreTheSameUnderEveryPlacement) {
  run(request("sequential", 1), files("", path("sequential.npy")));
  const NpyArray expected = read_npy(path("sequential.npy"));
  EXPECT_EQ(expected.shape, (std::vector<std::int64_t>{8, 40, 6}));
  EXPECT_EQ(expected.type, "<f8");
  double largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) largest = std::max(largest, expected.at(i));
  EXPECT_GT(largest, 0.0) << "all embeddings are zero";
  for (Json json : {request("snapshot", 3), request("vertex", 4)}) {
    if (json["strategy"]["name"] == "vertex") json["strategy"]["partitioner"] = "hash";
    run(json, files("", path("other.npy")));
    const NpyArray other = read_npy(path("other.npy"));
    ASSERT_EQ(other.shape, expected.shape);
    for (std::int64_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(other.at(i), expected.at(i), 1e-12) << i;
  }
}

TEST_F(ModelFiles, WithoutValuesThereIsNothingToWrite) {
  Json simulated = request("snapshot", 2);
  simulated["device"] = "sim";
  EXPECT_THROW(run_case(case_from_json(simulated, ""), nullptr, files(path("m"), "")), InvalidRequest);
}

}  // namespace
}  // namespace strobe
