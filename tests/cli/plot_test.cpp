// `strobe plot`: figures of runs by name, in the formats and widths that papers take.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::expect_refusal;
using cli_test::Outcome;
using cli_test::Program;
using cli_test::read_text;
using cli_test::tiny;
using cli_test::write_text;

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
  for (const char* width : {"wide", "8", "8parsec", "cm", "0cm"})
    expect_refusal(strobe({"plot", "scaling", "run", "--width", width}), 2, {"--width", "8cm", "column"});
  expect_refusal(strobe({"plot", "scaling", "run", "--width", "1mm"}), 2, {"--width"});
  expect_refusal(strobe({"plot", "scaling", "run", "--font-size", "big"}), 2, {"--font-size", "8pt"});
  expect_refusal(strobe({"plot", "scaling", "run", "--scale", "cubic"}), 2, {"--scale", "linear"});
  expect_refusal(strobe({"plot", "phase_split", "run", "--scale", "log"}), 2, {"--scale", "stacks"});
  expect_refusal(strobe({"plot", "scaling", "run", "--order", "pss"}), 2, {"--order", "snapshot, vertex"});
  expect_refusal(strobe({"plot", "./mine.py", "run"}), 2, {"there is no file './mine.py'"});
  expect_refusal(strobe({"plot", "scaling", "nowhere"}), 2, {"nowhere"});
}

/// The width of an SVG in points.
double width_of_svg(const std::string& svg) {
  const std::size_t at = svg.find("width=\"") + 7;
  return std::stod(svg.substr(at));
}

TEST_F(Plot, IsAsWideAsAskedForAndHidesItsCaption) {
  const Outcome outcome = strobe({"plot", "scaling", "run", "--format", "svg", "--width", "8cm", "--font-size", "8pt",
                                  "--order", "vertex,snapshot", "--scale", "linear"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string svg = read_text(folder_ / "run/figures/scaling.svg");
  EXPECT_NEAR(width_of_svg(svg), 8 / 2.54 * 72, 0.01);
  EXPECT_LT(svg.find("<!-- vertex -->"), svg.find("<!-- snapshot -->"));
  EXPECT_NE(svg.find("not drawn:"), std::string::npos);
  ASSERT_EQ(strobe({"plot", "scaling", "run", "--format", "svg", "--width", "8cm", "--no-caption"}).status, 0);
  const std::string bare = read_text(folder_ / "run/figures/scaling.svg");
  EXPECT_EQ(bare.find("not drawn:"), std::string::npos);
  EXPECT_NE(bare.find("<!-- snapshot -->"), std::string::npos);
}

/// The words below a figure are those of `strobe compare`.
TEST_F(Plot, SaysBelowWhatCompareAnswers) {
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "2", "--vary", "strategy=snapshot,vertex", "--ranks", "2",
                    "--device", "sim", "--cluster", "p5-h100", "--out", "sim"})
                .status,
            0);
  const Outcome outcome = strobe({"plot", "phase_split", "sim", "--format", "svg"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string svg = read_text(folder_ / "sim/figures/phase_split.svg");
  const Json compared = Json::parse(strobe({"compare", "sim", "--by", "strategy", "--json"}).out);
  const std::string sentence = compared.at("questions").at(0).at("sentences").at(0);
  EXPECT_NE(svg.find(sentence.substr(0, 40)), std::string::npos) << sentence;
}

/// The example of docs/howto/own_figure.md is drawn as a file, and by name from a folder of $STROBE_FIGURES.
TEST_F(Plot, DrawsTheFigureOfTheDocumentAsAFileAndByName) {
  const std::string page = read_text(std::string(STROBE_SOURCE_DIR) + "/docs/howto/own_figure.md");
  const std::size_t from = page.find("```python\n") + 10;
  std::filesystem::create_directory(folder_ / "mine");
  write_text(folder_ / "mine" / "bytes_and_time.py", page.substr(from, page.find("```", from) - from));
  const Outcome outcome = strobe({"plot", "mine/bytes_and_time.py", "run", "--format", "svg", "--out", "a"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "a/bytes_and_time.svg\n");
  const std::string svg = read_text(folder_ / "a/bytes_and_time.svg");
  EXPECT_NE(svg.find("<!-- snapshot -->"), std::string::npos);
  EXPECT_NE(svg.find("#0072b2"), std::string::npos) << "the colour of snapshot in all figures";
  expect_refusal(strobe({"plot", "bytes_and_time", "run"}), 2, {"unknown figure 'bytes_and_time'", "FILE.py"});
  const Outcome named = finish(start_shell("cd '" + folder_.string() + "' && STROBE_FIGURES='" + path("mine") + "' '" +
                                           STROBE_BINARY "' plot bytes_and_time run --format svg --out b"));
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(read_text(folder_ / "b/bytes_and_time.svg"), svg);
}

}  // namespace
}  // namespace strobe
