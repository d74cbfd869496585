// Training with stale halos, compared with an independent PyTorch form without ranks (generate/stale.py): losses, bytes
// as a share of the exact run's, and weights after several epochs from the same start.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/request/json_text.hpp"
#include "harness/run/run_case.hpp"
#include "tests/golden/fixtures_agree.hpp"

namespace strobe::stale_golden_test {
namespace {

const std::string golden_folder = std::string(STROBE_TEST_DIR) + "/golden/";
using Named = std::map<std::string, SavedMatrix>;

Named read_named(const std::string& path) {
  Named tensors;
  for (SavedMatrix& matrix : read_safetensors(path)) tensors[matrix.name] = std::move(matrix);
  return tensors;
}

class StaleGolden : public testing::TestWithParam<Json> {
 protected:
  StaleGolden() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-golden-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    scratch_ = pattern;
  }
  ~StaleGolden() override { std::filesystem::remove_all(scratch_); }

  /// Runs the case from the fixture's weights; `after` gets the trained weights.
  CaseResult run(const Named& fixture, const std::string& distances, Named& after) const {
    std::vector<SavedMatrix> start;
    for (const auto& [name, matrix] : fixture) {
      if (name.rfind("weight.", 0) != 0) continue;
      start.push_back(matrix);
      start.back().name = name.substr(7);
    }
    const std::string before = (scratch_ / "before").string();
    write_safetensors(before, start, true);
    Json request = {{"workload", {{"name", golden_folder + "graph.csv"}, {"feature_scale", "none"}}},
                    {"model", GetParam().at("model")},
                    {"task", "golden-pairs"},
                    {"optimizer", {{"name", "sgd"}, {"rate", GetParam().at("rate")}}},
                    {"strategy", {{"name", "vertex"}, {"distances", distances}}},
                    {"ranks", GetParam().at("ranks")},
                    {"precision", "fp64"},
                    {"epochs", GetParam().at("epochs")},
                    {"warmup", 0},
                    {"load_model", before}};
    request["strategy"].update(GetParam().at("stale"));
    ModelOutputs outputs;
    outputs.weights = (scratch_ / "after").string();
    CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
    after = read_named(outputs.weights);
    return result;
  }

  std::filesystem::path scratch_;
};

void expect_alike(const std::vector<double>& got, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-10 * (1 + std::abs(expected[i]))) << what << " " << i;
}

TEST_P(StaleGolden, AgreesWithPyTorch) {
  const Named golden = read_named(golden_folder + GetParam().at("name").get<std::string>() + ".safetensors");
  const std::vector<double>& share = golden.at("sent_share").values;
  EXPECT_LT(share.back(), 1) << "nothing is stale in this fixture";
  for (const std::string distances : {"host", "device"}) {
    Named after;
    const CaseResult result = run(golden, distances, after);
    ASSERT_EQ(result.status, "ok") << result.reason;
    expect_alike(result.loss.per_epoch, golden.at("loss").values, "loss");
    expect_alike(result.facts.get<std::vector<double>>("sent_share"), share, "sent_share");
    for (const auto& [name, matrix] : after) expect_alike(matrix.values, golden.at("after." + name).values, name);
  }
}

std::vector<Json> stale_cases() {
  return read_json_file(golden_folder + "stale_cases.json").at("cases").get<std::vector<Json>>();
}

INSTANTIATE_TEST_SUITE_P(All, StaleGolden, testing::ValuesIn(stale_cases()), [](const auto& parameter) {
  std::string name = parameter.param.at("name").template get<std::string>();
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(StaleGoldenCases, AreWhatTheirGeneratorComputes) { test::expect_fixtures_agree("stale.py"); }

}  // namespace
}  // namespace strobe::stale_golden_test
