// Tables of rows: columns of what was varied, means and spread, notes that all rows share, formats and widths.
#include "results/row/row_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "core/errors.hpp"
#include "results/row/row_groups.hpp"
#include "results/row/shared_notes.hpp"
#include "results/row/table.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using Names = std::vector<std::string>;

Row row_of(const std::string& strategy, std::int64_t ranks, std::int64_t seed, double seconds,
           const std::string& partitioner = "") {
  Json json = case_json(ranks, strategy);
  json["seed"] = seed;
  if (!partitioner.empty()) json["strategy"]["partitioner"] = partitioner;
  Row row = row_of_median(json, fmt::format("chess/{}/r{}#{}", strategy, ranks, seed), "ok", "", seconds, "not asked");
  row.notes.clear();
  return row;
}

Names lines_of(const std::string& text) {
  std::istringstream stream(text);
  Names lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(VariedKeys, AreThoseThatRowsDifferIn) {
  EXPECT_EQ(
      varied_keys({row_of("snapshot", 2, 1, 1), row_of("vertex", 2, 1, 1, "hash"), row_of("vertex", 2, 1, 1, "metis")}),
      (Names{"strategy", "strategy.partitioner"}));
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1), row_of("vertex", 2, 1, 1, "hash")}), (Names{"strategy"}))
      << "a parameter that one plug-in alone has is not varied";
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1), row_of("snapshot", 4, 2, 1)}), (Names{"ranks", "seed"}));
  EXPECT_EQ(varied_keys({row_of("snapshot", 2, 1, 1)}), Names{});
}

TEST(Spreads, AreThoseOfTwoPasses) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(1e6, 1);
  for (int n = 1; n < 30; ++n) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(normal(random));
    long double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double a : values)
      for (const double b : values) squares += (static_cast<long double>(a) - b) * (static_cast<long double>(a) - b);
    values.push_back(std::nan(""));  // not there
    const Spread spread = spread_of(values);
    EXPECT_EQ(spread.n, static_cast<std::size_t>(n));
    EXPECT_NEAR(spread.mean, static_cast<double>(sum / n), 1e-8);
    // Half the mean squared difference of pairs is the variance.
    const double variance = n > 1 ? static_cast<double>(squares / (2.0L * n * (n - 1))) : 0;
    EXPECT_NEAR(spread.deviation, std::sqrt(variance), 1e-6);
  }
  EXPECT_TRUE(std::isnan(spread_of({}).mean));
}

TEST(RowColumns, MetricsSayHowManySamplesTheyHave) {
  std::vector<Row> rows{row_of("vertex", 2, 1, 1), row_of("vertex", 2, 2, 1), row_of("vertex", 2, 3, 1)};
  for (Row& row : rows) row.metrics["auc"] = std::vector<double>{0.5, 0.75};
  rows[0].metric_samples["auc"] = 10;
  const auto column = [&](const std::string& name) {
    for (const RowColumn& each : row_columns(rows))
      if (each.name == name) return each;
    throw Error("no column " + name);
  };
  EXPECT_EQ(column("auc").title, "auc (n=10)") << "those that say it agree";
  rows[1].metric_samples["auc"] = 20;
  EXPECT_EQ(column("auc").title, "auc");
  EXPECT_EQ(column("auc").number(rows[0]), 0.75);
  EXPECT_EQ(column("auc.n").number(rows[0]), 10);
  EXPECT_EQ(column("auc.n").number(rows[1]), 20);
  EXPECT_TRUE(std::isnan(column("auc.n").number(rows[2])));
}

TEST(RowsTable, NamesTheVariedKeys) {
  const std::vector<Row> rows{row_of("vertex", 2, 1, 3e-3, "range"), row_of("vertex", 2, 1, 1e-3, "metis")};
  const Names lines = lines_of(rows_table(rows));
  EXPECT_NE(lines[0].find("partitioner"), std::string::npos);
  EXPECT_NE(lines[2].find("range"), std::string::npos);
  EXPECT_NE(lines[3].find("metis"), std::string::npos);
  TableOptions sorted;
  sorted.sort = "epoch";
  EXPECT_NE(lines_of(rows_table(rows, sorted))[2].find("metis"), std::string::npos);
  sorted.sort = "-epoch";
  EXPECT_NE(lines_of(rows_table(rows, sorted))[2].find("range"), std::string::npos);
}

TEST(RowsTable, SeedsShareALineWithMeanAndSpread) {
  std::vector<Row> rows;
  for (const double seconds : {1e-3, 2e-3, 3e-3})
    rows.push_back(row_of("vertex", 2, static_cast<std::int64_t>(rows.size()) + 1, seconds));
  rows.push_back(row_of("snapshot", 2, 1, 5e-3));
  const std::string text = rows_table(rows);
  EXPECT_EQ(lines_of(text).size(), 5u) << text;
  EXPECT_NE(text.find("2 ms ± 1 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("mean ± standard deviation over seed"), std::string::npos) << text;
  TableOptions csv;
  csv.format = TableFormat::csv;
  csv.columns = {"strategy", "rows", "epoch"};
  EXPECT_EQ(rows_table(rows, csv),
            "strategy,rows,epoch_seconds,epoch_seconds_sd\r\nvertex,3,0.002,0.001\r\n"
            "snapshot,1,0.005,\r\n");
}

TEST(RowsTable, ByGathersOverEverythingElse) {
  std::vector<Row> rows;
  for (const std::int64_t ranks : {1, 2, 4})
    for (const std::int64_t seed : {1, 2})
      rows.push_back(row_of("vertex", ranks, seed, 1e-3 * static_cast<double>(ranks)));
  TableOptions requests;
  requests.by = {"ranks"};
  requests.columns = {"ranks", "rows", "epoch"};
  requests.format = TableFormat::csv;
  EXPECT_EQ(rows_table(rows, requests),
            "ranks,rows,epoch_seconds,epoch_seconds_sd\r\n1,2,0.001,0\r\n2,2,0.002,0\r\n"
            "4,2,0.004,0\r\n");
  for (const char* name : {"rank", "epochh"}) {
    TableOptions wrong;
    wrong.columns = {name};
    EXPECT_THROW(rows_table(rows, wrong), InvalidRequest) << name;
    wrong = {};
    wrong.sort = name;
    EXPECT_THROW(rows_table(rows, wrong), InvalidRequest) << name;
  }
  requests.by = {"rank"};
  EXPECT_THROW(rows_table(rows, requests), InvalidRequest);
}

TEST(RowsTable, NotesOfAllAppearOnceAndOthersByNumber) {
  std::vector<Row> rows{row_of("vertex", 2, 1, 1e-3), row_of("vertex", 4, 1, 1e-3)};
  rows.push_back(row_of_median(case_json(8, "vertex"), "chess/vertex/r8#1", "skipped", "too many ranks", NAN, "no"));
  for (Row& row : rows) row.notes = {"uncalibrated"};
  rows[1].notes.emplace_back("extrapolated");
  rows[2].notes.clear();
  const std::string text = rows_table(rows);
  const auto count = [&](const std::string& words) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("uncalibrated"), 1u) << text;
  EXPECT_EQ(count("all: uncalibrated"), 1u) << text;
  EXPECT_EQ(count("1: extrapolated"), 1u) << text;
  EXPECT_EQ(count("2: skipped: too many ranks"), 1u) << text;
}

TEST(RowsTable, FitsTheTerminalAndNamesLeftOutColumns) {
  std::vector<Row> rows{summarise(case_json(2, "vertex"), "chess/tm-gcn/vertex/cpu/r2#abcdef", make_result()),
                        summarise(case_json(2, "snapshot"), "chess/tm-gcn/snapshot/cpu/r2#abcdef", make_result())};
  const std::string wide = rows_table(rows);
  for (const std::size_t width : {60u, 80u, 100u}) {
    TableOptions requests;
    requests.width = width;
    const Names lines = lines_of(rows_table(rows, requests));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(lines[i].size(), width) << lines[i];
    EXPECT_NE(rows_table(rows, requests).find("left out, because the terminal is"), std::string::npos);
    EXPECT_NE(lines[0].find("strategy"), std::string::npos) << "what was varied stays";
    EXPECT_NE(lines[0].find("epoch"), std::string::npos);
  }
  EXPECT_NE(wide.find("chess/tm-gcn/vertex/cpu/r2#abcdef"), std::string::npos);
}

TEST(RowsTable, ApproximationsBecomeNotesWhereTheTerminalIsNarrow) {
  std::vector<Row> rows;
  for (const char* strategy : {"vertex", "snapshot", "pss"}) {
    CaseResult result = make_result();
    result.exact = strategy == std::string("snapshot");
    if (!result.exact) result.approximations = {"batches of 5% of a rank's vertices " + std::string(200, 'x'), "stale"};
    rows.push_back(summarise(case_json(2, strategy), fmt::format("chess/tm-gcn/{}/cpu/r2#abcdef", strategy), result));
  }
  EXPECT_NE(lines_of(rows_table(rows))[2].find("stale"), std::string::npos) << "without a terminal all is there";
  for (const std::size_t width : {80u, 100u}) {
    TableOptions requests;
    requests.width = width;
    const std::string text = rows_table(rows, requests);
    const Names lines = lines_of(text);
    for (const std::string& line : lines) EXPECT_LE(line.size(), width) << line;
    for (const char* title : {"strategy", "epoch", "loss", "exact", "notes"})
      EXPECT_NE(lines[0].find(title), std::string::npos) << title << "\n" << text;
    EXPECT_NE(lines[2].find(" no "), std::string::npos) << text;
    EXPECT_NE(lines[3].find(" yes"), std::string::npos) << text;
    EXPECT_NE(text.find("not exact: batches of 5% of a rank's vertices"), std::string::npos) << text;
    EXPECT_EQ(text.find("not exact"), text.rfind("not exact")) << "two rows share the note\n" << text;
  }
}

TEST(RowsTable, NoLineIsWiderThanTheTerminalWhateverTheRowsAre) {
  for (const std::size_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < 4; ++i) {
      rows.push_back(row_of(std::string(1 + random() % 60, 'a' + static_cast<char>(i)), 1 + i, 1, 1e-3,
                            std::string(random() % 50 + 1, 'p')));
      rows.back().notes = {"a note " + std::string(random() % 200, 'n') + " of several words " + std::to_string(i)};
    }
    for (const std::size_t width : {40u, 60u, 80u, 100u}) {
      TableOptions requests;
      requests.width = width;
      for (const std::string& line : lines_of(rows_table(rows, requests)))
        EXPECT_LE(static_cast<std::size_t>(
                      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; })),
                  width)
            << line;
      EXPECT_NE(rows_table(rows, requests).find("epoch"), std::string::npos);
    }
  }
}

TEST(WrappedLines, BreakAtBlanksAndInsideLongWords) {
  EXPECT_EQ(wrapped_lines("one two three\nfour\n", 8), "one two\n   three\nfour\n");
  EXPECT_EQ(wrapped_lines("abcdefghij", 6), "abcdef\n   ghi\n   j\n");
  EXPECT_EQ(wrapped_lines("as it is", 0), "as it is");
  EXPECT_EQ(wrapped_lines("\nx\n", 5), "\nx\n");
}

/// The cells of a column of a LaTeX table, without its title.
Names latex_column(const std::string& table, std::size_t column) {
  Names cells;
  bool body = false;
  for (const std::string& line : lines_of(table)) {
    if (line == "\\bottomrule") break;
    if (body) {
      std::string rest = line.substr(0, line.find(" \\\\"));
      for (std::size_t i = 0; i < column; ++i) rest = rest.substr(rest.find(" & ") + 3);
      cells.push_back(rest.substr(0, rest.find(" & ")));
    }
    body = body || line == "\\midrule";
  }
  return cells;
}

TEST(LatexTable, AColumnHasOneUnitInItsTitleAndOneNumberOfDecimals) {
  TableOptions requests;
  requests.format = TableFormat::latex;
  requests.columns = {"strategy", "ranks", "epoch", "sent"};
  std::vector<Row> rows{row_of("vertex", 2, 1, 506e-6), row_of("snap_shot", 4, 1, 1.16e-3),
                        row_of("pss", 8, 1, 12.5e-3)};
  const std::string text = rows_table(rows, requests);
  EXPECT_NE(text.find("\\begin{tabular}{lrrr}\n\\toprule\nstrategy & {ranks} & {epoch [ms]}"), std::string::npos)
      << text;
  EXPECT_EQ(latex_column(text, 0), (Names{"vertex", "snap\\_shot", "pss"}));
  EXPECT_EQ(latex_column(text, 1), (Names{"2", "4", "8"}));
  EXPECT_EQ(latex_column(text, 2), (Names{"0.51", "1.16", "12.50"}));
  rows = {row_of("vertex", 2, 1, 506e-6), row_of("pss", 2, 1, 98e-6)};
  EXPECT_NE(rows_table(rows, requests).find("{epoch [\\textmu s]}"), std::string::npos);
  EXPECT_EQ(latex_column(rows_table(rows, requests), 2), (Names{"506.0", "98.0"}));
}

TEST(LatexTable, RoundsAndSeedsGiveDeviations) {
  TableOptions requests;
  requests.format = TableFormat::latex;
  requests.columns = {"strategy", "epoch"};
  std::vector<Row> rows{row_of("vertex", 2, 1, 2e-3), row_of("pss", 2, 1, 5e-3)};
  rows[0].rounds = RoundTimes{"s", {1e-3, 2e-3, 3e-3}};
  const std::string text = rows_table(rows, requests);
  EXPECT_NE(text.find("{lr@{}l}"), std::string::npos) << text;
  EXPECT_NE(text.find("\\multicolumn{2}{c}{epoch [ms]} \\\\"), std::string::npos) << text;
  EXPECT_NE(text.find("vertex & 2 & ${}\\pm{}$1 \\\\"), std::string::npos) << text;
  EXPECT_NE(text.find("pss & 5 &  \\\\"), std::string::npos) << text;
  EXPECT_NE(text.find("% epoch: median over up to 3 rounds (processes) ± their standard deviation"), std::string::npos)
      << text;
  rows = {row_of("vertex", 2, 1, 1.4e-3), row_of("vertex", 2, 2, 2.8e-3)};
  requests.by = {"strategy"};
  const std::string seeds = rows_table(rows, requests);
  EXPECT_NE(seeds.find("vertex & 2.100 & ${}\\pm{}$0.990 \\\\"), std::string::npos) << seeds;
  EXPECT_NE(seeds.find("% mean ± standard deviation over seed"), std::string::npos) << seeds;
}

/// LaTeX compiles it, where there is one, with booktabs alone. Without one, braces and cells must fit together.
TEST(LatexTable, IsWholeAndCompiles) {
  TableOptions requests;
  requests.format = TableFormat::latex;
  std::vector<Row> rows;
  for (const char* strategy : {"vertex", "snap_shot", "a%b&c#d$e{f}g~h^i\\j"})
    for (const std::int64_t ranks : {1, 16})
      rows.push_back(
          summarise(case_json(ranks, strategy), fmt::format("chess/{}/r{}", strategy, ranks), make_result()));
  rows[0].rounds = RoundTimes{"s", {0.9, 1.0, 1.2}};
  const std::string text = rows_table(rows, requests);
  std::size_t columns = 0;
  for (const std::string& line : lines_of(text)) {
    if (!line.ends_with(" \\\\")) continue;
    std::size_t cells = 1;
    for (std::size_t at = 0; (at = line.find(" & ", at)) != std::string::npos; ++at) ++cells;
    if (line.find("\\multicolumn{2}") != std::string::npos) ++cells;  // the only one here that takes two
    if (columns == 0) columns = cells;
    EXPECT_EQ(cells, columns) << line;
  }
  EXPECT_GT(columns, 5u) << text;
  if (std::system("command -v pdflatex > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "no pdflatex (apt: texlive-latex-recommended)";
  const testing_results::TemporaryFolder folder;
  testing_results::write_text(
      folder.file("t.tex"),
      "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + text + "\\end{document}\n");
  EXPECT_EQ(std::system(("cd '" + folder.file("") + "' && pdflatex -halt-on-error t.tex > log 2>&1").c_str()), 0)
      << testing_results::text_of(folder.file("log"));
}

TEST(TableFormats, EscapeSpecialCharacters) {
  TextTable table({{"a_b", false}, {"n", true}});
  table.add({"x|y, \"z\" & 5%", "1 ± 2"});
  EXPECT_EQ(table.in(TableFormat::csv), "a_b,n\r\n\"x|y, \"\"z\"\" & 5%\",1 ± 2\r\n");
  EXPECT_EQ(table.in(TableFormat::markdown), "| a\\_b | n |\n| --- | ---: |\n| x\\|y, \"z\" & 5% | 1 ± 2 |\n");
  EXPECT_EQ(table.in(TableFormat::latex),
            "\\begin{tabular}{lr}\n\\toprule\na\\_b & n \\\\\n\\midrule\nx|y, \"z\" \\& 5\\% & 1 $\\pm$ 2 \\\\\n"
            "\\bottomrule\n\\end{tabular}\n");
}

TEST(RowColumns, WorkAndFactsOfAKindOfTrainingAreColumns) {
  CaseResult result = testing_results::make_result();
  result.cells_per_epoch = 60;
  result.facts.values = {{"mails_lost_share", 0.25}, {"cached_bytes", {7, 9}}};
  const Row row = summarise(testing_results::case_json(), "a#1", result);
  std::map<std::string, RowColumn> columns;
  for (const RowColumn& column : row_columns({row})) columns[column.name] = column;
  EXPECT_EQ(columns.at("cells").number(row), 60);
  EXPECT_EQ(columns.at("edges").number(row), 1000);
  EXPECT_EQ(columns.at("mails_lost_share").number(row), 0.25);
  EXPECT_EQ(columns.at("cached_bytes").word(row), "[7,9]");
  EXPECT_TRUE(std::isnan(columns.at("padded_share").number(row)));
}

}  // namespace
}  // namespace strobe
