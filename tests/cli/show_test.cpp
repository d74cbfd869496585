// `strobe show`, and the table at the end of a run, which is the same.
#include <fmt/format.h>

#include <algorithm>

#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::expect_refusal;
using cli_test::Outcome;
using cli_test::Program;
using cli_test::tiny;

class Show : public Program {
 protected:
  Outcome sweep(const std::string& out) {
    return strobe({"run", "--workload", tiny, "--epochs", "2", "--ranks", "2", "--vary",
                   "strategy=sequential,snapshot,vertex:partitioner=hash", "--vary", "seed=1..3", "--out", out});
  }
};

TEST_F(Show, PrintsTheTableThatTheRunPrinted) {
  const Outcome ran = sweep("run");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(strobe({"show", "run"}).out, ran.out);
  EXPECT_NE(ran.out.find("mean ± standard deviation over seed"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("skipped: strategy sequential runs on 1 rank, not 2"), std::string::npos) << ran.out;
  EXPECT_EQ(strobe({"show", "run/summary.json"}).out, ran.out);
}

/// The numbers of a column of CSV, by line.
std::vector<double> csv_column(const std::string& csv, const std::string& name) {
  std::istringstream lines(csv);
  std::string line;
  std::vector<double> values;
  std::size_t at = 0;
  for (std::size_t number = 0; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
    if (number == 0) {
      at = std::find(cells.begin(), cells.end(), name) - cells.begin();
      EXPECT_LT(at, cells.size()) << name << " in " << line;
    }
    if (number > 0 && at < cells.size()) values.push_back(std::stod(cells[at]));
  }
  return values;
}

TEST_F(Show, AnIntervalOverSeedsIsStudents) {
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "2", "--until", "loss=0.1", "--vary", "seed=1..5", "--vary",
                    "strategy=sequential,vertex", "--out", "run"})
                .status,
            0);
  const std::vector<std::string> words = {"show", "run", "--columns", "strategy,until,auc,loss", "--format", "csv"};
  std::vector<std::string> with = words;
  with.emplace_back("--interval");
  const std::string plain = strobe(words).out, interval = strobe(with).out;
  const double quantile = 2.7764451051977987;  // of t with 4 degrees of freedom at 0.975, any table
  for (const char* name : {"auc", "final_loss", "until_seconds"}) {
    const auto deviation = csv_column(plain, std::string(name) + "_sd");
    const auto half = csv_column(interval, std::string(name) + "_half_ci95");
    ASSERT_EQ(deviation.size(), 2u) << plain;
    ASSERT_EQ(half.size(), 2u) << interval;
    EXPECT_EQ(csv_column(plain, name), csv_column(interval, name));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_GT(deviation[i], 0) << name;
      EXPECT_NEAR(half[i], quantile * deviation[i] / std::sqrt(5.0), 1e-6 * half[i]) << name;
    }
  }
  with.resize(4);
  with.emplace_back("--interval");
  EXPECT_NE(strobe(with).out.find("mean ± half the 95 % interval of the mean (Student's t) over seed"),
            std::string::npos);
}

TEST_F(Show, ChosenColumnsEndWithTheSameAnswer) {
  ASSERT_EQ(sweep("run").status, 0);
  const std::string plain = strobe({"show", "run"}).out,
                    chosen = strobe({"show", "run", "--columns", "case,epoch"}).out;
  const std::string answer = plain.substr(plain.find("\nOn 2 ranks, "));
  EXPECT_GT(answer.size(), 40u) << plain;
  EXPECT_NE(chosen.find(answer), std::string::npos) << chosen;
  EXPECT_EQ(chosen.find(answer) + answer.size(), chosen.size()) << "it ends the page";
}

TEST_F(Show, GathersSortsChoosesAndFormats) {
  ASSERT_EQ(sweep("run").status, 0);
  const Outcome csv = strobe({"show", "run", "--by", "strategy", "--columns", "strategy,rows,mrr.n,loss", "--format",
                              "csv", "--sort", "-strategy"});
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(
      csv.out.rfind("strategy,rows,mrr_samples,final_loss,final_loss_sd,notes\r\nvertex,3,", 0) == 0 ||
          csv.out.rfind("strategy,rows,mrr_samples,mrr_samples_sd,final_loss,final_loss_sd,notes\r\nvertex,3,", 0) == 0,
      true)
      << csv.out;
  EXPECT_NE(csv.out.find("\r\nsequential,0,"), std::string::npos) << csv.out;
  EXPECT_NE(strobe({"show", "run", "--format", "latex"}).out.find("\\begin{tabular}"), std::string::npos);
  EXPECT_NE(strobe({"show", "run", "--format", "markdown"}).out.find("| ---"), std::string::npos);
  EXPECT_EQ(strobe({"show", "run", "--filter", "vertex", "--columns", "case"}).out.find("snapshot"), std::string::npos);
}

TEST_F(Show, SeveralRunsStandInOneTable) {
  for (const char* strategy : {"snapshot", "vertex"})
    ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "1", "--ranks", "2", "--strategy", strategy, "--out",
                      std::string("run-") + strategy})
                  .status,
              0);
  const Outcome shown = strobe({"show", "run-snapshot", "run-vertex"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("run-snapshot  uniform/tm-gcn/snapshot"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("run-vertex    uniform/tm-gcn/vertex"), std::string::npos) << shown.out;
}

TEST_F(Show, ATerminalShowsHowFarALongCaseIsAndTablesAsWideAsItIs) {
  const auto on_terminal = [&](const std::string& command) {
    const std::string words = "stty cols 100; " + std::string(STROBE_BINARY) + " " + command;
    return finish(start_shell("cd '" + folder_.string() + "' && exec script -qec '" + words + "' /dev/null"));
  };
  if (std::system("command -v script > /dev/null 2>&1") != 0) GTEST_SKIP() << "no `script` (apt: bsdutils)";
  const std::string run = on_terminal("run --workload " + std::string(tiny) +
                                      " --strategy snapshot --epochs 100000000 --time-limit 3s --out run")
                              .out;
  EXPECT_NE(run.find(" of 100000001, loss 0."), std::string::npos) << run;
  EXPECT_NE(run.find(" left"), std::string::npos) << run;
  std::istringstream parts(run);
  for (std::string part; std::getline(parts, part, '\r');) {
    const bool progress = part.find(", loss") != std::string::npos;
    EXPECT_TRUE(!progress || part.size() <= 103) << part;  // three characters clear the line
  }
  ASSERT_EQ(sweep("sweep").status, 0);
  const std::string shown = on_terminal("show sweep").out;
  std::istringstream lines(shown);
  std::string title;
  std::getline(lines, title);
  EXPECT_LE(title.size(), 101u) << shown;  // with its \r
  EXPECT_NE(title.find("strategy"), std::string::npos) << shown;
  EXPECT_NE(shown.find("left out, because the terminal is 100 wide: "), std::string::npos) << shown;
}

/// Also of approximations, notes and the sentences below the table.
TEST_F(Show, NoLineIsWiderThanTheTerminal) {
  if (std::system("command -v script > /dev/null 2>&1") != 0) GTEST_SKIP() << "no `script` (apt: bsdutils)";
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--model", "t-gcn", "--epochs", "2", "--ranks", "2", "--vary",
                    "strategy=snapshot,vertex,hybrid_batch,dynahb", "--out", "run"})
                .status,
            0);
  ASSERT_NE(strobe({"show", "run"}).out.find("batches of"), std::string::npos) << "nothing long to move";
  for (const std::size_t width : {80u, 100u}) {
    const std::string words = fmt::format("stty cols {}; {} show run", width, STROBE_BINARY);
    const std::string shown =
        finish(start_shell("cd '" + folder_.string() + "' && exec script -qec '" + words + "' /dev/null")).out;
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line);) {
      const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(static_cast<std::size_t>(characters), width + 1) << line;  // with its \r
    }
    for (const char* kept : {"epoch", "loss", "exact", "hybrid_batch", "not exact: "})
      EXPECT_NE(shown.find(kept), std::string::npos) << kept << "\n" << shown;
  }
}

TEST_F(Show, RefusesWhatIsNotThere) {
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "1", "--out", "run"}).status, 0);
  expect_refusal(strobe({"show"}), 2, {"RUN", "at least one run"});
  expect_refusal(strobe({"show", "nowhere"}), 2, {"'nowhere' is not a run directory"});
  expect_refusal(strobe({"show", "run", "--columns", "epoc"}), 2, {"--columns", "did you mean 'epoch'"});
  expect_refusal(strobe({"show", "run", "--by", "strateg"}), 2, {"--by", "did you mean 'strategy'"});
  expect_refusal(strobe({"show", "run", "--sort", "los"}), 2, {"--sort", "'loss'"});
  expect_refusal(strobe({"show", "run", "--format", "html"}), 2, {"--format", "markdown"});
  expect_refusal(strobe({"show", "run", "--filter", "nothing"}), 2, {"--filter"});
}

}  // namespace
}  // namespace strobe
