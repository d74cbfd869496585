// One answer at every door: made runs with known truth, judged by `run`, `show`, `compare`, `report`, `plot` and the
// Python package, and points of plans. All of them must say the same, and what they say must be true. Each door is one
// process for many questions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>

#include "harness/process/python.hpp"
#include "harness/request/case.hpp"
#include "tests/cli/program.hpp"
#include "tests/results/made_run.hpp"

namespace strobe::cli_test {
namespace {

constexpr int questions = 40;
const std::vector<std::string> strategies{"snapshot", "vertex", "chunk", "hybrid_batch"};

/// Seconds of an epoch's thousand cells, by question (the vertices of its workload) and strategy.
using Truth = std::map<std::int64_t, std::map<std::string, double>>;

Case case_of(std::int64_t vertices, const std::string& strategy, std::int64_t seed) {
  return case_from_json({{"workload", {{"name", "uniform"}, {"steps", 8}, {"vertices", vertices}}},
                         {"model", "t-gcn"},
                         {"strategy", strategy},
                         {"ranks", 2},
                         {"seed", seed},
                         {"epochs", 6}},
                        "");
}

constexpr const char* read_the_package = R"(import json, math, sys
sys.path.insert(0, ')" STROBE_SOURCE_DIR R"(/python')
import strobe
table = strobe.compare('made', program=')" STROBE_BINARY R"(')
answer = json.load(open('answer.json'))
lines = [(number, c) for number, q in enumerate(answer['questions']) for c in q['contenders']]
assert len(table) == len(lines), len(table)
for line, (number, c) in zip(table.to_dict('records'), lines):
    assert line['question'] == number and line['strategy'] == c['value'], line
    times = c['times_the_fastest']
    for key in ('ratio', 'ci99_low', 'ci99_high'):
        own = line['times_the_fastest.' + key]
        assert own == times[key] or (times[key] is None and math.isnan(own)), (line, times)
    assert line['times_the_fastest.verdict'] == times['verdict'] and line['unit_seconds'] == c['unit_seconds']
    assert line['work.cells'] == c['work']['cells']
assert table.attrs['sentences'] == [q['sentences'] for q in answer['questions']]
)";

class Judge : public Program {
 protected:
  void SetUp() override { make_run("made", questions); }

  /// Every third pair is equal; the others differ by up to three times. An epoch of hybrid_batch has a quarter of the
  /// others' work. Every fourth question lacks a round of chunk, and every other one has two seeds.
  void make_run(const std::string& name, int count) {
    std::normal_distribution<double> normal;
    Json plan = Json::array();
    std::vector<std::pair<Case, testing_results::MadeCase>> cases;
    for (int q = 0; q < count; ++q) {
      const std::int64_t vertices = 40 + q;
      for (const std::string& strategy : strategies)
        truth_[vertices][strategy] = random_() % 3 == 0 ? 1.0 : 1.0 + 0.25 * static_cast<double>(random_() % 9);
      for (std::int64_t seed = 1; seed <= 1 + q % 2; ++seed) {
        std::vector<double> speeds;  // of the machine, which drifts
        for (int round = 0; round < 5; ++round) speeds.push_back(std::exp(0.2 * normal(random_)));
        for (const std::string& strategy : strategies) {
          testing_results::MadeCase made{.strategy = strategy, .cells = strategy == "hybrid_batch" ? 250.0 : 1000.0};
          for (const double speed : speeds)
            made.rounds.push_back(truth_[vertices][strategy] * made.cells / 1000 * speed *
                                  std::exp(0.015 * normal(random_)));
          if (strategy == "chunk" && q % 4 == 0) made.rounds[2] = std::nan("");
          cases.emplace_back(case_of(vertices, strategy, seed), made);
          plan.push_back(case_to_json(cases.back().first));
        }
      }
    }
    testing_results::MadeRun run(path(name), plan);
    for (const auto& [c, made] : cases) run.add_case(case_to_json(c), case_id(c), made);
  }

  /// Whether the verdict contradicts the truth.
  bool is_false(const Json& contender, const Json& fastest, std::int64_t vertices) const {
    const auto& truth = truth_.at(vertices);
    const double ratio = truth.at(contender.at("value")) / truth.at(fastest.at("value"));
    const Json& verdict = contender.at("times_the_fastest").at("verdict");
    if (verdict == "slower") return ratio <= 1;
    return verdict == "same" ? std::abs(ratio - 1) > 0.05 : verdict == "faster";
  }

  /// The number of vertices that a question is about.
  static std::int64_t vertices_of(const Json& question) {
    for (const Json& part : question.at("common")) {
      const std::string text = part;
      if (text.find("workload.vertices ") == 0) return std::stoll(text.substr(18));
    }
    throw Error("a question without vertices: " + question.at("common").dump());
  }

  void expect_sentences(const Json& answer, const std::string& text, const std::string& door) {
    for (const Json& question : answer.at("questions"))
      for (const Json& sentence : question.at("sentences"))
        EXPECT_NE(text.find(sentence.get<std::string>()), std::string::npos) << door << " lacks: " << sentence;
  }

  /// Ratios are quotients of times; at most 2 % of the verdicts are false, and at least half of them say something.
  void expect_true_verdicts(const Json& answer) const {
    int judged = 0, decided = 0, wrong = 0;
    for (const Json& question : answer.at("questions")) {
      EXPECT_EQ(question.at("unit"), "cell");
      const Json& fastest = question.at("contenders").at(0);
      for (std::size_t i = 1; i < strategies.size(); ++i) {
        const Json& one = question.at("contenders").at(i);
        ++judged;
        decided += one.at("times_the_fastest").at("verdict") != "unsure" ? 1 : 0;
        wrong += is_false(one, fastest, vertices_of(question)) ? 1 : 0;
        EXPECT_DOUBLE_EQ(one.at("times_the_fastest").at("ratio").get<double>(),
                         one.at("unit_seconds").get<double>() / fastest.at("unit_seconds").get<double>());
      }
    }
    EXPECT_EQ(judged, 3 * questions);
    EXPECT_GE(decided, judged / 2) << "an engine that never decides is never wrong";
    EXPECT_LE(wrong, judged / 50);
  }

  void expect_table(const Json& answer, const std::string& table) const {
    for (const Json& question : answer.at("questions"))
      for (const Json& one : question.at("contenders")) {
        const Json& times = one.at("times_the_fastest");
        if (!times.at("ci99_low").is_number()) continue;
        const std::string cells =
            fmt::format("{:.3f} .. {:.3f}", times.at("ci99_low").get<double>(), times.at("ci99_high").get<double>());
        EXPECT_NE(table.find(cells), std::string::npos) << cells;
      }
  }

  /// The page's cells have the ratios of the answer, bit for bit.
  void expect_page(const Json& answer, const std::string& page) const {
    const std::regex cell("data-value=\"([^\"]*)\"");
    std::set<double> numbers;
    for (std::sregex_iterator it(page.begin(), page.end(), cell), end; it != end; ++it)
      numbers.insert(std::strtod((*it)[1].str().c_str(), nullptr));
    for (const Json& question : answer.at("questions"))
      for (const Json& one : question.at("contenders")) {
        const Json& ratio = one.at("times_the_fastest").at("ratio");
        EXPECT_EQ(numbers.count(ratio.is_number() ? ratio.get<double>() : 1.0), 1u) << ratio;
      }
  }

  /// The caption of a figure answers the first questions and counts the others. A run of a few questions is enough,
  /// since each is a panel.
  void expect_caption() {
    make_run("few", 4);
    const Json answer = Json::parse(strobe({"compare", "few", "--by", "strategy", "--json"}).out);
    const Outcome drawn = strobe({"plot", "scaling", "few", "--format", "svg", "--width", "page", "--out", "figures"});
    ASSERT_EQ(drawn.status, 0) << drawn.err;
    const std::string svg = read_text(folder_ / "figures/scaling.svg");
    const std::regex comment("<!-- ([^>]*) -->");  // matplotlib writes each line of text as one
    std::string words;
    for (std::sregex_iterator it(svg.begin(), svg.end(), comment), end; it != end; ++it) words += (*it)[1].str() + " ";
    for (std::size_t i = 0; i < 2; ++i)
      for (const Json& sentence : answer.at("questions").at(i).at("sentences"))
        EXPECT_NE(words.find(sentence.get<std::string>()), std::string::npos) << "plot lacks: " << sentence << words;
    EXPECT_NE(words.find("2 more questions"), std::string::npos);
  }

  /// `strobe.compare` has the numbers of the answer, bit for bit.
  void expect_package(const Json& answer, const std::string& python) {
    write_text(folder_ / "answer.json", answer.dump());
    write_text(folder_ / "program.py", read_the_package);
    const Outcome read = finish(start({python, path("program.py")}));
    EXPECT_EQ(read.status, 0) << read.err;
  }

  std::mt19937_64 random_{11};
  Truth truth_;
};

TEST_F(Judge, VerdictsAreTrueAndEveryDoorSaysTheSame) {
  const Outcome asked = strobe({"compare", "made", "--by", "strategy", "--json"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  const Json answer = Json::parse(asked.out);
  ASSERT_EQ(answer.at("questions").size(), static_cast<std::size_t>(questions));
  expect_true_verdicts(answer);
  const std::string table = strobe({"compare", "made", "--by", "strategy"}).out;
  expect_sentences(answer, table, "compare");
  expect_table(answer, table);
  expect_sentences(answer, strobe({"show", "made"}).out, "show");
  const Outcome ended = strobe({"run", "--resume", "made"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  expect_sentences(answer, ended.out, "run");
  const std::string python = find_python("pandas");
  if (python.empty()) GTEST_SKIP() << "there is no Python with pandas, for the report and the package";
  const Outcome reported = strobe({"report", "made", "--out", "page.html"});
  ASSERT_EQ(reported.status, 0) << reported.err;
  const std::string page = read_text(folder_ / "page.html");
  expect_sentences(answer, page, "report");
  expect_page(answer, page);
  expect_package(answer, python);
  if (find_python("matplotlib").empty()) GTEST_SKIP() << "there is no Python with matplotlib, for the figure";
  expect_caption();
}

/// Plans of random graphs on a cluster without bands, and on one whose bands are as wide as the test wants.
class PlanJudge : public Program {
 protected:
  void SetUp() override {
    Json cluster = read_json(std::filesystem::path(STROBE_SOURCE_DIR) / "backends/clusters/p5-h100.json");
    cluster["epoch_band_90"] = {
        {"low_factor", 0.97}, {"high_factor", 1.02}, {"ranks", 64}, {"source", "made up"}, {"date", "2026-11-29"}};
    write_text(folder_ / "banded.json", cluster.dump());
  }

  /// Settings of a strategy that are fixed, so that points differ in the strategy alone.
  Outcome plan(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan",
                                      "--workload",
                                      workload_,
                                      "--clusters",
                                      "p4d-a100,banded.json",
                                      "--gpus",
                                      "2,4,8",
                                      "--strategy",
                                      "snapshot,vertex:partitioner=hash,pss",
                                      "--vary",
                                      "nb=1",
                                      "--epochs",
                                      "10"};
    for (const char* given : {"inputs=streamed", "transfer=direct", "overlap=1"})
      words.insert(words.end(), {"--set", given});
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }

  /// Runs the plan's points as cases and asks which strategy is best.
  Json compared(const Json& plan, const std::string& out) {
    Json cases = Json::array();
    for (const Json& point : plan.at("points"))
      if (point.at("status") == "ok") cases.push_back(point.at("case"));
    write_text(folder_ / (out + ".json"), Json{{"cases", cases}}.dump());
    const Outcome ran = strobe({"run", out + ".json", "--out", out});
    EXPECT_EQ(ran.status, 0) << ran.err;
    const Outcome asked = strobe({"compare", out, "--by", "strategy", "--json"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    return Json::parse(asked.out);
  }

  static const Json& question_at(const Json& answer, const Json& place) {
    for (const Json& question : answer.at("questions")) {
      bool same = true;
      for (const Json& part : place)
        same = same && std::count(question.at("common").begin(), question.at("common").end(), part) == 1;
      if (same) return question;
    }
    throw Error("no question about " + place.dump());
  }

  /// The verdict that the epochs and bands of two points have by hand.
  static std::string verdict_by_hand(const Json& first, const Json& other) {
    const auto of = [](const Json& point, const char* end) {
      const Json& band = point.at("epoch_seconds_band90");
      return (band.is_null() ? point.at("epoch_seconds") : band.at(end)).get<double>();
    };
    const double ratio = other.at("epoch_seconds").get<double>() / first.at("epoch_seconds").get<double>();
    if (of(other, "low") > of(first, "high") && ratio > 1.05) return "slower";
    return of(other, "high") <= 1.05 * of(first, "low") && of(other, "low") >= 0.95 * of(first, "high") ? "same"
                                                                                                        : "unsure";
  }

  void expect_question(const Json& plan, const Json& question, const Json& answer) {
    const Json& same = question_at(answer, question.at("common"));
    EXPECT_EQ(question.at("sentences"), same.at("sentences"));
    EXPECT_EQ(question.at("unit"), same.at("unit"));
    ASSERT_EQ(question.at("contenders").size(), same.at("contenders").size());
    const auto point_of = [&](const Json& contender) {
      for (const Json& point : plan.at("points"))
        if (point.at("id") == contender.at("case_ids").at(0)) return point;
      throw Error("no point " + contender.dump());
    };
    for (std::size_t i = 0; i < same.at("contenders").size(); ++i) {
      const Json &own = question.at("contenders").at(i), &other = same.at("contenders").at(i);
      for (const char* key : {"value", "epoch_seconds", "unit_seconds", "work", "times_the_fastest", "time_source"})
        EXPECT_EQ(own.at(key), other.at(key)) << key;
      if (i == 0) continue;
      const std::string verdict = own.at("times_the_fastest").at("verdict");
      EXPECT_EQ(verdict, verdict_by_hand(point_of(question.at("contenders").at(0)), point_of(own))) << own;
      ++verdicts_[verdict];
    }
  }

  std::string workload_;
  std::map<std::string, int> verdicts_;
};

TEST_F(PlanJudge, PlanSaysOfItsPointsWhatCompareSaysOfTheirRows) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3; ++i) {
    workload_ = fmt::format("uniform:steps={},vertices={},density={}", 9 + random() % 8, 300 + random() % 5000,
                            2 + random() % 9);
    const Outcome planned = plan({"--json"});
    ASSERT_EQ(planned.status, 0) << planned.err;
    const Json json = Json::parse(planned.out), answer = compared(json, fmt::format("run{}", i));
    ASSERT_GE(json.at("answers").at("questions").size(), 4u);
    const std::string text = plan({}).out;
    for (const Json& question : json.at("answers").at("questions")) {
      expect_question(json, question, answer);
      for (const Json& sentence : question.at("sentences"))
        EXPECT_NE(text.find(sentence.get<std::string>()), std::string::npos) << "the text lacks: " << sentence;
    }
  }
  EXPECT_GT(verdicts_["slower"], 3);
  EXPECT_GT(verdicts_["unsure"] + verdicts_["same"], 3) << "bands and close times occur";
}

}  // namespace
}  // namespace strobe::cli_test
