// Training whose numbers become infinite or NaN: it gives a failed row, keeps its samples, and writes no weights.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Divergence : public Program {
 protected:
  Json rows(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows"); }
};

TEST_F(Divergence, IsAFailedRowWithTimesAndTheSuiteGoesOn) {
  const std::string name =
      suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}, "epochs": 8},
    "cases": [{"optimizer": {"name": "sgd", "rate": 1e6}, "task": "vertex-regression"},
              {"strategy": "snapshot", "ranks": 2}]})");
  const Outcome outcome = strobe({"run", name, "--out", "out"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  ASSERT_EQ(rows("out").size(), 2u);
  const Json diverged = rows("out")[0];
  EXPECT_EQ(diverged.at("status"), "failed");
  EXPECT_NE(diverged.at("reason").get<std::string>().find("training diverged at epoch 5 "), std::string::npos)
      << diverged.at("reason");
  EXPECT_EQ(diverged.at("epoch_seconds").at("n"), 8);
  EXPECT_TRUE(diverged.at("loss")[5].is_null());
  EXPECT_FALSE(diverged.at("loss")[0].is_null());
  EXPECT_EQ(rows("out")[1].at("status"), "ok");
  const Outcome compared = strobe({"compare", "out", "out"});
  EXPECT_NE(compared.out.find("training diverged at epoch 5"), std::string::npos) << compared.out;
}

TEST_F(Divergence, LeavesTheLastFiniteCheckpointAndNoWeights) {
  const std::vector<std::string> training = {
      "run",      "--workload", tiny,       "--task", "vertex-regression", "--optimizer", "sgd:rate=1e6",
      "--epochs", "8",          "--warmup", "0"};
  std::vector<std::string> words = training;
  words.insert(words.end(), {"--checkpoint", "state.safetensors", "--checkpoint-every", "1", "--save-model",
                             "model.safetensors", "--out", "out"});
  const Outcome outcome = strobe(words);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const std::string reason = rows("out")[0].at("reason").get<std::string>();
  EXPECT_NE(reason.find("model.safetensors was not written"), std::string::npos) << reason;
  EXPECT_NE(reason.find("the checkpoint state.safetensors after epoch "), std::string::npos) << reason;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  words = training;
  words.insert(words.end(), {"--load-model", "state.safetensors", "--dry-run"});
  EXPECT_EQ(strobe(words).status, 0) << "the last checkpoint is no longer a finite one";
}

}  // namespace
}  // namespace strobe::cli_test
