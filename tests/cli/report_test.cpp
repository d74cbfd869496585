// `strobe report`: its page shows the values of the rows, whatever their names.
#include "tests/cli/support/report.hpp"

#include <fmt/format.h>

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

TEST_F(Report, IsOneWholePageWithoutANetwork) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--out", "o"}).status, 0);
  const Outcome outcome = strobe({"report", "o", "--out", "page.html"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string page = read_text(folder_ / "page.html");
  const Json rows = read_json(folder_ / "o/summary.json").at("rows");
  for (const Json& row : rows)
    EXPECT_NE(page.find("id=\"" + row.at("case_id").get<std::string>() + "\""), std::string::npos);
  for (const char* part : {"Which strategy is best", "Where an epoch", "Training loss", "Bytes an epoch",
                           "Not shown:", "prefers-color-scheme:dark", "role=\"img\"", "@media print"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_EQ(strobe({"report", "o"}).status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "o/report.html"));
}

TEST_F(Report, HostileNamesAreText) {
  const std::string name = "<script>alert(1)<\"&.csv";
  std::string rows = "source,target,time\n";
  for (int i = 0; i < 90; ++i)
    rows += std::to_string(i % 7) + "," + std::to_string((3 * i + 1) % 11) + "," + std::to_string(i) + "\n";
  write_text(folder_ / name, rows);
  const Outcome ran = strobe({"run", "--workload", name + ":window_count=6", "--epochs", "2", "--out", "o"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html", "--title", "</title><b>"}).status, 0);
  const std::string page = read_text(folder_ / "page.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</title><b>"), std::string::npos);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

TEST_F(Report, TheCommandOfARowMakesItsCase) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--out", "o"}).status, 0);
  const Outcome commands =
      python("from report import runs\nfor row in runs.read_runs(['o'])[0]: print(runs.again(row))\n");
  ASSERT_EQ(commands.status, 0) << commands.err;
  std::istringstream lines(commands.out);
  std::size_t number = 0;
  const Json rows = read_json(folder_ / "o/summary.json").at("rows");
  for (std::string line; std::getline(lines, line); ++number) {
    ASSERT_EQ(line.rfind("strobe ", 0), 0u) << line;
    const Outcome planned = finish(
        start_shell("cd '" + folder_.string() + "' && '" STROBE_BINARY "' " + line.substr(7) + " --dry-run --json"));
    ASSERT_EQ(planned.status, 0) << line << "\n" << planned.err;
    EXPECT_EQ(Json::parse(planned.out).at("cases").at(0).at("case_id"), rows.at(number).at("case_id"));
  }
  EXPECT_EQ(number, rows.size());
}

/// The page's first sentences and first table are those of `compare`, `run` and `show`.
TEST_F(Report, AnswersAsTheOtherCommandsDo) {
  const Outcome ran = strobe({"run", "--workload", tiny, "--vary", "strategy=snapshot,vertex,hybrid_batch", "--ranks",
                              "2", "--device", "sim", "--epochs", "2", "--model", "t-gcn", "--out", "o"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  const std::string page = read_text(folder_ / "page.html");
  const Json question = Json::parse(strobe({"compare", "o", "--by", "strategy", "--json"}).out).at("questions").at(0);
  EXPECT_EQ(question.at("unit"), "cell") << "an epoch of hybrid batches has other work";
  for (const Json& sentence : question.at("sentences")) {
    EXPECT_NE(page.find(sentence.get<std::string>()), std::string::npos) << sentence;
    EXPECT_NE(ran.out.find(sentence.get<std::string>()), std::string::npos) << sentence;
  }
  for (const Json& one : question.at("contenders")) {
    if (!one.at("times_the_fastest").at("ratio").is_number()) continue;
    const std::string cell = fmt::format("{:.2f}<small>", one.at("times_the_fastest").at("ratio").get<double>());
    EXPECT_NE(page.find(cell), std::string::npos) << cell;
  }
}

/// Epochs of two models are no answer to which is better; with a metric the time to it is, at every door.
TEST_F(Report, DifferentModelsAreComparedByTheTimeToAMetric) {
  const std::vector<std::string> command{"run",    "--workload", tiny,       "--vary", "model=t-gcn,tm-gcn",
                                         "--vary", "seed=1,2",   "--epochs", "2"};
  for (const bool with_goal : {false, true}) {
    const std::string folder = with_goal ? "goal" : "plain";
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--out", folder});
    if (with_goal) words.insert(words.end(), {"--until", "loss=100"});
    const Outcome ran = strobe(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const Json question = Json::parse(strobe({"compare", folder, "--by", "model", "--json"}).out).at("questions").at(0);
    ASSERT_EQ(strobe({"report", folder, "--out", folder + ".html"}).status, 0);
    const std::string page = read_text(folder_ / (folder + ".html"));
    EXPECT_TRUE(question.at("unit").is_null());
    for (const Json& one : question.at("contenders")) {
      EXPECT_TRUE(one.at("times_the_fastest").at("ratio").is_null());
      EXPECT_EQ(one.at("until_seconds").is_number(), with_goal);
    }
    std::string all;
    for (const Json& sentence : question.at("sentences")) {
      all += sentence.get<std::string>();
      for (const std::string* text : {&page, &ran.out})
        EXPECT_NE(text->find(sentence.get<std::string>()), std::string::npos) << sentence;
    }
    EXPECT_NE(all.find("Epochs of different models are not compared"), std::string::npos) << all;
    EXPECT_NE(all.find(with_goal ? "reaches loss=100 first" : "--until METRIC=VALUE"), std::string::npos) << all;
  }
}

TEST_F(Report, AThousandRowsStayBelowTwoMegabytes) {
  ASSERT_EQ(strobe({"run", two_strategies(), "--trace", "--out", "o"}).status, 0);
  make_a_thousand_rows("o");
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  EXPECT_LT(fs::file_size(folder_ / "page.html"), 2'000'000u);
  const Outcome checked = python(check_page);
  EXPECT_EQ(checked.status, 0) << checked.err;
}

/// A browser draws the page, if there is one: an error of the page's script would show in its log.
TEST_F(Report, ABrowserDrawsIt) {
  if (std::system("command -v chromium > /dev/null 2>&1") != 0) GTEST_SKIP() << "chromium is not there";
  ASSERT_EQ(strobe({"run", two_strategies(), "--out", "o"}).status, 0);
  ASSERT_EQ(strobe({"report", "o", "--out", "page.html"}).status, 0);
  const Outcome drawn = finish(
      start({"timeout", "100", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             "--window-size=1200,1600", "--screenshot=" + path("page.png"), "file://" + path("page.html")}));
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_GT(fs::file_size(folder_ / "page.png"), 20'000u);
  EXPECT_EQ(drawn.err.find("Uncaught"), std::string::npos) << drawn.err;
}

TEST_F(Report, WhatIsNoRunIsRefused) {
  expect_refusal(strobe({"report"}), 2, {"RUN"});
  expect_refusal(strobe({"report", "nowhere"}), 2, {"nowhere"});
  expect_refusal(strobe({"report", "."}), 2, {"summary.json"});
  fs::create_directory(folder_ / "damaged");
  write_text(folder_ / "damaged/summary.json", "{\"rows\": 3}");
  expect_refusal(strobe({"report", "damaged"}), 2, {"damaged/summary.json"});
}

}  // namespace
}  // namespace strobe::cli_test
