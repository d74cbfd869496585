// `strobe plot`: figures of runs by name, in the formats and widths that papers take.
#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::expect_refusal;
using cli_test::Outcome;
using cli_test::Program;
using cli_test::read_text;
using cli_test::tiny;

class Plot : public Program {
 protected:
  void SetUp() override {
    if (strobe({"run", "--workload", tiny, "--epochs", "2", "--vary", "strategy=snapshot,vertex,sequential", "--vary",
                "ranks=1,2", "--vary", "seed=1..2", "--out", "run"})
            .status != 0)
      FAIL() << "no run to draw";
  }
};

TEST_F(Plot, DrawsARunInTheFormatsThatAreAskedFor) {
  const Outcome outcome = strobe({"plot", "scaling", "run", "--format", "png,svg,pdf", "--width", "column"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* name : {"run/figures/scaling.png", "run/figures/scaling.svg", "run/figures/scaling.pdf"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << outcome.out;
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 1000u) << name;
  }
  EXPECT_EQ(outcome.out.find("left out"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("left out uniform/tm-gcn/sequential/cpu/r2"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_text(folder_ / "run/figures/scaling.pdf").substr(0, 5), "%PDF-");
}

TEST_F(Plot, RefusesWhatRowsDoNotSupport) {
  const Outcome weak = strobe({"plot", "weak_scaling", "run", "--out", "figures"});
  if (weak.status == 5) GTEST_SKIP() << weak.err;
  expect_refusal(weak, 2, {"the graph is the same at every number of ranks", "scaling"});
  expect_refusal(strobe({"plot", "transfer", "run", "--out", "figures"}), 2, {"no row moved anything"});
  expect_refusal(strobe({"plot", "scalin", "run"}), 2, {"did you mean 'scaling'"});
  expect_refusal(strobe({"plot"}), 2, {"which figure?", "phase_split"});
  expect_refusal(strobe({"plot", "scaling"}), 2, {"name at least one run"});
  expect_refusal(strobe({"plot", "scaling", "run", "--format", "gif"}), 2, {"--format", "png"});
  expect_refusal(strobe({"plot", "scaling", "run", "--width", "wide"}), 2, {"--width", "column"});
  expect_refusal(strobe({"plot", "scaling", "nowhere"}), 2, {"nowhere"});
}

}  // namespace
}  // namespace strobe
