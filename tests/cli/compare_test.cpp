// The gate of `strobe compare`: a run against a copy of itself whose epochs last three times as long.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"

namespace strobe::cli_test {
namespace {

class Compare : public Program {
 protected:
  /// A finished run in `before`, and a slower copy of it in `after`.
  void make_runs() {
    const Outcome outcome = strobe({"run", "--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--device",
                                    "sim", "--epochs", "8", "--out", "before"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::filesystem::copy(folder_ / "before", folder_ / "after", std::filesystem::copy_options::recursive);
    Json summary = read_json(folder_ / "after/summary.json");
    for (Json& row : summary["rows"]) {
      for (auto& [key, value] : row["epoch_seconds"].items()) {
        if (key != "n" && value.is_number()) value = value.get<double>() * 3;
      }
    }
    write_text(folder_ / "after/summary.json", without_digests(summary).dump());
    std::istringstream samples(read_text(folder_ / "after/samples.jsonl"));
    std::string slower;
    for (std::string line; std::getline(samples, line);) {
      Json sample = Json::parse(line);
      sample["epoch_seconds"] = sample["epoch_seconds"].get<double>() * 3;
      slower += without_digests(sample).dump() + "\n";
    }
    write_text(folder_ / "after/samples.jsonl", slower);
  }
};

TEST_F(Compare, ARegressionTripsTheGateAndOnlyTheGate) {
  make_runs();
  const Outcome gated = strobe({"compare", "before", "after", "--fail-on-regression"});
  EXPECT_EQ(gated.status, 3) << gated.out << gated.err;
  EXPECT_NE(gated.out.find("SLOWER"), std::string::npos) << gated.out;
  EXPECT_EQ(strobe({"compare", "before", "after"}).status, 0);
}

TEST_F(Compare, AnImprovementPasses) {
  make_runs();
  const Outcome outcome = strobe({"compare", "after", "before", "--fail-on-regression"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("FASTER"), std::string::npos) << outcome.out;
}

TEST_F(Compare, ACaseThatFailedTripsTheGate) {
  make_runs();
  Json summary = read_json(folder_ / "after/summary.json");
  Json& row = summary["rows"][0];
  row.erase("sha256");
  row["status"] = "timeout", row["reason"] = "it took too long";
  write_text(folder_ / "after/summary.json", summary.dump());
  const Outcome outcome = strobe({"compare", "before", "after", "--fail-on-regression"});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("failed: 1 TIMEOUT"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("UNSURE"), std::string::npos) << outcome.out;
}

TEST_F(Compare, TheLeastNumberOfVerdictsIsChecked) {
  make_runs();
  const auto gate = [&](const std::string& least) {
    return strobe({"compare", "after", "before", "--fail-on-regression", "--min-verdicts", least});
  };
  EXPECT_EQ(gate("1").status, 0);
  EXPECT_EQ(gate("all").status, 0);
  EXPECT_EQ(gate("2").status, 7) << "there is one case";
  for (const char* wrong : {"0", "-1", "1.5", "some", "1e30", "nan"})
    expect_refusal(gate(wrong), 2, {"--min-verdicts", "all"});
  expect_refusal(strobe({"compare", "after", "before", "--min-verdicts", "1"}), 2, {"--fail-on-regression"});
}

TEST_F(Compare, RunsWithoutACommonCaseAreNotComparable) {
  make_runs();
  Json summary = read_json(folder_ / "after/summary.json");
  summary["rows"] = Json::array();
  write_text(folder_ / "after/summary.json", summary.dump());
  expect_refusal(strobe({"compare", "before", "after", "--fail-on-regression"}), 4, {"no case in common"});
}

}  // namespace
}  // namespace strobe::cli_test
