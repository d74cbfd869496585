// Training that does not wait where timelines pass to another rank, compared with an independent PyTorch form without
// ranks (generate/states.py): losses, and weights after several epochs from the same start.
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

namespace strobe::states_golden_test {
namespace {

const std::string states_folder = std::string(STROBE_TEST_DIR) + "/golden/";

class StatesGolden : public testing::TestWithParam<Json> {
 protected:
  StatesGolden() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-golden-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    scratch_ = pattern;
  }
  ~StatesGolden() override { std::filesystem::remove_all(scratch_); }

  Json request(const std::vector<SavedMatrix>& fixture) const {
    std::vector<SavedMatrix> start;
    for (const SavedMatrix& matrix : fixture) {
      if (matrix.name.rfind("weight.", 0) != 0) continue;
      start.push_back(matrix);
      start.back().name = matrix.name.substr(7);
    }
    const std::string before = (scratch_ / "before").string();
    write_safetensors(before, start, true);
    return {{"workload", {{"name", states_folder + "graph.csv"}, {"feature_scale", "none"}}},
            {"model", GetParam().at("model")},
            {"task", "golden-pairs"},
            {"optimizer", {{"name", "sgd"}, {"rate", GetParam().at("rate")}}},
            {"strategy", GetParam().at("strategy")},
            {"ranks", GetParam().at("ranks")},
            {"precision", "fp64"},
            {"epochs", GetParam().at("epochs")},
            {"warmup", 0},
            {"load_model", before}};
  }

  std::filesystem::path scratch_;
};

void expect_equal_values(const std::vector<double>& got, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-10 * (1 + std::abs(expected[i]))) << what << " " << i;
}

TEST_P(StatesGolden, AgreesWithPyTorch) {
  const auto fixture = read_safetensors(states_folder + GetParam().at("name").get<std::string>() + ".safetensors");
  std::map<std::string, std::vector<double>> golden;
  for (const SavedMatrix& matrix : fixture) golden[matrix.name] = matrix.values;
  Json changed = request(fixture);
  ModelOutputs outputs;
  outputs.weights = (scratch_ / "after").string();
  const CaseResult result = run_case(case_from_json(changed, ""), nullptr, outputs);
  ASSERT_EQ(result.status, "ok") << result.reason;
  EXPECT_FALSE(result.exact);
  expect_equal_values(result.loss.per_epoch, golden.at("loss"), "loss");
  for (const SavedMatrix& matrix : read_safetensors(outputs.weights))
    expect_equal_values(matrix.values, golden.at("after." + matrix.name), matrix.name);
  changed["strategy"]["states"] = "exact";
  const CaseResult exact = run_case(case_from_json(changed, ""));
  EXPECT_GT(std::abs(exact.loss.per_epoch[0] / golden.at("loss")[0] - 1), 1e-6) << "nothing was approximated";
}

INSTANTIATE_TEST_SUITE_P(
    All, StatesGolden,
    testing::ValuesIn(read_json_file(states_folder + "states_cases.json").at("cases").get<std::vector<Json>>()),
    [](const auto& parameter) {
      std::string name = parameter.param.at("name").template get<std::string>();
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST(StatesGoldenCases, AreWhatTheirGeneratorComputes) { test::expect_fixtures_agree("states.py"); }

}  // namespace
}  // namespace strobe::states_golden_test
